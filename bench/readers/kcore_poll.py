"""kcore.Consumer, poll() into a Python loop."""

from common import arguments, polled, report

from kcore import Consumer, TopicPartition

args = arguments()
consumer = Consumer(
    bootstrap_servers=args.bootstrap,
    auto_offset_reset="earliest",
    max_poll_records=args.max_poll_records,
)
consumer.assign([TopicPartition(args.topic, p) for p in range(args.partitions)])

report("kcore poll()", lambda: polled(consumer, args.records))
consumer.close()
