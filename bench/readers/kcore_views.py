"""kcore.Consumer, poll_arrow(views=True) into polars, whose own layout views are.

Key, value and offset of every record are touched through the columns: lengths and offsets are
summed.
"""

import polars
from common import arguments, report

from kcore import Consumer, TopicPartition

args = arguments()
consumer = Consumer(bootstrap_servers=args.bootstrap, auto_offset_reset="earliest")
consumer.assign([TopicPartition(args.topic, p) for p in range(args.partitions)])


def read() -> tuple[int, int, int]:
    count = size = offsets = 0
    while count < args.records:
        frame = polars.DataFrame(consumer.poll_arrow(timeout_ms=1000, views=True))
        size += int(frame["key"].bin.size().sum() + frame["value"].bin.size().sum())
        offsets += int(frame["offset"].sum())
        count += frame.height
    return count, size, offsets


report("kcore poll_arrow(views)", read)
consumer.close()
