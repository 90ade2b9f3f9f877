"""Assignments of the consumer protocol: rules N3 (reconciling) and N4 (fenced) of
CLIENT_CONSUMER.md section 13.
"""

from __future__ import annotations

from itertools import pairwise

import pytest
from consumer_world import BEAT, INTERVAL_MS, ConsumerWorld, stable
from group_world import tp, tps

from kcore.errors import DisconnectedError
from kcore.events import (
    GroupJoined,
    OffsetsCommitted,
    PartitionsAssigned,
    PartitionsLost,
    PartitionsRevoked,
)
from kcore.group.consumer_states import ConsumerState as S
from kcore.group.states import Step
from kcore.structs import MemberState as PublicState
from kcore.structs import OffsetAndMetadata
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode as E

NO_BACKOFF = {"retry_backoff_ms": 100, "retry_backoff_max_ms": 1_000}
FULL = {"timeout": 60_000, "topics": ["t1"], "owned": []}


# -- N3: reconciling -------------------------------------------------------------------------------


def test_n3_the_first_assignment_may_be_empty() -> None:
    world = ConsumerWorld()
    world.start()
    world.beat("")
    assert world.member.state is S.RECONCILING
    world.poll()
    assert world.new_events(GroupJoined, PartitionsAssigned) == [
        GroupJoined(1, world.member.metadata().member_id, "", "consumer", False, 0),
        PartitionsAssigned((), (), 1),
    ]
    assert world.member.state is S.STABLE  # the acknowledgement is on its way
    assert world.said(world.request(BEAT)) == {}
    world.beat()
    assert world.member.stable


def test_what_the_application_is_told_of_its_membership() -> None:
    world = stable(await_acknowledgement=True)
    assert world.member.metadata().state == PublicState.STABLE
    assert not world.member.rejoin_needed
    world.next_beat()
    world.beat("t1-1", epoch=2)
    assert world.member.metadata().state == PublicState.REBALANCING
    assert world.member.rejoin_needed
    world.poll()
    world.ack()
    world.network.brokers = False
    world.member._coordinator.lost("gone", world.now)
    world.ack()
    assert world.member.state is S.ACKNOWLEDGING
    assert world.member.metadata().state == PublicState.REBALANCING
    world.member._membership.reset("fenced", world.now)
    assert world.member.metadata().state == PublicState.UNJOINED


def test_n3_the_same_assignment_changes_nothing() -> None:
    world = stable()
    world.next_beat()
    world.beat("t1-1 t1-0", epoch=4)
    assert world.member.stable
    world.poll()
    assert not world.new_events(PartitionsAssigned, PartitionsRevoked)
    assert world.member.metadata().generation_id == 4


def test_n3_only_what_moves() -> None:
    world = stable(assigned="t1-0 t1-1", await_acknowledgement=True)
    world.next_beat()
    world.beat("t1-1", epoch=2)
    assert (world.member.state, world.member.step) == (S.RECONCILING, Step.IDLE)
    assert world.host.owned == tps("t1-0 t1-1")  # not outside of a poll
    world.poll()
    assert world.new_events(PartitionsRevoked) == [PartitionsRevoked((tp("t1-0"),))]
    assert world.host.suspended == {tp("t1-0")}
    assert world.host.owned == tps("t1-0 t1-1")
    assert not world.open(BEAT)
    world.ack()
    assert world.new_events(PartitionsAssigned) == [PartitionsAssigned((), (tp("t1-1"),), 2)]
    assert world.host.owned == tps("t1-1")
    assert not world.open(BEAT)
    world.ack()
    request = world.request(BEAT)
    assert world.said(request) == {"owned": tps("t1-1")}
    assert request.body.member_epoch == 2
    world.beat()
    assert world.member.stable


