"""The headers of batches, for who wants more than records: producers, sequences, formats, sizes."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final

from kcore.records import codecs
from kcore.tuples import NamedTuple

_PREFIX: Final = struct.Struct(">qi")  # offset, length
_V2: Final = struct.Struct(">qiibIhiqqqhii")  # layout.pxd
_LEGACY: Final = struct.Struct(">qiIbb")  # legacy.pyx

_APPEND_TIME, _TRANSACTIONAL, _CONTROL, _CODEC_MASK = 0x08, 0x10, 0x20, 0x07


class BatchInfo(NamedTuple):
    """What the header of a batch, or of a v0 or v1 message, says; nothing of it is checked.

    base_offset: of a compressed v0 or v1 message unknown, and the same as last_offset.
    timestamp_type: 0 the producer's, 1 the broker's, None in v0. max_timestamp: ms, -1 unknown.
    leader_epoch, producer_id, producer_epoch, base_sequence: -1 none. codec: its name.
    record_count: -1 in a compressed v0 or v1 message. at, size_bytes: where it stands in the data.
    """

    magic: int
    base_offset: int
    last_offset: int
    leader_epoch: int
    codec: str
    timestamp_type: int | None
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    transactional: bool
    control: bool
    record_count: int
    at: int
    size_bytes: int


def describe_batches(data: bytes | bytearray | memoryview) -> Iterator[BatchInfo]:
    """The headers of the complete batches in `data`, up to one that cannot be a header."""
    at = 0
    while len(data) - at >= _PREFIX.size + 14:
        size = _PREFIX.size + _PREFIX.unpack_from(data, at)[1]
        if size < _PREFIX.size + 14 or size > len(data) - at:
            return
        if data[at + 16] == 2 and size >= _V2.size:
            yield _batch(data, at, size)
        elif data[at + 16] < 2 and size >= _PREFIX.size + (22 if data[at + 16] else 14):
            yield _message(data, at, size)
        else:
            return
        at += size


def _batch(data: bytes | bytearray | memoryview, at: int, size: int) -> BatchInfo:
    base, _, epoch, magic, _, bits, delta, _, *rest = _V2.unpack_from(data, at)
    max_time, producer, producer_epoch, sequence, count = rest
    return BatchInfo(
        magic,
        base,
        base + delta,
        epoch,
        codecs.name_of(bits & _CODEC_MASK),
        1 if bits & _APPEND_TIME else 0,
        max_time,
        producer,
        producer_epoch,
        sequence,
        bool(bits & _TRANSACTIONAL),
        bool(bits & _CONTROL),
        count,
        at,
        size,
    )


def _message(data: bytes | bytearray | memoryview, at: int, size: int) -> BatchInfo:
    offset, _, _, magic, bits = _LEGACY.unpack_from(data, at)
    codec = bits & _CODEC_MASK
    return BatchInfo(
        magic,
        offset,
        offset,
        -1,
        codecs.name_of(codec),
        (1 if bits & _APPEND_TIME else 0) if magic else None,
        struct.unpack_from(">q", data, at + _LEGACY.size)[0] if magic else -1,
        -1,
        -1,
        -1,
        False,
        False,
        -1 if codec else 1,
        at,
        size,
    )
