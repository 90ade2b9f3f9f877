"""Readers that die while they handle a record: with auto commit it comes again, whatever they were
doing, and so does nothing that they had not been given (PAINS 10).
"""

import asyncio
import time

import pytest
from async_consumers import fill, run

from kcore import AsyncConsumer, Consumer, TopicPartition
from kcore.embedded import EmbeddedBroker

T0 = TopicPartition("t", 0)
COUNT = 200  # more than they get through
# Long enough for what runs beside a handler to commit many times over, if it were allowed to.
HANDLING_S = 0.02


class Killed(BaseException):
    """What ends a handler."""


class Handler:
    """Handles records, and dies over the one with number `at` of those it gets."""

    def __init__(self, at):
        self.left = at
        self.done = []
        self.in_hand = None

    def begin(self, record):
        self.in_hand = record.offset
        self.left -= 1
        return HANDLING_S if self.left < 0 else 0.002

    def end(self):
        if self.left < 0:
            raise Killed
        self.done.append(self.in_hand)
        self.in_hand = None

    def handle(self, record):
        time.sleep(self.begin(record))
        self.end()


@pytest.fixture(scope="module")
def broker():
    with EmbeddedBroker() as broker:
        fill(broker, "t", 1, COUNT)
        yield broker


def options(broker, group):
    return {
        "bootstrap_servers": broker.bootstrap,
        "group_id": group,
        "auto_offset_reset": "earliest",
        "auto_commit_interval_ms": 1,
        "heartbeat_interval_ms": 15,
        "max_poll_records": 5,
        "fetch_max_wait_ms": 20,
    }


def iterating(broker, group, handler):
    consumer = Consumer("t", **options(broker, group))
    try:
        for record in consumer:
            handler.handle(record)
    finally:
        consumer.close(autocommit=False)


def polling(broker, group, handler, most=None):
    consumer = Consumer("t", **options(broker, group))
    try:
        while True:
            for records in consumer.poll(timeout_ms=1_000, max_records=most).values():
                for record in records:
                    handler.handle(record)
    finally:
        consumer.close(autocommit=False)


def one_by_one(broker, group, handler):
    polling(broker, group, handler, most=1)


def in_an_event_loop(broker, group, handler):
    async def main():
        async with AsyncConsumer("t", **options(broker, group)) as consumer:
            async for record in consumer:
                await asyncio.sleep(handler.begin(record))
                handler.end()

    run(main())


@pytest.mark.parametrize("read", [iterating, polling, one_by_one, in_an_event_loop])
def test_killed_over_every_record_nothing_is_left_out(broker, read):
    group = read.__name__
    done, committed = set(), 0
    with Consumer(**options(broker, group) | {"enable_auto_commit": False}) as other:
        for at in [*range(8)] * 2:
            handler = Handler(at)
            with pytest.raises(Killed):
                read(broker, group, handler)
            done.update(handler.done)
            committed = other.committed(T0) or 0
            assert committed <= handler.in_hand
            assert set(range(committed)) <= done
    assert committed > 4  # automatic commits have been made
