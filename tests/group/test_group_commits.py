"""Commits: rules C1, C4-C7, scenarios C25 and C29, PAINS 8 and 9."""

from __future__ import annotations

from collections import deque

import pytest
from group_asks import AT5, T10, T11, commit, fetch, manual, stable
from group_world import KEY, MEMBER, CooperativeRange, World, tp

from kcore.assignors import RangeAssignor
from kcore.errors import (
    CommitFailedError,
    DisconnectedError,
    GroupAuthorizationFailedError,
    IllegalArgumentError,
    KafkaTimeoutError,
    RebalanceInProgressError,
    RetriableCommitFailedError,
    TopicAuthorizationFailedError,
)
from kcore.events import CoordinatorLost, PartitionsRevoked
from kcore.group.states import MemberState, Step
from kcore.structs import OffsetAndMetadata
from kcore.timers import NEVER
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode as E

# -- the request ---------------------------------------------------------------------------------


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


# -- when it cannot be sent ----------------------------------------------------------------------


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


@pytest.mark.parametrize("assignor", [RangeAssignor, CooperativeRange])
def test_who_unsubscribes_while_revoked_is_handled_leaves_when_it_is(assignor: type) -> None:
    """A listener is at work, and about to commit: what it was told of is not taken from it."""
    world = stable(await_acknowledgement=True, assignors=(assignor(),))
    owned = list(world.host.owned)
    world.member.request_rejoin("test", world.now)
    world.poll()
    if assignor is CooperativeRange:
        world.join("t1-1")
        world.poll()
    (told,) = world.new_events(PartitionsRevoked)
    assert tp("t1-0") in told.partitions
    assert world.member.leave(world.now, "unsubscribed")
    assert (world.host.owned, world.host.suspended) == (owned, set(owned))
    outcome = commit(world)
    world.answer(ApiKey.OFFSET_COMMIT)
    assert outcome.result == AT5
    left = tuple(at for at in owned if at not in told.partitions)
    assert [one.partitions for one in world.new_events(PartitionsRevoked)] == [left] * bool(left)
    assert not world.open(ApiKey.LEAVE_GROUP)
    world.ack()
    assert world.host.owned == []
    world.answer(ApiKey.LEAVE_GROUP)
    assert world.member.state is MemberState.UNJOINED


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
    world.network.break_link(KEY, DisconnectedError("gone"))
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


# -- sync and async ------------------------------------------------------------------------------


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


@pytest.mark.parametrize("later_ms", [None, 5_000], ids=["one-try", "retried"])
def test_a_commit_that_is_tried_again_takes_nothing_back_of_a_later_one(later_ms) -> None:
    world = stable()
    first = commit(world, {T10: OffsetAndMetadata(5), T11: OffsetAndMetadata(7)}, 5_000)
    world.answer(ApiKey.OFFSET_COMMIT, E.COORDINATOR_LOAD_IN_PROGRESS)
    later = commit(world, {T10: OffsetAndMetadata(6)}, later_ms)
    world.answer(ApiKey.OFFSET_COMMIT)
    assert later.result == {T10: OffsetAndMetadata(6)}
    world.run(200)
    world.answer(ApiKey.OFFSET_COMMIT)
    assert first.result == {T10: OffsetAndMetadata(6), T11: OffsetAndMetadata(7)}
    assert world.committed == first.result


def test_an_offset_taken_back_on_purpose_stays_so_while_another_commit_is_tried_again() -> None:
    world = stable()
    first = commit(world, {T10: OffsetAndMetadata(5)}, 5_000)
    world.answer(ApiKey.OFFSET_COMMIT, E.COORDINATOR_LOAD_IN_PROGRESS)
    back = commit(world, {T10: OffsetAndMetadata(2)})
    world.answer(ApiKey.OFFSET_COMMIT)
    assert back.result == {T10: OffsetAndMetadata(2)}
    world.run(200)
    world.answer(ApiKey.OFFSET_COMMIT)
    assert first.result == world.committed == {T10: OffsetAndMetadata(2)}


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
