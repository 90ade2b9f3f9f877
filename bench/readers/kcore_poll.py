"""kcore.Consumer, poll() into a Python loop."""

from common import Found, arguments, both, report, touch_batches

from kcore import Consumer, TopicPartition

args = arguments()
consumer = Consumer(
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


report("kcore poll()", read)
consumer.close()
