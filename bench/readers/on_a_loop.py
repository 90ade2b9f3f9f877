"""How consumers with aiokafka's face are read in an event loop of their own."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from common import Found, arguments, both, report, touch

args = arguments()


async def open_consumer(kind: Any, partition: Any) -> Any:
    """kind, partition: the library's classes."""
    consumer = kind(
        bootstrap_servers=args.bootstrap,
        auto_offset_reset="earliest",
        max_poll_records=args.max_poll_records,
    )
    await consumer.start()
    consumer.assign([partition(args.topic, number) for number in range(args.partitions)])
    return consumer


async def getmany(consumer: Any) -> Found:
    """Batch by batch."""
    found: Found = (0, 0, 0)
    while found[0] < args.records:
        batches = (await consumer.getmany(timeout_ms=1000)).values()
        found = both(found, (sum(map(len, batches)), *touch(batches)))
    return found


async def iterate(consumer: Any) -> Found:
    """`async for record in consumer`."""
    count = size = offsets = 0
    async for record in consumer:
        key = record.key
        size += len(record.value) + (len(key) if key is not None else 0)
        offsets += record.offset
        count += 1
        if count == args.records:
            break
    return count, size, offsets


def run(title: str, kind: Any, partition: Any, read: Callable[[Any], Awaitable[Found]]) -> None:
    """Read everything, and report it."""
    with asyncio.Runner() as runner:
        consumer = runner.run(open_consumer(kind, partition))
        report(title, lambda: runner.run(read(consumer)))
        runner.run(consumer.stop())
