"""What a turn of an event loop does first, whatever the loop brought it for."""

from __future__ import annotations

import select
import socket
import time

import anyloop
from anyloop import EACH_LOOP
from toy_core import ToyCore, frame

from kcore.clients.turns import LoopTurns
from kcore.transports import Pump, Step
from kcore.transports.asyncio_driver import AsyncioTransport
from kcore.transports.loops import here

pytestmark = EACH_LOOP


class Turns(LoopTurns):
    def __init__(self, core):
        transport = AsyncioTransport()
        super().__init__(Pump(core, transport), transport)

    def _step(self):
        return self._pump.step(0) is not Step.IDLE


async def settled(done):
    async with anyloop.timeout(10):
        while not done():
            await anyloop.sleep(0.001)


def run(main):
    """main(core, turns, peers): two links, and their other ends."""

    async def all_of_it():
        core = ToyCore()
        turns = Turns(core)
        with socket.create_server(("127.0.0.1", 0)) as listener:
            for _ in range(2):
                core.connect("127.0.0.1", listener.getsockname()[1])
            turns.bind(here())
            peers = [listener.accept()[0] for _ in range(2)]
            await settled(lambda: len(core.connected) == 2)
        try:
            await main(core, turns, peers)
        finally:
            turns.close()
            for peer in peers:
                peer.close()

    anyloop.run(all_of_it())


def test_what_has_arrived_comes_before_the_deadline():
    """The program was busy, so that both are late; some loops call timers first."""

    async def main(core, turns, peers):
        order = []
        core.when_frame = lambda *_: order.append("frame")
        core.when_deadline = lambda _: order.append("deadline")
        for number in range(20):
            core.at = turns.now_ms() + 2
            turns.obey()
            if number % 2:
                await anyloop.sleep(0)
            for peer in peers:
                peer.sendall(frame(b"answer"))
            fds = [*turns._pump._by_fd]
            while len(select.select(fds, [], [], 10)[0]) < 2 or turns.now_ms() <= core.at:
                time.sleep(0.001)
            await settled(lambda: len(order) == 3)
            assert order == ["frame", "frame", "deadline"]
            order.clear()

    run(main)


def test_a_deadline_is_no_cause_to_look_again_and_again(monkeypatch):
    looks = []
    look = AsyncioTransport.look
    monkeypatch.setattr(AsyncioTransport, "look", lambda it: looks.append(1) or look(it))

    async def main(core, turns, peers):
        for passed in (1, 2):
            core.at = turns.now_ms() + 2
            turns.obey()
            await settled(lambda passed=passed: len(core.deadlines) == passed)
            assert len(looks) <= 2 * passed
            for _ in range(10):
                before = len(core.frames)
                peers[0].sendall(frame(b"x"))
                await settled(lambda before=before: len(core.frames) > before)
            assert len(looks) <= 2 * passed

    run(main)


def test_where_there_is_no_poll(monkeypatch):
    monkeypatch.delattr(select, "poll")

    async def main(core, turns, peers):
        core.at = turns.now_ms() + 2
        turns.obey()
        await settled(lambda: core.deadlines)

    run(main)
