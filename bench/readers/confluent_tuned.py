"""confluent-kafka, consume() in batches, with the settings that make it fastest here."""

from common import arguments, report
from confluent_kafka import Consumer, TopicPartition

args = arguments()
consumer = Consumer(
    {
        "bootstrap.servers": args.bootstrap,
        "group.id": "bench",
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
        "queued.min.messages": 10_000_000,
        "fetch.queue.backoff.ms": 1,
    }
)
consumer.assign([TopicPartition(args.topic, p, 0) for p in range(args.partitions)])


def read() -> tuple[int, int, int]:
    count = size = offsets = 0
    while count < args.records:
        messages = consumer.consume(args.max_poll_records, timeout=1.0)
        for message in messages:
            key = message.key()
            size += len(message.value()) + (len(key) if key is not None else 0)
            offsets += message.offset()
        count += len(messages)
    return count, size, offsets


report("confluent-kafka (tuned)", read)
consumer.close()
