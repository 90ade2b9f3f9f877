"""The parts of a simulation alone: clocks, chance, books, rules."""

import random
from collections import deque
from dataclasses import replace
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sim_runs import broken

from kcore.assignors import MemberSubscription, blobs
from kcore.sim import Fault, Plan, Rule, ViolationError, faults_of, overruled, plan_of
from kcore.sim.chance import Chance
from kcore.sim.clock import Clock
from kcore.sim.ledger import Ledger
from kcore.sim.logs import Logs
from kcore.sim.network import Network
from kcore.sim.offsets import Hands, Offsets
from kcore.sim.peace import Peace
from kcore.sim.plan import upgrading
from kcore.sim.shares import Shares
from kcore.sim.trace import Trace, What
from kcore.structs import TopicPartition
from kcore.timers import NEVER
from kcore.wire import frames
from kcore.wire import messages as m
from kcore.wire.apis import ApiKey

T0 = TopicPartition("t", 0)


@given(
    st.integers(-(10**6), 10**12),
    st.integers(-50_000, 50_000),
    st.integers(0, 10**8),
)
def test_a_clock_is_read_and_asked_when(offset_ms, drift_ppm, world_ms):
    clock = Clock(offset_ms, drift_ppm)
    local_ms = clock.read(world_ms)
    found = clock.when(local_ms)
    assert clock.read(found) >= local_ms
    assert found == 0 or clock.read(found - 1) < local_ms
    assert clock.read(world_ms + 1) >= local_ms
    assert clock.when(NEVER) == NEVER


def test_chance_is_its_seed_and_streams_do_not_disturb_each_other():
    one, other = Chance(random.Random, 7), Chance(random.Random, 7)
    fork = one.fork()
    other.fork()
    assert [fork.random() for _ in range(3)] != [one.random() for _ in range(3)]
    other.random(), other.random(), other.random()
    assert one.between(0, 10**9) == other.between(0, 10**9)
    draws = {one.between(3, 5) for _ in range(100)}
    assert draws == {3, 4, 5}
    assert not any(one.happens(0) for _ in range(10))
    assert all(one.happens(1) for _ in range(10))
    assert min(one.around(4) for _ in range(100)) >= 1


def test_a_plan_is_its_seed_and_can_be_overruled():
    plan = plan_of(random.Random, 3)
    assert plan == plan_of(random.Random, 3)
    assert plan != plan_of(random.Random, 4)
    changed = overruled(plan, members=200, brokers=None)
    assert (changed.members, changed.brokers) == (200, plan.brokers)
    assert faults_of(["none"], plan, random.Random, 3) == {}
    others = {Fault.UPGRADE, Fault.FEATURE}
    assert set(faults_of(["all"], plan, random.Random, 3)) == set(Fault) - others
    rolling = upgrading(plan, 1_000)  # a coordinator that loads it would refuse the last
    others = {Fault.FEATURE, Fault.NODE_CRASH, Fault.COORDINATOR_MOVE}
    assert set(faults_of(["all"], rolling, random.Random, 3)) == set(Fault) - others
    assert set(faults_of(["cut", "slow"], plan, random.Random, 3)) == {Fault.CUT, Fault.SLOW}
    with pytest.raises(ValueError, match="earthquake"):
        faults_of(["earthquake"], plan, random.Random, 3)
    assert any("members=200" in line for line in changed.lines())


# The wire ----------------------------------------------------------------------------------------


def a_wire():
    peer = SimpleNamespace
    return SimpleNamespace(
        client=peer(name="m1"), node=peer(name="node1"), asked=deque(),
        excused=False, turn_ms=0, mute_ms=0, speaks_ms=0,
    )  # fmt: skip


def ask(ledger, wire, correlation, now_ms=0):
    message = m.HeartbeatRequest(group_id="g", member_id="m")
    ledger.asked(wire, frames.encode_request(message, 4, correlation, "m1"), now_ms)


def answer(ledger, wire, correlation, now_ms=0):
    ledger.answered(wire, frames.encode_response(m.HeartbeatResponse(), 4, correlation), now_ms)


