"""The consumer protocol (KIP-848), rules N1-N6 of CLIENT_CONSUMER.md section 13, against a
coordinator that tests play by hand.
"""

from __future__ import annotations

from itertools import pairwise

import pytest
from consumer_world import BEAT, INTERVAL_MS, ConsumerWorld
from group_world import KEY, tp, tps

from kcore.errors import (
    CommitFailedError,
    DisconnectedError,
    FencedInstanceIdError,
    GroupAuthorizationFailedError,
    GroupMaxSizeReachedError,
    InvalidRequestError,
    KafkaError,
    RetriableCommitFailedError,
    UnknownServerError,
    UnreleasedInstanceIdError,
    UnsupportedAssignorError,
    UnsupportedVersionError,
)
from kcore.events import (
    CoordinatorLost,
    ErrorRaised,
    GroupJoined,
    GroupLeft,
    HeartbeatAnswered,
    PartitionsAssigned,
    PartitionsLost,
    PartitionsRevoked,
    RebalanceStarted,
)
from kcore.group.consumer_states import ConsumerState as S
from kcore.group.states import Step
from kcore.structs import MemberState as PublicState
from kcore.structs import OffsetAndMetadata
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode as E

NO_BACKOFF = {"retry_backoff_ms": 100, "retry_backoff_max_ms": 1_000}
FULL = {"timeout": 60_000, "topics": ["t1"], "owned": []}


def stable(assigned: str = "t1-0 t1-1", **config: object) -> ConsumerWorld:
    world = ConsumerWorld(config=config)
    world.become_stable(assigned=assigned)
    return world


# -- N1: what a heartbeat says ---------------------------------------------------------------------


def test_n1_a_poll_joins_with_all_there_is_to_say() -> None:
    world = ConsumerWorld(config={"remote_assignor": "range", "client_rack": "r1"})
    world.subscribe("t1")
    world.find()
    assert not world.open(BEAT)
    assert world.member.state is S.UNSUBSCRIBED
    world.poll()
    request = world.request(BEAT)
    assert request.node == KEY
    assert request.body.member_epoch == 0
    assert len(request.body.member_id) == 22
    assert request.body.instance_id is None
    assert world.said(request) == FULL | {"assignor": "range", "rack": "r1"}
    assert world.member.state is S.JOINING
    assert world.member.metadata().state == PublicState.REBALANCING


def test_n1_afterwards_only_what_changed_is_said() -> None:
    world = ConsumerWorld()
    world.start()
    world.beat("t1-0 t1-1")
    world.poll()
    first = world.request(BEAT)
    assert world.said(first) == {"owned": tps("t1-0 t1-1")}
    assert first.body.member_epoch == 1
    world.beat()
    assert world.said(world.next_beat()) == {}
    world.beat()
    world.subscribe("t1", "t2")
    assert world.said(world.request(BEAT)) == {"topics": ["t1", "t2"]}  # at once
    world.beat()
    assert world.said(world.next_beat()) == {}


@pytest.mark.parametrize(
    "failure",
    [DisconnectedError("gone"), E.COORDINATOR_LOAD_IN_PROGRESS, E.NOT_COORDINATOR],
    ids=str,
)
def test_n1_after_a_failure_everything_is_said(failure: int | KafkaError) -> None:
    world = stable()
    world.next_beat()
    world.refuse(failure)
    if not world.member.coordinator_known:
        world.find()
    world.run(150)
    request = world.request(BEAT)
    assert request.body.member_epoch == 1
    assert world.said(request) == FULL | {"owned": tps("t1-0 t1-1")}


def test_n1_the_member_id_is_kept() -> None:
    world = ConsumerWorld()
    world.start()
    own = world.request(BEAT).body.member_id
    world.take("t1-0")
    assert world.member.metadata().member_id == own
    world.next_beat()
    world.refuse(E.UNKNOWN_MEMBER_ID)
    world.poll()
    world.poll()
    assert world.request(BEAT).body.member_id == own
    assert world.request(BEAT).body.member_epoch == 0


def test_n1_old_brokers_give_the_member_id() -> None:
    """Version 0, before KIP-1082."""
    world = ConsumerWorld()
    world.network.versions[BEAT] = 0
    world.start()
    assert world.request(BEAT).body.member_id == ""
    world.beat("t1-0", member_id="theirs")
    world.poll()
    assert world.request(BEAT).body.member_id == "theirs"


# -- N2: when -------------------------------------------------------------------------------------