def test_n3_what_is_added_is_told_and_then_acknowledged() -> None:
    world = stable(assigned="t1-0", await_acknowledgement=True)
    world.next_beat()
    world.beat("t1-0 t1-1", epoch=3)
    world.poll()
    assert world.new_events(PartitionsRevoked, PartitionsAssigned) == [
        PartitionsAssigned((tp("t1-1"),), (tp("t1-0"), tp("t1-1")), 3)
    ]
    assert (world.member.state, world.member.step) == (S.RECONCILING, Step.ASSIGNING)
    assert not world.open(BEAT)
    world.ack()
    assert world.said(world.request(BEAT)) == {"owned": tps("t1-0 t1-1")}


def test_n3_heartbeats_go_on_while_the_application_takes_its_time() -> None:
    world = stable(await_acknowledgement=True)
    world.next_beat()
    world.beat("t1-0")
    world.poll()
    world.run(INTERVAL_MS)
    assert world.said(world.request(BEAT)) == {}  # it still owns both
    world.beat()
    assert world.member.step is Step.SHEDDING


def acknowledging(target: str, *, then: str) -> ConsumerWorld:
    """What was taken is on its way to the coordinator, which wants something else by now."""
    world = stable(await_acknowledgement=True)
    world.next_beat()
    world.beat(target, epoch=2)
    world.poll()
    world.run(INTERVAL_MS)
    world.beat(then, epoch=3)
    world.ack()
    world.ack()
    assert world.said(world.request(BEAT)) == {"owned": tps(target)}
    return world


def test_n3_one_at_a_time_the_newest_next() -> None:
    # t2 is not subscribed, but the next target is what counts here
    world = acknowledging("t1-0", then="t2-0")
    assert world.member.state is S.RECONCILING
    world.beat()
    world.new_events()
    world.poll()
    assert world.new_events(PartitionsRevoked) == [PartitionsRevoked((tp("t1-0"),))]


def test_n3_back_to_what_it_was_while_it_is_under_way() -> None:
    """What was told is carried through, then undone."""
    world = acknowledging("t1-0", then="t1-0 t1-1")
    world.beat()
    world.poll()
    world.ack()
    assert world.host.owned == tps("t1-0 t1-1")
    world.beat()
    assert world.member.stable


def test_n3_back_to_what_it_was_before_a_poll_saw_it() -> None:
    world = stable()
    world.next_beat()
    world.beat("t1-0", epoch=2)
    world.run(INTERVAL_MS)
    world.beat("t1-0 t1-1", epoch=3)
    assert world.member.state is S.STABLE
    world.poll()
    assert not world.new_events(PartitionsRevoked, PartitionsAssigned)


def test_n3_auto_commit_before_partitions_go() -> None:
    world = stable(enable_auto_commit=True, await_acknowledgement=True)
    world.host.consumed = {tp("t1-0"): OffsetAndMetadata(7), tp("t1-1"): OffsetAndMetadata(9)}
    world.next_beat()
    world.beat("t1-1", epoch=2)
    for request in world.open(ApiKey.OFFSET_COMMIT):
        world.network.open.remove(request)  # the one of the interval
    world.poll()
    assert world.host.suspended == {tp("t1-0")}
    request = world.request(ApiKey.OFFSET_COMMIT)
    assert request.body.generation_id_or_member_epoch == 2
    assert not world.new_events(PartitionsRevoked)
    world.answer(ApiKey.OFFSET_COMMIT, E.COORDINATOR_LOAD_IN_PROGRESS)
    world.run(200)
    world.answer(ApiKey.OFFSET_COMMIT)
    world.poll()
    assert world.committed[tp("t1-0")] == OffsetAndMetadata(7)
    assert world.new_events(PartitionsRevoked)


def test_n3_an_auto_commit_that_fails_holds_nothing_up() -> None:
    world = stable(enable_auto_commit=True)
    world.host.consumed = {tp("t1-0"): OffsetAndMetadata(7)}
    world.next_beat()
    world.beat("t1-1", epoch=2)
    for request in world.open(ApiKey.OFFSET_COMMIT):
        world.network.open.remove(request)
    world.poll()
    world.answer(ApiKey.OFFSET_COMMIT, E.OFFSET_METADATA_TOO_LARGE)
    world.poll()
    assert world.new_events(PartitionsRevoked)


