"""The ceiling for views: Fetch by hand as in `probe.py`, and three Arrow columns without a copy.

Key and value are `binary_view` into the buffer that the answer was received into; they are touched
by polars in the way of readers/kcore_views.py. For batches that are not compressed.
"""

from __future__ import annotations

import compiled
import polars
import pyarrow as pa
from probe_link import Link
from readers.common import Found, arguments, both, report

SET_ROWS = 65_536  # a set of columns is handed over when one more batch would not fit

decoder = compiled.load("probe_filler")
columns = decoder.Views(SET_ROWS)
keys, values, places = (
    pa.py_buffer(made) for made in (columns.keys, columns.values, columns.offsets)
)
args = arguments()
link = Link(args.bootstrap, args.topic)


def touch() -> Found:
    """What the set has; it is empty afterwards."""
    rows, received = columns.rows, pa.py_buffer(link.buffer)
    arrays = [
        pa.Array.from_buffers(pa.binary_view(), rows, [None, keys, received]),
        pa.Array.from_buffers(pa.binary_view(), rows, [None, values, received]),
        pa.Array.from_buffers(pa.int64(), rows, [None, places]),
    ]
    frame = polars.DataFrame(pa.RecordBatch.from_arrays(arrays, ["key", "value", "offset"]))
    columns.clear()
    size = int(frame["key"].bin.size().sum() + frame["value"].bin.size().sum())
    return rows, size, int(frame["offset"].sum())


def read() -> Found:
    found: Found = (0, 0, 0)
    for answer in link.answers(args.partitions):
        for batch, wanted in answer:
            if columns.rows + decoder.rows_of(batch) > SET_ROWS:
                found = both(found, touch())
            columns.add(batch, batch, link.buffer, wanted)
        found = both(found, touch())
        if found[0] >= args.records:
            break
    return found


report("probe, views", read)