def test_n2_the_interval_is_the_coordinators() -> None:
    world = stable(heartbeat_interval_ms=10)
    count = world.count(BEAT)
    for interval, waits in ((700, INTERVAL_MS), (700, 700), (2_000, 700), (700, 2_000)):
        world.run(waits - 1)
        assert world.count(BEAT) == count
        world.run(1)
        count += 1
        world.beat(interval=interval)


def test_n2_one_at_a_time() -> None:
    world = stable()
    world.next_beat()
    count = world.count(BEAT)
    world.subscribe("t1", "t2")
    world.run(4_000)
    assert world.count(BEAT) == count
    world.beat()
    assert world.said(world.request(BEAT)) == {"topics": ["t1", "t2"]}


def test_n2_none_without_a_coordinator() -> None:
    world = stable()
    world.network.brokers = False
    world.network.break_link(KEY, DisconnectedError("gone"))
    world.run(20_000, poll_every=1_000)
    assert not world.open(BEAT)
    assert world.member.stable or world.member.state is S.STABLE  # losing it costs nothing


@pytest.mark.parametrize("state", [S.FENCED, S.STALE, S.FATAL, S.UNSUBSCRIBED])
def test_n2_silence(state: S) -> None:
    world = stable()
    if state is S.FENCED:
        world.next_beat()
        world.refuse(E.FENCED_MEMBER_EPOCH)
    elif state is S.FATAL:
        world.next_beat()
        world.refuse(E.INVALID_REQUEST)
    elif state is S.STALE:
        world.held.add(BEAT)
        world.auto = True
        world.run(60_000)
        world.network.break_link(KEY, DisconnectedError("gone"))
    else:
        world.member.leave(world.now, "unsubscribed")
        world.settle()
        world.beat()
    assert world.member.state is state
    count = world.count(BEAT)
    world.run(100_000)
    assert world.count(BEAT) == count


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


def test_n3_one_at_a_time_the_newest_next() -> None:
    world = stable(await_acknowledgement=True)
    world.next_beat()
    world.beat("t1-0", epoch=2)
    world.poll()
    world.run(INTERVAL_MS)
    world.beat("t2-0", epoch=3)  # t2 is not subscribed, but the next target is what counts here
    world.ack()
    world.ack()
    assert world.said(world.request(BEAT)) == {"owned": tps("t1-0")}
    assert world.member.state is S.RECONCILING
    world.beat()
    world.new_events()
    world.poll()
    assert world.new_events(PartitionsRevoked) == [PartitionsRevoked((tp("t1-0"),))]


def test_n3_back_to_what_it_was_while_it_is_under_way() -> None:
    """What was told is carried through, then undone."""
    world = stable(await_acknowledgement=True)
    world.next_beat()
    world.beat("t1-0", epoch=2)
    world.poll()
    world.run(INTERVAL_MS)
    world.beat("t1-0 t1-1", epoch=3)
    world.ack()
    world.ack()
    assert world.said(world.request(BEAT)) == {"owned": tps("t1-0")}
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
    assert world.new_events(PartitionsAssigned, PartitionsLost) == [
        PartitionsLost((tp("t1-0"),))
    ]
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


# -- N5: errors ------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [E.NOT_COORDINATOR, E.COORDINATOR_NOT_AVAILABLE])
def test_n5_moved(code: int) -> None:
    world = stable()
    world.next_beat()
    before = world.now
    world.refuse(code)
    assert world.new_events(CoordinatorLost)
    world.find()
    assert world.now == before
    assert world.request(BEAT).body.member_epoch == 1  # at once, and the same membership


@pytest.mark.parametrize(
    "failure", [DisconnectedError("gone"), E.COORDINATOR_LOAD_IN_PROGRESS, E.REQUEST_TIMED_OUT]
)
def test_n5_a_backoff(failure: int | KafkaError) -> None:
    world = ConsumerWorld(config=NO_BACKOFF)
    world.start()
    sent = []
    for _ in range(8):
        while not world.open(BEAT):
            world.run(5)
            if world.open(ApiKey.FIND_COORDINATOR):
                world.find()
        sent.append(world.now)
        world.refuse(failure)
    gaps = [after - before for before, after in pairwise(sent)]
    assert 75 <= gaps[0] <= 130
    assert all(gap <= 1_500 for gap in gaps)
    assert gaps[-1] >= 800


FATAL = {
    E.INVALID_REQUEST: InvalidRequestError,
    E.GROUP_MAX_SIZE_REACHED: GroupMaxSizeReachedError,
    E.UNSUPPORTED_ASSIGNOR: UnsupportedAssignorError,
    E.UNSUPPORTED_VERSION: UnsupportedVersionError,
    E.UNRELEASED_INSTANCE_ID: UnreleasedInstanceIdError,
    E.FENCED_INSTANCE_ID: FencedInstanceIdError,
    E.GROUP_AUTHORIZATION_FAILED: GroupAuthorizationFailedError,
    E.UNKNOWN_SERVER_ERROR: UnknownServerError,
}


