"""Four clients behind one face, for the benches that are not about speed: memory and idling.

    take, pause, close = OPEN[name](bootstrap, topic, group, partitions, budget)

`take(most, timeout_s)` gives how many records came; `pause(seconds)` is how the application spends
time elsewhere (what works in the background goes on). group None: all partitions are assigned.
budget: what may be buffered, by the option that comes nearest to that.
"""

from __future__ import annotations

import time
from collections.abc import Callable

Take = Callable[[int, float], int]
Client = tuple[Take, Callable[[float], None], Callable[[], None]]

MIB = 1024 * 1024


def kcore(bootstrap: str, topic: str, group: str | None, partitions: int, budget: int) -> Client:
    from kcore import Consumer, TopicPartition

    consumer = Consumer(
        bootstrap_servers=bootstrap,
        group_id=group,
        auto_offset_reset="earliest",
        max_buffered_bytes=budget,
    )
    if group:
        consumer.subscribe([topic])
    else:
        consumer.assign([TopicPartition(topic, p) for p in range(partitions)])

    def take(most: int, timeout_s: float) -> int:
        found = consumer.poll(timeout_ms=timeout_s * 1000, max_records=most)
        return sum(map(len, found.values()))

    return take, time.sleep, consumer.close


def confluent(
    bootstrap: str, topic: str, group: str | None, partitions: int, budget: int
) -> Client:
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group or "bench",
            "enable.auto.commit": bool(group),
            "auto.offset.reset": "earliest",
            "queued.max.messages.kbytes": budget // 1024,
            "fetch.max.bytes": min(budget, 50 * MIB),
        }
    )
    if group:
        consumer.subscribe([topic])
    else:
        consumer.assign([TopicPartition(topic, p, 0) for p in range(partitions)])

    def take(most: int, timeout_s: float) -> int:
        return len(consumer.consume(most, timeout=timeout_s))

    return take, time.sleep, consumer.close


def kafka_python(
    bootstrap: str, topic: str, group: str | None, partitions: int, budget: int
) -> Client:
    from kafka import KafkaConsumer, TopicPartition

    consumer = KafkaConsumer(
        bootstrap_servers=bootstrap,
        group_id=group,
        auto_offset_reset="earliest",
        fetch_max_bytes=min(budget, 50 * MIB),
    )
    if group:
        consumer.subscribe([topic])
    else:
        consumer.assign([TopicPartition(topic, p) for p in range(partitions)])

    def take(most: int, timeout_s: float) -> int:
        found = consumer.poll(timeout_ms=timeout_s * 1000, max_records=most)
        return sum(map(len, found.values()))

    return take, time.sleep, consumer.close


def aiokafka(bootstrap: str, topic: str, group: str | None, partitions: int, budget: int) -> Client:
    import asyncio

    from aiokafka import AIOKafkaConsumer, TopicPartition

    loop = asyncio.new_event_loop()

    async def connected() -> AIOKafkaConsumer:
        consumer = AIOKafkaConsumer(
            bootstrap_servers=bootstrap,
            group_id=group,
            auto_offset_reset="earliest",
            fetch_max_bytes=min(budget, 50 * MIB),
        )
        await consumer.start()
        if group:
            consumer.subscribe([topic])
        else:
            consumer.assign([TopicPartition(topic, p) for p in range(partitions)])
        return consumer

    consumer = loop.run_until_complete(connected())

    def take(most: int, timeout_s: float) -> int:
        wait = consumer.getmany(timeout_ms=int(timeout_s * 1000), max_records=most)
        return sum(map(len, loop.run_until_complete(wait).values()))

    def pause(seconds: float) -> None:
        loop.run_until_complete(asyncio.sleep(seconds))

    def close() -> None:
        loop.run_until_complete(consumer.stop())
        loop.close()

    return take, pause, close


OPEN = {
    "kcore": kcore,
    "confluent-kafka": confluent,
    "aiokafka": aiokafka,
    "kafka-python": kafka_python,
}
