"""A pump that an event loop turns when there is cause: what readers and writers have in common.

A socket is ready, an alarm rings (the core's deadline), a verb has left something behind: each is a
call of `turn`, which makes one step of the pump, sorts what came of it, and wakes the tasks that
wait. Between turns nothing runs.
"""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

from kcore.errors import ConcurrentUseError, IllegalStateError
from kcore.limits import AWAY_MS, OVERSLEPT_MS
from kcore.stint import Stint
from kcore.timers import NEVER
from kcore.transports import Pump
from kcore.transports.asyncio_driver import AsyncioTransport
from kcore.transports.loops import Cancellable, Loop, Ways, asyncios, module, running, ways_of

# Handed over without a turn of the loop between, at most; or for so long (5 ms are noticed).
RECORDS_PER_TURN = 500
TURN_MS = 4
# Reads of one link in a turn: the loop comes back by itself while there is more.
READS_PER_TURN = 2
# A wait ends after so long, so that whoever waits looks at the clock.
WAIT_MAX_MS = 1_000


class Place:
    """Where a client lives: its loop, or the loop's thread while the loop does not run.

    started: it is, or is about to be.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._loop: Loop | None = None
        self._thread = 0
        self.started = False

    @contextmanager
    def starting(self) -> Iterator[None]:
        """Around all of a `start`: one at a time, and another one if it has failed or was
        cancelled. IllegalStateError.
        """
        if self.started:
            raise IllegalStateError(f"the {self._what} is started already, or about to be")
        self.started = True
        try:
            yield
        except BaseException:
            self.started = False
            raise

    def bind(self, loop: Loop) -> None:
        """There is no other one from here on."""
        self._loop, self._thread = loop, threading.get_ident()

    def check(self) -> None:
        """ConcurrentUseError in another thread or loop."""
        loop = self._loop
        if loop is None:
            return
        try:
            # What `running` says, without a call more: it is asked with each record that is sent.
            if module("sniffio") is None and asyncios() is loop:
                return
        except RuntimeError:
            pass
        if running() is loop:
            return
        if loop.is_closed():
            raise ConcurrentUseError(
                f"the event loop that the {self._what} was started on is closed"
            )
        if running() is not None or threading.get_ident() != self._thread or loop.is_running():
            raise ConcurrentUseError(
                f"the {self._what} belongs to the event loop that it was started on: call it from "
                f"there ({ways_of(loop).elsewhere})"
            )


class LoopTurns:
    """See the module's text. It does nothing before `bind`. loop: bound to it; ways: what its tasks
    do. breathe: let the loop make a turn, in which sockets are read and other tasks run.
    orphaned: the loop ended before anybody closed this.
    """

    def __init__(self, pump: Pump, transport: AsyncioTransport) -> None:
        self._pump = pump
        self._transport = transport
        self.now_ms = pump.now_ms
        self.loop: Loop | None = None
        self.ways: Ways
        self.breathe: Callable[[], Awaitable[None]]
        self.closed = self.orphaned = False
        self.stint = Stint(RECORDS_PER_TURN, TURN_MS)
        self._alarm: Cancellable | None = None
        self._alarm_at = NEVER
        self._soon: Cancellable | None = None
        self._waiters: dict[Any, None] = {}  # woken in the order they came

    def _step(self) -> bool:
        """One step of the pump, and what came of it. Whether anything did."""
        raise NotImplementedError

    def _attend(self) -> None:
        """What is called behind each turn that brought anything."""

    def bind(self, loop: Loop) -> None:
        """Begin, in this loop. UsageError: it cannot be."""
        self._transport.bind(loop, self.turn)
        self.loop, self.ways = loop, ways_of(loop)
        self.breathe = self.ways.pause
        self.ways.at_end(self.orphan)
        self.obey()

    # Turns --------------------------------------------------------------------------------------

    def obey(self) -> None:
        """Obey the core; what is left to be done is the next turn's."""
        if self.loop is not None and not self.closed:
            self._pump.drain()
            self._settle()

    def turn_soon(self) -> None:
        """A turn when what runs now has let go of the loop."""
        if self._soon is None and self.loop is not None and not self.closed:
            self._soon = self.loop.call_soon(self.turn)

    def turn(self) -> None:
        """Feed the core what has come, and tell whoever waits."""
        try:
            self._soon = None
            if not self.closed and self._step() and not self.closed:
                self.wake()
                self._attend()
            if not self.closed:
                self._settle()
        except BaseException:
            # A signal handler has raised, and nothing else may bring the turn that is due next.
            self._soon = None
            self.turn_soon()
            raise

    def _settle(self) -> None:
        """See to it that the next turn comes when it is due."""
        loop = self.loop
        assert loop is not None
        if self._pump.restless:
            self.turn_soon()
        # An alarm that rings too early only sets the next one: most deadlines are put off. One
        # whose time is over may have been struck (see `_ring`) before it did anything.
        due, now = self._pump.core.deadline(), self.now_ms()
        if due != NEVER and not now < self._alarm_at <= due:
            # In this order: who is struck in between leaves one too many.
            alarm, self._alarm = self._alarm, loop.call_later(max(due - now, 0) / 1000, self._ring)
            self._alarm_at = due
            if alarm is not None:
                alarm.cancel()

    def _ring(self) -> None:
        self._alarm, self._alarm_at = None, NEVER
        try:
            self.turn()
        except BaseException:
            self.turn_soon()  # a signal handler has raised: nothing else may bring another turn
            raise

    # Waiting ------------------------------------------------------------------------------------

    def wake(self) -> None:
        """Something has come: whoever waits looks again."""
        if self._waiters:
            for waiter in self._waiters:
                if not waiter.done():
                    waiter.set_result(None)
            self._waiters.clear()

    async def news(self, timeout_ms: float) -> None:
        """Wait for the next turn that brings anything, at most so long."""
        loop = self.loop
        assert loop is not None
        waiter = loop.create_future()
        self._waiters[waiter] = None
        handle = loop.call_later(min(timeout_ms, WAIT_MAX_MS) / 1000, _end, waiter)
        try:
            await waiter
        finally:
            handle.cancel()
            self._waiters.pop(waiter, None)

    async def until(self, done: Callable[[], Any], timeout_ms: float) -> bool:
        """Wait until `done()`; False if the time ends first, or all is closed."""
        until = self.now_ms() + timeout_ms
        overslept = False
        while not done():
            left = until - self.now_ms()
            if left <= -AWAY_MS and not overslept:  # what has arrived by now has come in time
                overslept, left = True, OVERSLEPT_MS
                until = self.now_ms() + OVERSLEPT_MS
            if left <= 0 or self.closed:
                return False
            await self.news(left)
        return True

    # The others' turn ---------------------------------------------------------------------------

    def passed(self, records: int) -> None:
        """So many records went by, or are as good as that."""
        stint = self.stint
        if not stint.begun and records and self.loop is not None:
            self.loop.call_soon(self._turned)
            stint.begin()
        stint.records += records

    def _turned(self) -> None:
        """The loop has its turn, or is about to end."""
        self.stint.end()

    @property
    def spent(self) -> bool:
        """Whether the rest of the program must have its turn before more goes by."""
        return self.stint.spent()

    # The end ------------------------------------------------------------------------------------

    def close(self) -> None:
        """Close all sockets, let go of the loop; who waits is woken."""
        self.closed, self.orphaned = True, False
        for handle in (self._alarm, self._soon):
            if handle is not None:
                handle.cancel()
        self._alarm = self._soon = None
        if self.loop is not None:
            self.ways.not_at_end(self.orphan)
        self._pump.close()
        if self.loop is None or not self.loop.is_closed():
            self.wake()
        self._waiters.clear()  # of a loop that is closed: nobody can be woken

    def orphan(self) -> None:
        """The loop has ended (trio's says so), and nobody has closed this."""
        lost = not self.closed
        self.close()
        self.orphaned = lost

    @property
    def left(self) -> bool:
        """Whether nobody has closed this."""
        return self.orphaned or not self.closed

    def abandon(self) -> None:
        """`close` from wherever the garbage was collected, which may be in the middle of a turn."""
        loop = self.loop
        if loop is None or loop.is_closed():
            self.close()
            return
        try:
            loop.call_soon_threadsafe(self.close)
        except RuntimeError:  # closed in this moment
            self.close()


def _end(waiter: Any) -> None:
    if not waiter.done():
        waiter.set_result(None)
