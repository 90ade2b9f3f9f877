"""kafka-python, poll()."""

from common import arguments, polled, report
from kafka import KafkaConsumer, TopicPartition

args = arguments()
consumer = KafkaConsumer(
    bootstrap_servers=args.bootstrap,
    auto_offset_reset="earliest",
    max_poll_records=args.max_poll_records,
)
consumer.assign([TopicPartition(args.topic, p) for p in range(args.partitions)])

report("kafka-python", lambda: polled(consumer, args.records))
consumer.close()
