"""Compaction: of each key only the latest record stays (Java: Cleaner, MemoryRecords.filterTo).

    start       dirty_offset             first uncleanable     end
    |-- cleaned before --|-- looked through --|-- left alone --|

First the keys of the dirty part are collected, then every batch before its end is filtered. Offsets
stay what they are. A batch of which everything stays is the same bytes as before.

Tombstones, and markers of transactions of which nothing is left, go `delete.retention.ms` after
they were first seen here; until then the batch says when (KIP-534). A batch of which nothing stays
is kept empty while it is the last one of its producer, whose sequence it says, and where the high
watermark is behind it, which readers come to by it (since Kafka 4.4).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from operator import itemgetter
from typing import Final

from kcore.broker.batches import (
    CONTROL,
    NO_PRODUCER,
    TRANSACTIONAL,
    Batch,
    placed,
    read_header,
)
from kcore.broker.log import PartitionLog
from kcore.broker.options import INT64_MAX
from kcore.broker.remaking import read_records, remade
from kcore.broker.segments import Segment
from kcore.limits import MAX_BATCH_BYTES
from kcore.records import ConsumerRecord, ControlRecord, RecordReader, encode_batch
from kcore.records.codecs import MissingPackageError
from kcore.records.survey import OversizedRecordError, first_at_or_after
from kcore.tuples import NamedTuple

# Looked through in one go, in bytes as they are kept; other requests of the node wait meanwhile.
STEP_BYTES: Final = 1_048_576
# Keys collected in one run; what is behind is left to the next one (Kafka: the dedupe buffer).
KEYS_MAX: Final = 1_000_000

_DELETE_HORIZON: Final = 0x40


class Dirt(NamedTuple):
    """What there is to clean: bytes cleaned before, bytes to look through, and up to where."""

    clean_bytes: int
    dirty_bytes: int
    end_offset: int
    overdue: bool

    @property
    def ratio(self) -> float:
        """How much of the log is dirty."""
        total = self.clean_bytes + self.dirty_bytes
        return self.dirty_bytes / total if total else 0.0


def dirt(log: PartitionLog, wall_ms: int) -> Dirt:
    """How much a log needs cleaning (Java: LogCleanerManager)."""
    config = log.config
    youngest = wall_ms - config.min_compaction_lag_ms
    stable = log.last_stable_offset
    clean_bytes = dirty_bytes = 0
    overdue = False
    end_offset = log.dirty_offset
    for segment, after in zip(log.segments, log.segments[1:], strict=False):
        if after.base_offset <= log.dirty_offset:
            clean_bytes += segment.size_bytes
            continue
        too_young = config.min_compaction_lag_ms > 0 and segment.max_timestamp > youngest
        if too_young or after.base_offset > stable:
            break
        dirty_bytes += segment.size_bytes
        end_offset = after.base_offset
        overdue = overdue or wall_ms - segment.first_time > config.max_compaction_lag_ms
    return Dirt(clean_bytes, dirty_bytes, end_offset, overdue)


def needs_cleaning(log: PartitionLog, found: Dirt) -> bool:
    """Whether it is worth it."""
    return found.dirty_bytes > 0 and (
        found.overdue or found.ratio > log.config.min_cleanable_dirty_ratio
    )


def clean(log: PartitionLog, end_offset: int, wall_ms: int) -> Iterator[None]:
    """Clean a log up to the beginning of the segment at `end_offset`, step by step.

    It gives up without a trace if the log is cut at either end meanwhile, and with an
    OversizedRecordError where a record of a compressed batch is larger than it may be (by now).
    """
    cuts = log.cuts
    run = _Run(log, end_offset, wall_ms)
    seen = 0
    for size in run.work():
        seen += size
        if seen >= STEP_BYTES:
            seen = 0
            yield
            if log.cuts != cuts:
                return
    run.finish()


def _put(cleaned: list[Segment], data: bytes, old: Segment, max_bytes: int) -> None:
    """Keep a batch in the last new segment, or in one of its own if that is full."""
    header = read_header(data)
    if not cleaned or cleaned[-1].size_bytes + len(data) > max_bytes:
        base_offset = header.base_offset if cleaned else old.base_offset
        cleaned.append(Segment(base_offset, old.created_ms))
    last_offset = header.last_offset
    cleaned[-1].add(data, last_offset, header.max_timestamp)


class _Run:
    """One run over one log."""

    def __init__(self, log: PartitionLog, end_offset: int, wall_ms: int) -> None:
        self._log = log
        self._end_offset = end_offset
        self._wall_ms = wall_ms
        self._high_watermark = log.high_watermark
        self._horizon_ms = wall_ms + log.config.delete_retention_ms
        self._segments = [one for one in log.segments[:-1] if one.base_offset < end_offset]
        self._cleaned: list[Segment] = []
        self._latest: dict[bytes, int] = {}  # key -> where it stands last
        self._aborted: dict[int, list[tuple[int, int]]] = {}
        for one in log.transactions.aborted(log.start_offset, log.end_offset):
            spans = self._aborted.setdefault(one.producer_id, [])
            spans.append((one.first_offset, one.last_offset))
        # Producers of whose open transaction something has been seen in this run.
        self._seen: set[int] = set()
        self._last_of_producer = {
            state.batches[-1].base_offset for _, state in log.sequences if state.batches
        }

    def work(self) -> Iterator[int]:
        """Do it, a batch at a time; its bytes."""
        for segment in self._segments:
            for data in segment.batches:
                header = read_header(data)
                if header.last_offset < self._log.dirty_offset:
                    continue
                if len(self._latest) >= KEYS_MAX:
                    self._end_offset = min(self._end_offset, header.base_offset)
                else:
                    self._collect(data, header)
                    yield len(data)
        for segment in self._segments:
            for data in segment.batches:
                kept = self._filtered(data)
                if kept is not None:
                    _put(self._cleaned, kept, segment, self._log.config.segment_bytes)
                yield len(data)

    def finish(self) -> None:
        """Put what is left in the place of what was there."""
        first = self._segments[0]
        cleaned = self._cleaned or [Segment(first.base_offset, first.created_ms)]
        self._log.replace(len(self._segments), cleaned, self._end_offset)

    def _collect(self, data: bytes, header: Batch) -> None:
        if header.attributes & CONTROL or self._is_aborted(header):
            return
        for record in self._read(data, header) or ():
            if record.key is not None:
                self._latest[record.key] = record.offset

    def _filtered(self, data: bytes) -> bytes | None:
        """What is left of a batch; None if nothing is."""
        header = read_header(data)
        if header.attributes & CONTROL:
            return self._marker(data, header)
        if header.attributes & TRANSACTIONAL:
            self._seen.add(header.producer_id)
        if self._is_aborted(header):
            return self._nothing(header)
        records = self._read(data, header)
        if records is None:
            return data
        return self._remade(data, header, records)

    def _read(self, data: bytes, header: Batch) -> list[ConsumerRecord] | None:
        """The records of a batch; None if they cannot be read here."""
        most = self._log.config.max_decompressed_message_bytes
        if header.codec and most < MAX_BATCH_BYTES:
            try:
                first_at_or_after(data, INT64_MAX, record_bytes_max=most)  # which looks at all
            except OversizedRecordError:
                raise
            except (ValueError, MissingPackageError):
                return None
        return read_records(data, header)

    def _remade(self, data: bytes, header: Batch, records: list[ConsumerRecord]) -> bytes | None:
        known = bool(header.attributes & _DELETE_HORIZON)
        expired = known and header.base_timestamp <= self._wall_ms
        latest = self._latest
        kept = [
            record
            for record in records
            if record.key is not None
            and latest.get(record.key, -1) <= record.offset
            and not (expired and record.value is None)
        ]
        if not kept:
            return self._nothing(header)
        mark = not known and any(record.value is None for record in kept)
        if len(kept) == len(records) and not mark:
            return data
        horizon_ms = header.base_timestamp if known else self._horizon_ms if mark else None
        return remade(header, kept, horizon_ms=horizon_ms)

    def _marker(self, data: bytes, header: Batch) -> bytes | None:
        """A marker stays while something of its transaction is there."""
        if header.producer_id in self._seen:
            self._seen.discard(header.producer_id)
            return data
        if header.attributes & _DELETE_HORIZON:
            return data if header.base_timestamp > self._wall_ms else self._nothing(header)
        reader = RecordReader("", 0, data, header.base_offset, keep_control=True)
        reader.take(1)
        return _marked(header, reader.control_records or [], self._horizon_ms)

    def _nothing(self, header: Batch) -> bytes | None:
        """Of a producer's last batch its header stays, and of the last one that may be read."""
        last = (
            header.producer_id != NO_PRODUCER and header.base_offset in self._last_of_producer
        ) or header.last_offset + 1 == self._high_watermark
        if not last:
            return None
        empty = encode_batch(
            [],
            base_offset=header.base_offset,
            last_offset=header.last_offset,
            leader_epoch=header.leader_epoch,
            producer_id=header.producer_id,
            producer_epoch=header.producer_epoch,
            base_sequence=header.base_sequence,
            transactional=bool(header.attributes & TRANSACTIONAL),
            control=bool(header.attributes & CONTROL),
        )
        return placed(empty, read_header(empty)._replace(max_timestamp=header.max_timestamp))

    def _is_aborted(self, header: Batch) -> bool:
        if not header.attributes & TRANSACTIONAL:
            return False
        spans = self._aborted.get(header.producer_id, [])
        index = bisect_right(spans, header.base_offset, key=itemgetter(1))
        return index < len(spans) and spans[index][0] <= header.base_offset


def _marked(header: Batch, markers: list[ControlRecord], horizon_ms: int) -> bytes:
    """The same marker with the time at which it may go."""
    return encode_batch(
        [(one.timestamp, one.key, one.value) for one in markers],
        offsets=[one.offset for one in markers],
        base_offset=header.base_offset,
        last_offset=header.last_offset,
        leader_epoch=header.leader_epoch,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        transactional=bool(header.attributes & TRANSACTIONAL),
        control=True,
        delete_horizon_ms=horizon_ms,
    )
