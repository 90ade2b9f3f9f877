"""kcore.Consumer, poll_arrow() into pyarrow.

Key, value and offset of every record are touched through the columns: lengths and offsets are
summed. `--columns three` asks for no others: what the ceiling probe makes, too.
"""

import pyarrow as pa
import pyarrow.compute as pc
from common import arguments, report

from kcore import Consumer, TopicPartition

args = arguments(columns=("all", "three"))
wanted = None if args.columns == "all" else ("key", "value", "offset")
consumer = Consumer(bootstrap_servers=args.bootstrap, auto_offset_reset="earliest")
consumer.assign([TopicPartition(args.topic, p) for p in range(args.partitions)])


def read() -> tuple[int, int, int]:
    count = size = offsets = 0
    while count < args.records:
        batch = pa.record_batch(consumer.poll_arrow(timeout_ms=1000, columns=wanted))
        if not batch.num_rows:
            continue
        for name in ("key", "value"):
            size += pc.sum(pc.binary_length(batch[name])).as_py() or 0
        offsets += pc.sum(batch["offset"]).as_py()
        count += batch.num_rows
    return count, size, offsets


report(f"kcore poll_arrow(), {args.columns} columns", read)
consumer.close()
