"""Commits, auto commit, committed offsets and closing: rules C1-C8, X4, scenarios C22-C25 and
C29-C32, PAINS 8 and 9.
"""

from __future__ import annotations

from collections import deque

import pytest
from group_world import MEMBER, World, tp, tps

from kcore.errors import (
    Cancelled,
    CommitFailedError,
    ConsumerStoppedError,
    DisconnectedError,
    GroupAuthorizationFailedError,
    IllegalArgumentError,
    KafkaError,
    KafkaTimeoutError,
    NotCoordinatorError,
    RebalanceInProgressError,
    RetriableCommitFailedError,
    TopicAuthorizationFailedError,
    UnknownTopicOrPartitionError,
    UnstableOffsetCommitError,
)
from kcore.events import (
    CoordinatorLost,
    GroupLeft,
    OffsetsCommitted,
    PartitionsLost,
    PartitionsRevoked,
)
from kcore.group.context import Timer
from kcore.group.states import MemberState, Step
from kcore.structs import OffsetAndMetadata
from kcore.timers import NEVER
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode as E

T10, T11 = tp("t1-0"), tp("t1-1")
AT5 = {T10: OffsetAndMetadata(5, "note", 3)}


class Outcome:
    """What `done` was called with."""

    def __init__(self) -> None:
        self.calls: list[tuple[dict | None, KafkaError | None]] = []

    def __call__(self, result: dict | None, error: KafkaError | None) -> None:
        self.calls.append((result, error))

    @property
    def result(self) -> dict | None:
        ((result, error),) = self.calls
        assert error is None, error
        return result

    @property
    def error(self) -> KafkaError:
        ((_, error),) = self.calls
        assert error is not None
        return error


def commit(world: World, offsets=AT5, deadline_ms: int | None = None) -> Outcome:
    outcome = Outcome()
    deadline = None if deadline_ms is None else world.now + deadline_ms
    world.member.commit(offsets, world.now, outcome, deadline_ms=deadline)
    assert not outcome.calls  # never inside the call
    world.settle()
    return outcome


def fetch(world: World, partitions: str = "t1-0 t1-1", deadline_ms: int = 10_000) -> Outcome:
    outcome = Outcome()
    world.member.fetch_committed(
        tps(partitions), world.now, outcome, deadline_ms=world.now + deadline_ms
    )
    assert not outcome.calls
    world.settle()
    return outcome


def stable(**config: object) -> World:
    world = World(config=config)
    world.become_stable()
    return world


def manual(**config: object) -> World:
    world = World(config=config)
    world.host.owned = tps("t1-0 t1-1")
    return world


# -- the request -------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(2, 11))
def test_commit_in_every_version(version: int) -> None:
    world = stable(group_instance_id="i")
    world.network.versions[ApiKey.OFFSET_COMMIT] = version
    world.cluster.ids = {"t1": b"1" * 16}
    outcome = commit(world)
    body = world.request(ApiKey.OFFSET_COMMIT).body
    assert (body.group_id, body.generation_id_or_member_epoch, body.member_id) == ("g", 1, MEMBER)
    assert body.group_instance_id == ("i" if version >= 7 else None)
    (topic,) = body.topics
    assert topic.name == ("t1" if version < 10 else "")
    assert topic.topic_id == (bytes(16) if version < 10 else b"1" * 16)
    world.answer(ApiKey.OFFSET_COMMIT)
    assert outcome.result == AT5
    epoch = 3 if version >= 6 else -1
    assert world.committed == {T10: OffsetAndMetadata(5, "note", epoch)}


@pytest.mark.parametrize("api", [ApiKey.OFFSET_COMMIT, ApiKey.OFFSET_FETCH], ids=lambda it: it.name)
def test_topic_ids_only_if_all_are_known(api: ApiKey) -> None:
    world = manual()
    world.cluster.ids = {"t1": b"1" * 16}
    offsets = {T10: OffsetAndMetadata(1), tp("t2-0"): OffsetAndMetadata(2)}
    outcome = commit(world, offsets) if api is ApiKey.OFFSET_COMMIT else fetch(world, "t1-0 t2-0")
    world.find()
    assert world.request(api).version == 9
    world.answer(api)
    assert outcome.result is not None


