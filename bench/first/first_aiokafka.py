"""aiokafka: the least program that reads one record in a new group."""

import asyncio
import sys
import time

from aiokafka import AIOKafkaConsumer


async def main() -> None:
    bootstrap, topic, group = sys.argv[1:]
    consumer = AIOKafkaConsumer(
        topic, bootstrap_servers=bootstrap, group_id=group, auto_offset_reset="earliest"
    )
    await consumer.start()
    while not await consumer.getmany(timeout_ms=1000):
        pass
    print(time.monotonic(), flush=True)
    await consumer.stop()


asyncio.run(main())
