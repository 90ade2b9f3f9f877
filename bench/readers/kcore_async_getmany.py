"""kcore.AsyncConsumer, getmany()."""

import asyncio

from common import Found, arguments, report

from kcore import AsyncConsumer, TopicPartition

args = arguments()


async def open_consumer() -> AsyncConsumer:
    consumer = AsyncConsumer(
        bootstrap_servers=args.bootstrap,
        auto_offset_reset="earliest",
        max_poll_records=args.max_poll_records,
    )
    await consumer.start()
    consumer.assign([TopicPartition(args.topic, p) for p in range(args.partitions)])
    return consumer


async def read_all(consumer: AsyncConsumer) -> Found:
    count = size = offsets = 0
    while count < args.records:
        for records in (await consumer.getmany(timeout_ms=1000)).values():
            for record in records:
                key = record.key
                size += len(record.value) + (len(key) if key is not None else 0)
                offsets += record.offset
            count += len(records)
    return count, size, offsets


loop = asyncio.new_event_loop()
consumer = loop.run_until_complete(open_consumer())
report("kcore async getmany()", lambda: loop.run_until_complete(read_all(consumer)))
loop.run_until_complete(consumer.stop())
loop.close()