def test_answers_come_once_in_order_and_in_time():
    ledger, wire = Ledger(Plan(seed=1), Trace()), a_wire()
    ask(ledger, wire, 1)
    ask(ledger, wire, 2)
    answer(ledger, wire, 1, now_ms=10)
    answer(ledger, wire, 2, now_ms=20)
    with pytest.raises(ViolationError, match="asked nothing that is open"):
        answer(ledger, wire, 2)
    ask(ledger, wire, 3)
    with pytest.raises(ViolationError, match="is next") as found:
        answer(ledger, wire, 4)
    assert found.value.rule is Rule.ANSWERED_ONCE


def test_an_answer_that_is_overdue_is_found_unless_a_fault_excuses_it():
    ledger, wire = Ledger(Plan(seed=1), Trace()), a_wire()
    ask(ledger, wire, 1)
    ledger.judge_open(wire, 1_000)
    with pytest.raises(ViolationError, match="has not answered HEARTBEAT 1 of m1"):
        ledger.judge_open(wire, 60_000)
    wire.excused = True
    ledger.judge_open(wire, 60_000)
    ledger.dropped(wire)
    assert not wire.asked


# The network -------------------------------------------------------------------------------------


class End:
    """A client, or a node; it keeps what comes."""

    up, paused, deaf = True, False, False

    def __init__(self, name):
        self.name = name
        self.got = []

    def wire_opened(self, *_):
        self.got.append("opened")

    def wire_data(self, _, data):
        self.got.append(data)

    def wire_closed(self, *_):
        self.got.append("closed")

    def reads(self, _):
        return True


class Street:
    """A client that is connected to a node."""

    def __init__(self):
        self.now_ms = 0
        self.todo = []
        ledger = Ledger(Plan(seed=1), Trace())
        at, now = (lambda *what: self.todo.append(what)), (lambda: self.now_ms)
        self.network = Network(Chance(random.Random, 1), ledger, at, now, (1, 1), 0.0)
        self.client, self.node = End("m1"), End("node1")
        self.network.connect(self.client, 1, self.node)
        self.run(1)
        [self.wire] = self.network.wires()

    def run(self, until_ms):
        """What is due by then happens."""
        while due := [what for what in self.todo if what[0] <= until_ms]:
            first = min(due, key=lambda what: what[0])
            self.todo.remove(first)
            self.now_ms, act, *arguments = first
            act(*arguments)
        self.now_ms = until_ms

    def exchange(self):
        """A question and an answer, sent in the same moment; what came of them in 10 ms."""
        self.client.got, self.node.got = [], []
        question = frames.encode_request(m.HeartbeatRequest(group_id="g"), 4, 7, "m1")
        self.network.client_sends(self.client, 1, question)
        self.network.node_sends(1, frames.encode_response(m.HeartbeatResponse(), 4, 7))
        self.run(self.now_ms + 10)
        return len(self.node.got), len(self.client.got)


def test_what_goes_one_way_may_be_late_and_the_rest_passes():
    street = Street()
    assert street.exchange() == (1, 1)
    street.network.hush(street.wire, street.now_ms + 100, up=False)
    assert street.exchange() == (1, 0)
    street.run(street.now_ms + 100)
    assert len(street.client.got) == 1
    street.network.keep_apart("m1", "node1", street.now_ms + 100, down=False)
    assert street.exchange() == (0, 1)
    street.run(street.now_ms + 100)
    assert len(street.node.got) == 1


@pytest.mark.parametrize("up", [True, False])
def test_what_goes_one_way_may_be_lost_until_the_world_heals(up):
    street = Street()
    street.network.lose_wire(street.wire, up=up, down=not up)
    assert street.exchange() == (not up, up)
    street.run(100_000)
    assert (len(street.node.got), len(street.client.got)) == (not up, up)
    street.network.heal()
    street.run(200_000)
    assert street.node.got[-1:] == street.client.got[-1:] == ["closed"]


