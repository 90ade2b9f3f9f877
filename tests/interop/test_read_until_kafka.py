"""`read_until` where a real Kafka's transactions end a log."""

import asyncio

from confluent_kafka import Producer

from kcore import AsyncConsumer, Consumer, TopicPartition

LIMIT_S = 10
LIMIT_MS = 10_000


def transact(kafka, topic):
    """Partition 0: two committed, three aborted. 1: two aborted. 2: two committed, one open."""
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": topic})
    producer.init_transactions(LIMIT_S)
    for counts, end in (
        ([2, 0, 2], producer.commit_transaction),
        ([3, 2, 0], producer.abort_transaction),
        ([0, 0, 1], None),
    ):
        producer.begin_transaction()
        for number, count in enumerate(counts):
            for _ in range(count):
                producer.produce(topic, b"x", partition=number)
        producer.flush(LIMIT_S)
        if end is not None:
            end(LIMIT_S)
    return producer


EXPECTED = {
    "read_committed": ([[0, 1], [], [0, 1]], [7, 3, 3]),
    "read_uncommitted": ([[0, 1, 3, 4, 5], [0, 1], [0, 1, 3]], [7, 3, 4]),
}


def test_the_ends_are_reached_in_either_isolation(kafka, names):
    kafka.create_topic(names.topic, 3)
    producer = transact(kafka, names.topic)
    partitions = [TopicPartition(names.topic, number) for number in range(3)]
    for isolation, expected in EXPECTED.items():
        options = {
            "bootstrap_servers": kafka.bootstrap,
            "auto_offset_reset": "earliest",
            "isolation_level": isolation,
            "fetch_max_wait_ms": 20,
        }
        with Consumer(**options) as consumer:
            consumer.assign(partitions)
            seen = [[], [], []]
            for record in consumer.read_until(timeout_ms=LIMIT_MS):
                seen[record.partition].append(record.offset)
            assert (seen, [consumer.position(tp) for tp in partitions]) == expected
            assert not consumer.poll(timeout_ms=0)

        async def main(options=options):
            async with AsyncConsumer(**options) as consumer:
                consumer.assign(partitions)
                seen = [[], [], []]
                async for record in consumer.read_until(timeout_ms=LIMIT_MS):
                    seen[record.partition].append(record.offset)
                return seen, [await consumer.position(tp) for tp in partitions]

        assert asyncio.run(main()) == expected
    producer.abort_transaction(LIMIT_S)