@pytest.mark.parametrize("code", FATAL, ids=lambda it: it.name)
def test_n5_fatal(code: E) -> None:
    world = stable(await_acknowledgement=True)
    world.next_beat()
    world.refuse(code, message="the broker's own words")
    assert world.member.state is S.FATAL
    world.poll()
    lost, error = world.new_events(PartitionsLost, ErrorRaised)
    assert lost == PartitionsLost(tuple(tps("t1-0 t1-1")))
    assert type(error.error) is FATAL[code]
    if code is E.UNSUPPORTED_ASSIGNOR:
        assert "the broker's own words" in str(error.error)
    assert world.host.owned == []
    world.ack()
    count = world.count(BEAT)
    world.poll()
    assert [type(it.error) for it in world.new_events(ErrorRaised)] == [FATAL[code]]  # every poll
    world.run(20_000)
    assert world.count(BEAT) == count
    world.member.leave(world.now, "unsubscribed")
    world.subscribe("t1")
    world.poll()
    world.poll()
    assert world.request(BEAT).body.member_epoch == 0


def test_n5_fatal_where_a_group_of_another_kind_is() -> None:
    """What means "begin again" to a member says that there is no way in to one that joins."""
    world = ConsumerWorld()
    world.start()
    world.refuse(E.GROUP_ID_NOT_FOUND)
    assert world.member.state is S.FATAL


@pytest.mark.parametrize("how", ["version", "code"])
def test_n5_brokers_without_the_protocol_are_named_with_the_option(how: str) -> None:
    world = ConsumerWorld()
    world.start()
    none = UnsupportedVersionError("ConsumerGroupHeartbeat: the broker does not serve it")
    world.refuse(none if how == "version" else E.UNSUPPORTED_VERSION)
    world.poll()
    (event,) = world.new_events(ErrorRaised)
    assert isinstance(event.error, UnsupportedVersionError)
    assert "group_protocol='classic'" in str(event.error)


def test_n5_a_group_that_may_not_be_looked_up() -> None:
    world = ConsumerWorld()
    world.subscribe("t1")
    world.answer(ApiKey.FIND_COORDINATOR, E.GROUP_AUTHORIZATION_FAILED)
    world.poll()
    (event,) = world.new_events(ErrorRaised)
    assert isinstance(event.error, GroupAuthorizationFailedError)
    assert world.member.state is S.FATAL


def test_n5_topics_that_may_not_be_described_are_said_and_tried_again() -> None:
    world = stable()
    world.next_beat()
    world.refuse(E.TOPIC_AUTHORIZATION_FAILED)
    assert len(world.new_events(ErrorRaised)) == 1
    assert world.member.state is S.STABLE
    world.run(200)
    world.beat()


@pytest.mark.parametrize(
    "lie",
    [{"epoch": 0}, {"epoch": -7}, {"interval": 0}, {"interval": -1}],
    ids=str,
)
def test_answers_that_cannot_be_meant_cost_the_link(lie: dict[str, int]) -> None:
    world = ConsumerWorld()
    world.start()
    world.beat("t1-0", **lie)
    assert world.new_events(CoordinatorLost)
    assert world.member.state is S.JOINING
    assert isinstance(world.events[-1], HeartbeatAnswered) or not world.open(BEAT)


def test_who_joins_must_be_told_an_assignment() -> None:
    world = ConsumerWorld()
    world.start()
    world.beat(None)
    assert world.new_events(CoordinatorLost)
    assert world.member.state is S.JOINING


# -- N6: leaving -----------------------------------------------------------------------------------


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
        {tp("t1-0"): OffsetAndMetadata(3)}, world.now, lambda *it: committed.append(it),
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
    errors = []
    world.member.commit(
        {tp("t1-0"): OffsetAndMetadata(3)}, world.now, lambda _, it: errors.append(it),
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
    assert [it.reason for it in world.new_events(RebalanceStarted)] == [
        "12000 ms passed without a poll, max_poll_interval_ms is 12000"
    ]


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


@pytest.mark.parametrize("code", [E.UNKNOWN_MEMBER_ID, E.FENCED_MEMBER_EPOCH, E.FENCED_INSTANCE_ID])
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
        [tp("t1-0")], world.now, lambda got, error: found.append(error or got),
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
