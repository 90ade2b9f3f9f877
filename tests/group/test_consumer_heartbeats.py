"""Heartbeats of the consumer protocol: rules N1 (what they say), N2 (when), N5 (errors) of
CLIENT_CONSUMER.md section 13, against a coordinator that tests play by hand.
"""

from __future__ import annotations

from itertools import pairwise

import pytest
from consumer_world import BEAT, INTERVAL_MS, ConsumerWorld, stable
from group_world import KEY, tps

from kcore.errors import (
    DisconnectedError,
    FencedInstanceIdError,
    GroupAuthorizationFailedError,
    GroupMaxSizeReachedError,
    InvalidRequestError,
    KafkaError,
    UnknownServerError,
    UnreleasedInstanceIdError,
    UnsupportedAssignorError,
    UnsupportedVersionError,
)
from kcore.events import (
    CoordinatorLost,
    ErrorRaised,
    HeartbeatAnswered,
    PartitionsLost,
)
from kcore.group.consumer_states import ConsumerState as S
from kcore.structs import MemberState as PublicState
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode as E

NO_BACKOFF = {"retry_backoff_ms": 100, "retry_backoff_max_ms": 1_000}
FULL = {"timeout": 60_000, "topics": ["t1"], "owned": []}


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


def find_again(world: ConsumerWorld) -> None:
    """The coordinator was lost before it had done anything: a look-up, the next heartbeat."""
    world.run(150)
    world.find()
    world.run(150)


@pytest.mark.parametrize("how", ["the answer was lost", "fenced"])
def test_an_instance_id_that_we_hold_ourselves_is_given_up_and_had_again(how: str) -> None:
    """A coordinator that has us in refuses a second join under the same instance id."""
    world = ConsumerWorld(config={"group_instance_id": "i"})
    if how == "fenced":
        world.become_stable()
        world.next_beat()
        world.refuse(E.FENCED_MEMBER_EPOCH)
        world.poll()
        world.poll()
    else:
        world.start()
        world.refuse(DisconnectedError("gone"))
        find_again(world)
    join = world.request(BEAT)
    assert join.body.member_epoch == 0
    world.refuse(E.UNRELEASED_INSTANCE_ID)
    leave, again = world.open(BEAT)
    assert (leave.body.member_epoch, again.body.member_epoch) == (-2, 0)
    assert leave.body.member_id == again.body.member_id == join.body.member_id
    assert world.said(again) == FULL
    world._reply(leave, E.NONE)
    world.settle()
    world.take("t1-0")
    assert world.member.stable


def test_a_member_id_that_is_still_in_is_given_up_and_had_again() -> None:
    """Brokers that refuse epoch 0 of a member they know (C7) would do so for a whole session."""
    world = ConsumerWorld()
    world.become_stable()
    world.next_beat()
    world.refuse(E.FENCED_MEMBER_EPOCH)
    world.poll()
    world.poll()
    world.refuse(E.FENCED_MEMBER_EPOCH)
    leave, again = world.open(BEAT)
    assert (leave.body.member_epoch, again.body.member_epoch) == (-1, 0)
    world._reply(leave, E.NONE)
    world.settle()
    world.refuse(E.FENCED_MEMBER_EPOCH)  # no more than once
    assert [it.body.member_epoch for it in world.open(BEAT)] == [0]


def test_an_instance_id_that_another_one_holds_is_tried_for_once() -> None:
    world = ConsumerWorld(config={"group_instance_id": "i"})
    world.start()
    world.refuse(DisconnectedError("gone"))
    find_again(world)
    world.refuse(E.UNRELEASED_INSTANCE_ID)
    leave, again = world.open(BEAT)
    world._reply(leave, E.FENCED_INSTANCE_ID)
    world._reply(again, E.UNRELEASED_INSTANCE_ID)
    world.settle()
    assert world.member.state is S.FATAL


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