def test_c4_without_membership() -> None:
    world = manual(group_instance_id="i")
    outcome = commit(world)
    world.find()
    body = world.request(ApiKey.OFFSET_COMMIT).body
    assert (body.generation_id_or_member_epoch, body.member_id) == (-1, "")
    assert body.group_instance_id is None
    world.answer(ApiKey.OFFSET_COMMIT)
    assert outcome.result == AT5


def test_c7_negative_offset() -> None:
    world = stable()
    with pytest.raises(IllegalArgumentError, match="t1-0"):
        world.member.commit(
            {T10: OffsetAndMetadata(-1)}, world.now, lambda *_: None, deadline_ms=None
        )


def test_topic_authorization_is_collected_and_other_errors_win() -> None:
    world = stable()
    offsets = {tp: OffsetAndMetadata(1) for tp in (T10, T11)}
    outcome = commit(world, offsets)
    world.answer(ApiKey.OFFSET_COMMIT, codes={T10: E.TOPIC_AUTHORIZATION_FAILED})
    assert isinstance(outcome.error, TopicAuthorizationFailedError)
    assert "t1" in str(outcome.error)
    outcome = commit(world, offsets)
    world.answer(
        ApiKey.OFFSET_COMMIT,
        codes={T10: E.TOPIC_AUTHORIZATION_FAILED, T11: E.INVALID_COMMIT_OFFSET_SIZE},
    )
    assert outcome.error.errno == E.INVALID_COMMIT_OFFSET_SIZE


def test_a_partition_left_out_of_the_answer_is_no_success() -> None:
    world = stable()
    outcome = commit(world, {tp: OffsetAndMetadata(1) for tp in (T10, T11)}, 5_000)
    world.answer(ApiKey.OFFSET_COMMIT, omit=[T11])
    assert not outcome.calls
    assert world.new_events(CoordinatorLost)
    world.find()
    world.run(121)
    world.answer(ApiKey.OFFSET_COMMIT)
    assert outcome.result


# -- when it cannot be sent --------------------------------------------------------------------


def test_c25_rebalance_in_progress() -> None:
    world = World()
    world.subscribe("t1")
    world.find()
    world.poll()
    outcome = commit(world, deadline_ms=5_000)
    assert isinstance(outcome.error, RebalanceInProgressError)
    world.answer(ApiKey.JOIN_GROUP)
    assert isinstance(commit(world, deadline_ms=5_000).error, RebalanceInProgressError)
    assert not world.count(ApiKey.OFFSET_COMMIT)


def test_c4_not_a_member() -> None:
    world = World()
    world.subscribe("t1")
    outcome = commit(world, deadline_ms=5_000)  # at once, without a coordinator
    assert isinstance(outcome.error, CommitFailedError)
    assert not world.count(ApiKey.OFFSET_COMMIT)


def test_commits_can_be_made_while_revoked_is_handled() -> None:
    world = stable(await_acknowledgement=True)
    world.member.request_rejoin("test", world.now)
    world.poll()
    assert world.member.step is Step.REVOKING
    outcome = commit(world)
    world.answer(ApiKey.OFFSET_COMMIT)
    assert outcome.result == AT5


def test_commits_can_be_made_until_unsubscribing_is_acknowledged() -> None:
    world = stable(await_acknowledgement=True)
    world.member.leave(world.now, "unsubscribed")
    outcome = commit(world)
    assert world.request(ApiKey.OFFSET_COMMIT).body.generation_id_or_member_epoch == 1
    world.answer(ApiKey.OFFSET_COMMIT)
    assert outcome.result == AT5
    world.ack()
    world.answer(ApiKey.LEAVE_GROUP)
    by_hand = commit(world)
    assert world.request(ApiKey.OFFSET_COMMIT).body.generation_id_or_member_epoch == -1
    world.answer(ApiKey.OFFSET_COMMIT)
    assert by_hand.result == AT5


