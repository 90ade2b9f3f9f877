"""The purgatory against a simple model, and the desk: everything ends once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcore.coordinator.desk import Caller, Desk, Reply
from kcore.coordinator.purgatory import Delayed, Purgatory
from kcore.errors import IllegalStateError
from kcore.timers import NEVER
from kcore.wire.messages import HeartbeatResponse


class Noted(Delayed):
    def __init__(self, name, ended, *, ready=False, again=None):
        self.name, self.ended, self.ready, self.again = name, ended, ready, again

    def can_complete(self):
        return self.ready

    def complete(self, now_ms):
        self.ended.append(("complete", self.name, now_ms))

    def expire(self, now_ms):
        self.ended.append(("expire", self.name, now_ms))
        if self.again is not None:
            self.again(now_ms)


def test_what_is_due_fires_in_the_order_of_its_time_then_as_it_was_set():
    purgatory, ended = Purgatory(), []
    for name, at in (("a", 5), ("b", 3), ("c", 5), ("d", 4)):
        purgatory.watch((name,), Noted(name, ended), at)
    assert purgatory.deadline() == 3
    purgatory.expire(5)
    assert [name for _, name, _ in ended] == ["b", "d", "a", "c"]
    assert (purgatory.deadline(), len(purgatory)) == (NEVER, 0)


def test_what_becomes_due_by_firing_fires_too():
    purgatory, ended = Purgatory(), []
    last = Noted("last", ended)
    again = Noted("again", ended, again=lambda now: purgatory.watch(("x",), last, now))
    purgatory.watch(("x",), again, 5)
    purgatory.expire(7)
    assert ended == [("expire", "again", 7), ("expire", "last", 7)]


def test_a_key_holds_one_operation_and_it_ends_once():
    purgatory, ended = Purgatory(), []
    purgatory.watch(("x",), Noted("old", ended), 5)
    new = Noted("new", ended)
    purgatory.watch(("x",), new, 9)
    purgatory.expire(8)
    assert ended == []
    purgatory.check(("x",), 8)
    assert ended == []
    new.ready = True
    purgatory.check(("x",), 8)
    purgatory.check(("x",), 8)
    purgatory.expire(20)
    assert ended == [("complete", "new", 8)]


KEYS = st.integers(0, 4)
STEPS = st.one_of(
    st.tuples(st.just("watch"), KEYS, st.integers(0, 30)),
    st.tuples(st.just("cancel"), KEYS, st.just(0)),
    st.tuples(st.just("pass"), st.just(0), st.integers(0, 10)),
)


@given(st.lists(STEPS, max_size=60))
def test_it_does_what_a_plain_table_does(steps):
    purgatory, ended = Purgatory(), []
    plain, expected = {}, []
    now = order = 0
    for what, key, number in steps:
        if what == "watch":
            order += 1
            purgatory.watch((key,), Noted(order, ended), now + number)
            plain[key] = (now + number, order)
        elif what == "cancel":
            purgatory.cancel((key,))
            plain.pop(key, None)
        else:
            now += number
            purgatory.expire(now)
            for at, name in sorted(x for x in plain.values() if x[0] <= now):
                expected.append(("expire", name, now))
                plain = {k: v for k, v in plain.items() if v != (at, name)}
        assert ended == expected
        assert purgatory.deadline() == min((at for at, _ in plain.values()), default=NEVER)
        assert {key for (key,) in purgatory} == set(plain)
        for k in range(5):
            assert purgatory.at((k,)) == plain.get(k, (NEVER,))[0]
            assert ((k,) in purgatory) == (k in plain)


def test_what_was_cancelled_does_not_pile_up():
    purgatory = Purgatory()
    for i in range(10_000):
        purgatory.watch(("x", i), Noted(i, []), i)
        purgatory.cancel(("x", i))
    for i in range(10_000):
        purgatory.watch(("y",), Noted(i, []), i)
        purgatory.deadline()
    assert len(purgatory._heap) < 200


def test_a_request_is_answered_once():
    desk = Desk()
    ticket = desk.take(Caller("t", "link"), 4)
    assert (ticket.version, desk.waiting) == (4, 1)
    ticket.answer(HeartbeatResponse())
    with pytest.raises(IllegalStateError, match="answered already"):
        ticket.answer(HeartbeatResponse())
    assert desk.next_reply() == Reply("t", HeartbeatResponse())
    assert desk.next_reply() is None
    assert desk.waiting == 0


def test_a_closed_connection_gets_no_answers():
    desk = Desk()
    tickets = [desk.take(Caller(i, link), 4) for i, link in enumerate("aab")]
    desk.close("a")
    desk.close("nobody")
    assert desk.waiting == 1
    for ticket in tickets:
        ticket.answer(HeartbeatResponse())
    assert [desk.next_reply().token, desk.next_reply()] == [2, None]
    with pytest.raises(IllegalStateError):
        tickets[0].answer(HeartbeatResponse())
    assert not desk._dropped
