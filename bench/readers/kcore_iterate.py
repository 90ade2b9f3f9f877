"""kcore.Consumer, `for record in consumer`."""

from common import Found, arguments, report

from kcore import Consumer, TopicPartition

args = arguments()
consumer = Consumer(
    bootstrap_servers=args.bootstrap,
    auto_offset_reset="earliest",
    max_poll_records=args.max_poll_records,
)
consumer.assign([TopicPartition(args.topic, p) for p in range(args.partitions)])


def read() -> Found:
    count = size = offsets = 0
    for record in consumer:
        key = record.key
        size += len(record.value) + (len(key) if key is not None else 0)
        offsets += record.offset
        count += 1
        if count == args.records:
            break
    return count, size, offsets


report("kcore iteration", read)
consumer.close()
