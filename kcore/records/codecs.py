"""Compression codecs of record batches, bounded in what they may produce.

Sizes are checked before and while decompressing: a result above the caller's bound is refused
without being built. A stream has to end exactly where its bytes end.

Layouts: gzip is RFC 1952, one member or several in a row; lz4 is the frame format, one frame, as
written by Java's Lz4BlockOutputStream and by every other client for v2 batches.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Final

import lz4.frame

NONE: Final = 0
GZIP: Final = 1
SNAPPY: Final = 2
LZ4: Final = 3
ZSTD: Final = 4

NAMES: Final = ("none", "gzip", "snappy", "lz4", "zstd")

_GZIP_FRAMING = 31  # zlib's code for: gzip header and trailer, largest window

_LZ4_MAGIC = 0x184D2204
_LZ4_SHORTEST = 11  # magic, two descriptor bytes, header checksum, end mark
_LZ4_BLOCK_SIZES = {4: 1 << 16, 5: 1 << 18, 6: 1 << 20, 7: 1 << 22}
_LZ4_MAX_RATIO = 255  # each byte of a match length adds at most 255 bytes
_LZ4_STORED = 0x80000000  # the block's bytes are not compressed

Decompress = Callable[[memoryview, int], bytes]


class CodecError(ValueError):
    """Compressed bytes that cannot be read, or that hold more than the bound."""


def name_of(codec: int) -> str:
    """A codec's name for messages; numbers that are not assigned are spelled out."""
    return NAMES[codec] if codec < len(NAMES) else f"codec {codec}"


def decompress_gzip(data: memoryview, max_bytes: int) -> bytes:
    """All members of `data`; CodecError if they are malformed or hold more than `max_bytes`."""
    parts: list[bytes] = []
    room = max_bytes
    rest: memoryview | bytes = data
    while rest:
        member = zlib.decompressobj(wbits=_GZIP_FRAMING)
        try:
            part = member.decompress(rest, room + 1)
        except zlib.error as error:
            raise CodecError(f"gzip: {error}") from None
        room -= len(part)
        if room < 0:
            raise CodecError(_too_large("gzip", max_bytes))
        if not member.eof:
            raise CodecError("gzip: the stream ends early")
        parts.append(part)
        rest = member.unused_data
    if not parts:
        raise CodecError("gzip: the stream ends early")
    return parts[0] if len(parts) == 1 else b"".join(parts)


def decompress_lz4(data: memoryview, max_bytes: int) -> bytes:
    """The frame in `data`; CodecError if it is malformed or holds more than `max_bytes`."""
    # One byte more than allowed shows that there is more, and lets the decoder see the end mark.
    room = min(_lz4_bound(data), max_bytes) + 1
    context = lz4.frame.create_decompression_context()
    try:
        result, used, ended = lz4.frame.decompress_chunk(context, data, max_length=room)
    except (RuntimeError, ValueError, MemoryError) as error:
        raise CodecError(f"lz4: {error}") from None
    if len(result) > max_bytes:
        raise CodecError(_too_large("lz4", max_bytes))
    if not ended or used != len(data):
        raise CodecError("lz4: the frame ends early" if not ended else "lz4: bytes after the frame")
    return bytes(result)


def _lz4_bound(data: memoryview) -> int:
    """At most how many bytes the frame holds, by its block headers.

    A producer's batch is some ten kilobytes; asking the library for `max_bytes` would make it
    allocate them.
    """
    if len(data) < _LZ4_SHORTEST or int.from_bytes(data[:4], "little") != _LZ4_MAGIC:
        raise CodecError("lz4: not an lz4 frame")
    flags, descriptor = data[4], data[5]
    block_max = _LZ4_BLOCK_SIZES.get(descriptor >> 4 & 7)
    if flags >> 6 != 1 or block_max is None:
        raise CodecError("lz4: unknown frame version or block size")
    at = 7 + (8 if flags & 0x08 else 0) + (4 if flags & 0x01 else 0)
    checksum_size = 4 if flags & 0x10 else 0
    bound = 0
    while True:
        if at + 4 > len(data):
            raise CodecError("lz4: the frame ends early")
        size = int.from_bytes(data[at : at + 4], "little")
        at += 4
        if size == 0:
            return bound
        if size & _LZ4_STORED:
            size ^= _LZ4_STORED
            bound += min(size, block_max)
        else:
            bound += min(size * _LZ4_MAX_RATIO, block_max)
        at += size + checksum_size


def _too_large(name: str, max_bytes: int) -> str:
    return f"{name}: the batch holds more than {max_bytes} bytes (max_batch_bytes)"


def compress_gzip(data: bytes | memoryview, level: int | None) -> bytes:
    """One gzip member without name or time."""
    packer = zlib.compressobj(-1 if level is None else level, zlib.DEFLATED, _GZIP_FRAMING)
    return packer.compress(data) + packer.flush()


def compress_lz4(data: bytes | memoryview, level: int | None) -> bytes:
    """One frame as Java's: independent blocks of 64 KiB, no content size, no content checksum."""
    packed: bytes = lz4.frame.compress(
        data,
        compression_level=0 if level is None else level,
        block_size=lz4.frame.BLOCKSIZE_MAX64KB,
        block_linked=False,
        store_size=False,
    )
    return packed


DECOMPRESS: Final[dict[int, Decompress]] = {GZIP: decompress_gzip, LZ4: decompress_lz4}
COMPRESS: Final[dict[int, Callable[[bytes | memoryview, int | None], bytes]]] = {
    GZIP: compress_gzip,
    LZ4: compress_lz4,
}
