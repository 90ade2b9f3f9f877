"""Table 3.1: every error of Join, Sync, Heartbeat and OffsetCommit, with the generation same
and changed.

The rows are written from CLIENT_CONSUMER.md, not from `kcore.group.effects`.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import pytest
from group_world import MEMBER, World, tp

from kcore import errors
from kcore.errors import (
    CommitFailedError,
    DisconnectedError,
    FencedInstanceIdError,
    KafkaError,
    RebalanceInProgressError,
    RequestTimedOutError,
    RetriableCommitFailedError,
    Unexpected,
)
from kcore.events import CoordinatorLost, ErrorRaised, HeartbeatAnswered, PartitionsLost
from kcore.group.context import Timer
from kcore.group.membership import Generation
from kcore.group.states import MemberState, Step
from kcore.structs import OffsetAndMetadata
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode as E

FATAL_CODES = [
    E.REQUEST_TIMED_OUT,
    E.INCONSISTENT_GROUP_PROTOCOL,
    E.INVALID_SESSION_TIMEOUT,
    E.INVALID_GROUP_ID,
    E.GROUP_MAX_SIZE_REACHED,
    E.UNSUPPORTED_VERSION,
    E.GROUP_AUTHORIZATION_FAILED,
    E.UNKNOWN_SERVER_ERROR,
    E.NOT_ENOUGH_REPLICAS,
    9999,  # newer than we are
]
MOVED_CODES = [E.COORDINATOR_NOT_AVAILABLE, E.NOT_COORDINATOR]
LINK_ERRORS: list[KafkaError] = [
    DisconnectedError("gone"),
    RequestTimedOutError("late"),
    Unexpected("garbage"),
]


class Now(NamedTuple):
    state: MemberState
    generation: int
    member_id: str


def now(world: World) -> Now:
    generation = world.member._membership.generation
    return Now(world.member.state, generation.id, generation.member_id)


def joining(**config: object) -> World:
    """A member with Join on its way, under a member id it got before."""
    world = World(config=config)
    world.subscribe("t1")
    world.find()
    world.poll()
    if world.options.group_instance_id is None:
        world.answer(ApiKey.JOIN_GROUP, E.MEMBER_ID_REQUIRED, member_id=MEMBER)
    world.new_events()
    return world


def syncing(**config: object) -> World:
    world = joining(**config)
    world.answer(ApiKey.JOIN_GROUP)
    world.new_events()
    return world


def stable(**config: object) -> World:
    world = World(config=config)
    world.become_stable()
    return world


def lost(world: World) -> bool:
    return bool([event for event in world.new_events() if isinstance(event, CoordinatorLost)])


ROUNDS = {ApiKey.JOIN_GROUP: joining, ApiKey.SYNC_GROUP: syncing}
both = pytest.mark.parametrize("api", ROUNDS, ids=lambda api: api.name)


# -- Join and Sync -----------------------------------------------------------------------------


def test_join_load_in_progress_backs_off_and_retries() -> None:
    world = joining()
    world.answer(ApiKey.JOIN_GROUP, E.COORDINATOR_LOAD_IN_PROGRESS)
    assert now(world) == (MemberState.PREPARING, -1, MEMBER)
    assert not world.open(ApiKey.JOIN_GROUP)
    world.run(79)
    assert not world.open(ApiKey.JOIN_GROUP)
    world.run(41)
    assert world.request(ApiKey.JOIN_GROUP).body.member_id == MEMBER
    assert not lost(world)


def test_sync_load_in_progress_is_fatal() -> None:
    world = syncing()
    world.answer(ApiKey.SYNC_GROUP, E.COORDINATOR_LOAD_IN_PROGRESS)
    raised = world.new_events(ErrorRaised)
    assert isinstance(raised[0].error, errors.CoordinatorLoadInProgressError)
    assert world.member.step is Step.HALTED


@both
@pytest.mark.parametrize("code", MOVED_CODES)
def test_moved_coordinator_is_looked_up_again(api: ApiKey, code: E) -> None:
    world = ROUNDS[api]()
    world.answer(api, code)
    assert lost(world)
    assert not world.open(ApiKey.JOIN_GROUP)
    world.run(121)
    world.find()
    assert world.request(ApiKey.JOIN_GROUP).body.member_id == MEMBER


@both
@pytest.mark.parametrize("error", LINK_ERRORS, ids=lambda error: type(error).__name__)
def test_c03_broken_link_keeps_the_member_id(api: ApiKey, error: KafkaError) -> None:
    world = ROUNDS[api]()
    world.answer(api, error)
    assert lost(world)
    world.run(121)
    world.find()
    assert world.request(ApiKey.JOIN_GROUP).body.member_id == MEMBER


@both
@pytest.mark.parametrize("code", FATAL_CODES)
def test_fatal_codes_reach_the_application_and_the_next_poll_tries_again(
    api: ApiKey, code: int
) -> None:
    world = ROUNDS[api]()
    world.answer(api, code)
    (raised,) = world.new_events(ErrorRaised)
    assert raised.error.errno == code
    world.run(5_000)
    assert not world.open(ApiKey.JOIN_GROUP)  # not without the application
    world.poll()
    world.run(121)
    assert world.open(ApiKey.JOIN_GROUP)
    assert not world.new_events(CoordinatorLost)


@both
def test_unknown_member_id_same_generation_forgets_the_member_id(api: ApiKey) -> None:
    world = ROUNDS[api]()
    world.answer(api, E.UNKNOWN_MEMBER_ID)
    assert now(world) == (MemberState.PREPARING, -1, "")
    assert world.request(ApiKey.JOIN_GROUP).body.member_id == ""  # at once


@both
def test_c04_unknown_member_id_other_generation_changes_nothing(api: ApiKey) -> None:
    world = ROUNDS[api]()
    newer = Generation(77, "newer", "range")
    world.member._membership.generation = newer
    world.answer(api, E.UNKNOWN_MEMBER_ID)
    assert world.member._membership.generation == newer


def test_join_illegal_generation_is_not_foreseen() -> None:
    world = joining()
    world.answer(ApiKey.JOIN_GROUP, E.ILLEGAL_GENERATION)
    assert world.new_events(ErrorRaised)


def test_sync_illegal_generation_keeps_the_member_id() -> None:
    world = syncing()
    world.answer(ApiKey.SYNC_GROUP, E.ILLEGAL_GENERATION)
    assert now(world) == (MemberState.PREPARING, -1, MEMBER)
    assert world.request(ApiKey.JOIN_GROUP).body.member_id == MEMBER


def test_sync_illegal_generation_of_another_generation() -> None:
    world = syncing()
    newer = world.member._membership.generation = Generation(77, "newer", "range")
    world.answer(ApiKey.SYNC_GROUP, E.ILLEGAL_GENERATION)
    assert world.member._membership.generation == newer


@both
def test_c05_rebalance_in_progress_keeps_the_generation(api: ApiKey) -> None:
    world = ROUNDS[api]()
    before = world.member._membership.generation
    world.answer(api, E.REBALANCE_IN_PROGRESS)
    assert world.member._membership.generation == before
    world.join("t1-1")  # at once, no backoff
    world.poll()
    assert world.host.owned == [tp("t1-1")]


@both
@pytest.mark.parametrize("changed", [False, True], ids=["same", "changed"])
def test_fenced_instance_is_fatal_whatever_the_generation(api: ApiKey, changed: bool) -> None:
    world = ROUNDS[api](group_instance_id="i")
    if changed:
        world.member._membership.generation = Generation(77, "newer", "range")
    world.answer(api, E.FENCED_INSTANCE_ID)
    assert world.member.state is MemberState.FENCED
    (raised,) = world.new_events(ErrorRaised)
    assert isinstance(raised.error, FencedInstanceIdError)
    world.poll()
    world.run(20_000, poll_every=1_000)
    assert not world.network.open  # joining again would throw the other one out
    assert len(world.new_events(ErrorRaised)) >= 20  # and every poll says why


def test_c02_member_id_required_joins_with_it_at_once() -> None:
    world = World()
    world.subscribe("t1")
    world.find()
    world.poll()
    world.answer(ApiKey.JOIN_GROUP, E.MEMBER_ID_REQUIRED, member_id="x")
    assert world.request(ApiKey.JOIN_GROUP).body.member_id == "x"
    assert now(world) == (MemberState.PREPARING, -1, "x")


def test_sync_member_id_required_is_not_foreseen() -> None:
    world = syncing()
    world.answer(ApiKey.SYNC_GROUP, E.MEMBER_ID_REQUIRED)
    assert world.new_events(ErrorRaised)


def test_member_id_required_without_an_id_does_not_spin() -> None:
    world = joining()
    world.answer(ApiKey.JOIN_GROUP, E.MEMBER_ID_REQUIRED, member_id="")
    assert world.new_events(ErrorRaised)


@pytest.mark.parametrize(
    "code", [E.MEMBER_ID_REQUIRED, E.UNKNOWN_MEMBER_ID, E.REBALANCE_IN_PROGRESS]
)
def test_at_once_is_not_for_ever(code: E) -> None:
    """A broker that answers every Join with an error that Java retries at once must not make
    us spin.
    """
    world = World()
    world.auto = True
    world.auto_errors[ApiKey.JOIN_GROUP] = deque([code] * 10_000)
    world.subscribe("t1")
    world.poll()
    world.run(10_000, poll_every=500)
    assert world.count(ApiKey.JOIN_GROUP) < 30


# -- Heartbeat ---------------------------------------------------------------------------------


def beat(world: World) -> None:
    world.run(3_000)
    world.request(ApiKey.HEARTBEAT)


def change_generation(world: World) -> Generation:
    membership = world.member._membership
    membership.generation = Generation(membership.generation.id + 1, MEMBER, "range")
    return membership.generation


@pytest.mark.parametrize(
    "code", [*FATAL_CODES, E.COORDINATOR_LOAD_IN_PROGRESS, E.MEMBER_ID_REQUIRED]
)
def test_failed_heartbeat_backs_off_and_the_session_runs_on(code: int) -> None:
    world = stable()
    beat(world)
    session_ends = world.member._ctx.timers.at(Timer.SESSION)
    world.answer(ApiKey.HEARTBEAT, code)
    assert world.member.stable
    assert not lost(world)
    assert not world.new_events(ErrorRaised)
    world.run(79)
    assert not world.open(ApiKey.HEARTBEAT)
    world.run(41)
    assert world.open(ApiKey.HEARTBEAT)
    assert world.member._ctx.timers.at(Timer.SESSION) == session_ends


@pytest.mark.parametrize("error", [*MOVED_CODES, *LINK_ERRORS], ids=str)
def test_heartbeat_loses_the_coordinator(error: int | KafkaError) -> None:
    world = stable()
    before = now(world)
    beat(world)
    world.answer(ApiKey.HEARTBEAT, error)
    assert lost(world)
    world.find()
    world.run(121)
    assert world.request(ApiKey.HEARTBEAT)
    assert now(world) == before  # K5
    assert world.host.owned


def test_c06_heartbeat_unknown_member_id() -> None:
    world = stable()
    beat(world)
    world.answer(ApiKey.HEARTBEAT, E.UNKNOWN_MEMBER_ID)
    assert now(world) == (MemberState.UNJOINED, -1, "")
    assert world.host.owned  # nothing changes under a running handler
    assert not world.new_events(PartitionsLost)
    world.poll()
    (event,) = world.new_events(PartitionsLost)
    assert event.partitions == (tp("t1-0"), tp("t1-1"))
    world.poll()
    assert not world.new_events(PartitionsLost)
    assert world.request(ApiKey.JOIN_GROUP).body.member_id == ""


def test_c07_heartbeat_illegal_generation() -> None:
    world = stable()
    beat(world)
    world.answer(ApiKey.HEARTBEAT, E.ILLEGAL_GENERATION)
    assert now(world) == (MemberState.UNJOINED, -1, MEMBER)
    world.poll()
    assert world.new_events(PartitionsLost)
    world.poll()
    assert world.request(ApiKey.JOIN_GROUP).body.member_id == MEMBER


@pytest.mark.parametrize("code", [E.UNKNOWN_MEMBER_ID, E.ILLEGAL_GENERATION, E.FENCED_INSTANCE_ID])
def test_heartbeat_of_an_earlier_generation_is_no_news(code: E) -> None:
    world = stable(group_instance_id="i")
    beat(world)
    newer = change_generation(world)
    world.run(5)
    world.answer(ApiKey.HEARTBEAT, code)
    assert world.member._membership.generation == newer
    assert world.member.state is MemberState.STABLE
    assert world.member._ctx.timers.at(Timer.SESSION) == world.now + 10_000  # somebody answers


def test_heartbeat_rebalance_in_progress_asks_for_a_rejoin() -> None:
    world = stable()
    beat(world)
    world.answer(ApiKey.HEARTBEAT, E.REBALANCE_IN_PROGRESS)
    assert now(world).state is MemberState.STABLE
    assert world.member.rejoin_needed
    assert world.member._ctx.timers.at(Timer.SESSION) == world.now + 10_000  # a good heartbeat
    (event,) = world.new_events(HeartbeatAnswered)
    assert isinstance(event.error, RebalanceInProgressError)


@pytest.mark.parametrize("state", [MemberState.COMPLETING, MemberState.PREPARING])
def test_c08_rebalance_in_progress_elsewhere_is_ignored(state: MemberState) -> None:
    world = syncing()
    world.run(3_000)
    generation = world.member._membership.generation
    if state is MemberState.PREPARING:
        heartbeat = world.request(ApiKey.HEARTBEAT)
        world.answer(ApiKey.SYNC_GROUP, E.REBALANCE_IN_PROGRESS)
        assert world.open(ApiKey.HEARTBEAT) == [heartbeat]
    world.answer(ApiKey.HEARTBEAT, E.REBALANCE_IN_PROGRESS)
    assert world.member.state is state
    assert world.member._membership.generation == generation


def test_b7_who_is_fenced_while_it_joins_takes_nothing_of_the_answer() -> None:
    world = syncing(group_instance_id="i")
    beat(world)
    world.answer(ApiKey.HEARTBEAT, E.FENCED_INSTANCE_ID)
    if world.open(ApiKey.SYNC_GROUP):
        world.answer(ApiKey.SYNC_GROUP, assigned="t1-0")
    world.poll()
    (raised,) = world.new_events(ErrorRaised)
    assert isinstance(raised.error, FencedInstanceIdError)
    assert world.member.state is MemberState.FENCED
    assert world.host.owned == []


@pytest.mark.parametrize("version", range(5))
def test_heartbeats_name_the_instance_where_they_can(version: int) -> None:
    world = World(config={"group_instance_id": "i"})
    world.network.versions[ApiKey.HEARTBEAT] = version
    world.become_stable()
    beat(world)
    named = world.request(ApiKey.HEARTBEAT).body.group_instance_id
    assert named == ("i" if version >= 3 else None)


def test_b7_heartbeat_fenced_instance() -> None:
    world = stable(group_instance_id="i")
    beat(world)
    world.answer(ApiKey.HEARTBEAT, E.FENCED_INSTANCE_ID)
    assert world.member.state is MemberState.FENCED
    world.poll()
    lost_event, raised = world.new_events(PartitionsLost, ErrorRaised)
    assert lost_event.partitions == (tp("t1-0"), tp("t1-1"))
    assert isinstance(raised.error, FencedInstanceIdError)
    assert world.host.owned == []
    world.run(30_000, poll_every=1_000)
    assert not world.network.open
    # Unsubscribing and subscribing anew is the way back.
    world.member.leave(world.now, "unsubscribed")
    world.subscribe("t1")
    world.poll()
    assert world.request(ApiKey.JOIN_GROUP).body.member_id == ""


# -- OffsetCommit ------------------------------------------------------------------------------


class Outcome:
    """What `done` was called with."""

    def __init__(self) -> None:
        self.calls: list[tuple[dict, KafkaError | None]] = []

    def __call__(self, committed: dict, error: KafkaError | None) -> None:
        self.calls.append((committed, error))

    @property
    def error(self) -> KafkaError | None:
        ((_, error),) = self.calls
        return error


def committing(world: World, deadline_ms: int | None = None) -> Outcome:
    outcome = Outcome()
    deadline = None if deadline_ms is None else world.now + deadline_ms
    offsets = {tp("t1-0"): OffsetAndMetadata(5)}
    world.member.commit(offsets, world.now, outcome, deadline_ms=deadline)
    assert not outcome.calls
    world.settle()
    return outcome


RETRIABLE = [E.COORDINATOR_LOAD_IN_PROGRESS, E.UNKNOWN_TOPIC_OR_PARTITION]
LOSING = [*MOVED_CODES, E.REQUEST_TIMED_OUT, *LINK_ERRORS]


@pytest.mark.parametrize("error", [*RETRIABLE, *LOSING], ids=str)
def test_commit_retriable(error: int | KafkaError) -> None:
    world = stable()
    once = committing(world)
    world.answer(ApiKey.OFFSET_COMMIT, error)
    assert isinstance(once.error, RetriableCommitFailedError)
    assert lost(world) == (error in LOSING)
    if error in LOSING:
        world.find()
    until = committing(world, 5_000)
    world.answer(ApiKey.OFFSET_COMMIT, error)
    assert not until.calls
    if error in LOSING:
        world.run(121)
        world.find()
    world.run(121)
    world.answer(ApiKey.OFFSET_COMMIT)
    assert until.calls == [({tp("t1-0"): OffsetAndMetadata(5)}, None)]


@pytest.mark.parametrize(
    "code",
    [
        E.INCONSISTENT_GROUP_PROTOCOL,
        E.INVALID_GROUP_ID,
        E.GROUP_AUTHORIZATION_FAILED,
        E.OFFSET_METADATA_TOO_LARGE,
        E.INVALID_COMMIT_OFFSET_SIZE,
        E.TOPIC_AUTHORIZATION_FAILED,
        E.UNKNOWN_SERVER_ERROR,
        E.UNSUPPORTED_VERSION,
        9999,
    ],
)
def test_commit_fatal(code: int) -> None:
    world = stable()
    outcome = committing(world, 5_000)
    world.answer(ApiKey.OFFSET_COMMIT, code)
    assert outcome.error.errno == code
    assert world.member.stable
    assert not lost(world)


def test_c26_commit_rebalance_in_progress() -> None:
    world = stable()
    before = world.member._membership.generation
    outcome = committing(world, 5_000)
    world.answer(ApiKey.OFFSET_COMMIT, E.REBALANCE_IN_PROGRESS)
    assert isinstance(outcome.error, RebalanceInProgressError)
    assert world.member.rejoin_needed
    assert world.member._membership.generation == before


def other_generation(world: World, state: MemberState) -> None:
    """Generation + 1 while the commit is on its way."""
    world.member.request_rejoin("test", world.now)
    world.poll()
    world.poll()
    if state is MemberState.STABLE:
        world.join("t1-0 t1-1")
        world.poll()
    assert world.member.state is state
    if state is MemberState.PREPARING:
        change_generation(world)


@pytest.mark.parametrize("code", [E.UNKNOWN_MEMBER_ID, E.ILLEGAL_GENERATION])
def test_c27_commit_same_generation_resets(code: E) -> None:
    world = stable()
    outcome = committing(world, 5_000)
    world.answer(ApiKey.OFFSET_COMMIT, code)
    assert isinstance(outcome.error, CommitFailedError)
    kept = "" if code == E.UNKNOWN_MEMBER_ID else MEMBER
    assert now(world) == (MemberState.UNJOINED, -1, kept)
    world.poll()
    assert world.new_events(PartitionsLost)


@pytest.mark.parametrize("code", [E.UNKNOWN_MEMBER_ID, E.ILLEGAL_GENERATION])
def test_c27_commit_changed_generation_while_preparing(code: E) -> None:
    world = stable()
    outcome = committing(world, 5_000)
    other_generation(world, MemberState.PREPARING)
    newer = world.member._membership.generation
    world.answer(ApiKey.OFFSET_COMMIT, code)
    assert isinstance(outcome.error, RebalanceInProgressError)
    assert world.member._membership.generation == newer


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (None, FencedInstanceIdError),
        (MemberState.PREPARING, RebalanceInProgressError),
        (MemberState.STABLE, CommitFailedError),
    ],
)
def test_c28_commit_fenced(state: MemberState | None, expected: type[KafkaError]) -> None:
    world = stable(group_instance_id="i")
    outcome = committing(world, 5_000)
    if state is not None:
        other_generation(world, state)
    world.answer(ApiKey.OFFSET_COMMIT, E.FENCED_INSTANCE_ID)
    assert type(outcome.error) is expected
    if state is None:
        assert world.member.state is MemberState.FENCED
        assert isinstance(committing(world).error, FencedInstanceIdError)  # C6: every later call
    else:
        assert world.member.state is state
