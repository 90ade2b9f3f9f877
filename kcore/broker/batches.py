"""What a producer sends for one partition: exactly one v2 batch, checked before it is kept.

Layout: KIP-98, as in `kcore/records/layout.pxd`. Kept bytes stay as the producer made them, still
compressed; base offset and leader epoch are written over, which the CRC does not cover. With log
append time, or where the header lies about the largest timestamp, the header is made anew.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

import crc32c

from kcore.records import RecordReader
from kcore.records.codecs import MissingPackageError
from kcore.records.survey import survey
from kcore.tuples import NamedTuple
from kcore.wire.codes import ErrorCode

if TYPE_CHECKING:
    from kcore.broker.options import LogConfig

HEADER_SIZE: Final = 61
NO_PRODUCER: Final = -1
NO_TIMESTAMP: Final = -1

_HEADER: Final = struct.Struct(">qiibIhiqqqhii")
_CRC: Final = struct.Struct(">I")
_TIMES: Final = struct.Struct(">h12xq")  # attributes and the largest timestamp
_PREFIX_SIZE: Final = 12  # base offset and length
_LENGTH_MIN: Final = 14  # of the smallest batch there ever was (Java: LegacyRecord)
_LENGTH: Final = struct.Struct(">i")
_MAGIC_AT: Final = 16
_CRC_AT: Final = 17
_CHECKED_AT: Final = 21
_ATTRIBUTES_AT: Final = 22  # the lower byte
_TIMES_AT: Final = 21
_MAGIC: Final = 2
_TAKE: Final = 1_000
_FAULTS_MAX: Final = 1_000  # records of one batch that are said to be wrong

_CODEC: Final = 0x07
APPEND_TIME: Final = 0x08
TRANSACTIONAL: Final = 0x10
CONTROL: Final = 0x20


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
    def codec(self) -> int:
        """The number of its codec."""
        return self.attributes & _CODEC

    @property
    def last_offset(self) -> int:
        """The offset of the last record that was there at first."""
        return self.base_offset + self.last_offset_delta

    @property
    def last_sequence(self) -> int:
        """The sequence number of the last record; sequences go round after int32 (KIP-98)."""
        return (self.base_sequence + self.last_offset_delta) & 0x7FFFFFFF


class RefusedError(Exception):
    """Something a client asked for is not done: the error code of the answer, and why.

    records: which records of a batch are at fault, and of what (KIP-467).
    """

    def __init__(
        self, code: ErrorCode, why: str, records: list[tuple[int, str]] | None = None
    ) -> None:
        super().__init__(why)
        self.code = code
        self.why = why
        self.records = records or []


def read_header(data: bytes | bytearray | memoryview) -> Batch:
    """The header of a batch whose first 61 bytes are there."""
    return Batch._make(_HEADER.unpack_from(data))


def only_batch(data: bytes | bytearray | memoryview | None) -> memoryview:
    """The one batch that a producer sends for a partition; what is left of a further one that was
    cut off is passed over. RefusedError (Java: ProduceRequest.validateRecords).
    """
    view = memoryview(data or b"")
    if len(view) < _PREFIX_SIZE:
        raise RefusedError(ErrorCode.INVALID_RECORD, "no record batch")
    size = _size_at(view, 0)
    if len(view) < HEADER_SIZE or size > len(view):
        raise RefusedError(ErrorCode.INVALID_RECORD, "no complete record batch")
    magic = view[_MAGIC_AT]
    if magic > _MAGIC:
        raise RefusedError(ErrorCode.CORRUPT_MESSAGE, f"a batch of format {magic}")
    if magic < _MAGIC:
        raise RefusedError(ErrorCode.INVALID_RECORD, f"a batch of format {magic}, not 2")
    rest = len(view) - size
    if rest >= _PREFIX_SIZE and _size_at(view, size) <= rest:
        raise RefusedError(ErrorCode.INVALID_RECORD, "more than one record batch")
    return view[:size]


def _size_at(view: memoryview, at: int) -> int:
    """Of the batch that begins there, its prefix included."""
    (length,) = _LENGTH.unpack_from(view, at + 8)
    if length < _LENGTH_MIN:
        raise RefusedError(ErrorCode.CORRUPT_MESSAGE, f"a batch of {length} bytes")
    return int(length) + _PREFIX_SIZE


def is_transactional(data: bytes | bytearray | memoryview | None) -> bool:
    """Whether what is sent for a partition says that it is of a transaction."""
    if data is None or len(data) < HEADER_SIZE or data[_MAGIC_AT] != _MAGIC:
        return False
    return bool(data[_ATTRIBUTES_AT] & TRANSACTIONAL)


def check_batch(
    topic: str, partition: int, data: memoryview | None, config: LogConfig, wall_ms: int
) -> Batch:
    """The header of the one batch in `data`; RefusedError with Kafka's code if it may not be kept.

    Every record is looked at (Java: LogValidator); of a batch whose codec cannot be read here, only
    the header and the checksum.
    """
    data = only_batch(data)
    batch = read_header(data)
    if batch.base_offset:
        raise RefusedError(ErrorCode.INVALID_RECORD, f"a batch that begins at {batch.base_offset}")
    check_size(data, config)
    if batch.crc != crc32c.crc32c(data[_CHECKED_AT:]):
        raise RefusedError(ErrorCode.CORRUPT_MESSAGE, f"{topic}-{partition}: a checksum is wrong")
    if batch.attributes & CONTROL:
        raise RefusedError(ErrorCode.INVALID_RECORD, "control records are the brokers' own")
    if batch.record_count < 1 or batch.last_offset_delta != batch.record_count - 1:
        raise RefusedError(
            ErrorCode.INVALID_RECORD,
            f"{batch.record_count} records with a last offset of {batch.last_offset_delta}",
        )
    if batch.producer_id != NO_PRODUCER and batch.base_sequence < 0:
        raise RefusedError(ErrorCode.INVALID_RECORD, "a producer without a sequence")
    return _check_records(f"{topic}-{partition}", data, batch, config, wall_ms)


def check_size(data: memoryview, config: LogConfig) -> None:
    """RefusedError if a batch is too large to be kept as it is."""
    if len(data) > config.max_message_bytes:
        raise RefusedError(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"{len(data)} bytes are more than {config.max_message_bytes}",
        )


def _check_records(
    where: str, data: memoryview, batch: Batch, config: LogConfig, wall_ms: int
) -> Batch:
    """The header, with what the records say where it says something else."""
    try:
        most = config.max_decompressed_message_bytes
        found = survey(data, check_crc=False, record_bytes_max=most)
    except MissingPackageError:
        return batch
    except ValueError as error:  # with a checksum that is right: another try would change nothing
        raise RefusedError(ErrorCode.INVALID_RECORD, f"{where}: {error}") from None
    if not found.sequential:
        raise RefusedError(ErrorCode.INVALID_RECORD, "offsets that do not follow each other")
    said = found.min_timestamp, found.max_timestamp
    if batch.attributes & APPEND_TIME:  # then this is the time of each
        said = batch.max_timestamp, batch.max_timestamp
    untimely = any(_is_untimely(timestamp, batch, config, wall_ms) for timestamp in said)
    if untimely or (config.compact and found.unkeyed >= 0):
        raise _rejected(where, data, batch, config, wall_ms)
    if not config.log_append_time:
        attributes = batch.attributes & ~APPEND_TIME
        newest = max(said[1], NO_TIMESTAMP)
        batch = batch._replace(attributes=attributes, max_timestamp=newest)
    return batch


def _is_untimely(timestamp: int, batch: Batch, config: LogConfig, wall_ms: int) -> bool:
    """Whether a record cannot have this timestamp (KIP-937); it need not have one. Who says that
    it is when a broker took it says so wrongly (Java: LogValidator.validateTimestamp).
    """
    if config.log_append_time or timestamp == NO_TIMESTAMP:
        return bool(batch.attributes & APPEND_TIME)
    oldest = wall_ms - config.message_timestamp_before_max_ms
    return not oldest <= timestamp <= wall_ms + config.message_timestamp_after_max_ms


def _rejected(
    where: str, data: memoryview, batch: Batch, config: LogConfig, wall_ms: int
) -> RefusedError:
    """Of a checked batch, which records are wrong, up to a number of them. One whose time is wrong
    speaks for all (Java: LogValidator.processRecordErrors).
    """
    code, because = ErrorCode.INVALID_RECORD, ""
    found: list[tuple[int, str]] = []
    # Without attributes that mean nothing, or another time than the records' own.
    plain = _rewritten(data, batch._replace(attributes=batch.codec))
    reader = RecordReader("", 0, plain, 0)
    while not reader.exhausted:
        for record in reader.take(_TAKE):
            timestamp = record.timestamp
            if batch.attributes & APPEND_TIME:
                timestamp = batch.max_timestamp
            if config.compact and record.key is None:
                why = f"a record without a key for the compacted partition {where}"
            elif _is_untimely(timestamp, batch, config, wall_ms):
                code, because = ErrorCode.INVALID_TIMESTAMP, " due to invalid timestamp"
                why = f"a timestamp that may not be: {timestamp}"
            else:
                continue
            found.append((record.offset, why))
    return RefusedError(
        code, f"One or more records have been rejected{because}", found[:_FAULTS_MAX]
    )


def placed(data: memoryview | bytes, batch: Batch) -> bytes:
    """The bytes as they are kept: with base offset, epoch, attributes and largest timestamp of
    `batch`.
    """
    data = memoryview(data)
    if _TIMES.unpack_from(data, _TIMES_AT) != (batch.attributes, batch.max_timestamp):
        return _rewritten(data, batch)
    return b"".join(
        (
            batch.base_offset.to_bytes(8, "big"),
            data[8:_PREFIX_SIZE],
            batch.leader_epoch.to_bytes(4, "big", signed=True),
            data[_PREFIX_SIZE + 4 :],
        )
    )


def _rewritten(data: memoryview, batch: Batch) -> bytes:
    """The same, where the checksum has to be made anew: time or attributes are others."""
    kept = bytearray(data)
    _HEADER.pack_into(kept, 0, *batch)
    view = memoryview(kept)
    _CRC.pack_into(kept, _CRC_AT, crc32c.crc32c(view[_CHECKED_AT:]))
    return bytes(kept)


def with_append_time(batch: Batch, wall_ms: int) -> Batch:
    """The header of a batch whose records all get this time."""
    return batch._replace(attributes=batch.attributes | APPEND_TIME, max_timestamp=wall_ms)
