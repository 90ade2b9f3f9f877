"""Writing message sets of formats v0 and v1, for brokers that answer old clients and for tests.

They are those of Java's encoder byte for byte, but for what a compressor makes of them.

Java: MemoryRecordsBuilder.appendLegacyRecord, LegacyRecord.write. The layout is in legacy.pyx.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable
from typing import Final

from kcore.records import codecs

_Record = tuple[int, bytes | None, bytes | None]  # timestamp, key, value

_APPEND_TIME: Final = 0x08
_COMPRESS: Final = (codecs.COMPRESS_V0, codecs.COMPRESS_V1)


def encode_message_set(
    records: Iterable[_Record],
    *,
    magic: int,
    base_offset: int = 0,
    codec: str = "none",
    level: int | None = None,
    offsets: Iterable[int] | None = None,
    append_time_ms: int | None = None,
) -> bytes:
    """Messages of (timestamp in ms, key, value), compressed ones inside of one wrapper.

    magic: 0 (which has no timestamps) or 1. codec: "none", "gzip", "snappy" or "lz4".
    offsets: of each record, ascending from `base_offset` on; default: without gaps.
    append_time_ms: makes it log-append time (v1 only).

    Raises ValueError if the format cannot say it.
    """
    if magic not in {0, 1}:
        raise ValueError(f"message sets have format 0 or 1, not {magic}")
    if codec not in codecs.NAMES:
        raise ValueError(f"unknown codec {codec!r}; known are {', '.join(codecs.NAMES)}")
    if append_time_ms is not None and not magic:
        raise ValueError("v0 messages have no time")
    number = codecs.NAMES.index(codec)
    compress = _COMPRESS[magic].get(number)
    if number and compress is None:
        raise ValueError(f"{codec} needs v2 batches")
    rows = list(records)
    places = list(range(base_offset, base_offset + len(rows)) if offsets is None else offsets)
    _check_offsets(places, base_offset)
    times = [time if append_time_ms is None else append_time_ms for time, _, _ in rows]
    kind = 0 if append_time_ms is None else _APPEND_TIME
    shift = base_offset if magic and compress else 0
    messages = b"".join(
        _message(offset - shift, magic, kind, time, key, value)
        for offset, time, (_, key, value) in zip(places, times, rows, strict=True)
    )
    if compress is None or not rows:
        return messages
    packed = compress(messages, level)
    return _message(places[-1], magic, kind | number, max(times), None, packed)


def _check_offsets(offsets: list[int], base_offset: int) -> None:
    passed = base_offset - 1
    for offset in offsets:
        if offset <= passed:
            raise ValueError(f"offset {offset} after {passed}")
        passed = offset


def _message(
    offset: int, magic: int, attributes: int, time: int, key: bytes | None, value: bytes | None
) -> bytes:
    head = struct.pack(">bb", magic, attributes)
    if magic:
        head += struct.pack(">q", time)
    checked = head + _field(key) + _field(value)
    return struct.pack(">qiI", offset, len(checked) + 4, zlib.crc32(checked)) + checked


def _field(item: bytes | None) -> bytes:
    return struct.pack(">i", -1) if item is None else struct.pack(">i", len(item)) + item
