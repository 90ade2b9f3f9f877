"""The topics that the benches read: made once, filled once, known by their shape."""

from __future__ import annotations

import random
import sys
import time
from typing import NamedTuple

SETTLE_S = 30
# More than any batch: within one, no value comes twice.
TEXT_BYTES = 1 << 20
# Long enough for a batch to become full also where 500 partitions share the records. With 20 ms it
# had a quarter of the records there (134 instead of 553 of 100 bytes), and readers, which pay for
# batches as well, seemed to pay for partitions.
LINGER_MS = 1_000
EVENT = '{{"id":{},"kind":"{}","at":"/shop/item/{}","price":{:.2f},"session":"{:08x}"}}'
KINDS = ("click", "view", "buy", "leave")


class Shape(NamedTuple):
    """What is in a topic. Values are slices of a text of small JSON events, packing 3 or 4:1."""

    records: int = 1_000_000
    value_bytes: int = 100
    partitions: int = 4
    codec: str = "none"

    @property
    def topic(self) -> str:
        """A name of its own for every shape, so that a Kafka can be used again."""
        size = f"{self.value_bytes}b-{self.records}r"
        return f"bench-{size}-{self.partitions}p-{self.codec}"


def event(rng: random.Random, number: int) -> bytes:
    """A small JSON object, about 90 bytes."""
    fields = (rng.choice(KINDS), rng.randrange(900), rng.random() * 100, rng.getrandbits(32))
    return EVENT.format(10**6 + number, *fields).encode()


def events(size: int) -> bytes:
    """So many bytes of JSON objects in a row, the same every time."""
    rng, text = random.Random(1), bytearray()
    while len(text) < size:
        text += event(rng, len(text))
    return bytes(text[:size])


def fill(bootstrap: str, shape: Shape) -> None:
    """Make the topic hold exactly `shape.records` records with keys of 8 bytes."""
    from confluent_kafka import KafkaException, Producer
    from confluent_kafka.admin import AdminClient, NewTopic

    admin = AdminClient({"bootstrap.servers": bootstrap})
    for future in admin.create_topics([NewTopic(shape.topic, shape.partitions, 1)]).values():
        try:
            future.result()
        except KafkaException as error:
            if error.args[0].name() != "TOPIC_ALREADY_EXISTS":
                raise
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "compression.type": shape.codec,
            "linger.ms": LINGER_MS,
            "batch.size": 65536,
            "queue.buffering.max.messages": 1_000_000,
            "enable.idempotence": True,
        }
    )
    text = events(TEXT_BYTES)
    span = len(text) - shape.value_bytes
    for i in range(held(bootstrap, shape.topic, shape.partitions), shape.records):
        start = (i * shape.value_bytes) % span
        value, key = text[start : start + shape.value_bytes], b"k%07d" % i
        while True:
            try:
                producer.produce(shape.topic, value, key, partition=i % shape.partitions)
                break
            except BufferError:
                producer.poll(0.1)
    left = producer.flush(120)
    if left:
        sys.exit(f"{left} records could not be written to {shape.topic}")


def held(bootstrap: str, topic: str, partitions: int) -> int:
    """How many records there are; waits for the leaders of a new topic."""
    from confluent_kafka import Consumer, KafkaException, TopicPartition

    watcher = Consumer({"bootstrap.servers": bootstrap, "group.id": "bench-watch"})
    give_up = time.monotonic() + SETTLE_S
    try:
        while True:
            try:
                return sum(
                    watcher.get_watermark_offsets(TopicPartition(topic, p), timeout=10)[1]
                    for p in range(partitions)
                )
            except KafkaException:
                if time.monotonic() > give_up:
                    raise
                time.sleep(0.1)
    finally:
        watcher.close()
