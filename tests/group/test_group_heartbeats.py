"""Heartbeats and their timers (B1-B8, C10-C12), and leaving (E1-E3, X3, C14)."""

from __future__ import annotations

import pytest
from consumer_world import ConsumerWorld
from group_world import (
    KEY,
    MEMBER,
    CooperativeRange,
    World,
    start,
    tp,
)

from kcore.events import (
    CoordinatorLost,
    GroupLeft,
    HeartbeatAnswered,
    PartitionsLost,
    PartitionsRevoked,
)
from kcore.group.context import Timer
from kcore.group.repeated import Repeated
from kcore.group.states import MemberState
from kcore.structs import MemberState as PublicState
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode as E

# -- heartbeats ----------------------------------------------------------------------------------


def test_c10_timers() -> None:
    world = World(
        config={
            "session_timeout_ms": 300,
            "heartbeat_interval_ms": 100,
            "max_poll_interval_ms": 900,
        }
    )
    world.become_stable()
    world.run(99)
    assert not world.open(ApiKey.HEARTBEAT)
    world.run(1)
    sent = world.now
    heartbeat = world.request(ApiKey.HEARTBEAT)
    assert (heartbeat.body.generation_id, heartbeat.body.member_id) == (1, MEMBER)
    world.run(30)
    world.answer(ApiKey.HEARTBEAT)
    (answered,) = world.new_events(HeartbeatAnswered)
    assert answered == HeartbeatAnswered(1, 30)
    world.run(69)
    assert not world.open(ApiKey.HEARTBEAT)
    world.run(1)
    assert world.now == sent + 100  # counted from the sending
    assert world.open(ApiKey.HEARTBEAT)


def test_c10_session_ends_without_answers() -> None:
    world = World(config={"session_timeout_ms": 300, "heartbeat_interval_ms": 100})
    world.become_stable()
    world.run(299)
    assert not world.new_events(CoordinatorLost)
    world.run(6)
    (lost,) = world.new_events(CoordinatorLost)
    assert "300 ms" in lost.reason
    assert world.member.state is MemberState.STABLE
    assert world.count(ApiKey.HEARTBEAT) == 1  # one in flight at a time


@pytest.mark.parametrize("first", ["session_timeout_ms", "max_poll_interval_ms"])
def test_a_heartbeat_on_its_way_keeps_nobody_from_the_other_timers(first: str) -> None:
    world = World(
        config={"session_timeout_ms": 5_000, "max_poll_interval_ms": 5_000, first: 4_000}
        | {"request_timeout_ms": 20_000}
    )
    world.become_stable()
    since = world.now
    assert world.member.deadline() == since + 3_000
    world.run(3_000)
    assert world.open(ApiKey.HEARTBEAT)
    # Of both the next is told: who takes the answer unread asks nobody again.
    assert world.member.deadline() == since + 4_000


class Judged(Repeated):
    """Keeps which answers counted as the usual one."""

    def __init__(self) -> None:
        super().__init__()
        self.judged: list[bool] = []

    def read(self, *, good: bool) -> None:
        self.judged.append(good)
        super().read(good=good)


@pytest.mark.parametrize("world", [World(), ConsumerWorld()], ids=["classic", "consumer"])
def test_an_answer_that_throttles_is_no_usual_one(world: World) -> None:
    """Else the next like it would be passed over, and its throttling with it."""
    world.become_stable()
    api = ApiKey.CONSUMER_GROUP_HEARTBEAT if isinstance(world, ConsumerWorld) else ApiKey.HEARTBEAT
    world.member._heartbeats._repeated = judged = Judged()
    for throttle_time_ms in (0, 50, 0):
        while not world.open(api):
            world.run(100, poll_every=100)
        world.answer(api, throttle_time_ms=throttle_time_ms)
    assert judged.judged == [True, False, True]


