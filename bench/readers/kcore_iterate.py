"""kcore.Consumer, `for record in consumer`."""

from itertools import islice

from common import Found, arguments, report, touch

from kcore import Consumer, TopicPartition

args = arguments()
consumer = Consumer(
    bootstrap_servers=args.bootstrap,
    auto_offset_reset="earliest",
    max_poll_records=args.max_poll_records,
)
consumer.assign([TopicPartition(args.topic, p) for p in range(args.partitions)])


def read() -> Found:
    return (args.records, *touch([islice(consumer, args.records)]))


report("kcore iteration", read)
consumer.close()
