"""Closing: rule X4, scenario C32."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from group_asks import T10, auto, commit, fetch, stable
from group_world import KEY, MEMBER, World, start

from kcore.errors import (
    Cancelled,
    ConsumerStoppedError,
    DisconnectedError,
    KafkaTimeoutError,
)
from kcore.events import (
    GroupLeft,
    OffsetsCommitted,
    PartitionsRevoked,
)
from kcore.group.states import MemberState
from kcore.structs import OffsetAndMetadata
from kcore.timers import NEVER
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode


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


def test_who_never_acknowledges_leaves_at_the_deadline() -> None:
    world = stable(await_acknowledgement=True)
    world.member.close(world.now, world.now + 2_000, autocommit=True)
    world.run(1_999)
    assert world.count(ApiKey.LEAVE_GROUP) == 0
    assert world.host.owned
    world.run(1)
    assert world.count(ApiKey.LEAVE_GROUP) == 1
    assert world.member.closed


def test_what_is_asked_for_while_it_closes_ends_with_it() -> None:
    world = auto(await_acknowledgement=True)
    world.member.close(world.now, world.now + 2_000, autocommit=True)
    outcome = fetch(world)
    world.run(2_000)
    assert world.member.closed
    assert isinstance(outcome.error, ConsumerStoppedError)


def test_x4_timeout_zero_tries_once() -> None:
    world = auto()
    world.member.close(world.now, world.now, autocommit=True)
    world.settle()
    assert world.member.closed
    assert world.count(ApiKey.OFFSET_COMMIT) == 1
    assert world.count(ApiKey.LEAVE_GROUP) == 1


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
    world.network.break_link(KEY, DisconnectedError("gone"))
    world.settle()
    late = commit(world, deadline_ms=60_000)
    world.member.close(world.now, world.now + 2_000, autocommit=True)
    world.run(2_000)
    assert world.member.closed
    assert isinstance(late.error, (ConsumerStoppedError, KafkaTimeoutError))
    assert world.member.deadline() == NEVER


def committed(**config: Any) -> World:
    """A member whose auto commit is taken."""
    world = auto(**config)
    world.run(1_000, poll_every=100)
    world.answer(ApiKey.OFFSET_COMMIT)
    assert world.committed == world.host.consumed
    world.new_events()
    return world


def lose_brokers(world: World) -> None:
    world.network.brokers = False
    world.network.break_link(KEY, DisconnectedError("gone"))
    world.settle()


def test_close_waits_for_no_coordinator_to_tell_it_what_it_has_taken() -> None:
    world = committed()
    lose_brokers(world)
    close(world, 30_000)
    world.run(1_000)
    assert world.member.closed
    assert not world.new_events(OffsetsCommitted)  # it was told of the last one
    assert world.committed == world.host.consumed


def test_close_hears_that_the_coordinator_is_gone_that_was_to_take_the_same() -> None:
    world = committed()
    close(world, 30_000)
    assert world.open(ApiKey.OFFSET_COMMIT)
    lose_brokers(world)
    world.run(1_000)
    assert world.member.closed


def test_close_asks_a_coordinator_that_is_there_to_take_the_same_again() -> None:
    world = committed()
    close(world, 30_000)
    assert not world.new_events()
    assert not world.open(ApiKey.LEAVE_GROUP)
    world.answer(ApiKey.OFFSET_COMMIT)
    world.answer(ApiKey.LEAVE_GROUP)
    assert world.member.closed


def read_on(world: World) -> None:
    world.host.consumed = {T10: OffsetAndMetadata(101)}


def refused(world: World) -> None:
    read_on(world)
    world.run(1_000, poll_every=100)
    world.answer(ApiKey.OFFSET_COMMIT, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)


def left_out(world: World) -> None:
    """Nobody knows the partition any more, and is asked for it no longer."""
    for _ in range(3):
        world.run(1_000, poll_every=100)
        world.answer(ApiKey.OFFSET_COMMIT, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    (told,) = world.new_events(OffsetsCommitted)[-1:]
    assert isinstance(told, OffsetsCommitted)
    assert told.dropped == (T10,)


def gone_back(world: World) -> None:
    commit(world, {T10: OffsetAndMetadata(5)})


def acquired_anew(world: World) -> None:
    world.run(3_000)
    world.answer(ApiKey.HEARTBEAT, ErrorCode.REBALANCE_IN_PROGRESS)
    while not world.open(ApiKey.JOIN_GROUP):
        world.poll()
        if world.open(ApiKey.OFFSET_COMMIT):
            world.answer(ApiKey.OFFSET_COMMIT)
    world.join("t1-0")
    world.poll()
    assert world.member.stable


def made_anew(world: World) -> None:
    world.cluster.ids["t1"] = bytes(15) + b"9"


def somebody_waits(world: World) -> None:
    commit(world, {T10: OffsetAndMetadata(100)}, deadline_ms=60_000)


@pytest.mark.parametrize(
    "meanwhile",
    [read_on, refused, left_out, gone_back, acquired_anew, made_anew, somebody_waits],
    ids=lambda it: it.__name__,
)
def test_close_waits_for_a_coordinator_that_may_not_have_it(
    meanwhile: Callable[[World], None],
) -> None:
    world = committed()
    meanwhile(world)
    lose_brokers(world)
    close(world, 30_000)
    world.run(29_999)
    assert not world.member.closed
    world.run(1)
    assert world.member.closed


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


# Who goes before its member id is known -----------------------------------------------------------


def joining_unnamed(**config: object) -> World:
    world = start(**config)
    assert world.request(ApiKey.JOIN_GROUP).body.member_id == ""
    return world


def close(world: World, ms: int = 5_000) -> None:
    world.member.close(world.now, world.now + ms, autocommit=True)
    world.settle()


def left(world: World) -> list[str]:
    """Whom the open LeaveGroup names."""
    return [entry.member_id for entry in world.request(ApiKey.LEAVE_GROUP).body.members]


def test_close_waits_for_the_member_id_and_gives_it_back() -> None:
    world = joining_unnamed()
    close(world)
    assert not world.member.closed
    assert not world.network.drops
    world.answer(ApiKey.JOIN_GROUP, ErrorCode.MEMBER_ID_REQUIRED, member_id="m7")
    assert left(world) == ["m7"]
    assert world.count(ApiKey.JOIN_GROUP) == 1
    assert not world.member.closed
    world.answer(ApiKey.LEAVE_GROUP)
    assert world.member.closed


def test_the_place_of_a_static_member_is_kept_that_goes_before_its_member_id_is_known() -> None:
    world = joining_unnamed(group_instance_id="i")
    world.member.leave(world.now, "unsubscribed")
    world.settle()
    world.answer(ApiKey.JOIN_GROUP, member_id="m7")
    assert world.count(ApiKey.LEAVE_GROUP) == 0


def test_close_on_an_old_broker_waits_for_the_round_that_names_it() -> None:
    world = World()
    world.network.versions = {ApiKey.JOIN_GROUP: 3, ApiKey.LEAVE_GROUP: 2}
    world.subscribe("t1")
    world.find()
    world.poll()
    close(world)
    world.answer(ApiKey.JOIN_GROUP, member_id="m7")
    assert world.request(ApiKey.LEAVE_GROUP).body.member_id == "m7"
    assert not world.open(ApiKey.SYNC_GROUP)
    world.answer(ApiKey.LEAVE_GROUP)
    assert world.member.closed


def test_close_does_not_wait_for_a_member_id_behind_its_deadline() -> None:
    world = joining_unnamed()
    close(world, 2_000)
    world.run(1_999)
    assert not world.member.closed
    world.run(1)
    assert world.member.closed
    assert world.count(ApiKey.LEAVE_GROUP) == 0


@pytest.mark.parametrize(
    "error", [ErrorCode.GROUP_MAX_SIZE_REACHED, DisconnectedError("gone")], ids=str
)
def test_close_does_not_wait_for_a_member_id_that_does_not_come(
    error: ErrorCode | DisconnectedError,
) -> None:
    world = joining_unnamed()
    close(world)
    world.answer(ApiKey.JOIN_GROUP, error)
    assert world.member.closed
    assert world.count(ApiKey.LEAVE_GROUP) == 0


def test_unsubscribed_before_the_member_id_came_it_is_given_back() -> None:
    world = joining_unnamed()
    world.member.leave(world.now, "unsubscribed")
    world.settle()
    world.subscribe("t1")
    world.poll()
    # The next one goes behind what gives it back: a broker may park it.
    world.answer(ApiKey.JOIN_GROUP, ErrorCode.MEMBER_ID_REQUIRED, member_id="m7")
    assert left(world) == ["m7"]
    world.answer(ApiKey.JOIN_GROUP, ErrorCode.MEMBER_ID_REQUIRED, member_id="m8")
    assert [request.api for request in world.network.log[-3:]] == [
        ApiKey.LEAVE_GROUP,
        ApiKey.JOIN_GROUP,
        ApiKey.JOIN_GROUP,
    ]
    world.answer(ApiKey.LEAVE_GROUP)
    world.join("t1-0")
    world.poll()
    assert world.member.stable


def test_close_behind_unsubscribe_waits_for_what_that_has_to_say() -> None:
    world = stable()
    world.member.leave(world.now, "unsubscribed")
    world.settle()
    assert left(world) == [MEMBER]
    close(world)
    assert not world.member.closed
    world.answer(ApiKey.LEAVE_GROUP)
    assert world.member.closed
    assert world.count(ApiKey.LEAVE_GROUP) == 1


def test_close_of_who_is_to_come_back_under_its_id_gives_that_back() -> None:
    world = stable()
    world.run(3_000)
    world.answer(ApiKey.HEARTBEAT, ErrorCode.ILLEGAL_GENERATION)
    assert world.member.state is MemberState.UNJOINED
    close(world)
    assert left(world) == [MEMBER]


def test_a_join_that_was_struck_while_it_was_written_holds_nothing_up() -> None:
    world = World()
    world.subscribe("t1")
    world.find()
    send = world.network.send

    def struck(
        node: int, api: ApiKey, build: Callable[[int], Any], *rest: Any, **more: Any
    ) -> None:
        build(9)
        raise KeyboardInterrupt

    world.network.send = struck  # type: ignore[method-assign, assignment]
    with pytest.raises(KeyboardInterrupt):
        world.poll()
    world.network.send = send  # type: ignore[method-assign]
    world.member.recover(world.now)
    world.run(1_000)
    world.join("t1-0")
    world.poll()
    assert world.member.stable


# Who goes while its coordinator is looked for -----------------------------------------------------


def looking() -> World:
    """A member whose coordinator has moved; the look-up is on its way."""
    world = stable()
    world.run(3_000)
    world.answer(ApiKey.HEARTBEAT, ErrorCode.NOT_COORDINATOR)
    assert world.member.state is MemberState.STABLE
    assert world.open(ApiKey.FIND_COORDINATOR)
    return world


def test_close_tells_the_coordinator_that_is_being_looked_for() -> None:
    world = looking()
    close(world)
    assert not world.member.closed
    world.find()
    assert left(world) == [MEMBER]
    world.answer(ApiKey.LEAVE_GROUP)
    assert world.member.closed


def test_close_looks_for_its_coordinator_once() -> None:
    world = looking()
    close(world)
    world.answer(ApiKey.FIND_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    assert world.member.closed
    assert world.count(ApiKey.LEAVE_GROUP) == 0


def test_close_waits_for_no_coordinator_behind_its_deadline() -> None:
    world = looking()
    close(world, 2_000)
    world.run(1_999)
    assert not world.member.closed
    world.run(1)
    assert world.member.closed


def test_close_of_who_has_lost_its_link_makes_another() -> None:
    world = stable()
    world.network.break_link(KEY, DisconnectedError("gone"))
    world.network.backoff_until[KEY] = world.now + 200
    close(world)
    world.find()  # the same one, and it is not to be tried yet
    assert not world.member.closed
    world.run(300)
    world.find()
    assert left(world) == [MEMBER]
    world.answer(ApiKey.LEAVE_GROUP)
    assert world.member.closed


def test_unsubscribed_while_its_coordinator_is_looked_for_it_leaves_before_it_comes_again() -> None:
    world = looking()
    world.member.leave(world.now, "unsubscribed")
    world.settle()
    world.subscribe("t1")
    world.poll()
    world.find()
    assert left(world) == [MEMBER]
    world.answer(ApiKey.LEAVE_GROUP)
    world.poll()
    world.join("t1-0")
    world.poll()
    assert world.member.stable


def test_a_close_whose_time_ended_while_the_program_was_away_has_a_moment_left() -> None:
    """Else the last commit is given up with its answer on the way, and records come again."""
    world = auto()
    world.member.close(world.now, world.now + 5_000, autocommit=True)
    world.settle()
    world.now += 7_000  # the session is not over
    world.network.late = True
    world.settle()
    world.network.late = False
    assert not world.new_events(OffsetsCommitted, PartitionsRevoked)
    world.answer(ApiKey.OFFSET_COMMIT)
    world.answer(ApiKey.LEAVE_GROUP)
    assert world.member.closed
    (committed, *_) = world.new_events(OffsetsCommitted)
    assert committed.error is None


def test_a_close_has_it_once() -> None:
    world = auto()
    world.member.close(world.now, world.now + 5_000, autocommit=True)
    world.settle()
    world.network.late = True
    for _ in range(2):
        assert not world.member.closed
        world.now += 40_000
        world.settle()
    assert world.member.closed
    (committed, *_) = world.new_events(OffsetsCommitted)
    assert isinstance(committed.error, KafkaTimeoutError)
