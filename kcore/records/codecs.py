"""Compression codecs of record batches, bounded in what they may produce.

Sizes are checked before and while decompressing: a result above the caller's bound is refused
without being built. A stream has to end exactly where its bytes end.

Layouts: gzip is RFC 1952, one member or a few in a row; snappy is xerial's framing or one raw
block; lz4 is the frame format, one frame; zstd is RFC 8878, frames in a row. `framing.pyx` knows
what a stream can hold.

Libraries were chosen with bench/bench_codecs.py: each is the fastest at unpacking batches of 16 KiB
(docs/CODECS.md has the figures). They are imported when the first batch needs them, which
keeps start-up short and lets everything else be read where one is missing.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import cache
from importlib import import_module

from kcore.hints import Any, Final
from kcore.records.framing import CodecError, lz4_bound, seal_lz4, snappy_blocks, zstd_frames

__all__ = [
    "COMPRESS",
    "DECOMPRESS",
    "NAMES",
    "CodecError",
    "MissingPackageError",
    "load",
    "name_of",
]

NONE: Final = 0
GZIP: Final = 1
SNAPPY: Final = 2
LZ4: Final = 3
ZSTD: Final = 4

NAMES: Final = ("none", "gzip", "snappy", "lz4", "zstd")

_PACKERS: Final = {"snappy": "cramjam", "lz4": "lz4.frame", "zstd": "zstandard"}

_GZIP_FRAMING = 31  # zlib's code for: gzip header and trailer, largest window
# Producers write one. Each costs a copy of what follows it, so many would take time squared.
_GZIP_MEMBERS_MAX = 64

_XERIAL_HEADER = b"\x82SNAPPY\x00" + b"\x00\x00\x00\x01" * 2  # magic, version, oldest reader
_XERIAL_BLOCK_BYTES = 32_768  # snappy-java's

_ZSTD_LEVEL = 3  # Java's and the library's default
# Of decoders that had a larger window, the memory is given back (RFC 8878 wants 8 MiB of all).
_ZSTD_KEPT_WINDOW = 8 << 20

Decompress = Callable[[memoryview, int], bytes]
Compress = Callable[[bytes | memoryview, int | None], bytes]


class MissingPackageError(Exception):
    """A codec's library is not installed; `package` is its name on PyPI."""

    def __init__(self, package: str) -> None:
        super().__init__(package)
        self.package = package


def name_of(codec: int) -> str:
    """A codec's name for messages; numbers that are not assigned are spelled out."""
    return NAMES[codec] if codec < len(NAMES) else f"codec {codec}"