def test_a_node_hears_of_a_client_that_gives_up_unless_that_way_is_lost():
    for up in (True, False):
        street = Street()
        street.network.lose_wire(street.wire, up=up, down=not up)
        street.network.client_closes(street.client, 1)
        street.run(100)
        assert ("closed" in street.node.got) is not up


@pytest.mark.parametrize("fate", ["arrives", "is late", "is lost"])
def test_who_is_to_wait_has_to_have_heard_of_it(fate):
    street = Street()
    network, wire = street.network, street.wire
    question = frames.encode_request(m.HeartbeatRequest(group_id="g"), 4, 7, "m1")
    told = m.HeartbeatResponse(throttle_time_ms=1_000)
    network.client_sends(street.client, 1, question)
    network.node_sends(1, frames.encode_response(told, 4, 7))
    if fate == "is late":
        network.hush(wire, street.now_ms + 500)
    elif fate == "is lost":
        network.lose_wire(wire)
    street.run(street.now_ms + 10)
    if fate == "arrives":
        broken(Rule.THROTTLED, network.client_sends, street.client, 1, question)
    else:
        network.client_sends(street.client, 1, question)


def test_what_ends_a_transaction_may_be_kept_from_lingering():
    street = Street()
    street.network.never_linger = frozenset({ApiKey.END_TXN})
    street.network.hush(street.wire, 50)
    question = frames.encode_request(m.EndTxnRequest(transactional_id="x"), 3, 7, "m1")
    street.network.client_sends(street.client, 1, question)
    street.network.client_closes(street.client, 1)
    street.run(100)
    assert street.node.got == ["opened", "closed"]


@pytest.mark.parametrize("lingers", [True, False])
def test_nor_does_it_where_only_the_client_hears_that_the_connection_is_gone(lingers):
    street = Street()
    street.network.never_linger = frozenset() if lingers else frozenset({ApiKey.END_TXN})
    question = frames.encode_request(m.EndTxnRequest(transactional_id="x"), 3, 7, "m1")
    street.network.client_sends(street.client, 1, question)
    street.run(100)
    street.network.lose_wire(street.wire)
    street.network.tell_client(street.wire, "connection reset")
    street.run(200)
    assert street.client.got[-1] == "closed"
    assert ("closed" in street.node.got) is not lingers


# Records and offsets -----------------------------------------------------------------------------


def records(first, *values):
    return [SimpleNamespace(offset=first + n, value=value) for n, value in enumerate(values)]


def test_records_are_what_was_written_and_stay_so():
    logs = Logs()
    logs.written(T0, [b"a", b"b", b"c"])
    logs.acknowledged(T0, 0, [b"a", b"b"])
    logs.delivered_to("m1", "g", T0, records(0, b"a"))
    assert logs.missing("g", T0) == [1]
    assert logs.missing("h", T0) == [0, 1]
    assert logs.end_offset(T0) == 2
    logs.delivered_to("m1", "g", T0, records(2, b"c"))  # sent, and not promised
    broken(Rule.NEVER_SKIPS, logs.delivered_to, "m1", "g", T0, records(1, b"a"))
    broken(Rule.NEVER_SKIPS, logs.delivered_to, "m1", "g", T0, records(3, b"x"))
    broken(Rule.NEVER_SKIPS, logs.delivered_to, "m1", "g", T0, records(2, b"b"))
    broken(Rule.NEVER_SKIPS, logs.acknowledged, T0, 1, [b"c"])


def test_of_two_commits_of_an_offset_one_may_count_and_the_other_be_refused():
    logs = Logs()
    offsets = Offsets(logs, named=True, unnamed=True)
    hands = Hands(done={T0: 5}, lives={T0: 0}, begun={T0: (0, 0)})
    ask = {"lives": None, "blind": False}
    offsets.asked("m1", "g", hands, {T0: 5}, **ask)  # on a connection that is given up
    logs.topic_gone(T0.topic)
    offsets.topic_gone(T0.topic)
    offsets.asked("m1", "g", hands, {T0: 5}, **ask)
    offsets.refused("g", T0, 5)
    assert 5 in offsets.beginnings("g", Hands(), T0, 1)
    offsets.refused("g", T0, 5)
    assert offsets.beginnings("g", Hands(), T0, 1) == {0}


