"""The compression libraries called as plainly as can be: what unpacking costs whoever does it.

They are the ones that kcore calls, without its bounds and checks. Frames of librdkafka do not say
how much they hold: the library is given room for what a batch usually has, and more if that was not
enough. (Room for the most it could be would be memory from the kernel, anew for each batch.)
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

ROOM_BYTES = 73_728  # the topics' batch.size, and a little
MORE = 64
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


def lz4_frame(data: memoryview, room: int = ROOM_BYTES) -> Any:
    context = lz4.frame.create_decompression_context()
    unpacked, _, ended = lz4.frame.decompress_chunk(context, data, max_length=room)
    return unpacked if ended else lz4_frame(data, room * MORE)


def zstd(data: memoryview, room: int = ROOM_BYTES) -> bytes:
    try:
        return _zstd.decompress(data, max_output_size=room)
    except zstandard.ZstdError:
        if room > ROOM_BYTES:
            raise
        return zstd(data, room * MORE)


def stored(data: memoryview) -> memoryview:
    return data


UNPACK: tuple[Unpack, ...] = (stored, gzip, snappy, lz4_frame, zstd)  # by a batch's codec


def body_of(batch: memoryview) -> Any:
    """What is behind the header of a batch, unpacked."""
    return UNPACK[batch[22] & 7](batch[61:])
