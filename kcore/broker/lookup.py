"""Offsets by time (KIP-79, KIP-734)."""

from __future__ import annotations

from heapq import heapify, heappop

from kcore.broker.batches import RefusedError, read_header
from kcore.broker.log import PartitionLog
from kcore.broker.remaking import read_records
from kcore.limits import MAX_INT32
from kcore.records.codecs import MissingPackageError
from kcore.records.survey import OversizedRecordError, first_at_or_after
from kcore.structs import OffsetAndTimestamp
from kcore.wire.codes import ErrorCode


def offset_for_time(log: PartitionLog, timestamp: int) -> OffsetAndTimestamp | None:
    """The first record at or after this time; None if there is none. RefusedError behind a record
    that is larger than it may be (by now).
    """
    most = log.config.max_decompressed_message_bytes
    for data in log.first_reaching(timestamp):
        found = _in_batch(data, timestamp, log.start_offset, most)
        if found is not None:
            return found
    return None


def latest_time(log: PartitionLog) -> OffsetAndTimestamp | None:
    """The first of the records with the largest timestamp; None if there is none."""
    return offset_for_time(log, log.max_timestamp) or _latest_left(log)


def _latest_left(log: PartitionLog) -> OffsetAndTimestamp | None:
    """The same where the latest batch has lost its latest record: the log begins within it."""
    found = None
    by_time = [(-read_header(data).max_timestamp, place, data)
               for place, data in enumerate(log.batches())]  # fmt: skip
    heapify(by_time)
    while by_time:
        newest, _, data = heappop(by_time)
        if found is not None and found.timestamp >= -newest:
            break
        here = _latest_in_batch(data, log.start_offset)
        if here is not None and (found is None or here.timestamp > found.timestamp):
            found = here
    return found


def _latest_in_batch(data: bytes, start_offset: int) -> OffsetAndTimestamp | None:
    header = read_header(data)
    records = read_records(data, header)
    if records is None:
        return _in_batch(data, 0, start_offset, MAX_INT32)
    left = [record for record in records if record.offset >= start_offset]
    if not left:
        return None
    latest = max(left, key=lambda record: record.timestamp)
    return OffsetAndTimestamp(latest.offset, latest.timestamp, header.leader_epoch)


def _in_batch(
    data: bytes, timestamp: int, start_offset: int, most: int
) -> OffsetAndTimestamp | None:
    """Of a batch whose codec cannot be read, its first record, with its latest time."""
    batch = read_header(data)
    delta = start_offset - batch.base_offset
    try:
        found = first_at_or_after(data, timestamp, delta, record_bytes_max=most)
    except OversizedRecordError as error:
        raise RefusedError(ErrorCode.INVALID_RECORD, str(error)) from None
    except (ValueError, MissingPackageError):
        found = (0, batch.max_timestamp)
    if found is None:
        return None
    return OffsetAndTimestamp(batch.base_offset + found[0], found[1], batch.leader_epoch)