def test_k2_discovery_restarts_the_session_but_not_the_heartbeat() -> None:
    world = World(config={"session_timeout_ms": 300, "heartbeat_interval_ms": 100})
    world.become_stable()
    world.run(305)
    timers = world.member._ctx.timers
    heartbeat_at = timers.at(Timer.HEARTBEAT)
    world.find()
    assert timers.at(Timer.SESSION) == world.now + 300
    assert timers.at(Timer.HEARTBEAT) == heartbeat_at


def test_c11_heartbeats_while_completing() -> None:
    world = start("t1")
    world.answer(ApiKey.JOIN_GROUP)
    assert world.member.state is MemberState.COMPLETING
    world.run(3_000)
    assert world.open(ApiKey.HEARTBEAT)


def test_b1_no_heartbeats_while_preparing() -> None:
    world = World()
    world.become_stable()
    world.member.request_rejoin("test", world.now)
    world.poll()
    world.poll()
    assert world.member.state is MemberState.PREPARING
    world.run(20_000, poll_every=1_000)
    assert not world.open(ApiKey.HEARTBEAT)


def test_c12_b6_poll_interval() -> None:
    world = World()
    world.become_stable()
    world.auto = True
    world.run(59_999)
    assert world.member.stable
    world.held.add(ApiKey.LEAVE_GROUP)
    world.run(1)
    leave = world.request(ApiKey.LEAVE_GROUP).body
    assert [entry.member_id for entry in leave.members] == [MEMBER]
    assert "max_poll_interval_ms is 60000" in leave.members[0].reason
    (left,) = world.new_events(GroupLeft)
    assert "60000 ms passed without a poll" in left.reason
    assert world.member.state is MemberState.UNJOINED
    assert world.host.owned  # the application has not come back yet
    world.run(120_000)
    assert world.count(ApiKey.JOIN_GROUP) == 1
    world.poll()
    (lost,) = world.new_events(PartitionsLost)
    assert lost.partitions == (tp("t1-0"), tp("t1-1"))
    world.poll()
    assert world.count(ApiKey.JOIN_GROUP) == 2
    world.poll()
    assert world.member.stable


def test_b6_who_has_joined_and_does_not_come_back_is_put_out_as_well() -> None:
    world = start()
    world.join("t1-0")
    world.auto = True
    world.run(59_999)
    assert world.count(ApiKey.LEAVE_GROUP) == 0
    world.run(1)
    assert world.count(ApiKey.LEAVE_GROUP) == 1


def test_b6_the_leave_does_not_wait_behind_a_sync_that_is_held() -> None:
    world = start(max_poll_interval_ms=4_000)
    world.answer(ApiKey.JOIN_GROUP)
    assert world.open(ApiKey.SYNC_GROUP)
    world.run(3_000)
    world.answer(ApiKey.HEARTBEAT)
    world.run(1_000)
    assert world.network.drops == [KEY]
    assert world.open(ApiKey.LEAVE_GROUP)


def test_who_was_put_out_is_named_as_it_was_until_it_is_a_member_again() -> None:
    """A transaction commits the offsets of nobody, whoever has the partitions by then."""
    world = World()
    world.become_stable()
    world.auto = True
    world.run(60_000)
    assert world.member.metadata() == ("g", 1, MEMBER, None, PublicState.UNJOINED)
    world.poll()
    assert world.new_events(PartitionsLost)
    assert world.member.metadata()[:3] == ("g", 1, MEMBER)
    for _ in range(3):
        world.poll()
    assert world.member.stable
    assert world.member.metadata().state == PublicState.STABLE
    assert world.member.metadata().generation_id == 2
    world.run(60_000)
    world.subscribe()
    world.member.leave(world.now, "unsubscribed")
    world.settle()
    world.poll()
    assert world.member.metadata()[:3] == ("g", -1, "")


def test_b5_polls_keep_the_interval_open_while_the_coordinator_is_unknown() -> None:
    world = World()
    world.become_stable()
    world.network.brokers = False
    world.run(100_000, poll_every=1_000)
    world.network.brokers = True
    world.auto = True
    world.run(5_000, poll_every=1_000)
    assert world.member.stable
    assert world.count(ApiKey.LEAVE_GROUP) == 0


