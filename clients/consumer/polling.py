"""How blocking consumers take records: the user's thread drives the pump until there are some, and
what a call had taken that was struck from outside is handed over again.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from kcore.clients.consumer.keeper import Keeper
from kcore.clients.engine import Engine
from kcore.errors import ConcurrentUseError, ConsumerStoppedError, ForkedError
from kcore.hints import Any, Self, TypeVar
from kcore.transports import Step

# With records at hand a poll only looks at the sockets when they have waited this long.
_READ_EVERY_MS = 5
# What `close` grants the keeper at least to come out: as a rule it is a matter of a moment.
KEEPER_MS = 1_000

T = TypeVar("T")


class Polling:
    """The part of `Consumer` and `ShareConsumer` that waits. The attributes are the consumer's.

    _inside: has `taken`, which counts the records that the core has handed over. _arrived: of those
    all, but in a call.
    """

    _engine: Engine
    _keeper: Keeper
    _inside: Any
    _arrived: int

    def _begin_poll(self) -> None:
        """What a loop has not come to is handed back. IllegalStateError: there is nothing to poll.

        Called inside the guard.
        """
        raise NotImplementedError

    def _live(self, now_ms: int) -> bool:
        """What a poll does before it takes records. False: a callback has ended it, by closing
        the consumer, say.
        """
        raise NotImplementedError

    def _drop_loop(self) -> None:
        """What a loop has is handed over anew."""
        raise NotImplementedError

    def wakeup(self) -> None:
        """End a blocking call with WakeupError; if none is going on, the next one.

        From any thread or signal handler.
        """
        if not self._engine.guard.usable:
            self._engine.guard.refuse()
        self._engine.wakeup()

    def __enter__(self) -> Self:
        return self

    def __del__(self) -> None:
        keeper = getattr(self, "_keeper", None)
        if keeper is not None:
            keeper.stop()

    def _hand_over(self, take: Callable[[], T]) -> T:
        """What `take()` gives, called inside the guard. Whatever it took counts as not handed over
        if anything strikes from outside before that is out of here (Ctrl-C, a signal handler that
        raises).
        """
        inside = self._inside
        let_in = False  # else what is being taken is another thread's
        try:
            with self._engine.guard:
                let_in = True
                found = take()
                taken = inside.taken
            self._arrived = taken  # behind this nothing can strike
            return found
        except BaseException:
            if let_in and inside.taken != self._arrived:
                self._take_back(self._engine.core.take_back)
            raise

    def _take_back(self, take_back: Callable[[int], None]) -> None:
        guard = self._engine.guard
        # Another thread that has come meanwhile goes on behind it; what struck is to be raised.
        with suppress(ConcurrentUseError, ConsumerStoppedError, ForkedError), guard:
            self._drop_loop()
            take_back(self._engine.pump.now_ms())
        self._arrived = self._inside.taken

    def _poll_until(self, wait_ms: float, take: Callable[[int], T]) -> T | None:
        """What `take(now)` gives as soon as that is not empty; None at the end of `wait_ms`."""
        engine = self._engine
        core, pump = engine.core, engine.pump
        self._begin_poll()
        now = pump.now_ms()
        until = now + wait_ms
        looked = False  # at the sockets, in this call
        while True:
            engine.raise_pending()
            if not self._live(now):
                return None
            at_hand = core.has_records
            if at_hand:
                looked |= now - engine.stepped_at >= _READ_EVERY_MS
                taken = self._take(take, now)
                if taken:
                    return taken
                at_hand = core.has_records
            if engine.nudged:
                engine.nudged, until = False, now
            if looked and now >= until:
                return None
            outcome = engine.step(0 if at_hand else until - now)
            looked = True
            before, now = now, pump.now_ms()
            core.idle_ms += now - before
            if outcome is Step.IDLE and now >= until and not core.has_records:
                engine.raise_pending()
                return None  # nothing has come that another turn could make something of

    def _take(self, take: Callable[[int], T], now: int) -> T:
        engine = self._engine
        if now - engine.stepped_at >= _READ_EVERY_MS:
            engine.step(0)
        engine.polled_at = now
        engine.core.hand_over()  # now, as callbacks may have read meanwhile
        try:
            return take(now)
        finally:
            engine.pump.drain()  # the next fetch leaves before these records are looked at