def test_a_commit_that_lingers_counts_in_whatever_topic_there_is_then():
    logs = Logs()
    offsets = Offsets(logs, unnamed=True)
    offsets.asked("m1", "g", Hands(done={T0: 5}, lives={T0: 0}, begun={T0: (0, 0)}), {T0: 5})
    for life in (1, 2):
        logs.topic_gone(T0.topic)
        offsets.topic_gone(T0.topic)
        assert 5 in offsets.beginnings("g", Hands(), T0, life)
    offsets.void("g", T0, 5, 0)  # it has come
    logs.topic_gone(T0.topic)
    offsets.topic_gone(T0.topic)
    assert offsets.beginnings("g", Hands(), T0, 3) == {0}


def test_a_position_beyond_the_new_log_goes_on_at_its_end():
    """As who validates it is told (KIP-320), where topics have no ids."""
    logs = Logs()
    logs.written(T0, [b"a"])
    logs.acknowledged(T0, 0, [b"a"])
    hands = Hands(position={T0: 6}, lives={T0: 0}, begun={T0: (0, 0)})
    logs.topic_gone(T0.topic)
    logs.written(T0, [b"b", b"c"])
    logs.acknowledged(T0, 4, [b"b"])
    logs.acknowledged(T0, 7, [b"c"])
    broken(Rule.NEVER_SKIPS, Offsets(logs).handed, "m1", "g", replace(hands), T0, records(4, b"b"))
    offsets = Offsets(logs, named=True, unnamed=True)
    broken(Rule.NEVER_SKIPS, offsets.handed, "m1", "g", replace(hands), T0, records(7, b"c"))
    offsets.handed("m1", "g", hands, T0, records(4, b"b"))


def test_a_record_of_either_life_is_of_the_one_in_which_its_reader_may_begin():
    logs = Logs()
    logs.acknowledged(T0, 0, [b"a"])
    offsets = Offsets(logs)
    offsets.confirmed("m1", "g", 1, T0, 1, stray=False)
    hands = Hands(begun={T0: (0, 1)})
    logs.written(T0, [b"b", b"c"])  # nobody is told
    logs.topic_gone(T0.topic)
    offsets.topic_gone(T0.topic)
    offsets.handed("m1", "g", hands, T0, records(0, b"b"))
    assert hands.lives[T0] == 1
    other = Hands(begun={T0: (0, 1)})
    offsets.handed("m2", "g", other, T0, records(1, b"c"))
    assert other.lives[T0] == 0


def test_records_of_either_life_are_of_that_in_which_the_next_ones_are():
    logs = Logs()
    logs.written(T0, [b"a", b"b"])  # nobody is told
    logs.topic_gone(T0.topic)
    logs.written(T0, [b"c", b"d"])
    logs.acknowledged(T0, 2, [b"c", b"d"])
    offsets, hands = Offsets(logs), Hands(begun={T0: (0, 0)})
    offsets.handed("m1", "g", hands, T0, records(0, b"a", b"b"))
    assert hands.lives[T0] == 0
    other = replace(hands, position={T0: 2}, loose={T0}, lives={T0: 0})
    broken(Rule.NEVER_SKIPS, offsets.handed, "m1", "g", other, T0, records(3, b"d"))
    offsets.handed("m1", "g", hands, T0, records(2, b"c"))
    assert hands.lives[T0] == 1


