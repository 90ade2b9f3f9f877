"""confluent-kafka's ShareConsumer (a preview), poll() into a Python loop."""

from common import arguments, earliest_group, report
from confluent_kafka import ShareConsumer

args = arguments()
consumer = ShareConsumer(
    {
        "bootstrap.servers": args.bootstrap,
        "group.id": earliest_group(args.bootstrap),
        "max.poll.records": args.max_poll_records,
        "log_level": 3,
    }
)
consumer.subscribe([args.topic])
first = consumer.poll(60.0)


def read() -> tuple[int, int, int]:
    count = size = offsets = 0
    messages = first
    while True:
        for message in messages:
            key = message.key()
            size += len(message.value()) + (len(key) if key is not None else 0)
            offsets += message.offset()
        count += len(messages)
        if count >= args.records:
            return count, size, offsets
        messages = consumer.poll(1.0)


report("confluent-kafka's share consumer", read)
consumer.close()
