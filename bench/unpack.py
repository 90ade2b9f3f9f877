"""The compression libraries called as plainly as can be: what unpacking costs whoever does it.

They are the ones that kcore calls, without its bounds and checks. Where a frame does not say how
much it holds, the library is told the most that a batch of these benches can.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cramjam
import lz4.frame
import zstandard

try:
    from isal import isal_zlib as gzip_library
except ImportError:  # it knows two processors
    import zlib as gzip_library  # type: ignore[no-redef]

# Above what a producer of these benches puts into one batch (batch.size), and one large record.
BATCH_MAX_BYTES = 262_144
XERIAL = b"\x82SNAPPY\x00"
GZIP_FRAMING = 31

Unpack = Callable[[memoryview], Any]

_zstd = zstandard.ZstdDecompressor()


def gzip(data: memoryview) -> bytes:
    unpacked: bytes = gzip_library.decompress(data, GZIP_FRAMING)
    return unpacked


def snappy(data: memoryview) -> Any:
    """One raw block as librdkafka writes it, or the blocks of Java's stream."""
    if data[:8] != XERIAL:
        return cramjam.snappy.decompress_raw(data)
    parts, at = [], 16
    while at < len(data):
        size = int.from_bytes(data[at : at + 4], "big")
        parts.append(bytes(cramjam.snappy.decompress_raw(data[at + 4 : at + 4 + size])))
        at += 4 + size
    return b"".join(parts)


def lz4_frame(data: memoryview) -> Any:
    context = lz4.frame.create_decompression_context()
    return lz4.frame.decompress_chunk(context, data, max_length=BATCH_MAX_BYTES)[0]


def zstd(data: memoryview) -> bytes:
    return _zstd.decompress(data, max_output_size=BATCH_MAX_BYTES)


def stored(data: memoryview) -> memoryview:
    return data


UNPACK: tuple[Unpack, ...] = (stored, gzip, snappy, lz4_frame, zstd)  # by a batch's codec


def body_of(batch: memoryview) -> Any:
    """What is behind the header of a batch, unpacked."""
    return UNPACK[batch[22] & 7](batch[61:])
