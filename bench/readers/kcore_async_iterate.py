"""kcore.AsyncConsumer, `async for record in consumer`."""

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


async def read(consumer: AsyncConsumer) -> Found:
    count = size = offsets = 0
    async for record in consumer:
        key = record.key
        size += len(record.value) + (len(key) if key is not None else 0)
        offsets += record.offset
        count += 1
        if count == args.records:
            break
    return count, size, offsets


loop = asyncio.new_event_loop()
consumer = loop.run_until_complete(open_consumer())
report("kcore async for", lambda: loop.run_until_complete(read(consumer)))
loop.run_until_complete(consumer.stop())
loop.close()
