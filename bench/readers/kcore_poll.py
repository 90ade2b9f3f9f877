"""kcore.Consumer, poll() into a Python loop."""

from common import arguments, report

from kcore import Consumer, TopicPartition

args = arguments()
consumer = Consumer(
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


report("kcore poll()", read)
consumer.close()
