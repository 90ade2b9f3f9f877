"""What stands in for a thread that waits: an asyncio loop that turns the pump when there is cause.

A socket is ready, an alarm rings (the core's deadline), a verb has left something behind: each is a
call of `turn`, which makes one step of the pump, sorts what came of it, and wakes the tasks that
wait. Between turns nothing runs. The loop holds the driver and the engine, and neither holds the
consumer: one that is dropped without `stop` can be collected.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

from kcore.clients.engine import Engine
from kcore.clients.guard import Guard
from kcore.clients.iteration import next_size
from kcore.clients.log import Log
from kcore.errors import ConcurrentUseError, KafkaError
from kcore.timers import NEVER
from kcore.transports import Pump, Step
from kcore.transports.asyncio_driver import AsyncioTransport

# Handed over without a turn of the loop between, at most; or for so long (5 ms are noticed).
RECORDS_PER_TURN = 500
TURN_MS = 4
# Records one by one, from one look at everything else to the next: as many as take a moment.
BURST_MAX = 250
BURST_QUICK_MS = 1
# Reads of one link in a turn: the loop comes back by itself while there is more.
READS_PER_TURN = 2
# A wait ends after so long, so that the group hears that the application is there.
WAIT_MAX_MS = 1_000

log = Log("kcore.consumer")


class LoopGuard(Guard):
    """Lets in whoever runs in the consumer's loop, or in its thread while the loop does not run.

    Nothing is locked: a call is over before the loop goes on.
    """

    def __init__(self) -> None:
        super().__init__(threading.RLock())
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = 0

    def bind(self, loop: asyncio.AbstractEventLoop) -> None:
        """Let in nobody else from here on."""
        self._loop, self._thread = loop, threading.get_ident()

    def enter(self) -> None:
        """Begin a call. ConsumerStoppedError, ForkedError; ConcurrentUseError: not in its loop."""
        if self.barred:
            self.refuse()
        self.check_place()

    def check_place(self) -> None:
        """ConcurrentUseError in another thread or loop than the consumer's."""
        loop = self._loop
        if loop is None or running() is loop:
            return
        if loop.is_closed():
            raise ConcurrentUseError("the event loop that the consumer was started on is closed")
        if running() is not None or threading.get_ident() != self._thread or loop.is_running():
            raise ConcurrentUseError(
                "the consumer belongs to the event loop that it was started on: call it from "
                "there (asyncio.run_coroutine_threadsafe, loop.call_soon_threadsafe)"
            )

    __enter__ = enter

    def __exit__(self, *_: object) -> None:
        """End the call."""


