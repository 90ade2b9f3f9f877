"""Leaving, commits and look-ups of the consumer protocol: rule N6 of CLIENT_CONSUMER.md section 13,
and C20, C21 of BROKER_GROUPS.md from this side.
"""

from __future__ import annotations

import pytest
from consumer_world import BEAT, ConsumerWorld, stable
from group_world import KEY, tp, tps

from kcore.errors import (
    CommitFailedError,
    DisconnectedError,
    KafkaError,
    RetriableCommitFailedError,
)
from kcore.events import (
    GroupLeft,
    PartitionsAssigned,
    PartitionsLost,
    PartitionsRevoked,
    RebalanceStarted,
)
from kcore.group.consumer_states import ConsumerState as S
from kcore.structs import OffsetAndMetadata
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode as E

# -- N6: leaving -----------------------------------------------------------------------------------


def test_n6_close_behind_unsubscribe_waits_for_what_that_has_to_say() -> None:
    world = stable()
    world.member.leave(world.now, "unsubscribed")
    world.settle()
    assert world.request(BEAT).body.member_epoch == -1
    world.member.close(world.now, world.now + 5_000, autocommit=False)
    world.settle()
    assert not world.member.closed
    world.answer(BEAT)
    assert world.member.closed


@pytest.mark.parametrize("found", [True, False])
def test_n6_close_while_the_coordinator_is_looked_for(found: bool) -> None:
    world = stable()
    world.next_beat()
    world.refuse(E.NOT_COORDINATOR)
    world.member.close(world.now, world.now + 5_000, autocommit=False)
    world.settle()
    assert not world.member.closed
    error = E.NONE if found else E.COORDINATOR_NOT_AVAILABLE
    world.answer(ApiKey.FIND_COORDINATOR, error)
    if found:
        assert world.request(BEAT).body.member_epoch == -1
        world.answer(BEAT)
    assert world.member.closed


def test_who_unsubscribes_before_the_first_poll_joins_nothing() -> None:
    world = ConsumerWorld()
    world.subscribe("t1")
    world.find()
    world.member.leave(world.now, "unsubscribed")
    world.settle()
    world.poll()
    assert world.member.state is S.UNSUBSCRIBED
    assert not world.open(BEAT)


@pytest.mark.parametrize(("instance_id", "epoch"), [(None, -1), ("i", -2)])
def test_n6_unsubscribe(instance_id: str | None, epoch: int) -> None:
    world = stable(group_instance_id=instance_id, await_acknowledgement=True)
    member_id = world.member.metadata().member_id
    world.member.leave(world.now, "unsubscribed")
    world.settle()
    assert world.member.state is S.PREPARE_LEAVING
    assert world.new_events(PartitionsRevoked) == [PartitionsRevoked(tuple(tps("t1-0 t1-1")))]
    committed = []
    world.member.commit(
        {tp("t1-0"): OffsetAndMetadata(3)},
        world.now,
        lambda *it: committed.append(it),
        deadline_ms=None,
    )
    world.settle()
    assert world.request(ApiKey.OFFSET_COMMIT).body.generation_id_or_member_epoch == 1
    world.answer(ApiKey.OFFSET_COMMIT)
    assert committed == [({tp("t1-0"): OffsetAndMetadata(3)}, None)]
    world.ack()
    request = world.request(BEAT)
    body = request.body
    assert (body.member_id, body.member_epoch, body.instance_id) == (member_id, epoch, instance_id)
    assert world.said(request) == {}
    assert world.member.state is S.LEAVING
    assert world.new_events(GroupLeft) == [GroupLeft("unsubscribed")]
    world.beat()
    assert world.member.state is S.UNSUBSCRIBED
    world.run(100_000)
    assert world.count(BEAT) == 3