def test_pains8_the_error_names_the_poll_timer_the_gap_the_partitions_and_the_generation() -> None:
    world = stable()
    world.auto = True
    world.run(70_000)
    error = commit(world, deadline_ms=5_000).error
    assert isinstance(error, CommitFailedError)
    assert error.timer == "max_poll_interval_ms"
    assert error.elapsed_ms == 60_000
    assert error.partitions == {T10}
    assert error.generation == 1
    for word in ("t1-0", "generation 1", "60000 ms", "max_poll_interval_ms", "max_poll_records"):
        assert word in str(error)


def test_pains8_session_timer() -> None:
    world = stable()
    outcome = commit(world, deadline_ms=60_000)
    world.held |= set(ApiKey)
    world.run(4_000, poll_every=500)
    world.network.break_link(2147483646, DisconnectedError("gone"))
    world.network.brokers = False
    world.run(20_000, poll_every=500)
    world.network.brokers = True
    world.run(1_300, poll_every=500)
    world.find()
    world.run(121)
    world.answer(ApiKey.OFFSET_COMMIT, E.UNKNOWN_MEMBER_ID)
    error = outcome.error
    assert isinstance(error, CommitFailedError)
    assert error.timer == "session_timeout_ms"
    assert error.elapsed_ms >= 20_000
    assert "session_timeout_ms is 10000" in str(error)


def test_pains9_partitions_not_owned_are_dropped_and_reported() -> None:
    world = stable()
    offsets = {T10: OffsetAndMetadata(5), tp("t2-0"): OffsetAndMetadata(7)}
    outcome = commit(world, offsets)
    (topic,) = world.request(ApiKey.OFFSET_COMMIT).body.topics
    assert topic.name == "t1" or topic.topic_id
    world.answer(ApiKey.OFFSET_COMMIT)
    assert outcome.result == {T10: OffsetAndMetadata(5)}
    assert world.committed.keys() == {T10}


def test_pains9_nothing_left_is_an_error() -> None:
    world = stable()
    error = commit(world, {tp("t2-0"): OffsetAndMetadata(7)}).error
    assert isinstance(error, CommitFailedError)
    assert error.partitions == {tp("t2-0")}
    assert not world.count(ApiKey.OFFSET_COMMIT)


def test_pains9_lost_and_won_back_while_the_commit_waited() -> None:
    """The partition came back, but who had it in between may have read further."""
    world = stable()
    outcome = commit(world, deadline_ms=60_000)
    world.answer(ApiKey.OFFSET_COMMIT, E.NOT_COORDINATOR)
    world.find()
    # Before the retry is due the group rebalances and gives the same partitions back.
    world.member.request_rejoin("test", world.now)
    world.poll()
    world.poll()
    world.join("t1-0 t1-1")
    world.poll()
    assert world.member.stable
    world.run(200)
    assert isinstance(outcome.error, (CommitFailedError, RebalanceInProgressError))
    assert world.count(ApiKey.OFFSET_COMMIT) == 1


def test_commit_without_membership_refused_by_a_live_group() -> None:
    world = manual()
    outcome = commit(world)
    world.find()
    world.answer(ApiKey.OFFSET_COMMIT, E.UNKNOWN_MEMBER_ID)
    assert isinstance(outcome.error, CommitFailedError)
    assert "assign()" in str(outcome.error)
    assert world.member.state is MemberState.UNJOINED


# -- sync and async ----------------------------------------------------------------------------


def test_c5_retries_until_the_deadline_with_backoff() -> None:
    world = stable()
    world.auto = True
    world.auto_errors[ApiKey.OFFSET_COMMIT] = deque([E.COORDINATOR_LOAD_IN_PROGRESS] * 1_000)
    outcome = commit(world, deadline_ms=5_000)
    world.run(4_999)
    assert not outcome.calls
    world.run(1)
    assert isinstance(outcome.error, KafkaTimeoutError)
    assert "COORDINATOR_LOAD_IN_PROGRESS" in str(outcome.error)
    assert 6 <= world.count(ApiKey.OFFSET_COMMIT) <= 12


def test_c5_deadline_holds_when_the_broker_is_silent() -> None:
    world = stable()
    outcome = commit(world, deadline_ms=1_000)
    world.run(1_000)
    assert isinstance(outcome.error, KafkaTimeoutError)
    world.answer(ApiKey.OFFSET_COMMIT)  # too late for the caller, and harmless
    assert len(outcome.calls) == 1


