"""The ceiling for columns: Fetch by hand as in `probe.py`, and three Arrow columns.

Key and value are plain `binary`, which needs a copy of their bytes; they are touched by pyarrow in
the way of readers/kcore_arrow.py. `probe_views.py` is the same without the copy.
"""

from __future__ import annotations

import compiled
import pyarrow as pa
import pyarrow.compute as pc
from probe_link import Link
from readers.common import Found, arguments, both, report
from unpack import body_of

# A set of columns is handed over when one more batch would not fit, or the answer ends.
SET_ROWS = 65_536
SET_BYTES = 8_388_608

decoder = compiled.load("probe_filler")
columns = decoder.Copies(SET_ROWS, SET_BYTES)
buffers = {
    name: pa.py_buffer(getattr(columns, name))
    for name in ("offsets", "key_ends", "key_data", "value_ends", "value_data")
}
args = arguments()
link = Link(args.bootstrap, args.topic)


def touch() -> Found:
    """What the set has; it is empty afterwards."""
    rows, size = columns.rows, 0
    for name in ("key", "value"):
        places = [None, buffers[f"{name}_ends"], buffers[f"{name}_data"]]
        column = pa.Array.from_buffers(pa.binary(), rows, places)
        size += pc.sum(pc.binary_length(column)).as_py() or 0
    column = pa.Array.from_buffers(pa.int64(), rows, [None, buffers["offsets"]])
    columns.clear()
    return rows, size, pc.sum(column).as_py() or 0


def read() -> Found:
    found: Found = (0, 0, 0)
    for answer in link.answers(args.partitions):
        room = SET_BYTES
        for batch, wanted in answer:
            body = body_of(batch)
            room -= len(body)
            if room < 0 or columns.rows + decoder.rows_of(batch) > SET_ROWS:
                found = both(found, touch())
                room = SET_BYTES - len(body)
            columns.add(batch, batch, body, wanted)
        found = both(found, touch())
        if found[0] >= args.records:
            break
    return found


report("probe, columns", read)
