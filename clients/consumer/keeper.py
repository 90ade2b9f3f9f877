"""The keeper drives the pump while the user's code is away: heartbeats go on, answers are read.

It never waits inside the pump and never waits for the lock, so no call of the user's is held up by
more than one turn of it. It holds the engine by a weak reference between its turns: a consumer that
is dropped without close ends its keeper.
"""

from __future__ import annotations

import weakref

from kcore.clients.engine import Engine
from kcore.errors import KafkaError
from kcore.transports import Step
from kcore.transports.background import Stop, run_aside

# A turn reads what has come at most this often: the rest is left to the next tick.
_STEPS_PER_TURN = 4
_TICK_MAX_MS = 100
# While the user comes back all the time, ticks grow up to this.
_REST_MAX_MS = 1_000


class Pace:
    """How long the keeper rests between two looks.

    A tick, after a look that found the user away. Whoever polls in a loop needs no keeper, and ten
    looks a second are most of what an idle consumer costs: each one that finds the user there
    doubles the rest, up to a third of a heartbeat interval; or, as nothing is to be done for
    somebody away before it is due, to a tick behind that.

    tick_ms: how long the user may be away before the keeper works for them. rest_ms: the next rest.
    """

    __slots__ = ("_interval_ms", "_longest_ms", "rest_ms", "tick_ms")

    def __init__(self, heartbeat_interval_ms: int) -> None:
        third_ms = max(1, heartbeat_interval_ms // 3)
        self.tick_ms = min(_TICK_MAX_MS, third_ms)
        self._longest_ms = min(_REST_MAX_MS, third_ms)
        self._interval_ms = heartbeat_interval_ms
        self.rest_ms = self.tick_ms

    def looked(self, *, away: bool, due_in_ms: int = 0) -> None:
        """Take in what a look has found. due_in_ms: when the core has something to do by itself."""
        if away:
            self.rest_ms = self.tick_ms
        else:
            until_due_ms = min(due_in_ms + self.tick_ms, self._interval_ms)
            self.rest_ms = min(self.rest_ms * 2, max(self._longest_ms, until_due_ms))


class Keeper:
    """A daemon thread, or a greenlet for the gevent transport. Started once, stopped once."""

    def __init__(self, engine: Engine, pace: Pace, transport: str) -> None:
        self._engine = weakref.ref(engine)
        self._pace = pace
        self._transport = transport
        self._stop: Stop | None = None

    @property
    def running(self) -> bool:
        """Whether `start` was called and `stop` was not."""
        return self._stop is not None

    def start(self) -> None:
        """Begin; harmless if begun."""
        if self._stop is not None:
            return
        self._stop = run_aside(self._transport, "kcore-keeper", _run, self._engine, self._pace)

    def stop(self) -> None:
        """Let it end at its next tick or at once; harmless if it never began."""
        if self._stop is not None:
            self._stop.set()

    def forked(self) -> None:
        """In the child of a fork: the thread is not there, its event perhaps half-way through."""
        self._stop = None


def _run(stop: Stop, reference: weakref.ref[Engine], pace: Pace) -> None:
    while not stop.wait(pace.rest_ms / 1000):
        engine = reference()
        if engine is None or engine.guard.closed:
            return
        away = turn(engine, pace.tick_ms)
        pace.looked(away=away, due_in_ms=engine.due_at - engine.pump.now_ms())
        del engine  # before the wait: only the user keeps it alive


def turn(engine: Engine, tick: int) -> bool:
    """Step the pump for the user, if they have been away for a tick; never waits.

    Whether they have.
    """
    with engine.guard.visit() as let_in:
        if not let_in or engine.pump.now_ms() - engine.stepped_at < tick:
            return False
        try:
            for _ in range(_STEPS_PER_TURN):
                if engine.step(0) is not Step.FED:
                    break
            engine.pump.drain()
        except BaseException as error:
            # Under gevent a signal handler (Ctrl-C) may strike here, in the middle of anything.
            engine.guard.struck |= not isinstance(error, KafkaError)
            if not isinstance(error, Exception):
                raise
            engine.keep_failure(error, "the background turn")  # the next poll raises it
    return True