def test_n3_unknown_topic_ids_wait_for_metadata() -> None:
    world = ConsumerWorld()
    del world.cluster.ids["t2"]
    world.start("t1", "t2")
    asked = world.cluster.updates_asked
    world.beat("t1-0 t2-0")
    world.poll()
    assert world.host.owned == tps("t1-0")
    assert world.cluster.updates_asked > asked
    assert world.said(world.request(BEAT)) == {"owned": tps("t1-0")}
    world.beat()
    assert world.member.state is S.RECONCILING
    asked = world.cluster.updates_asked
    world.run(1_000, poll_every=100)
    assert 2 <= world.cluster.updates_asked - asked <= 8
    world.cluster.ids["t2"] = b"2" * 16
    world.cluster.version += 1
    world.poll()
    assert world.host.owned == tps("t1-0 t2-0")
    assert world.said(world.request(BEAT)) == {"owned": tps("t1-0 t2-0")}
    world.beat()
    assert world.member.stable


def test_n3_what_is_owned_outlives_a_gap_in_the_metadata() -> None:
    world = stable()
    world.cluster.ids.clear()
    world.cluster.version += 1
    world.next_beat()
    world.beat("t1-0 t1-1")
    world.poll()
    assert world.host.owned == tps("t1-0 t1-1")
    assert world.member.stable


def test_n3_topics_unsubscribed_are_given_up_at_once() -> None:
    world = ConsumerWorld()
    world.become_stable("t1", "t2", assigned="t1-0 t2-0")
    world.subscribe("t2")
    assert world.said(world.request(BEAT)) == {"topics": ["t2"]}
    world.poll()
    world.poll()
    assert world.host.owned == tps("t2-0")
    assert world.new_events(PartitionsRevoked) == [PartitionsRevoked((tp("t1-0"),))]
    world.beat()
    assert world.said(world.request(BEAT)) == {"owned": tps("t2-0")}
    world.beat("t2-0", epoch=2)
    world.poll()
    assert world.member.stable


def test_n3_fenced_while_the_application_is_told() -> None:
    """What was told is acknowledged first, then the rest is lost."""
    world = stable(await_acknowledgement=True)
    world.next_beat()
    world.beat("t1-0")
    world.poll()
    world.run(INTERVAL_MS)
    world.refuse(E.FENCED_MEMBER_EPOCH)
    assert (world.member.state, world.member.step) == (S.FENCED, Step.SHEDDING)
    world.poll()
    assert not world.new_events(PartitionsLost)
    world.ack()
    assert world.host.owned == tps("t1-0")
    world.poll()
    assert world.new_events(PartitionsAssigned, PartitionsLost) == [PartitionsLost((tp("t1-0"),))]
    world.ack()
    assert world.request(BEAT).body.member_epoch == 0


def test_n3_fenced_while_committing() -> None:
    world = stable(enable_auto_commit=True, request_timeout_ms=20_000)
    world.host.consumed = {tp("t1-0"): OffsetAndMetadata(7)}
    world.next_beat()
    world.beat("t1-1")
    world.poll()
    world.run(INTERVAL_MS)
    world.refuse(E.UNKNOWN_MEMBER_ID)
    assert (world.member.state, world.member.step) == (S.FENCED, Step.IDLE)
    world.poll()
    assert world.new_events(PartitionsRevoked, PartitionsLost) == [
        PartitionsLost(tuple(tps("t1-0 t1-1")))
    ]
    world.poll()
    world.take("t1-1")
    assert world.member.stable  # nobody waits for that commit any more
    assert world.host.owned == tps("t1-1")