def test_by_names_a_member_goes_on_where_it_was_to_begin_in_the_topic_before():
    """The log of that had been trimmed, and nothing of it had come."""
    logs = Logs()
    logs.trimmed(T0, 2)
    hands = Hands(begun={T0: (0, 0)})
    logs.topic_gone(T0.topic)
    logs.written(T0, [b"a", b"b", b"c", b"d"])
    logs.acknowledged(T0, 0, [b"a", b"b", b"c", b"d"])
    broken(Rule.NEVER_SKIPS, Offsets(logs).handed, "m1", "g", hands, T0, records(2, b"c"))
    offsets = Offsets(logs, named=True, unnamed=True)
    broken(Rule.NEVER_SKIPS, offsets.handed, "m1", "g", hands, T0, records(3, b"d"))
    offsets.handed("m1", "g", hands, T0, records(2, b"c"))
    assert logs.missing("g", T0) == [2, 3]


def test_reading_begins_where_the_group_left_off_and_goes_on_one_by_one():
    offsets, hands = Offsets(Logs()), Hands()
    broken(Rule.NEVER_SKIPS, offsets.handed, "m1", "g", hands, T0, records(1, b"a"))
    offsets.handed("m1", "g", hands, T0, records(0, b"a", b"b"))
    broken(Rule.NEVER_SKIPS, offsets.handed, "m1", "g", hands, T0, records(3, b"a"))
    broken(Rule.NEVER_SKIPS, offsets.handed, "m1", "g", hands, T0, records(1, b"a"))
    offsets.confirmed("m1", "g", 1, T0, 2, stray=False)
    other = Hands()
    broken(Rule.NEVER_SKIPS, offsets.handed, "m2", "g", other, T0, records(0, b"a"))
    offsets.handed("m2", "g", other, T0, records(2, b"c"))


def test_commits_are_behind_the_application_and_go_forward():
    offsets, hands = Offsets(Logs()), Hands()
    hands.done[T0] = 3
    broken(Rule.COMMIT_BEHIND, offsets.asked, "m1", "g", hands, {T0: 4})
    offsets.asked("m1", "g", hands, {T0: 3})
    assert offsets.of("g", T0).candidates() == {0, 3}  # it may have come through, or not
    offsets.confirmed("m1", "g", 1, T0, 3, stray=False)
    broken(Rule.COMMIT_FORWARD, offsets.confirmed, "m1", "g", 1, T0, 2, stray=False)
    offsets.confirmed("m1", "g", 1, T0, 2, stray=True)
    offsets.confirmed("m1", "g", 2, T0, 1, stray=False)
    offsets.asked("m1", "g", hands, {T0: 2})
    offsets.refused("g", T0, 2)
    assert offsets.of("g", T0).candidates() == {1}


def test_a_commit_that_may_have_been_meant_for_another_life_may_come_between_others():
    offsets = Offsets(Logs())
    committed = offsets.of("g", T0)
    offsets.confirmed("m1", "g", 1, T0, 9, stray=False)
    committed.strays[4] += 1
    broken(Rule.COMMIT_FORWARD, offsets.confirmed, "m1", "g", 1, T0, 5, stray=False)
    offsets.confirmed("m1", "g", 1, T0, 4, stray=False)
    offsets.confirmed("m1", "g", 1, T0, 3, stray=False)  # behind that one


def test_what_was_deleted_may_be_passed_over():
    logs, hands = Logs(), Hands()
    offsets = Offsets(logs)
    logs.acknowledged(T0, 0, [b"a", b"b", b"c", b"d"])
    offsets.handed("m1", "g", hands, T0, records(0, b"a"))
    logs.trimmed(T0, 3)
    assert logs.missing("g", T0) == [3]
    broken(Rule.NEVER_SKIPS, offsets.handed, "m1", "g", hands, T0, records(2, b"c"))
    offsets.handed("m1", "g", hands, T0, records(3, b"d"))
    offsets.handed("m2", "g", Hands(), T0, records(3, b"d"))
    broken(Rule.NEVER_SKIPS, offsets.handed, "m2", "g", Hands(), T0, records(2, b"c"))