@pytest.mark.parametrize("failure", [DisconnectedError("gone"), E.UNKNOWN_MEMBER_ID])
def test_n6_the_leave_is_sent_once(failure: int | KafkaError) -> None:
    world = stable()
    world.member.leave(world.now, "unsubscribed")
    world.settle()
    world.refuse(failure)
    assert world.member.state is S.UNSUBSCRIBED
    world.run(60_000)
    assert world.count(BEAT) == 3


def test_n6_fenced_while_leaving_is_just_done() -> None:
    world = stable(await_acknowledgement=True)
    world.next_beat()
    world.member.leave(world.now, "unsubscribed")
    world.settle()
    world.refuse(E.FENCED_MEMBER_EPOCH)
    assert world.member.state is S.PREPARE_LEAVING
    world.ack()
    assert world.member.state is S.UNSUBSCRIBED
    assert not world.open(BEAT)
    assert not world.new_events(PartitionsLost)


def test_n6_who_unsubscribes_while_revoked_is_handled_leaves_when_it_is() -> None:
    world = stable(assigned="t1-0 t1-1", await_acknowledgement=True)
    world.next_beat()
    world.beat("t1-1", epoch=2)
    world.poll()
    assert world.new_events(PartitionsRevoked) == [PartitionsRevoked((tp("t1-0"),))]
    assert world.member.leave(world.now, "unsubscribed")
    assert world.new_events(PartitionsRevoked) == [PartitionsRevoked((tp("t1-1"),))]
    assert world.host.owned == tps("t1-0 t1-1")
    ended = commit(world, None)
    world.answer(ApiKey.OFFSET_COMMIT)
    assert ended == [{tp("t1-0"): OffsetAndMetadata(3)}]
    assert not world.open(BEAT)
    world.ack()
    assert world.host.owned == []
    assert world.request(BEAT).body.member_epoch == -1


def test_n6_subscribed_again_before_the_leave_is_answered() -> None:
    world = stable()
    world.member.leave(world.now, "unsubscribed")
    world.settle()
    world.subscribe("t2")
    world.poll()
    leave, join = world.open(BEAT)
    assert (leave.body.member_epoch, join.body.member_epoch) == (-1, 0)
    assert leave.body.member_id == join.body.member_id
    world._reply(leave, E.NONE)
    world.settle()
    assert world.member.state is S.JOINING
    world.take("t2-0")
    assert world.member.stable


@pytest.mark.parametrize(("instance_id", "epoch"), [(None, -1), ("i", -2)])
def test_n6_close(instance_id: str | None, epoch: int) -> None:
    world = stable(group_instance_id=instance_id, enable_auto_commit=True)
    world.host.consumed = {tp("t1-0"): OffsetAndMetadata(7)}
    world.member.close(world.now, world.now + 5_000, autocommit=True)
    world.settle()
    assert not world.open(BEAT)
    world.answer(ApiKey.OFFSET_COMMIT)
    assert world.request(BEAT).body.member_epoch == epoch
    assert world.new_events(PartitionsRevoked)
    assert not world.member.closed
    world.beat()
    assert world.member.closed


def test_n6_close_while_joining_takes_back_the_join() -> None:
    world = ConsumerWorld()
    world.start()
    world.member.close(world.now, world.now + 5_000, autocommit=True)
    world.settle()
    assert [it.body.member_epoch for it in world.open(BEAT)] == [0, -1]
    world.run(5_000)
    assert world.member.closed


