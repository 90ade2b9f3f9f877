"""Turns of an event loop: what is due soon is done, though a signal handler raises in one."""

import asyncio
from types import SimpleNamespace

import pytest
from leftovers import STRUCK
from strikes import Strike

from kcore.clients.turns import LoopTurns
from kcore.timers import NEVER
from kcore.transports import monotonic_ms

pytestmark = STRUCK

LATER_MS = 60_000
SOON_MS = 20


class StruckError(Exception):
    """Of a signal handler of the user's."""


class Pump:
    """Its core wants to be called later; behind the first turn, soon."""

    now_ms = staticmethod(monotonic_ms)
    restless = False

    def __init__(self):
        self.core = SimpleNamespace(deadline=lambda: self.due)
        self.due = monotonic_ms() + LATER_MS
        self.steps = 0

    def drain(self):
        """Nothing is to be obeyed."""

    def close(self):
        """Nothing is open."""


class Turns(LoopTurns):
    def _step(self):
        pump = self._pump
        pump.steps += 1
        pump.due = pump.now_ms() + SOON_MS if pump.steps == 1 else NEVER
        return True


@pytest.mark.parametrize("at", range(2, 32))  # the first is before it has begun
def test_what_is_due_soon_is_done_soon(at):
    async def main():
        loop, pump = asyncio.get_running_loop(), Pump()
        loop.set_exception_handler(lambda _loop, _context: None)
        turns = Turns(pump, SimpleNamespace(bind=lambda _loop, _ring: None, look=lambda: None))
        turns.bind(loop)

        def turn():
            with Strike(at, StruckError):
                turns.turn()

        loop.call_soon(turn)  # as the loop does it when a socket is ready
        async with asyncio.timeout(5):
            while pump.steps < 2:
                await asyncio.sleep(0.005)
        turns.close()

    asyncio.run(main())


def test_what_no_socket_and_no_deadline_brings_is_done_in_the_next_turn():
    """Bytes that TLS has at hand, say."""

    class Restless(Pump):
        @property
        def restless(self):
            return self.steps < 3

    async def main():
        loop, pump = asyncio.get_running_loop(), Restless()
        turns = Turns(pump, SimpleNamespace(bind=lambda _loop, _ring: None, look=lambda: None))
        turns.bind(loop)
        for _ in range(9):
            await asyncio.sleep(0)
        assert pump.steps == 3
        turns.close()

    asyncio.run(main())