def test_c5_no_offsets_wait_for_earlier_commits() -> None:
    world = stable()
    first = commit(world)
    empty = commit(world, {}, 5_000)
    assert not empty.calls
    assert world.member.deadline() > world.now
    world.answer(ApiKey.OFFSET_COMMIT)
    assert first.result
    assert empty.result == {}


def test_c29_async_before_sync() -> None:
    world = stable()
    order: list[str] = []
    for name, deadline in (("async", None), ("sync", world.now + 5_000)):
        world.member.commit(
            AT5, world.now, lambda *_, name=name: order.append(name), deadline_ms=deadline
        )
    world.auto = True
    world.settle()
    assert order == ["async", "sync"]


def test_c6_one_lookup_for_a_commit_with_one_try() -> None:
    world = manual()
    outcome = commit(world)
    sync = commit(world, deadline_ms=5_000)
    world.answer(ApiKey.FIND_COORDINATOR, E.COORDINATOR_NOT_AVAILABLE)
    assert isinstance(outcome.error, RetriableCommitFailedError)
    assert outcome.error.__cause__.errno == E.COORDINATOR_NOT_AVAILABLE
    assert not sync.calls
    world.run(121)
    world.find()
    world.answer(ApiKey.OFFSET_COMMIT)
    assert sync.result


def test_k3_fatal_lookup_ends_every_operation() -> None:
    world = manual()
    ends = [commit(world), commit(world, deadline_ms=5_000), fetch(world)]
    world.answer(ApiKey.FIND_COORDINATOR, E.GROUP_AUTHORIZATION_FAILED)
    assert all(isinstance(end.error, GroupAuthorizationFailedError) for end in ends)


def test_no_broker_at_all() -> None:
    world = manual()
    world.network.brokers = False
    once, until = commit(world), commit(world, deadline_ms=3_000)
    assert isinstance(once.error, RetriableCommitFailedError)
    world.run(3_000)
    assert isinstance(until.error, KafkaTimeoutError)
    assert world.member.deadline() == NEVER


# -- auto commit -------------------------------------------------------------------------------


def auto(interval: int = 1_000, **config: object) -> World:
    world = stable(enable_auto_commit=True, auto_commit_interval_ms=interval, **config)
    world.host.consumed = {T10: OffsetAndMetadata(100)}
    return world


def test_c22_one_at_a_time() -> None:
    world = auto()
    world.run(1_000)
    assert not world.open(ApiKey.OFFSET_COMMIT)  # not without a poll
    world.poll()
    assert world.open(ApiKey.OFFSET_COMMIT)
    world.run(500)
    world.poll()
    assert world.count(ApiKey.OFFSET_COMMIT) == 1
    world.answer(ApiKey.OFFSET_COMMIT)
    world.host.consumed = {T10: OffsetAndMetadata(200)}
    world.poll()
    assert world.count(ApiKey.OFFSET_COMMIT) == 1
    world.run(500)
    world.poll()
    assert world.count(ApiKey.OFFSET_COMMIT) == 2
    world.answer(ApiKey.OFFSET_COMMIT)
    assert world.new_events(OffsetsCommitted) == [
        OffsetsCommitted(None, {T10: OffsetAndMetadata(100)}),
        OffsetsCommitted(None, {T10: OffsetAndMetadata(200)}),
    ]


def test_b8_the_driver_wakes_for_it_once() -> None:
    world = auto()
    assert world.member._ctx.timers.at(Timer.AUTO_COMMIT) == world.now + 1_000
    world.run(1_000)
    assert world.member.deadline() == world.now + 2_000  # the heartbeat


def test_c23_passing_failure_is_tried_again_soon() -> None:
    world = auto()
    world.run(1_000)
    world.poll()
    world.answer(ApiKey.OFFSET_COMMIT, E.NOT_COORDINATOR)
    world.find()
    (event,) = world.new_events(OffsetsCommitted)
    assert isinstance(event.error, RetriableCommitFailedError)
    assert isinstance(event.error.__cause__, NotCoordinatorError)
    world.run(50)
    world.poll()
    assert world.count(ApiKey.OFFSET_COMMIT) == 1
    world.run(50)
    world.poll()
    assert world.count(ApiKey.OFFSET_COMMIT) == 2