def test_n3_the_commit_of_an_earlier_reconciliation_ends_no_later_one() -> None:
    world = stable(enable_auto_commit=True, request_timeout_ms=60_000)
    world.host.consumed = {tp("t1-0"): OffsetAndMetadata(7), tp("t1-1"): OffsetAndMetadata(8)}
    world.next_beat()
    world.beat("t1-1", epoch=2)
    for request in world.open(ApiKey.OFFSET_COMMIT):
        world.network.open.remove(request)
    world.poll()
    (early,) = world.open(ApiKey.OFFSET_COMMIT)
    world.run(INTERVAL_MS)
    world.refuse(E.FENCED_MEMBER_EPOCH)
    world.poll()
    world.poll()
    world.take("t1-0 t1-1", epoch=3)
    world.run(INTERVAL_MS - 1_000)
    world.run(1_000)
    world.beat("t1-1", epoch=4)
    world.new_events()
    world.poll()
    assert world.member.step is Step.COMMITTING
    world._reply(early, E.UNKNOWN_MEMBER_ID)
    world.settle()
    world.poll()
    assert world.member.step is Step.COMMITTING
    assert not world.new_events(PartitionsRevoked)


# -- N4: fenced ------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [E.FENCED_MEMBER_EPOCH, E.UNKNOWN_MEMBER_ID, E.GROUP_ID_NOT_FOUND])
def test_n4_fenced_means_lost_and_joining_again_at_once(code: int) -> None:
    world = stable(await_acknowledgement=True)
    world.next_beat()
    world.refuse(code)
    assert world.member.state is S.FENCED
    assert world.host.owned == tps("t1-0 t1-1")
    world.poll()
    assert world.new_events(PartitionsLost) == [PartitionsLost(tuple(tps("t1-0 t1-1")))]
    world.ack()
    assert world.host.owned == []
    request = world.request(BEAT)
    assert request.body.member_epoch == 0
    assert world.said(request) == FULL
    world.take("t1-1", epoch=5)
    assert world.member.stable
    assert world.host.owned == tps("t1-1")


def test_n4_with_nothing_to_lose_no_poll_is_needed() -> None:
    world = stable(assigned="")
    world.next_beat()
    world.refuse(E.UNKNOWN_MEMBER_ID)
    assert world.request(BEAT).body.member_epoch == 0


def test_n4_a_coordinator_that_always_fences_is_asked_ever_less_often() -> None:
    world = ConsumerWorld(config=NO_BACKOFF)
    world.start()
    sent = []
    for _ in range(12):
        while not world.open(BEAT):
            world.run(10)
        sent.append(world.now)
        world.refuse(E.FENCED_MEMBER_EPOCH)
    gaps = [after - before for before, after in pairwise(sent)]
    assert gaps[:3] == [0, 0, 0]
    assert all(gap >= 700 for gap in gaps[-3:])


def test_n4_answers_to_an_earlier_membership_concern_nobody() -> None:
    world = stable()
    world.next_beat()
    late = world.request(BEAT)
    world.member.leave(world.now, "unsubscribed")
    world.subscribe("t1")
    world.poll()
    joins = [it for it in world.open(BEAT) if it.body.member_epoch == 0]
    assert len(joins) == 1
    world._reply(late, E.FENCED_MEMBER_EPOCH)
    world.settle()
    assert world.member.state is S.JOINING


# -- N3: what the coordinator is told, and when ----------------------------------------------------


def telling_again() -> ConsumerWorld:
    """A first target is known, and a heartbeat is on its way that says that nothing is owned."""
    world = ConsumerWorld()
    world.start()
    world.beat("t1-0 t1-1")
    world.run(INTERVAL_MS)
    world.refuse(E.COORDINATOR_LOAD_IN_PROGRESS)
    world.run(200)
    assert world.said(world.request(BEAT)) == FULL
    return world


def test_n3_nothing_is_taken_while_the_coordinator_is_told_otherwise() -> None:
    """It may give away what a heartbeat on its way does not name; its answer says."""
    world = telling_again()
    world.poll()
    assert world.host.owned == []
    world.beat("t1-0", epoch=2)
    world.poll()
    assert world.host.owned == tps("t1-0")
    assert not world.new_events(PartitionsRevoked)
    assert world.said(world.request(BEAT)) == {"owned": tps("t1-0")}