def test_b6_a_single_threaded_application_that_comes_back_late() -> None:
    """Nothing ticked meanwhile: the poll itself finds out that it is late."""
    world = World(config={"session_timeout_ms": 100_000})
    world.become_stable()
    world.auto = True
    world.now += 70_000
    world.poll()
    (left,) = world.new_events(GroupLeft)
    assert left.reason.startswith("70000 ms passed")
    world.run(1_000, poll_every=100)
    assert world.member.stable


def test_back_after_the_session_the_broker_has_the_word() -> None:
    """B2: the session goes before the poll interval; the coordinator found again says what
    became of us.
    """
    world = World()
    world.become_stable()
    world.now += 70_000
    world.poll()
    world.find()
    world.run(200)
    world.answer(ApiKey.HEARTBEAT, E.UNKNOWN_MEMBER_ID)
    world.poll()
    assert world.new_events(PartitionsLost)


def stable() -> World:
    world = World()
    world.become_stable()
    return world


def beat(world: World) -> None:
    """On to the next heartbeat."""
    world.run(3_000)
    assert world.open(ApiKey.HEARTBEAT)


def failed_beats(world: World, count: int) -> list[int]:
    """How long after each of so many failures in a row the next heartbeat goes out."""
    waits = []
    for _ in range(count):
        world.answer(ApiKey.HEARTBEAT, E.COORDINATOR_LOAD_IN_PROGRESS)
        since = world.now
        while not world.open(ApiKey.HEARTBEAT):
            world.run(1)
        waits.append(world.now - since)
    return waits


def test_heartbeats_that_fail_come_ever_later_until_one_is_good() -> None:
    world = stable()
    beat(world)
    first, second, third = failed_beats(world, 3)
    assert (80 <= first <= 120, 160 <= second <= 240, 320 <= third <= 480) == (True,) * 3
    world.answer(ApiKey.HEARTBEAT)
    beat(world)
    assert failed_beats(world, 1)[0] <= 120


def test_heartbeats_of_another_membership_begin_without_backoff() -> None:
    world = stable()
    beat(world)
    failed_beats(world, 3)
    world.answer(ApiKey.HEARTBEAT, E.UNKNOWN_MEMBER_ID)
    world.poll()
    world.poll()
    world.join("t1-0")
    world.poll()
    assert world.member.stable
    beat(world)
    assert failed_beats(world, 1)[0] <= 120


def test_a_coordinator_that_answers_heartbeats_is_looked_up_without_backoff_when_lost() -> None:
    world = stable()
    for _ in range(3):
        beat(world)
        world.answer(ApiKey.HEARTBEAT)
        beat(world)
        world.answer(ApiKey.HEARTBEAT, E.NOT_COORDINATOR)
        assert world.open(ApiKey.FIND_COORDINATOR)
        world.find()
        world.run(121)
        world.answer(ApiKey.HEARTBEAT)


def test_how_a_session_ended_is_said_of_a_commit_that_comes_too_late() -> None:
    """Also of the first one, in which no heartbeat was answered."""
    for answered in range(2):
        world = stable()
        for _ in range(answered):
            beat(world)
            world.answer(ApiKey.HEARTBEAT)
        silent_since = world.member._membership.last_heartbeat_ms
        world.run(13_001)
        world.find()
        world.run(200)
        world.answer(ApiKey.HEARTBEAT, E.UNKNOWN_MEMBER_ID)
        loss = world.member._membership.loss
        assert loss is not None
        assert loss.timer == "session_timeout_ms"
        assert loss.elapsed_ms == world.now - silent_since


