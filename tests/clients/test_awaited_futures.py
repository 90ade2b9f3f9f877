"""A record whose future somebody waits for does not linger, in whatever way of asyncio's that is.

aiokafka's users await what `send` gives, and there nothing lingers by itself.
"""

import asyncio

import pytest
import uvloop

from kcore import AsyncProducer
from kcore.embedded import EmbeddedBroker
from kcore.producer import config


@pytest.fixture(scope="module")
def broker():
    with EmbeddedBroker() as broker:
        broker.create_topic("t", 1)
        yield broker


@pytest.fixture(params=["asyncio", "uvloop"])
def run(request):
    factory = uvloop.new_event_loop if request.param == "uvloop" else None

    def run(main):
        with asyncio.Runner(loop_factory=factory) as runner:
            runner.run(asyncio.wait_for(main, 60))

    return run


def make(broker, linger_ms=None):
    servers = broker.bootstrap
    return AsyncProducer(
        bootstrap_servers=servers, linger_ms=linger_ms, delivery_timeout_ms=200_000
    )


async def is_awaited(future):
    return await future


WAYS_TO_WAIT = {
    "await": is_awaited,
    "task": lambda future: asyncio.create_task(is_awaited(future)),
    "wait_for": lambda future: asyncio.wait_for(future, 50),
    "gather": asyncio.gather,
    "wait": lambda future: asyncio.wait([future]),
    "shield": asyncio.shield,
    "as_completed": lambda future: next(asyncio.as_completed([future])),
}


@pytest.mark.parametrize("way", WAYS_TO_WAIT)
def test_who_waits_is_not_kept_waiting(broker, run, monkeypatch, way):
    monkeypatch.setattr(config, "LINGER_MS", 100_000)  # who waited for that would fail

    async def main():
        async with make(broker) as producer:
            for _ in range(2):
                future = await producer.send("t", b"v")
                await WAYS_TO_WAIT[way](future)
                assert future.done()

    run(main())


def test_a_callback_waits_for_nobody(broker, run, monkeypatch):
    monkeypatch.setattr(config, "LINGER_MS", 100_000)

    async def main():
        async with make(broker) as producer:
            called = []
            (await producer.send("t", b"v")).add_done_callback(called.append)
            await asyncio.sleep(0.2)
            assert not called
            await producer.flush()
            await asyncio.sleep(0)
            assert len(called) == 1

    run(main())


def test_a_linger_that_was_given_counts(broker, run):
    async def main():
        async with make(broker, linger_ms=100_000) as producer:
            waiting = asyncio.create_task(is_awaited(await producer.send("t", b"v")))
            await asyncio.sleep(0.2)
            assert not waiting.done()
            await producer.flush()
            await waiting

    run(main())


def test_a_loop_of_another_thread_hurries_nobody(broker, run, monkeypatch):
    """It cannot have it, and is told so by asyncio; in the core it would be in the way."""
    monkeypatch.setattr(config, "LINGER_MS", 100_000)

    async def main():
        async with make(broker) as producer:
            future = await producer.send("t", b"v")
            with pytest.raises((RuntimeError, ValueError), match="loop"):
                await asyncio.to_thread(asyncio.run, is_awaited(future))
            await asyncio.sleep(0.2)
            assert not future.done()
            await producer.flush()
            assert future.done()

    run(main())
