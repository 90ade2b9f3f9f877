"""Auto commit: rules C2, C3, B8 and 6.1, scenarios C22-C24."""

from __future__ import annotations

from collections import deque

import pytest
from group_asks import T10, T11, auto, manual
from group_world import CooperativeRange, tps

from kcore.errors import (
    NotCoordinatorError,
    RetriableCommitFailedError,
)
from kcore.events import (
    OffsetsCommitted,
    PartitionsLost,
    PartitionsRevoked,
)
from kcore.group.context import Timer
from kcore.group.states import Step
from kcore.structs import OffsetAndMetadata
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode as E


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


@pytest.mark.parametrize("interval", [0, 100, 999])
def test_a_short_interval_is_that_of_what_is_new(interval: int) -> None:
    """Else who has nothing to read would do nothing but commit that, with an interval of 0."""
    world = auto(interval)
    world.auto = True
    world.run(5_000, poll_every=10)
    assert 4 <= world.count(ApiKey.OFFSET_COMMIT) <= 6
    assert world.member.deadline() <= world.now + 1_000  # who is asleep is woken for it
    before = world.count(ApiKey.OFFSET_COMMIT)
    for offset in (101, 102):
        world.host.consumed = {T10: OffsetAndMetadata(offset)}
        world.run(interval, poll_every=10)
        world.poll()
        assert world.committed == {T10: OffsetAndMetadata(offset)}
    assert world.count(ApiKey.OFFSET_COMMIT) == before + 2


def test_what_failed_for_a_passing_reason_is_new() -> None:
    world = auto(0)
    world.poll()
    world.answer(ApiKey.OFFSET_COMMIT, E.NOT_COORDINATOR)
    world.find()
    world.run(100)
    world.poll()
    assert world.count(ApiKey.OFFSET_COMMIT) == 2


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


def test_cooperative_what_was_read_in_a_round_is_committed_before_it_is_given_up() -> None:
    """The commit of join-prepare was before that round, in which records were handed over."""
    world = auto(assignors=(CooperativeRange(),))
    world.member.request_rejoin("test", world.now)
    world.poll()
    world.answer(ApiKey.OFFSET_COMMIT)
    world.poll()
    world.host.consumed = {T10: OffsetAndMetadata(150), T11: OffsetAndMetadata(70)}
    world.join("t1-0")
    world.poll()
    (revoked,) = world.new_events(PartitionsRevoked)
    assert revoked.partitions == (T11,)
    world.answer(ApiKey.OFFSET_COMMIT)
    assert world.committed == {T10: OffsetAndMetadata(150), T11: OffsetAndMetadata(70)}
    world.poll()
    assert world.host.owned == [T10]


def test_cooperative_what_was_read_before_a_topic_is_given_up_is_committed() -> None:
    """What goes with a topic is told when the commit of join-prepare is answered: until then its
    records are handed over.
    """
    world = auto(assignors=(CooperativeRange(),))
    world.member.request_rejoin("test", world.now)
    world.poll()
    world.host.consumed = {T10: OffsetAndMetadata(150)}
    world.subscribe("t2")
    world.answer(ApiKey.OFFSET_COMMIT)
    world.poll()
    (revoked,) = world.new_events(PartitionsRevoked)
    assert revoked.partitions == (T10, T11)
    assert not world.open(ApiKey.JOIN_GROUP)
    world.answer(ApiKey.OFFSET_COMMIT)
    assert world.committed == {T10: OffsetAndMetadata(150)}
    world.poll()
    assert world.host.owned == []
    assert world.open(ApiKey.JOIN_GROUP)


def test_cooperative_lost_while_the_commit_before_a_round_is_under_way() -> None:
    world = auto(assignors=(CooperativeRange(),))
    world.member.request_rejoin("test", world.now)
    world.poll()
    assert world.member.step is Step.COMMITTING
    assert world.host.suspended == set()
    world.run(3_000)
    world.answer(ApiKey.HEARTBEAT, E.UNKNOWN_MEMBER_ID)
    world.poll()
    assert world.host.suspended == set(tps("t1-0 t1-1"))


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


# Topics that are gone -----------------------------------------------------------------------------

GONE = pytest.mark.parametrize("code", [E.UNKNOWN_TOPIC_OR_PARTITION, E.UNKNOWN_TOPIC_ID])
BOTH = {T10: OffsetAndMetadata(100), T11: OffsetAndMetadata(7)}


def closing():
    """A member that commits both as it is closed."""
    world = auto()
    world.host.consumed = dict(BOTH)
    world.member.close(world.now, world.now + 60_000, autocommit=True)
    world.settle()
    return world


def refuse_t11(world, code, times: int, after_ms: int = 150) -> None:
    for _ in range(times):
        world.answer(ApiKey.OFFSET_COMMIT, codes={T11: code})
        world.run(after_ms)  # the backoff
        world.poll()


@GONE
def test_a_rebalance_does_not_wait_for_a_topic_that_was_deleted(code) -> None:
    world = auto()
    world.host.consumed = dict(BOTH)
    world.member.request_rejoin("test", world.now)
    world.poll()
    refuse_t11(world, code, 2)
    failed = world.new_events(OffsetsCommitted, PartitionsRevoked)
    assert [type(event) for event in failed] == [OffsetsCommitted] * 2
    assert all(isinstance(event.error, RetriableCommitFailedError) for event in failed)
    refuse_t11(world, code, 1)
    last, revoked = world.new_events(OffsetsCommitted, PartitionsRevoked)
    assert last == OffsetsCommitted(None, {T10: BOTH[T10]}, None, (T11,))
    assert isinstance(revoked, PartitionsRevoked)


@GONE
def test_close_does_not_wait_for_a_topic_that_was_deleted(code) -> None:
    world = closing()
    refuse_t11(world, code, 3, after_ms=500)
    (event,) = world.new_events(OffsetsCommitted)
    assert event == OffsetsCommitted(None, {T10: BOTH[T10]}, None, (T11,))
    world.answer(ApiKey.LEAVE_GROUP)
    assert world.member.closed


@GONE
def test_a_coordinator_that_did_not_know_it_for_a_moment_is_asked_again(code) -> None:
    world = closing()
    refuse_t11(world, code, 2, after_ms=500)
    world.answer(ApiKey.OFFSET_COMMIT)
    (event,) = world.new_events(OffsetsCommitted)
    assert event == OffsetsCommitted(None, BOTH)


def test_what_else_is_refused_with_it_is_tried_again() -> None:
    world = closing()
    for _ in range(5):
        codes = {T10: E.COORDINATOR_LOAD_IN_PROGRESS, T11: E.UNKNOWN_TOPIC_OR_PARTITION}
        world.answer(ApiKey.OFFSET_COMMIT, codes=codes)
        world.run(1_200)
    assert not world.new_events(OffsetsCommitted)
    refuse_t11(world, E.UNKNOWN_TOPIC_OR_PARTITION, 1)
    (event,) = world.new_events(OffsetsCommitted)
    assert (event.error, event.dropped) == (None, (T11,))