def test_n3_what_was_to_be_taken_is_when_the_answer_says_nothing_new() -> None:
    world = telling_again()
    world.poll()
    world.beat()
    world.poll()
    assert world.host.owned == tps("t1-0 t1-1")


def test_n3_a_heartbeat_that_fails_holds_nothing_up_for_longer() -> None:
    world = telling_again()
    world.poll()
    world.refuse(E.COORDINATOR_LOAD_IN_PROGRESS)
    world.poll()
    assert world.host.owned == tps("t1-0 t1-1")


def test_n3_what_a_heartbeat_without_an_answer_denies_waits_until_one_is_answered() -> None:
    """It may linger on its connection, and the coordinator give away what it does not name."""
    world = telling_again()
    world.refuse(DisconnectedError("gone"))
    world.poll()
    assert world.host.owned == []
    world.find()
    world.run(200)
    assert world.said(world.request(BEAT)) == FULL
    world.poll()
    assert world.host.owned == []
    world.beat("t1-0", epoch=2)
    world.poll()
    assert world.host.owned == tps("t1-0")


def test_n3_what_is_owned_is_said_where_no_more_of_the_target_can_be_taken() -> None:
    """The coordinator may wait for that, as it has taken something back meanwhile."""
    world = stable(assigned="t1-0")
    world.next_beat()
    world.beat("t1-0 x-0", epoch=2)
    world.poll()
    world.run(INTERVAL_MS)
    assert world.said(world.request(BEAT)) == {"owned": tps("t1-0")}


def test_n3_the_next_target_waits_until_it_is_known_what_was_made_of_the_last() -> None:
    world = acknowledging("t1-0", then="t1-0 t1-1")
    world.new_events()
    world.poll()
    assert not world.new_events(PartitionsAssigned)
    world.beat()
    world.poll()
    assert world.new_events(PartitionsAssigned) == [
        PartitionsAssigned((tp("t1-1"),), tuple(tps("t1-0 t1-1")), 3)
    ]


def test_n3_what_is_taken_back_before_it_was_taken_is_acknowledged() -> None:
    """Not before: what is not owned yet would be given to another, should the target change while
    the heartbeat that says so lingers.
    """
    world = stable(assigned="")
    world.next_beat()
    world.beat("t1-0", epoch=2)
    world.run(INTERVAL_MS)
    assert world.said(world.request(BEAT)) == {}
    world.beat("", epoch=3)
    assert world.said(world.next_beat()) == {"owned": []}
    world.beat()
    assert world.said(world.next_beat()) == {}


def test_n3_less_than_what_is_told_can_be_taken_at_once() -> None:
    world = stable(assigned="t1-0 t1-1", await_acknowledgement=True)
    world.next_beat()
    world.refuse(E.COORDINATOR_LOAD_IN_PROGRESS)
    world.run(200)
    assert world.said(world.request(BEAT)) == FULL | {"owned": tps("t1-0 t1-1")}
    world.subscribe("t2")
    world.poll()
    assert world.new_events(PartitionsRevoked) == [PartitionsRevoked(tuple(tps("t1-0 t1-1")))]


def test_n3_a_heartbeat_after_a_failure_does_not_name_what_is_about_to_change() -> None:
    world = stable(assigned="t1-0", await_acknowledgement=True)
    world.next_beat()
    world.beat("t1-1", epoch=2)
    world.poll()
    assert world.member.step is Step.SHEDDING
    world.run(INTERVAL_MS)
    world.refuse(E.COORDINATOR_LOAD_IN_PROGRESS)
    world.run(200)
    assert world.said(world.request(BEAT)) == {"timeout": 60_000, "topics": ["t1"]}
    world.beat()
    world.ack()
    world.ack()
    assert world.said(world.request(BEAT)) == FULL | {"owned": tps("t1-1")}