def test_c2_other_failures_wait_for_the_interval() -> None:
    world = auto()
    world.run(1_000)
    world.poll()
    world.answer(ApiKey.OFFSET_COMMIT, E.OFFSET_METADATA_TOO_LARGE)
    world.run(999, poll_every=100)
    assert world.count(ApiKey.OFFSET_COMMIT) == 1
    assert world.member.stable


def test_c3_without_membership_too_and_nothing_consumed_sends_nothing() -> None:
    world = manual(enable_auto_commit=True, auto_commit_interval_ms=1_000)
    world.run(3_000, poll_every=100)
    assert not world.network.log
    world.host.consumed = {T10: OffsetAndMetadata(9)}
    world.auto = True
    world.run(1_100, poll_every=100)
    assert world.committed == {T10: OffsetAndMetadata(9)}


def test_6_1_join_prepare_commits_first() -> None:
    world = auto()
    world.member.request_rejoin("test", world.now)
    world.poll()
    assert world.host.suspended == set(tps("t1-0 t1-1"))
    assert world.member.step is Step.COMMITTING
    world.run(3_500, poll_every=500)
    assert not world.new_events(PartitionsRevoked)
    world.answer(ApiKey.HEARTBEAT)  # the membership goes on
    world.answer(ApiKey.OFFSET_COMMIT)
    assert not world.new_events(PartitionsRevoked)  # only in a poll
    world.poll()
    assert world.new_events(PartitionsRevoked)
    assert world.committed == {T10: OffsetAndMetadata(100)}


def test_6_1_join_prepare_retries_a_passing_failure() -> None:
    world = auto()
    world.member.request_rejoin("test", world.now)
    world.poll()
    world.answer(ApiKey.OFFSET_COMMIT, E.COORDINATOR_LOAD_IN_PROGRESS)
    assert world.member.deadline() == world.now + 100  # the driver wakes for it
    world.poll()
    assert world.count(ApiKey.OFFSET_COMMIT) == 1
    world.run(100)
    world.poll()
    assert world.count(ApiKey.OFFSET_COMMIT) == 2
    world.answer(ApiKey.OFFSET_COMMIT)
    world.poll()
    assert world.new_events(PartitionsRevoked)


@pytest.mark.parametrize("code", [E.UNKNOWN_SERVER_ERROR, E.OFFSET_METADATA_TOO_LARGE])
def test_6_1_join_prepare_goes_on_after_a_fatal_failure(code: E) -> None:
    world = auto()
    world.member.request_rejoin("test", world.now)
    world.poll()
    world.answer(ApiKey.OFFSET_COMMIT, code)
    world.poll()
    assert world.new_events(PartitionsRevoked)


def test_c24_join_prepare_gives_up_waiting() -> None:
    world = auto(request_timeout_ms=200_000)
    world.held |= {ApiKey.OFFSET_COMMIT}
    world.auto = True
    world.member.request_rejoin("test", world.now)
    world.poll()
    world.run(59_900, poll_every=100)
    assert world.member.step is Step.COMMITTING
    world.run(200, poll_every=100)
    assert world.new_events(PartitionsRevoked)
    world.held.clear()
    world.auto_errors[ApiKey.OFFSET_COMMIT] = deque([E.COORDINATOR_LOAD_IN_PROGRESS])
    world.run(1_000, poll_every=100)
    assert world.member.stable


def test_membership_lost_during_join_prepare_means_lost() -> None:
    world = auto()
    world.member.request_rejoin("test", world.now)
    world.poll()
    world.run(3_000)
    world.answer(ApiKey.HEARTBEAT, E.UNKNOWN_MEMBER_ID)
    world.answer(ApiKey.OFFSET_COMMIT, E.UNKNOWN_MEMBER_ID)
    world.poll()
    assert not world.new_events(PartitionsRevoked)
    world.seen = 0
    assert world.new_events(PartitionsLost)


