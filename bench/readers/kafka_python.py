"""kafka-python, poll()."""

from common import arguments, report
from kafka import KafkaConsumer, TopicPartition

args = arguments()
consumer = KafkaConsumer(
    bootstrap_servers=args.bootstrap,
    auto_offset_reset="earliest",
    max_poll_records=args.max_poll_records,
)
consumer.assign([TopicPartition(args.topic, p) for p in range(args.partitions)])


def read() -> tuple[int, int, int]:
    count = size = offsets = 0
    while count < args.records:
        for records in consumer.poll(timeout_ms=1000).values():
            for record in records:
                key = record.key
                size += len(record.value) + (len(key) if key is not None else 0)
                offsets += record.offset
            count += len(records)
    return count, size, offsets


report("kafka-python", read)
consumer.close()