# -- N3: auto commit -------------------------------------------------------------------------------


def committing() -> ConsumerWorld:
    """t1-0 is to go, and its commit failed for now."""
    world = stable(enable_auto_commit=True, auto_commit_interval_ms=1_000, **NO_BACKOFF)
    world.host.consumed = {tp("t1-0"): OffsetAndMetadata(7), tp("t1-1"): OffsetAndMetadata(9)}
    world.next_beat()
    world.beat("t1-1", epoch=2)
    for request in world.open(ApiKey.OFFSET_COMMIT):
        world._reply(request, E.NONE)  # of the interval, before
    world.settle()
    world.poll()
    assert world.member.step is Step.COMMITTING
    world.answer(ApiKey.OFFSET_COMMIT, E.COORDINATOR_LOAD_IN_PROGRESS)
    return world


def test_n3_a_commit_that_is_tried_again_commits_what_was_consumed_meanwhile() -> None:
    world = committing()
    world.host.consumed[tp("t1-1")] = OffsetAndMetadata(20)
    world.poll()
    world.host.consumed[tp("t1-1")] = OffsetAndMetadata(30)  # handed over, and not done with
    world.run(200)
    world.answer(ApiKey.OFFSET_COMMIT)
    assert world.committed == {
        tp("t1-0"): OffsetAndMetadata(7),
        tp("t1-1"): OffsetAndMetadata(20),
    }
    (event,) = [one for one in world.new_events(OffsetsCommitted) if one.error is None][-1:]
    assert event.offsets == world.committed


def test_n3_no_commit_of_the_interval_overtakes_one_that_is_tried_again() -> None:
    world = committing()
    world.run(3_000, poll_every=100)
    assert len(world.open(ApiKey.OFFSET_COMMIT)) == 1
    world.answer(ApiKey.OFFSET_COMMIT)
    world.run(3_000, poll_every=100)
    assert world.open(ApiKey.OFFSET_COMMIT)  # and then the interval goes on


def test_n3_no_commit_is_older_than_the_one_of_close() -> None:
    world = committing()
    world.host.consumed[tp("t1-1")] = OffsetAndMetadata(50)
    world.member.close(world.now, world.now + 10_000, autocommit=True)
    world.settle()
    for _ in range(10):
        for request in world.open(ApiKey.OFFSET_COMMIT):
            world._reply(request, E.NONE)
        world.run(100)
    assert world.committed[tp("t1-1")] == OffsetAndMetadata(50)


# -- a subscription that the coordinator has wrong -------------------------------------------------


def test_a_target_of_topics_that_are_not_subscribed_has_everything_told_again() -> None:
    """As after a join that lingered on a connection given up, and arrived behind the next one."""
    world = stable()
    world.next_beat()
    world.beat("t1-0 t2-0", epoch=2)
    world.poll()
    assert world.said(world.request(BEAT)) == {"timeout": 60_000, "topics": ["t1"]}
    world.beat("t1-0", epoch=3)
    world.poll()
    assert world.host.owned == tps("t1-0")
    assert world.said(world.request(BEAT)) == FULL | {"owned": tps("t1-0")}


def test_it_is_told_again_once_for_each_target() -> None:
    world = stable(assigned="t1-0")
    world.next_beat()
    world.beat("t1-0 t2-0", epoch=2)
    world.poll()
    world.beat("t1-0 t2-0", epoch=2)
    world.run(INTERVAL_MS - 1_000, poll_every=100)
    assert not world.open(BEAT)


def test_a_subscription_that_is_on_its_way_is_not_told_twice() -> None:
    world = stable("t1-0")
    world.subscribe("t2")
    assert world.said(world.request(BEAT)) == {"topics": ["t2"]}
    world.poll()
    world.poll()
    world.beat("t2-0", epoch=2)
    world.poll()
    assert world.said(world.request(BEAT)) == {"owned": tps("t2-0")}
