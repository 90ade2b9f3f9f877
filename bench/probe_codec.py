"""No reader at all: unpacking the batches of a topic, which are in memory already.

That is the time that whoever reads the topic has to spend. `--by library`: called as plainly as can
be (unpack.py); `--by kcore`: as kcore does, bounded and checked.
"""

from __future__ import annotations

from probe_link import Link
from readers.common import Found, arguments, report
from unpack import UNPACK

from kcore.limits import MAX_BATCH_BYTES
from kcore.records.codecs import DECOMPRESS

args = arguments(by=("library", "kcore"))
link = Link(args.bootstrap, args.topic)
bodies: list[tuple[int, memoryview]] = []
count = 0
for answer in link.answers(args.partitions):
    for batch, _ in answer:
        bodies.append((batch[22] & 7, memoryview(bytes(batch[61:]))))
        count += int.from_bytes(batch[57:61], "big")
    if count >= args.records:
        break


def by_library() -> Found:
    size = sum(len(UNPACK[codec](body)) for codec, body in bodies)
    return count, size, 0


def by_kcore() -> Found:
    size = sum(len(DECOMPRESS[codec](body, MAX_BATCH_BYTES)) for codec, body in bodies)
    return count, size, 0


packed = sum(len(body) for _, body in bodies)
read = by_library if args.by == "library" else by_kcore
report(f"unpacking, {args.by}", read, packed_bytes=packed)