def test_n6_no_poll_in_time() -> None:
    world = stable(max_poll_interval_ms=12_000, await_acknowledgement=True)
    world.auto = True
    world.run(12_000)
    assert world.member.state is S.STALE
    assert world.network.log[-1].body.member_epoch == -1
    assert world.new_events(GroupLeft, PartitionsLost)[0].reason.startswith("12000 ms passed")
    assert world.host.owned == tps("t1-0 t1-1")
    assert world.member.metadata().generation_id == 1  # what it commits now is to be refused
    errors = []
    world.member.commit(
        {tp("t1-0"): OffsetAndMetadata(3)},
        world.now,
        lambda _, it: errors.append(it),
        deadline_ms=None,
    )
    world.settle()
    assert isinstance(errors[0], CommitFailedError)
    assert errors[0].timer == "max_poll_interval_ms"
    world.poll()
    assert world.new_events(PartitionsLost) == [PartitionsLost(tuple(tps("t1-0 t1-1")))]
    world.held.add(BEAT)
    world.ack()
    world.poll()
    assert world.request(BEAT).body.member_epoch == 0
    (started,) = world.new_events(RebalanceStarted)
    assert started.reason == (
        "12000 ms passed without a poll, max_poll_interval_ms is 12000: handle fewer "
        "records per poll (max_poll_records), or raise it"
    )


def test_n6_the_poll_interval_does_not_run_while_leaving() -> None:
    world = stable(max_poll_interval_ms=12_000, await_acknowledgement=True)
    world.member.leave(world.now, "unsubscribed")
    world.settle()
    world.held.clear()
    world.auto = True
    world.run(20_000)
    assert world.member.state is S.PREPARE_LEAVING


# -- commits and look-ups --------------------------------------------------------------------------


def commit(world: ConsumerWorld, deadline_ms: int | None, at: str = "t1-0") -> list[object]:
    ended: list[object] = []
    world.member.commit(
        {tp(at): OffsetAndMetadata(3)},
        world.now,
        lambda done, error: ended.append(error or done),
        deadline_ms=deadline_ms,
    )
    world.settle()
    return ended


def test_who_is_subscribed_and_no_member_yet_commits_nothing() -> None:
    """An empty group would take it from anybody: the partitions are nobody's before the join."""
    world = ConsumerWorld()
    world.subscribe("t1")
    world.find()
    (error,) = commit(world, None)
    assert isinstance(error, CommitFailedError)
    assert not world.open(ApiKey.OFFSET_COMMIT)


def test_commits_carry_member_and_epoch() -> None:
    world = stable(group_instance_id="i")
    ended = commit(world, None)
    body = world.request(ApiKey.OFFSET_COMMIT).body
    metadata = world.member.metadata()
    assert body.member_id == metadata.member_id
    assert body.generation_id_or_member_epoch == metadata.generation_id == 1
    assert body.group_instance_id == "i"
    world.answer(ApiKey.OFFSET_COMMIT)
    assert ended == [{tp("t1-0"): OffsetAndMetadata(3)}]


def test_a_stale_epoch_is_tried_again_under_the_present_one() -> None:
    world = stable(request_timeout_ms=20_000)
    ended = commit(world, world.now + 15_000)
    request = world.request(ApiKey.OFFSET_COMMIT)
    world.next_beat()
    world.beat(epoch=2)
    assert request.body.generation_id_or_member_epoch == 1
    world.answer(ApiKey.OFFSET_COMMIT, E.STALE_MEMBER_EPOCH)
    assert ended == []
    world.run(200)
    assert world.request(ApiKey.OFFSET_COMMIT).body.generation_id_or_member_epoch == 2
    world.answer(ApiKey.OFFSET_COMMIT)
    assert ended == [{tp("t1-0"): OffsetAndMetadata(3)}]


def test_a_stale_epoch_of_one_try_can_be_tried_again_by_who_asked() -> None:
    world = stable()
    ended = commit(world, None)
    world.answer(ApiKey.OFFSET_COMMIT, E.STALE_MEMBER_EPOCH)
    assert isinstance(ended[0], RetriableCommitFailedError)
    assert world.member.stable


@pytest.mark.parametrize(
    "code", [E.UNKNOWN_MEMBER_ID, E.FENCED_MEMBER_EPOCH, E.FENCED_INSTANCE_ID, E.GROUP_ID_NOT_FOUND]
)
def test_a_commit_that_is_refused_leaves_the_rest_to_heartbeats(code: int) -> None:
    world = stable()
    ended = commit(world, world.now + 5_000)
    world.answer(ApiKey.OFFSET_COMMIT, code)
    assert isinstance(ended[0], CommitFailedError)
    assert world.member.stable


