"""Programs of one event loop around AsyncConsumers, with an end."""

from __future__ import annotations

import contextlib
from collections import Counter

import anyloop

from kcore import AsyncConsumer

LIMIT_S = 30.0


def run(main, limit_s=LIMIT_S):
    """Run the coroutine in a loop of its own; it does not take for ever."""

    async def bounded():
        async with anyloop.timeout(limit_s):
            return await main

    return anyloop.run(bounded())


def options(broker, group=None, **more):
    return {
        "bootstrap_servers": broker.bootstrap,
        "group_id": group,
        "auto_offset_reset": "earliest",
        "enable_auto_commit": False,
        "heartbeat_interval_ms": 100,
        "retry_backoff_ms": 20,
        "fetch_max_wait_ms": 50,  # what else is asked waits behind a fetch
    } | more


def consumer(broker, *topics, **more):
    return AsyncConsumer(*topics, **options(broker, **more))


def fill(broker, topic, partitions, each, size=20):
    """`each` records in every partition."""
    broker.create_topic(topic, partitions)
    for number in range(partitions):
        rows = [(b"%d" % i, b"%d" % i + b"x" * size) for i in range(each)]
        broker.produce(topic, rows, partition=number)


class Seen(Counter):
    """(topic, partition, offset) of records, and how often each came."""

    def take(self, record):
        self[record.topic, record.partition, record.offset] += 1

    def take_all(self, found):
        for records in found.values():
            for record in records:
                self.take(record)

    def check(self, partitions, each, topic="t"):
        """Every one once."""
        assert dict(self) == {(topic, p, o): 1 for p in range(partitions) for o in range(each)}


@contextlib.asynccontextmanager
async def ticking():
    """A task beside the others: a list whose only number is how many turns it has had."""
    turns = [0]

    async def tick():
        while True:
            turns[0] += 1
            await anyloop.turn()

    task = anyloop.create_task(tick())
    try:
        yield turns
    finally:
        task.cancel()