def test_what_one_leader_has_deleted_and_another_one_has_is_promised_no_more():
    logs = Logs()
    logs.acknowledged(T0, 0, [b"a", b"b", b"c", b"d", b"e"])
    logs.trimmed(T0, 3)
    logs.trimmed(T0, 2)  # by a leader that did not know; the first one may lead again
    assert logs.kept_from(T0) == 3
    assert logs.missing("g", T0) == [3, 4]
    for first, values in ((2, [b"c", b"d"]), (3, [b"d"])):
        Offsets(logs).handed("m1", "g", Hands(), T0, records(first, *values))


# Peace, and shares -------------------------------------------------------------------------------


def test_a_fault_touches_one_member_or_all_until_it_is_got_over():
    peace = Peace(Plan(seed=1, settle_ms=1_000))
    assert peace.at("m1", 0)
    peace.touched(Fault.JOIN, "m1", 0)
    assert peace.at("m1", 0)
    peace.touched(Fault.SPLIT, "m1", 0, 500)
    assert not peace.at("m1", 1_500)
    assert peace.at("m1", 1_501)
    assert peace.at("m2", 0)
    peace.touched(Fault.SLOW, "m2", 2_000, 3_000)
    assert not peace.at("m2", 2_000)
    assert peace.at("m2", 2_000, but_slow=True)
    peace.touched(Fault.LAG, "node1", 5_000)
    assert not peace.at("m3", 10**9)
    peace.healed(6_000)
    assert not peace.at("m3", 7_000)
    assert peace.at("m3", 7_001)


def led(name, had, given):
    """A leader hears what members have, and says what they are given; partitions of one topic."""
    shares, wire = Shares(), SimpleNamespace(client=SimpleNamespace(name="m1"))
    members = [
        m.JoinGroupResponse.JoinGroupResponseMember(
            member_id=one, metadata=blobs.encode_subscription(MemberSubscription(("t",), tps(some)))
        )
        for one, some in had.items()
    ]
    joined = m.JoinGroupResponse(
        generation_id=2, protocol_name=name, leader="a", member_id="a", members=members
    )
    cls = m.SyncGroupRequest.SyncGroupRequestAssignment
    plan = [
        cls(member_id=one, assignment=blobs.encode_assignment(tps(some)))
        for one, some in given.items()
    ]
    request = m.SyncGroupRequest(generation_id=2, member_id="a", assignments=plan)
    shares.answered(wire, SimpleNamespace(message=None), joined)
    shares.asked(wire, SimpleNamespace(message=request))


def tps(numbers):
    return tuple(TopicPartition("t", number) for number in numbers)


@pytest.mark.parametrize(
    ("had", "given"),
    [
        ({"a": [0, 1], "b": [2, 3]}, {"a": [0, 1], "b": [2, 3]}),
        ({"a": [0, 1, 2, 3], "b": []}, {"a": [1, 2], "b": []}),  # b is to wait for 0 and 3
        ({"a": [0, 1], "b": [1, 2]}, {"a": [2], "b": [0]}),  # 1 is claimed by both
        ({"a": [0, 1], "b": [2, 7]}, {"a": [0, 1], "b": [2]}),  # 7 is not known to the leader
    ],
)
def test_a_plan_may_take_what_balance_needs(had, given):
    led("cooperative-sticky", had, given)


def test_a_plan_takes_no_more_than_that():
    had, given = {"a": [0, 1], "b": [2, 3]}, {"a": [0, 2], "b": [1, 3]}
    broken(Rule.STICKY, led, "cooperative-sticky", had, given)
    led("range", had, given)


# The trace ---------------------------------------------------------------------------------------


def test_a_trace_has_a_hash_a_tail_and_a_list():
    one, other = Trace(), Trace()
    for trace in (one, other):
        trace.begin_step(5)
        trace.passed("m1", "heartbeat", b"abc")
        trace.event(What.JOINED, "m1", generation=3)
    assert one.digest == other.digest
    one.passed("m1", "heartbeat", b"abc")
    other.passed("m1", "heartbeat", b"abd")
    assert one.digest != other.digest
    assert one.events[0].what is What.JOINED
    assert one.events[0].detail == {"generation": 3}
    assert "joined generation=3" in one.tail(2)[0]