def test_a_commit_for_what_has_gone_is_not_sent() -> None:
    world = stable()
    world.next_beat()
    world.beat("t1-1")
    world.poll()
    world.poll()
    ended = commit(world, world.now + 5_000)
    assert isinstance(ended[0], CommitFailedError)
    assert not world.open(ApiKey.OFFSET_COMMIT)


def test_commits_go_on_while_partitions_move() -> None:
    """Unlike with the classic protocol, where nothing can be committed meanwhile."""
    world = stable(await_acknowledgement=True)
    world.next_beat()
    world.beat("t1-1", epoch=2)
    world.poll()
    for at in ("t1-0", "t1-1"):
        ended = commit(world, None, at)
        world.answer(ApiKey.OFFSET_COMMIT)
        assert ended == [{tp(at): OffsetAndMetadata(3)}]


def test_look_ups_carry_member_and_epoch() -> None:
    world = stable()
    found: list[object] = []
    world.member.fetch_committed(
        [tp("t1-0")],
        world.now,
        lambda got, error: found.append(error or got),
        deadline_ms=world.now + 5_000,
    )
    world.settle()
    group = world.request(ApiKey.OFFSET_FETCH).body.groups[0]
    assert (group.member_id, group.member_epoch) == (world.member.metadata().member_id, 1)
    for code in (E.STALE_MEMBER_EPOCH, E.UNKNOWN_MEMBER_ID):
        world.answer(ApiKey.OFFSET_FETCH, code)
        assert found == []
        world.run(300)
    world.answer(ApiKey.OFFSET_FETCH)
    assert found == [{tp("t1-0"): None}]


def test_who_only_stores_offsets_is_nobody_in_particular() -> None:
    world = ConsumerWorld()
    ended = commit(world, None)
    world.find()
    body = world.request(ApiKey.OFFSET_COMMIT).body
    assert (body.member_id, body.generation_id_or_member_epoch) == ("", -1)
    world.answer(ApiKey.OFFSET_COMMIT)
    assert ended == [{tp("t1-0"): OffsetAndMetadata(3)}]
    world.member.fetch_committed(
        [tp("t1-0")], world.now, lambda *_: None, deadline_ms=world.now + 5_000
    )
    world.settle()
    assert world.request(ApiKey.OFFSET_FETCH).body.groups[0].member_id is None


# -- the rest --------------------------------------------------------------------------------------


def test_a_pattern_that_matches_nothing_does_not_join() -> None:
    world = ConsumerWorld()
    world.host.pattern_prefix = "later"
    world.member.subscription_changed(world.now)
    world.settle()
    world.find()
    world.run(5_000, poll_every=500)
    assert not world.open(BEAT)
    world.cluster.set("later-1", 1)
    world.member.subscription_changed(world.now)
    world.poll()
    assert world.said(world.request(BEAT))["topics"] == ["later-1"]


def test_asking_for_a_rebalance_is_ignored_as_java_does() -> None:
    world = stable()
    world.member.request_rejoin("because", world.now)
    world.poll()
    assert world.member.stable
    assert not world.open(BEAT)


def test_a_calm_member_polls_for_nothing() -> None:
    world = stable()
    world.poll()
    assert world.member.handle_poll(world.now + 1) is False
    assert world.member.calm(world.now + 1)


def test_a_restart_of_the_coordinator_costs_nothing() -> None:
    world = stable()
    world.network.break_link(KEY, DisconnectedError("gone"))
    world.network.backoff_until[KEY] = world.now + 300
    world.settle()
    world.auto = True
    world.run(10_000, poll_every=500)
    assert world.member.stable
    assert not world.new_events(PartitionsLost, PartitionsRevoked, PartitionsAssigned)
    assert world.host.owned == tps("t1-0 t1-1")