@cache
def _library(module: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        raise MissingPackageError(module.partition(".")[0]) from None


def load(name: str) -> None:
    """Load what the codec of this name packs with. MissingPackageError."""
    if name in _PACKERS:
        _library(_PACKERS[name])


@cache
def _gzip_library() -> Any:
    """The zlib of isal, twice as fast; where there is none (it knows two processors), Python's."""
    try:
        return _library("isal.isal_zlib")
    except MissingPackageError:
        return zlib


def _too_large(name: str, max_bytes: int) -> CodecError:
    return CodecError(f"{name}: the batch holds more than {max_bytes} bytes (max_batch_bytes)")


# gzip ---------------------------------------------------------------------------------------------


def decompress_gzip(data: memoryview, max_bytes: int) -> bytes:
    """All members of `data`; CodecError if they are malformed or hold more than `max_bytes`."""
    library = _gzip_library()
    parts: list[bytes] = []
    room = max_bytes
    rest: memoryview | bytes = data
    while rest:
        if len(parts) == _GZIP_MEMBERS_MAX:
            raise CodecError(f"gzip: more than {_GZIP_MEMBERS_MAX} members")
        member = library.decompressobj(wbits=_GZIP_FRAMING)
        # The last four bytes say how much the last member holds. The library is twice as fast when
        # its limit is close to that; if they lie, it is asked once more.
        likely = min(int.from_bytes(rest[-4:], "little"), room)
        try:
            part = member.decompress(rest, likely + 1)
            if member.unconsumed_tail and len(part) <= room:
                part += member.decompress(member.unconsumed_tail, room + 1 - len(part))
        except (library.error, zlib.error) as error:
            raise CodecError(f"gzip: {error}") from None
        room -= len(part)
        if room < 0:
            raise _too_large("gzip", max_bytes)
        if not member.eof:
            raise CodecError("gzip: the stream ends early")
        parts.append(part)
        rest = member.unused_data
    if not parts:
        raise CodecError("gzip: the stream ends early")
    return parts[0] if len(parts) == 1 else b"".join(parts)


def compress_gzip(data: bytes | memoryview, level: int | None) -> bytes:
    """One gzip member without name or time."""
    packer = zlib.compressobj(-1 if level is None else level, zlib.DEFLATED, _GZIP_FRAMING)
    return packer.compress(data) + packer.flush()


# snappy -------------------------------------------------------------------------------------------


def decompress_snappy(data: memoryview, max_bytes: int) -> bytes:
    """What the blocks hold; CodecError if they are malformed or hold more than `max_bytes`."""
    unpack = _library("cramjam").snappy.decompress_raw
    blocks, total = snappy_blocks(data)
    if total > max_bytes:
        raise _too_large("snappy", max_bytes)
    parts = []
    for start, end, size in blocks:
        try:
            part = unpack(data[start:end], output_len=size)
        except Exception as error:  # noqa: BLE001 - its own class does not say which it may raise
            raise CodecError(f"snappy: {error}") from None
        if len(part) != size:
            raise CodecError(f"snappy: a block of {size} bytes holds {len(part)}")
        parts.append(part)
    return bytes(parts[0]) if len(parts) == 1 else b"".join(parts)


def compress_snappy(data: bytes | memoryview, level: int | None) -> bytes:
    """Xerial's framing, as Java writes it. ValueError if a level is given: there are none."""
    if level is not None:
        raise ValueError("snappy has no levels")
    pack = _library("cramjam").snappy.compress_raw
    parts = [_XERIAL_HEADER]
    for at in range(0, len(data), _XERIAL_BLOCK_BYTES):
        block = bytes(pack(data[at : at + _XERIAL_BLOCK_BYTES]))
        parts += (len(block).to_bytes(4, "big"), block)
    return b"".join(parts)


# lz4 ----------------------------------------------------------------------------------------------


def decompress_lz4(data: memoryview | bytes, max_bytes: int) -> bytes:
    """The frame in `data`; CodecError if it is malformed or holds more than `max_bytes`."""
    library = _library("lz4.frame")
    # A producer's batch is some ten kilobytes; asking the library for `max_bytes` would make it
    # allocate them. One byte more shows that there is more, and lets it see the end mark.
    room = min(lz4_bound(data), max_bytes) + 1
    context = library.create_decompression_context()
    try:
        result, used, ended = library.decompress_chunk(context, data, max_length=room)
    except (RuntimeError, ValueError, MemoryError) as error:
        raise CodecError(f"lz4: {error}") from None
    if len(result) > max_bytes:
        raise _too_large("lz4", max_bytes)
    if not ended or used != len(data):
        raise CodecError("lz4: the frame ends early" if not ended else "lz4: bytes after the frame")
    return bytes(result)


def decompress_lz4_v0(data: memoryview, max_bytes: int) -> bytes:
    """The same inside a v0 message: whatever the header checksum is, it is not believed (Java)."""
    return decompress_lz4(seal_lz4(data), max_bytes)


def compress_lz4(data: bytes | memoryview, level: int | None) -> bytes:
    """One frame as Java's: independent blocks of 64 KiB, no content size, no content checksum."""
    library = _library("lz4.frame")
    packed: bytes = library.compress(
        data,
        compression_level=0 if level is None else level,
        block_size=library.BLOCKSIZE_MAX64KB,
        block_linked=False,
        store_size=False,
    )
    return packed


def compress_lz4_v0(data: bytes | memoryview, level: int | None) -> bytes:
    """The same with the header checksum that v0 messages have."""
    return seal_lz4(compress_lz4(data, level), broken=True)


# zstd ---------------------------------------------------------------------------------------------

_idle_decoders: list[Any] = []  # a decoder serves one call at a time; making one costs 10 us


def decompress_zstd(data: memoryview, max_bytes: int) -> bytes:
    """What the frames hold; CodecError if they are malformed or hold more than `max_bytes`."""
    frames = zstd_frames(data)
    if not frames:
        raise CodecError("zstd: the stream ends early")
    parts: list[bytes] = []
    room = max_bytes
    for start, end, bound, window in frames:
        part = _unpack_zstd(data[start:end], min(bound, room + 1), bound, window)
        room -= len(part)
        if room < 0:
            raise _too_large("zstd", max_bytes)
        parts.append(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _unpack_zstd(frame: memoryview, room: int, bound: int, window: int) -> bytes:
    """One frame, of which no more than `room` bytes are made."""
    library = _library("zstandard")
    try:
        decoder = _idle_decoders.pop()
    except IndexError:
        decoder = library.ZstdDecompressor()
    part: bytes
    try:
        if room < bound:
            part = decoder.stream_reader(frame).read(room)
        else:
            part = decoder.decompress(frame, max_output_size=bound + 1)
    except library.ZstdError as error:
        raise CodecError(f"zstd: {error}") from None
    if window <= _ZSTD_KEPT_WINDOW:
        _idle_decoders.append(decoder)
    return part


def compress_zstd(data: bytes | memoryview, level: int | None) -> bytes:
    """One frame that says how much it holds."""
    library = _library("zstandard")
    packer = library.ZstdCompressor(level=_ZSTD_LEVEL if level is None else level)
    packed: bytes = packer.compress(data)
    return packed


DECOMPRESS: Final[dict[int, Decompress]] = {
    GZIP: decompress_gzip,
    SNAPPY: decompress_snappy,
    LZ4: decompress_lz4,
    ZSTD: decompress_zstd,
}
COMPRESS: Final[dict[int, Compress]] = {
    GZIP: compress_gzip,
    SNAPPY: compress_snappy,
    LZ4: compress_lz4,
    ZSTD: compress_zstd,
}
# Inside v0 and v1 messages. There never was zstd in them (KIP-110).
DECOMPRESS_V1: Final[dict[int, Decompress]] = {
    codec: unpack for codec, unpack in DECOMPRESS.items() if codec != ZSTD
}
COMPRESS_V1: Final[dict[int, Compress]] = {
    codec: pack for codec, pack in COMPRESS.items() if codec != ZSTD
}
DECOMPRESS_V0: Final[dict[int, Decompress]] = {**DECOMPRESS_V1, LZ4: decompress_lz4_v0}
COMPRESS_V0: Final[dict[int, Compress]] = {**COMPRESS_V1, LZ4: compress_lz4_v0}