# -- committed offsets -------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(1, 11))
def test_c8_fetch_in_every_version(version: int) -> None:
    world = manual()
    world.network.versions[ApiKey.OFFSET_FETCH] = version
    world.cluster.ids = {"t1": b"1" * 16}
    world.committed = {T10: OffsetAndMetadata(5, "note", 3)}
    outcome = fetch(world)
    world.find()
    body = world.request(ApiKey.OFFSET_FETCH).body
    assert body.require_stable is (version >= 7)
    world.answer(ApiKey.OFFSET_FETCH)
    epoch = 3 if version >= 5 else -1
    assert outcome.result == {T10: OffsetAndMetadata(5, "note", epoch), T11: None}


def test_c8_nothing_asked() -> None:
    world = manual()
    outcome = fetch(world, "")
    world.find()
    assert outcome.result == {}


def test_c30_unstable_is_retried_until_stable() -> None:
    world = manual()
    outcome = fetch(world)
    world.find()
    for _ in range(3):
        world.answer(ApiKey.OFFSET_FETCH, codes={T11: E.UNSTABLE_OFFSET_COMMIT})
        assert not world.open(ApiKey.OFFSET_FETCH)
        assert not outcome.calls
        world.run(1_000)
    world.answer(ApiKey.OFFSET_FETCH)
    assert outcome.result == {T10: None, T11: None}


def test_c30_unstable_until_the_deadline() -> None:
    world = manual()
    outcome = fetch(world, deadline_ms=500)
    world.find()
    world.answer(ApiKey.OFFSET_FETCH, codes={T10: E.UNSTABLE_OFFSET_COMMIT})
    world.run(500)
    assert isinstance(outcome.error, KafkaTimeoutError)
    assert isinstance(outcome.error.__cause__, UnstableOffsetCommitError)


@pytest.mark.parametrize(
    ("codes", "expected"),
    [
        ({T10: E.UNKNOWN_TOPIC_OR_PARTITION}, UnknownTopicOrPartitionError),
        ({T10: E.TOPIC_AUTHORIZATION_FAILED}, TopicAuthorizationFailedError),
    ],
)
def test_c30_fatal_partition_errors(codes: dict, expected: type[KafkaError]) -> None:
    world = manual()
    outcome = fetch(world)
    world.find()
    world.answer(ApiKey.OFFSET_FETCH, codes=codes)
    assert isinstance(outcome.error, expected)


@pytest.mark.parametrize("version", [1, 5, 8])  # v1 says it per partition only
@pytest.mark.parametrize("code", [E.NOT_COORDINATOR, E.COORDINATOR_NOT_AVAILABLE])
def test_c8_moved(code: E, version: int) -> None:
    world = manual()
    world.network.versions[ApiKey.OFFSET_FETCH] = version
    outcome = fetch(world)
    world.find()
    if version == 1:
        world.answer(ApiKey.OFFSET_FETCH, codes={T10: code, T11: code})
    else:
        world.answer(ApiKey.OFFSET_FETCH, code)
    assert world.new_events(CoordinatorLost)
    world.run(121)
    world.find()
    world.run(121)
    world.answer(ApiKey.OFFSET_FETCH)
    assert outcome.result


def test_c8_group_authorization() -> None:
    world = manual()
    outcome = fetch(world)
    world.find()
    world.answer(ApiKey.OFFSET_FETCH, E.GROUP_AUTHORIZATION_FAILED)
    assert isinstance(outcome.error, GroupAuthorizationFailedError)


def test_c8_a_partition_left_out_does_not_pass_for_uncommitted() -> None:
    """That would reset its position."""
    world = manual()
    outcome = fetch(world)
    world.find()
    world.answer(ApiKey.OFFSET_FETCH, omit=[T11])
    assert not outcome.calls
    assert world.new_events(CoordinatorLost)


# -- close -------------------------------------------------------------------------------------


