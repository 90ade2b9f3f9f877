"""kcore.ShareConsumer, poll() into a Python loop; what a poll gave is accepted by the next."""

from common import arguments, earliest_group, polled, report

from kcore import ShareConsumer

args = arguments()
consumer = ShareConsumer(
    args.topic,
    bootstrap_servers=args.bootstrap,
    group_id=earliest_group(args.bootstrap),
    max_poll_records=args.max_poll_records,
)
first = consumer.poll(timeout_ms=60_000)

report("kcore share poll()", lambda: polled(consumer, args.records, first))
consumer.close()
