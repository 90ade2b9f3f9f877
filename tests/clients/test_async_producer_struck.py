"""Ctrl-C at every place of what a task calls of an AsyncProducer, where nobody cancels the task in
its stead (`loop.run_until_complete`; the second Ctrl-C of `asyncio.run`): run on, the loop delivers
what was taken and what is sent then, and no memory is lost.

Where these places are: tests/support/strikes.py.
"""

import asyncio

import pyarrow
import pytest
from leftovers import STRUCK
from strikes import Strike

from kcore import AsyncProducer, Consumer, TopicPartition
from kcore.embedded import EmbeddedBroker

pytestmark = STRUCK

T0 = TopicPartition("t", 0)
QUICK = {"reconnect_backoff_ms": 1, "reconnect_backoff_max_ms": 1, "retry_backoff_ms": 1}
TABLE = pyarrow.table({"value": [b"row"] * 3})


@pytest.fixture
def broker():
    with EmbeddedBroker() as running:
        running.create_topic("t", 1)
        yield running


async def started(broker, **options):
    producer = AsyncProducer(bootstrap_servers=broker.bootstrap, **QUICK, **options)
    await producer.start()
    await producer.send_and_wait("t", b"first")
    return producer


VERBS = {
    "send": ({}, lambda producer: producer.send("t", b"struck")),
    "serialized": (
        {"value_serializer": lambda value: value},
        lambda producer: producer.send("t", b"struck"),
    ),
    "full": ({"batch_size": 200}, lambda producer: producer.send("t", b"x" * 150)),
    "table": ({}, lambda producer: producer.send_arrow(TABLE, topic="t")),
    "flush": ({}, lambda producer: producer.flush()),
    "partitions": ({}, lambda producer: producer.partitions_for("t")),
}


# Of `send`: nearly all of it is compiled, where no signal is looked for (4 places in 3.13, 6 in
# 3.11). "serialized" goes the long way.
FEW = 3


def struck_at(runner, producer, verb, at):
    """Whether it was."""

    async def work():
        for number in range(3):
            await producer.send("t", b"before %d %d" % (at, number))
        with Strike(at):
            await verb(producer)

    try:
        runner.run(work())
    except KeyboardInterrupt:
        return True
    return False


async def go_on(producer, at):
    sent = [await producer.send("t", b"behind %d %d" % (at, number)) for number in range(3)]
    async with asyncio.timeout(10):
        await asyncio.gather(*sent)
        await producer.flush()


def strike_all(broker, name, places):
    options, verb = VERBS[name]
    struck = 0
    with asyncio.Runner() as runner:
        producer = runner.run(started(broker, **options))
        for at in places:
            struck += struck_at(runner, producer, verb, at)
            runner.run(go_on(producer, at))
        assert producer._core.held_bytes == 0
        runner.run(producer.stop())
    with Consumer(bootstrap_servers=broker.bootstrap) as consumer:
        consumer.assign([T0])
        consumer.seek_to_beginning(T0)
        found = [record.value for record in consumer.read_until()]
    for when in (b"before", b"behind"):
        wanted = [b"%s %d %d" % (when, at, number) for at in places for number in range(3)]
        assert [value for value in found if value.startswith(when)] == wanted
    return struck


@pytest.mark.parametrize("name", VERBS)
def test_what_is_sent_goes_out_behind_a_strike(broker, name):
    places, least = (range(1, 8), FEW) if name == "send" else (range(2, 70, 5), 4)
    assert strike_all(broker, name, [*places]) >= least


# In those behind, what waits is struck in asyncio's own loop, which loses the callback that it was
# about to run: the producer's next turn, perhaps.
PLACES = dict.fromkeys(VERBS, 250) | {"flush": 150, "table": 100}


@pytest.mark.slow
@pytest.mark.parametrize("name", VERBS)
def test_every_place(broker, name):
    assert strike_all(broker, name, [*range(1, PLACES[name])]) >= (FEW if name == "send" else 10)
