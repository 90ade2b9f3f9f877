"""Clients whose event loop was closed under them, in the middle of something: they are stopped, or
dropped, behind that, and nothing of theirs stays open.
"""

import asyncio
import gc
import sys

import pytest

from kcore import AsyncConsumer, AsyncProducer
from kcore.embedded import EmbeddedBroker


class Deserializer:
    closed = False

    def deserialize(self, _topic, data):
        return data

    def close(self):
        self.closed = True


def left_waiting(broker, deserializer):
    """A consumer with a task that waits for records, in a loop that was closed."""

    async def begin():
        consumer = AsyncConsumer(
            "t", bootstrap_servers=broker.bootstrap, value_deserializer=deserializer
        )
        await consumer.start()
        asyncio.get_running_loop().waits = asyncio.create_task(consumer.getone())
        while not consumer._driver._waiters:
            await asyncio.sleep(0.001)
        return consumer

    loop = asyncio.new_event_loop()
    consumer = loop.run_until_complete(begin())
    loop.waits._log_destroy_pending = False  # that it is, is the point
    loop.close()
    return consumer


@pytest.fixture(scope="module")
def broker():
    with EmbeddedBroker() as broker:
        broker.create_topic("t", 1)
        yield broker


def test_a_consumer_is_stopped_whose_loop_was_closed_under_who_waits(broker):
    """Nobody can be woken there any more, and that was a RuntimeError in the middle of the end."""
    deserializer = Deserializer()
    consumer = left_waiting(broker, deserializer)
    asyncio.run(consumer.stop())
    assert deserializer.closed
    assert not consumer._driver._waiters


# What of the garbage ends first is for its collector to say: a socket may, and says so.
@pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")
@pytest.mark.filterwarnings("ignore:.*was never stopped:ResourceWarning")
def test_a_consumer_is_dropped_whose_loop_was_closed_under_who_waits(broker, monkeypatch):
    said = []
    monkeypatch.setattr(sys, "unraisablehook", said.append)
    left_waiting(broker, Deserializer())
    gc.collect()
    assert said == []


def test_a_client_is_stopped_whose_loop_was_closed_under_a_provider():
    """Its tasks cannot be cancelled any more, and that left the client's sockets open."""

    class Sometimes:
        asked = None

        async def token(self):
            if self.asked is not None:
                self.asked.set()
                await asyncio.Event().wait()
            return "abc"

    async def begin(bootstrap):
        provider = Sometimes()
        producer = AsyncProducer(
            bootstrap_servers=bootstrap,
            security_protocol="SASL_PLAINTEXT",
            sasl_mechanism="OAUTHBEARER",
            sasl_oauth_token_provider=provider,
        )
        await producer.start()
        provider.asked = asyncio.Event()
        producer._courier.core.handle_interrupted(producer._courier.now_ms())  # links are made anew
        producer._courier.turn_soon()
        await asyncio.wait_for(provider.asked.wait(), 10)
        return producer

    with EmbeddedBroker(
        security_protocol="SASL_PLAINTEXT", sasl_oauth_token_validator=lambda _: ("alice", None)
    ) as broker:
        loop = asyncio.new_event_loop()
        producer = loop.run_until_complete(begin(broker.bootstrap))
        pump = producer._courier._pump
        links = [*pump._links.values()]
        for task in pump._sasl._tasks.values():
            task._log_destroy_pending = False  # that it is, is the point
        loop.close()
        asyncio.run(producer.stop())
        assert links
        assert {link.sock.fileno() for link in links} == {-1}