def test_c32_commit_then_revoked_then_leave() -> None:
    world = auto()
    world.member.close(world.now, world.now + 5_000, autocommit=True)
    world.settle()
    assert world.open(ApiKey.OFFSET_COMMIT)
    assert not world.new_events(PartitionsRevoked)
    world.answer(ApiKey.OFFSET_COMMIT)
    assert [type(event) for event in world.new_events()] == [
        OffsetsCommitted,
        PartitionsRevoked,
        GroupLeft,
    ]
    assert not world.member.closed
    world.answer(ApiKey.LEAVE_GROUP)
    assert world.member.closed
    assert world.host.owned == []
    assert world.committed == {T10: OffsetAndMetadata(100)}


def test_c32_revoked_is_acknowledged_before_the_leave() -> None:
    world = stable(await_acknowledgement=True)
    world.member.close(world.now, world.now + 5_000, autocommit=True)
    world.settle()
    assert world.new_events(PartitionsRevoked)
    assert not world.open(ApiKey.LEAVE_GROUP)
    outcome = commit(world)  # what the listener may do
    world.answer(ApiKey.OFFSET_COMMIT)
    assert outcome.result
    world.ack()
    world.answer(ApiKey.LEAVE_GROUP)
    assert world.member.closed


@pytest.mark.parametrize("await_acknowledgement", [False, True])
def test_c32_silence_is_bounded(await_acknowledgement: bool) -> None:
    world = auto(await_acknowledgement=await_acknowledgement)
    world.member.close(world.now, world.now + 2_000, autocommit=True)
    world.run(1_999)
    assert not world.member.closed
    world.run(1)
    assert world.member.closed
    assert world.count(ApiKey.LEAVE_GROUP) == 1
    assert world.new_events(PartitionsRevoked)


def test_x4_timeout_zero_tries_once() -> None:
    world = auto()
    world.member.close(world.now, world.now, autocommit=True)
    world.settle()
    assert world.member.closed
    assert world.count(ApiKey.OFFSET_COMMIT) == 1
    assert world.count(ApiKey.LEAVE_GROUP) == 1


def test_close_without_autocommit_and_without_leave() -> None:
    world = auto(leave_on_close=False)
    world.member.close(world.now, world.now + 5_000, autocommit=False)
    world.settle()
    assert world.member.closed
    assert world.count(ApiKey.OFFSET_COMMIT) == world.count(ApiKey.LEAVE_GROUP) == 0


def test_close_waits_for_commits_under_way_and_ends_the_rest() -> None:
    world = stable()
    pending = commit(world)
    asking = fetch(world)
    world.member.close(world.now, world.now + 5_000, autocommit=True)
    world.settle()
    assert isinstance(asking.error, Cancelled)
    assert not world.open(ApiKey.LEAVE_GROUP)
    world.answer(ApiKey.OFFSET_COMMIT)
    assert pending.result
    world.answer(ApiKey.LEAVE_GROUP)
    assert world.member.closed
    with pytest.raises(ConsumerStoppedError):
        commit(world)


def test_close_in_an_outage() -> None:
    world = auto()
    world.network.brokers = False
    world.network.break_link(2147483646, DisconnectedError("gone"))
    world.settle()
    late = commit(world, deadline_ms=60_000)
    world.member.close(world.now, world.now + 2_000, autocommit=True)
    world.run(2_000)
    assert world.member.closed
    assert isinstance(late.error, (ConsumerStoppedError, KafkaTimeoutError))
    assert world.member.deadline() == NEVER


def test_close_twice_can_only_hurry() -> None:
    world = stable()
    world.member.close(world.now, world.now + 5_000, autocommit=True)
    world.member.close(world.now, world.now + 60_000, autocommit=True)
    world.settle()
    world.member.close(world.now, world.now + 100, autocommit=True)
    world.run(100)
    assert world.member.closed
    world.member.close(world.now, world.now, autocommit=True)


def test_close_of_a_member_that_never_was() -> None:
    world = World()
    world.member.close(world.now, world.now + 5_000, autocommit=True)
    world.settle()
    assert world.member.closed
    assert not world.network.log


def test_close_while_joining_leaves_at_once() -> None:
    world = stable()
    world.member.request_rejoin("test", world.now)
    world.poll()
    world.poll()
    assert world.member.state is MemberState.PREPARING
    world.member.close(world.now, world.now + 5_000, autocommit=True)
    world.settle()
    world.answer(ApiKey.LEAVE_GROUP)
    assert world.member.closed