def running() -> asyncio.AbstractEventLoop | None:
    """The loop that runs in this thread, if one does."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


class LoopDriver:
    """The engine's driver. It does nothing before `bind`.

    pump: over `transport`. engine: set by whoever makes one of this. loop: bound to it.
    """

    engine: Engine

    def __init__(self, pump: Pump, transport: AsyncioTransport) -> None:
        self._pump = pump
        self._transport = transport
        self.now_ms = pump.now_ms
        self.loop: asyncio.AbstractEventLoop | None = None
        self.closed = False
        self._burst = 1
        self._granted_at = 0
        self._attend: Callable[[], Callable[[], None] | None] = lambda: None
        # Since the loop had its turn: records handed over, and when that began. The mark is what
        # the next turn takes away; None: nothing was handed over in this one.
        self._mark: asyncio.Handle | None = None
        self._handed = 0
        self._began_at = 0
        self._alarm: asyncio.TimerHandle | None = None
        self._alarm_at = NEVER
        self._soon: asyncio.Handle | None = None
        self._waiters: set[asyncio.Future[None]] = set()

    def bind(
        self, loop: asyncio.AbstractEventLoop, attend: Callable[[], Callable[[], None] | None]
    ) -> None:
        """Begin, in this loop. attend(): what to call behind each turn that brought anything."""
        self.loop, self._attend = loop, attend
        self._transport.bind(loop, self.turn)
        self.drain()

    # The engine's face --------------------------------------------------------------------------

    def step(self, timeout_ms: int | None = None) -> Step:  # noqa: ARG002 - waiting is the loop's
        """One step of the pump, without a wait."""
        return self._pump.step(0)

    def drain(self) -> None:
        """`obey`, behind a verb: it may have made room for whoever waits."""
        self.obey()
        self.wake()

    def obey(self) -> None:
        """Obey the core; what is left to be done is the next turn's."""
        self.stay()
        if self.loop is not None and not self.closed:
            self._pump.drain()
            self._settle()

    def wakeup(self) -> None:
        """Nobody waits inside the pump."""

    def close(self) -> None:
        """Close all sockets, let go of the loop; who waits is woken."""
        self.closed = True
        self.stay()
        for handle in (self._alarm, self._soon):
            if handle is not None:
                handle.cancel()
        self._alarm = self._soon = None
        self._pump.close()
        self.wake()

    def abandon(self) -> None:
        """`close` from wherever the garbage was collected."""
        loop = self.loop
        if loop is None or loop.is_closed() or running() is loop:
            self.close()
            return
        try:
            loop.call_soon_threadsafe(self.close)
        except RuntimeError:  # closed in this moment
            self.close()

    # Turns --------------------------------------------------------------------------------------

    def turn(self) -> None:
        """Feed the core what has come, and tell whoever waits."""
        self._soon = None
        if self.closed:
            return
        engine, fed = self.engine, True
        self.stay()
        try:
            fed = engine.step(0) is not Step.IDLE
            engine.run_callbacks()
        except KafkaError as error:
            engine.keep(error)
        except Exception as error:
            log.exception("a turn of the event loop failed")
            wrapped = KafkaError(f"a turn of the event loop failed: {error!r}")
            wrapped.__cause__ = error
            engine.keep(wrapped)
        if fed and not self.closed:
            self.wake()
            attend = self._attend()
            if attend is not None:
                attend()
        if not self.closed:
            self._settle()

    def _settle(self) -> None:
        """See to it that the next turn comes when it is due."""
        loop = self.loop
        assert loop is not None
        if self._pump.restless and self._soon is None:
            self._soon = loop.call_soon(self.turn)
        # An alarm that rings too early only sets the next one: most deadlines are put off.
        due = self.engine.core.deadline()
        if due < self._alarm_at:
            if self._alarm is not None:
                self._alarm.cancel()
            wait_s = max(due - self.now_ms(), 0) / 1000
            self._alarm_at = due
            self._alarm = loop.call_later(wait_s, self._ring)

    def _ring(self) -> None:
        self._alarm, self._alarm_at = None, NEVER
        self.turn()

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
        waiter: asyncio.Future[None] = loop.create_future()
        self._waiters.add(waiter)
        handle = loop.call_later(min(timeout_ms, WAIT_MAX_MS) / 1000, _end, waiter)
        try:
            await waiter
        finally:
            handle.cancel()
            self._waiters.discard(waiter)

    async def until(self, done: Callable[[], Any], timeout_ms: float) -> bool:
        """Wait until `done()`; False if the time ends first, or the driver is closed."""
        until = self.now_ms() + timeout_ms
        while not done():
            left = until - self.now_ms()
            if left <= 0 or self.closed:
                return False
            await self.news(left)
        return True

    # The others' turn ---------------------------------------------------------------------------

    def grant(self) -> int:
        """Let the next few records be handed over one by one without a look at anything else, in
        this turn of the loop; how many records that makes, with the one in hand.
        """
        now = self.now_ms()
        took_ms, self._granted_at = now - self._granted_at, now
        self._burst = next_size(self._burst, took_ms, BURST_MAX, BURST_QUICK_MS, TURN_MS)
        self.engine.core.inside.burst = self._burst - 1
        return self._burst

    def stay(self) -> None:
        """Take that back: the next read looks at everything."""
        self.engine.core.inside.burst = 0

    def handed(self, records: int) -> None:
        """So many records were handed over, or are as good as that."""
        if self._mark is None and records and self.loop is not None:
            self._mark = self.loop.call_soon(self._turned)
            self._began_at = self.now_ms()
        self._handed += records

    def _turned(self) -> None:
        """The loop has its turn, or is about to end."""
        self._mark = None
        self._handed = 0
        self.stay()

    @property
    def spent(self) -> bool:
        """Whether the rest of the program must have its turn before more is handed over."""
        return self._mark is not None and (
            self._handed >= RECORDS_PER_TURN or self.now_ms() - self._began_at >= TURN_MS
        )

    @staticmethod
    async def breathe() -> None:
        """Let the loop make a turn: sockets are read, other tasks run."""
        await asyncio.sleep(0)


def _end(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)
