"""Ctrl-C at places of what a task calls of an AsyncConsumer, where nobody cancels the task in its
stead (`loop.run_until_complete`; trio's main task): whoever goes on reads everything, and who stops
has left the group.

Where these places are: tests/support/strikes.py.
"""

import asyncio
import inspect
from contextlib import suppress

import pytest
from leftovers import STRUCK
from strikes import Strike

from kcore import Admin, AsyncConsumer, TopicPartition
from kcore.embedded import EmbeddedBroker

pytestmark = STRUCK

EACH = 10
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
QUICK = {"reconnect_backoff_ms": 1, "reconnect_backoff_max_ms": 1, "retry_backoff_ms": 1}


@pytest.fixture(scope="module")
def broker():
    with EmbeddedBroker() as running:
        running.create_topic("t", 2)
        for number in range(2):
            running.produce("t", [(None, b"v")] * EACH, partition=number)
        yield running


async def started(broker, name, group):
    consumer = AsyncConsumer(
        bootstrap_servers=broker.bootstrap,
        group_id=group,
        auto_offset_reset="earliest",
        api_version=(4, 0),
        **QUICK,
    )
    consumer.subscribe(["t"]) if name == "subscribe" else consumer.assign([T0, T1])
    await consumer.start()
    await consumer.getone()
    return consumer


def subscribe(consumer):
    consumer.unsubscribe()
    consumer.subscribe(["t"])


VERBS = {
    "assign": lambda consumer: consumer.assign([T0]),
    "subscribe": subscribe,
    "seek": lambda consumer: consumer.seek(T0, 5),
    "pause": lambda consumer: consumer.pause(T0),
    "commit": lambda consumer: consumer.commit({T0: 1}),
    "getone": lambda consumer: consumer.getone(T1),
}


async def begin(verb, consumer, at):
    """As far as it comes without a wait: behind that it is asyncio that is struck."""
    with Strike(at):
        found = verb(consumer)
        if inspect.iscoroutine(found):
            with suppress(StopIteration):
                found.send(None)
    if inspect.iscoroutine(found):
        found.close()


async def go_on(consumer, name):
    if name == "subscribe":
        subscribe(consumer)
    else:
        consumer.assign([T0, T1])
        consumer.resume(T0, T1)
        consumer.seek(T0, 0)
        consumer.seek(T1, 0)
    seen = set()
    async with asyncio.timeout(10):
        while len(seen) < 2 * EACH:
            record = await consumer.getone()
            seen.add((record.partition, record.offset))
        await consumer.commit({T0: 7})
        assert await consumer.committed(T0) == 7


def strike_all(broker, name, places, goes_on):
    struck = 0
    for at in places:
        group = f"{name} {goes_on} {at} of {len(places)}"  # whose offsets nobody has committed
        with asyncio.Runner() as runner:
            consumer = runner.run(started(broker, name, group))
            try:
                runner.run(begin(VERBS[name], consumer, at))
            except KeyboardInterrupt:
                struck += 1
            if goes_on:
                runner.run(go_on(consumer, name))
            runner.run(consumer.stop())
        if name == "subscribe":
            with Admin(bootstrap_servers=broker.bootstrap) as admin:
                (found,) = admin.describe_consumer_groups([group])
                assert found["members"] == [], at
    return struck


@pytest.mark.parametrize("goes_on", [True, False], ids=["goes on", "stops"])
@pytest.mark.parametrize("name", VERBS)
def test_behind_a_strike(broker, name, goes_on):
    places = [11, 27, 43, 67, 71, 75, 97]
    assert strike_all(broker, name, places, goes_on) >= 2


@pytest.mark.slow
@pytest.mark.parametrize("goes_on", [True, False], ids=["goes on", "stops"])
@pytest.mark.parametrize("name", VERBS)
def test_every_place(broker, name, goes_on):
    assert strike_all(broker, name, range(1, 160, 3), goes_on) >= 10
