"""Offsets by time (KIP-79, KIP-734)."""

from __future__ import annotations

from kcore.broker.batches import read_header
from kcore.broker.log import PartitionLog
from kcore.records.codecs import MissingPackageError
from kcore.records.survey import first_at_or_after
from kcore.structs import OffsetAndTimestamp


def offset_for_time(log: PartitionLog, timestamp: int) -> OffsetAndTimestamp | None:
    """The first record at or after this time; None if there is none."""
    for data in log.first_reaching(timestamp):
        found = _in_batch(data, timestamp, log.start_offset)
        if found is not None:
            return found
    return None


def latest_time(log: PartitionLog) -> OffsetAndTimestamp | None:
    """The first of the records with the largest timestamp; None if there is none."""
    return None if log.max_timestamp < 0 else offset_for_time(log, log.max_timestamp)


def _in_batch(data: bytes, timestamp: int, start_offset: int) -> OffsetAndTimestamp | None:
    """Of a batch whose codec cannot be read, its first record, with its latest time."""
    batch = read_header(data)
    try:
        found = first_at_or_after(data, timestamp, start_offset - batch.base_offset)
    except (ValueError, MissingPackageError):
        found = (0, batch.max_timestamp)
    if found is None:
        return None
    return OffsetAndTimestamp(batch.base_offset + found[0], found[1], batch.leader_epoch)
