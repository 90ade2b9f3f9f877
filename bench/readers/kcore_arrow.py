"""kcore.Consumer, poll_arrow() into pyarrow's compute functions: once copied, once as views.

Key, value and offset of every record are touched through the columns: lengths and offsets are
summed. `--views` asks for `binary_view`.
"""

import sys

import pyarrow as pa
import pyarrow.compute as pc
from common import arguments, report

from kcore import Consumer, TopicPartition

views = "--views" in sys.argv
if views:
    sys.argv.remove("--views")
args = arguments()
consumer = Consumer(bootstrap_servers=args.bootstrap, auto_offset_reset="earliest")
consumer.assign([TopicPartition(args.topic, p) for p in range(args.partitions)])


def lengths(column: pa.Array) -> int:
    """The bytes of a column. For views pyarrow has no function; each begins with its length."""
    if not views:
        return pc.sum(pc.binary_length(column)).as_py() or 0
    words = pa.Array.from_buffers(pa.int32(), 4 * len(column), [None, column.buffers()[1]])
    heads = pc.list_element(pa.FixedSizeListArray.from_arrays(words, 4), 0)
    return pc.sum(heads).as_py() or 0


def read() -> tuple[int, int, int]:
    count = size = offsets = 0
    while count < args.records:
        batch = pa.record_batch(consumer.poll_arrow(timeout_ms=1000, views=views))
        if not batch.num_rows:
            continue
        size += lengths(batch["key"]) + lengths(batch["value"])
        offsets += pc.sum(batch["offset"]).as_py()
        count += batch.num_rows
    return count, size, offsets


report("kcore poll_arrow(views)" if views else "kcore poll_arrow()", read)
consumer.close()
