"""The ceiling for objects: what one plain socket and a minimal decoder reach, no group, no API.

Fetch by hand, one `recv_into` a piece, CRC, the codec's own library, and a decoder that makes
nothing but key, value and offset; the same loop over the records as the other readers. The next
Fetch leaves before the records are touched. `probe_columns.py` is the same for columns.

    python bench/probe.py --bootstrap 127.0.0.1:9092 --topic t --records 1000000
"""

from __future__ import annotations

from itertools import chain

import compiled
from probe_link import Link
from readers.common import Found, arguments, report
from unpack import body_of

decode = compiled.load("probe_decoder").decode
args = arguments()
link = Link(args.bootstrap, args.topic)


def read() -> Found:
    count = size = offsets = 0
    for batch, wanted in chain.from_iterable(link.answers(args.partitions)):
        records = decode(batch, batch, body_of(batch), wanted)
        for record in records:
            key = record.key
            size += len(record.value) + (len(key) if key is not None else 0)
            offsets += record.offset
        count += len(records)
        if count >= args.records:
            break
    return count, size, offsets


report("probe, objects", read)
