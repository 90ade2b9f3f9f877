"""kafka-python, poll()."""

from common import Found, arguments, both, report, touch_batches
from kafka import KafkaConsumer, TopicPartition

args = arguments()
consumer = KafkaConsumer(
    bootstrap_servers=args.bootstrap,
    auto_offset_reset="earliest",
    max_poll_records=args.max_poll_records,
)
consumer.assign([TopicPartition(args.topic, p) for p in range(args.partitions)])


def read() -> Found:
    found: Found = (0, 0, 0)
    while found[0] < args.records:
        found = both(found, touch_batches(consumer.poll(timeout_ms=1000).values()))
    return found


report("kafka-python", read)
consumer.close()
