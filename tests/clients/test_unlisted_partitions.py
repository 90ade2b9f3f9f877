"""Offsets of partitions that do not exist: said soon, and not when all time is over."""

from __future__ import annotations

import asyncio
import time

import pytest

from kcore import AsyncConsumer, Consumer, TopicPartition, errors
from kcore.embedded import EmbeddedBroker

T7 = TopicPartition("t", 7)
MISSING = r"t has no partition 7: it has 2, from 0"


@pytest.fixture(scope="module")
def broker():
    with EmbeddedBroker() as running:
        running.create_topic("t", 2)
        yield running


WAYS = {
    "end": lambda consumer: consumer.end_offsets([TopicPartition("t", 0), T7]),
    "beginning": lambda consumer: consumer.beginning_offsets([T7]),
    "times": lambda consumer: consumer.offsets_for_times({T7: 0}),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_partition_that_does_not_exist_is_said(broker, way):
    with Consumer(bootstrap_servers=broker.bootstrap) as consumer:
        begun = time.monotonic()
        for _ in range(2):  # asked for anew each time: it may be there by now
            with pytest.raises(errors.IllegalArgumentError, match=MISSING):
                WAYS[way](consumer)
        assert time.monotonic() - begun < 30  # of the 60 s that each may take
        assert consumer.end_offsets([("t", 0)]) == {("t", 0): 0}
        assert consumer._engine.core._looked_up == {}


@pytest.mark.parametrize("way", WAYS)
def test_a_task_is_told_too(broker, way):
    async def ask():
        async with AsyncConsumer(bootstrap_servers=broker.bootstrap) as consumer:
            with pytest.raises(errors.IllegalArgumentError, match=MISSING):
                await WAYS[way](consumer)

    asyncio.run(asyncio.wait_for(ask(), 30))
