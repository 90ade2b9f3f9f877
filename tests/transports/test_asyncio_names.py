"""Names that the loop looks up: one that came to nothing is looked up again."""

import asyncio
import socket

import pytest

from kcore.transports import asyncio_driver
from kcore.transports.asyncio_driver import AsyncioTransport
from kcore.transports.core import monotonic_ms

NAME = ("broker.example", 9092)
FOUND = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", 9092))]


class Resolver:
    """What stands for a loop's `getaddrinfo`."""

    def __init__(self, *outcomes):
        self.outcomes = list(outcomes)
        self.asked = 0

    async def __call__(self, *_where, **_how):
        self.asked += 1
        outcome = self.outcomes.pop(0)
        if outcome == "wait":
            await asyncio.sleep(60)
        if isinstance(outcome, Exception):
            raise outcome
        return FOUND


def run(resolver, what):
    async def main():
        loop = asyncio.get_running_loop()
        loop.getaddrinfo = resolver
        transport = AsyncioTransport()
        rung = asyncio.Event()
        transport.bind(loop, rung.set)
        await what(transport, rung)

    asyncio.run(main())


def test_a_lookup_that_was_cancelled():
    async def look(transport, rung):
        assert transport.resolve(*NAME) is None
        await asyncio.sleep(0)
        (task,) = asyncio.all_tasks() - {asyncio.current_task()}
        task.cancel()
        await asyncio.sleep(0.01)
        assert transport.resolve(*NAME) is None
        await rung.wait()
        assert transport.resolve(*NAME)[0].sockaddr == ("127.0.0.1", 9092)

    run(Resolver("wait", None), look)


@pytest.mark.parametrize(
    "error", [OSError("no"), RuntimeError("can't start new thread"), ValueError("odd")]
)
def test_a_lookup_that_failed_in_whatever_way(error):
    async def look(transport, rung):
        assert transport.resolve(*NAME) is None
        await rung.wait()
        rung.clear()
        with pytest.raises((OSError, ValueError), match=str(error)):
            transport.resolve(*NAME)
        assert transport.resolve(*NAME) is None
        await rung.wait()
        assert transport.resolve(*NAME)

    run(Resolver(error, None), look)


def test_an_answer_that_nobody_wants_any_more_is_not_kept(monkeypatch):
    """Nor given to who asks an hour later, when the name stands for something else."""

    async def look(transport, rung):
        for port in range(5):
            assert transport.resolve("broker.example", port) is None
            await rung.wait()
            rung.clear()
        later_ms = monotonic_ms() + 3_600_000
        monkeypatch.setattr(asyncio_driver, "monotonic_ms", lambda: later_ms)
        assert transport.resolve("broker.example", 0) is None
        assert not transport._answers
        await rung.wait()
        assert transport.resolve("broker.example", 0)

    run(Resolver(*[None] * 6), look)


def test_no_task_is_run_before_it_is_noted():
    """As by asyncio.eager_task_factory (Python 3.12), which a loop may have."""

    async def look(transport, rung):
        loop = asyncio.get_running_loop()
        loop.set_task_factory(lambda *_given, **_more: 1 / 0)
        assert transport.resolve(*NAME) is None
        loop.set_task_factory(None)
        await rung.wait()
        assert transport.resolve(*NAME)

    run(Resolver(None), look)