# -- leaving -------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(6))
def test_e1_leave_in_every_version(version: int) -> None:
    world = World()
    world.network.versions[ApiKey.LEAVE_GROUP] = version
    world.become_stable()
    world.member.leave(world.now, "why " * 100)
    world.settle()
    body = world.request(ApiKey.LEAVE_GROUP).body
    if version < 3:
        assert body.member_id == MEMBER
    else:
        assert [entry.member_id for entry in body.members] == [MEMBER]
        assert body.members[0].reason == (None if version < 5 else ("why " * 100)[:255])
    (revoked,) = world.new_events(PartitionsRevoked)
    assert revoked.partitions == (tp("t1-0"), tp("t1-1"))
    assert world.member.state is MemberState.UNJOINED
    assert world.host.owned == []


@pytest.mark.parametrize("way", ["close", "unsubscribe", "stall"])
def test_c14_static_members_do_not_leave(way: str) -> None:
    world = World(config={"group_instance_id": "i"})
    world.become_stable()
    world.auto = True
    if way == "close":
        world.member.close(world.now, world.now + 5_000, autocommit=True)
        world.settle()
        assert world.member.closed
    elif way == "unsubscribe":
        world.member.leave(world.now, "unsubscribed")
        world.settle()
    else:
        world.run(61_000)
    assert world.count(ApiKey.LEAVE_GROUP) == 0
    assert world.member.state is MemberState.UNJOINED


def test_e1_a_member_that_only_has_an_id_leaves_and_not_behind_its_own_join() -> None:
    world = start("t1")
    world.answer(ApiKey.JOIN_GROUP, E.MEMBER_ID_REQUIRED, member_id="x")
    assert world.open(ApiKey.JOIN_GROUP)
    world.member.leave(world.now, "unsubscribed")
    world.settle()
    assert [it.member_id for it in world.request(ApiKey.LEAVE_GROUP).body.members] == ["x"]
    assert world.network.drops == [KEY]  # the broker would read it only when the join is answered
    assert not world.new_events(CoordinatorLost)


def test_e1_nobody_to_tell() -> None:
    world = World()
    world.subscribe("t1")
    world.member.leave(world.now, "unsubscribed")
    world.settle()
    assert world.count(ApiKey.LEAVE_GROUP) == 0
    assert not world.new_events(GroupLeft)


def test_x3_unsubscribe_during_a_rebalance_means_lost() -> None:
    world = World(config={"assignors": (CooperativeRange(),)})
    world.become_stable()
    world.member.request_rejoin("test", world.now)
    world.poll()
    assert world.member.state is MemberState.PREPARING
    world.member.leave(world.now, "unsubscribed")
    world.settle()
    assert not world.new_events(PartitionsRevoked)
    world.seen = 0
    (lost,) = world.new_events(PartitionsLost)
    assert lost.partitions == (tp("t1-0"), tp("t1-1"))


def test_unsubscribe_waits_for_the_acknowledgement_and_subscribing_again_joins() -> None:
    world = World(config={"await_acknowledgement": True})
    world.become_stable()
    owned = list(world.host.owned)
    assert world.member.leave(world.now, "unsubscribed")
    assert world.host.owned == owned  # who is told may commit it
    assert world.host.suspended == set(owned)
    world.subscribe("t2")
    assert not world.open(ApiKey.LEAVE_GROUP)
    world.ack()
    assert world.host.owned == []
    world.answer(ApiKey.LEAVE_GROUP)
    world.poll()
    assert world.request(ApiKey.JOIN_GROUP).body.member_id == ""


def test_an_assignment_by_hand_takes_the_place_of_what_unsubscribe_gives_up() -> None:
    world = World(config={"await_acknowledgement": True})
    world.become_stable()
    world.member.leave(world.now, "unsubscribed")
    world.member.let_go()
    assert world.host.owned == []
    world.host.take_assignment([tp("t9-0")])
    assert not world.open(ApiKey.LEAVE_GROUP)
    world.ack()
    assert world.host.owned == [tp("t9-0")]
    world.answer(ApiKey.LEAVE_GROUP)
