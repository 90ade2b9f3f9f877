"""What a producer sends for one partition: exactly one v2 batch, checked before it is kept.

Layout: KIP-98, as in `kcore/records/layout.pxd`. Kept bytes stay as the producer made them, still
compressed; only base offset and leader epoch are written over, which the CRC does not cover.
"""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

from kcore.errors import CorruptRecordError, UnsupportedCodecError
from kcore.records import RecordReader
from kcore.wire.codes import ErrorCode

HEADER_SIZE: Final = 61
NO_PRODUCER: Final = -1

_HEADER: Final = struct.Struct(">qiibIhiqqqhii")
_PREFIX_SIZE: Final = 12  # base offset and length
_MAGIC: Final = 2
_TRANSACTIONAL: Final = 0x10
_CONTROL: Final = 0x20
_TAKE: Final = 1_000  # records looked at in one go; bounds what a dense batch can make us hold


class Batch(NamedTuple):
    """The header of a v2 batch."""

    base_offset: int
    length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def last_sequence(self) -> int:
        """The sequence number of the last record; sequences go round after int32 (KIP-98)."""
        return (self.base_sequence + self.last_offset_delta) & 0x7FFFFFFF


class RefusedError(Exception):
    """Something a client asked for is not done: the error code of the answer, and why."""

    def __init__(self, code: ErrorCode, why: str) -> None:
        super().__init__(why)
        self.code = code
        self.why = why


def read_header(data: bytes | bytearray | memoryview) -> Batch:
    """The header of a batch whose first 61 bytes are there."""
    return Batch._make(_HEADER.unpack_from(data))


def check_batch(topic: str, partition: int, data: memoryview | None, max_bytes: int) -> Batch:
    """The header of the one batch in `data`; RefusedError with Kafka's code if it may not be kept.

    Every record is looked at (Java: LogValidator); of a batch whose codec cannot be read here, only
    the header and the checksum.
    """
    if data is None or len(data) < HEADER_SIZE:
        raise RefusedError(ErrorCode.INVALID_RECORD, "no complete record batch")
    batch = read_header(data)
    if batch.magic != _MAGIC:
        raise RefusedError(ErrorCode.INVALID_RECORD, f"a batch of format {batch.magic}, not 2")
    if batch.length != len(data) - _PREFIX_SIZE:
        raise RefusedError(ErrorCode.INVALID_RECORD, "not exactly one record batch")
    if len(data) > max_bytes:
        raise RefusedError(
            ErrorCode.MESSAGE_TOO_LARGE, f"{len(data)} bytes are more than {max_bytes}"
        )
    if batch.attributes & (_TRANSACTIONAL | _CONTROL):
        raise RefusedError(ErrorCode.INVALID_RECORD, "transactional and control batches")
    if batch.record_count < 1 or batch.last_offset_delta != batch.record_count - 1:
        raise RefusedError(
            ErrorCode.INVALID_RECORD,
            f"{batch.record_count} records with a last offset of {batch.last_offset_delta}",
        )
    if batch.producer_id != NO_PRODUCER and (batch.producer_epoch < 0 or batch.base_sequence < 0):
        raise RefusedError(ErrorCode.INVALID_RECORD, "a producer without epoch or sequence")
    _check_records(topic, partition, data, batch)
    return batch


def _check_records(topic: str, partition: int, data: memoryview, batch: Batch) -> None:
    seen = 0
    try:
        # From 0: a batch says where it begins for its producer, which the log does not care about.
        reader = RecordReader(topic, partition, _at_zero(data, batch), 0)
        while not reader.exhausted:
            seen += len(reader.take(_TAKE))
    except UnsupportedCodecError:
        return
    except CorruptRecordError as error:
        raise RefusedError(ErrorCode.CORRUPT_MESSAGE, str(error)) from None
    if seen != batch.record_count:
        raise RefusedError(ErrorCode.INVALID_RECORD, f"{seen} records, not {batch.record_count}")


def _at_zero(data: memoryview, batch: Batch) -> memoryview | bytearray:
    if batch.base_offset == 0:
        return data
    moved = bytearray(data)
    struct.pack_into(">q", moved, 0, 0)
    return moved


def placed(data: memoryview | bytes, base_offset: int, leader_epoch: int) -> bytes:
    """The batch as it is kept at this offset."""
    return b"".join(
        (
            base_offset.to_bytes(8, "big"),
            memoryview(data)[8:_PREFIX_SIZE],
            leader_epoch.to_bytes(4, "big"),
            memoryview(data)[_PREFIX_SIZE + 4 :],
        )
    )
