"""The program is away (stopped, suspended, busy elsewhere), wherever that strikes it: what has
arrived meanwhile comes before what is over meanwhile.
"""

from __future__ import annotations

import threading

import pytest
from toy_core import frame

from kcore.transports import Step, core
from kcore.transports.core import READABLE
from kcore.transports.pump import LOOKS_MAX, READS_PER_STEP

AWAY_MS = 60_000


@pytest.fixture
def clock(monkeypatch):
    """Strikes as it is read for the nth time: `meanwhile` is done, and a minute is over."""
    read_ns = core._clock_ns

    class Clock:
        readings, strikes_at, away_ns = 0, 0, 0
        meanwhile = staticmethod(lambda: None)

        def __call__(self):
            self.readings += 1
            if self.readings == self.strikes_at:
                self.meanwhile()
                self.away_ns += AWAY_MS * 1_000_000
            return read_ns() + self.away_ns

        def strike(self, at, meanwhile):
            self.readings, self.strikes_at, self.meanwhile = 0, at, meanwhile

    clock = Clock()
    monkeypatch.setattr(core, "_clock_ns", clock)
    return clock


def noted(toy):
    """What the core is told, in order."""
    order = []
    toy.when_frame = lambda *_: order.append("frame")
    toy.when_deadline = lambda _: order.append("deadline")
    return order


def test_an_answer_comes_before_the_deadline_whenever_it_is(rig, serve, clock):
    answers = threading.Semaphore(0)

    def handler(sock):
        while answers.acquire(timeout=10) and not over:
            sock.sendall(frame(b"answer"))

    over = []
    link = rig.connect(serve(handler))
    order = noted(rig.core)

    def meanwhile():
        answers.release()
        rig.wait_for(link, READABLE)

    struck = 0
    for at in range(1, 9):
        rig.core.at = rig.pump.now_ms() + 30_000
        clock.strike(at, meanwhile)
        while rig.pump.step(0) is not Step.IDLE:
            pass
        if clock.readings < at:
            break
        rig.until(lambda: "deadline" in order)
        assert order == ["frame", "deadline"]
        order.clear()
        struck += 1
    over.append(True)
    answers.release()
    assert struck >= 2


def test_more_than_a_share_comes_before_the_deadline(rig, serve, clock):
    """As much as has arrived; the share is there for when others wait."""
    count = 4 * READS_PER_STEP
    link = rig.connect(serve(lambda sock: sock.sendall(frame(b"x") * count)))
    order = noted(rig.core)
    rig.wait_for(link, READABLE)
    rig.core.at = rig.pump.now_ms() - 1
    rig.until(lambda: "deadline" in order)
    assert order == ["frame"] * count + ["deadline"]


def test_a_peer_that_never_ends_puts_off_no_deadline_for_ever(rig, serve):
    over = threading.Event()

    def handler(sock):
        while not over.is_set():
            sock.sendall(frame(b"x") * 1_000)

    rig.connect(serve(handler))
    order = noted(rig.core)
    rig.core.at = rig.pump.now_ms() - 1
    rig.until(lambda: "deadline" in order)
    over.set()
    assert len(order) <= LOOKS_MAX * READS_PER_STEP * 2 + 1


def test_a_core_is_told_how_late_it_is(rig, serve, clock):
    """And hears of nothing else between that and the deadline but what has arrived."""
    rig.connect(serve())
    told = []
    rig.core.hold_back = told.append
    rig.core.go_on = lambda now_ms: None
    rig.core.at = rig.pump.now_ms() + 30_000
    clock.strike(1, lambda: None)
    rig.until(lambda: rig.core.deadlines)
    (late_ms,) = told
    assert 30_000 <= late_ms <= AWAY_MS


def test_who_was_away_looks_before_a_verb(rig, serve, clock):
    answers = threading.Event()

    def handler(sock):
        answers.wait(10)
        sock.sendall(frame(b"answer"))

    link = rig.connect(serve(handler))
    before = rig.pump.caught_up()
    assert rig.core.frames == []
    assert not rig.pump.away

    def meanwhile():
        answers.set()
        rig.wait_for(link, READABLE)

    rig.core.at = rig.pump.now_ms() + 30_000
    clock.strike(1, meanwhile)
    now = rig.pump.caught_up()
    assert now >= before + AWAY_MS
    assert rig.core.frames
    assert rig.core.deadlines
