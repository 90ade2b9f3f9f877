"""One replica's log of one partition, in memory: whole batches in segments.

    start_offset      high_watermark    end_offset
    |-- consumers may read --|-- not replicated yet --|

Kept bytes are immutable and shared: the replicas of a partition hold references to the same ones.
Who may append, and where the high watermark is, is the partition's business (`partitions.py`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import Final

from kcore.broker.aborted import TransactionIndex
from kcore.broker.batches import (
    CONTROL,
    NO_PRODUCER,
    TRANSACTIONAL,
    Batch,
    RefusedError,
    check_batch,
    check_size,
    placed,
    read_header,
    with_append_time,
)
from kcore.broker.epochs import EpochEnd, Epochs
from kcore.broker.markers import read_marker
from kcore.broker.options import UNLIMITED, LogConfig
from kcore.broker.remaking import recompressed
from kcore.broker.segments import NO_TIME, Segment
from kcore.broker.sequences import ANY_ORIGIN, Origin, Sequences
from kcore.broker.stores import LogStore
from kcore.tuples import NamedTuple
from kcore.wire.codes import ErrorCode

_UNKNOWN: Final = -1

_base_offset = attrgetter("base_offset")


class Read(NamedTuple):
    """Batches in a row, as they are kept; `size` in bytes."""

    batches: list[bytes]
    size: int


class Appended(NamedTuple):
    """What became of a batch.

    data, batch: as it is kept, its header; None if it was there already. append_time_ms: the time
    it got, -1 if it kept its own.
    """

    base_offset: int
    end_offset: int
    data: bytes | None
    batch: Batch | None
    append_time_ms: int


class PartitionLog:
    """The log of one replica. `store`: who is told of every change."""

    __slots__ = (
        "config",
        "cuts",
        "dirty_offset",
        "end_offset",
        "epochs",
        "high_watermark",
        "partition",
        "segments",
        "sequences",
        "size_bytes",
        "start_offset",
        "store",
        "topic",
        "transactions",
    )

    def __init__(
        self, topic: str, partition: int, config: LogConfig, start_offset: int = 0
    ) -> None:
        self.topic = topic
        self.partition = partition
        self.config = config
        self.store: LogStore | None = None
        self.cuts = 0  # how often something was cut off at either end
        self._begin_at(start_offset)

    def _begin_at(self, start_offset: int) -> None:
        self.start_offset = self.end_offset = self.high_watermark = start_offset
        self.dirty_offset = start_offset  # up to where it has been compacted
        self.cuts += 1
        self.size_bytes = 0
        self.segments = [Segment(start_offset, 0)]
        self.epochs = Epochs()
        self.sequences = Sequences()
        self.transactions = TransactionIndex(start_offset)

    @property
    def last_stable_offset(self) -> int:
        """Up to where consumers that read committed records may read."""
        return self.transactions.last_stable_offset(self.high_watermark)

    # Writing -------------------------------------------------------------------------------------

    def append(
        self,
        data: memoryview | None,
        leader_epoch: int,
        wall_ms: int,
        origin: Origin = ANY_ORIGIN,
    ) -> Appended:
        """Keep the one batch in `data`, which a producer sent at this time of day.

        A batch that an idempotent producer sends again is not kept again. RefusedError if it may
        not be kept.
        """
        batch = check_batch(self.topic, self.partition, data, self.config, wall_ms)
        assert data is not None
        if self.config.compression_type != "producer":
            data, batch = recompressed(data, batch, self.config)
            check_size(data, self.config)
        if batch.producer_id != NO_PRODUCER:
            first_offset = self.transactions.first_offset(batch.producer_id)
            kept = self.sequences.check(batch, first_offset, origin)
            if kept is not None:
                end_offset = kept.base_offset + batch.last_offset_delta + 1
                return Appended(kept.base_offset, end_offset, None, None, kept.timestamp)
        return self.add(data, batch, leader_epoch, wall_ms)

    def add(
        self, data: memoryview | bytes, batch: Batch, leader_epoch: int, wall_ms: int
    ) -> Appended:
        """Keep a batch that needs no checks any more, such as one this node made."""
        batch = batch._replace(base_offset=self.end_offset, leader_epoch=leader_epoch)
        append_time = _UNKNOWN
        if self.config.log_append_time and not batch.attributes & CONTROL:
            append_time = wall_ms
            batch = with_append_time(batch, wall_ms)
        kept = placed(data, batch)
        self.follow(kept, batch, wall_ms)
        return Appended(batch.base_offset, self.end_offset, kept, batch, append_time)

    def follow(self, data: bytes, batch: Batch, wall_ms: int) -> None:
        """Keep a batch as a leader does; its offsets are at the end of this log, or behind it."""
        last_offset = batch.last_offset
        config = self.config
        segment = self.segments[-1]
        if segment.should_roll(
            len(data), batch.max_timestamp, config.segment_bytes, config.roll_ms, wall_ms
        ):
            segment = self._roll(wall_ms)
        elif not segment.ends:
            segment.created_ms = wall_ms
        segment.add(data, last_offset, batch.max_timestamp)
        self.size_bytes += len(data)
        if batch.leader_epoch != self.epochs.latest:
            self.epochs.begin(batch.leader_epoch, batch.base_offset)
        self.end_offset = last_offset + 1
        if batch.producer_id != NO_PRODUCER:
            self._note_producer(data, batch)
        if self.store is not None:
            self.store.appended(data)

    def _note_producer(self, data: bytes, batch: Batch) -> None:
        if batch.attributes & CONTROL:
            marker = read_marker(data)
            if marker is None:
                return
            self.sequences.mark(batch, marker)
            self.transactions.ended(batch, committed=marker.committed)
            return
        self.sequences.add(batch, batch.base_offset)
        if batch.attributes & TRANSACTIONAL:
            self.transactions.appended(batch)

    def _roll(self, wall_ms: int) -> Segment:
        segment = Segment(self.end_offset, wall_ms)
        self.segments.append(segment)
        return segment

    def begin_epoch(self, leader_epoch: int) -> None:
        """A leader was chosen: what is appended from here on is of this epoch."""
        self.epochs.begin(leader_epoch, self.end_offset)

    # Losing --------------------------------------------------------------------------------------

    def truncate(self, end_offset: int) -> None:
        """Cut off every batch that reaches `end_offset`: another leader has others there."""
        if end_offset >= self.end_offset:
            self.epochs.truncate_end(end_offset)  # one that began here may be unknown there
            return
        if end_offset <= self.start_offset:
            self.restart_at(end_offset)
            return
        while len(self.segments) > 1 and self.segments[-1].base_offset >= end_offset:
            self.size_bytes -= self.segments.pop().size_bytes
        last = self.segments[-1]
        keep = last.index_of(end_offset)
        if keep < len(last.batches):  # a batch that straddles it goes whole
            end_offset = min(end_offset, read_header(last.batches[keep]).base_offset)
        self.size_bytes -= last.truncate(keep)
        self.end_offset = end_offset
        self.dirty_offset = min(self.dirty_offset, end_offset)
        self.cuts += 1
        self.high_watermark = min(self.high_watermark, self.end_offset)
        self.epochs.truncate_end(self.end_offset)
        self._relearn_producers()
        if self.store is not None:
            self.store.truncated(self.end_offset)

    def restart_at(self, offset: int) -> None:
        """Forget everything and go on from here: the leader has nothing older."""
        self._begin_at(offset)
        if self.store is not None:
            self.store.truncated(0)
            self.store.started(offset)

    def _relearn_producers(self) -> None:
        self.sequences = Sequences()
        self.transactions = TransactionIndex(self.start_offset)
        for data in self.batches():
            batch = read_header(data)
            if batch.producer_id != NO_PRODUCER:
                self._note_producer(data, batch)

    def delete_before(self, offset: int) -> int:
        """Move the start to `offset` (-1: to the high watermark); the new start.

        A batch that straddles it stays, readers pass over its first records. RefusedError
        (OFFSET_OUT_OF_RANGE) beyond the high watermark.
        """
        if offset == _UNKNOWN:
            offset = self.high_watermark
        if not 0 <= offset <= self.high_watermark:
            raise RefusedError(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"{offset} is not within 0 to {self.high_watermark}",
            )
        self.advance_start(offset)
        return self.start_offset

    def advance_start(self, offset: int) -> None:
        """Nothing before `offset` is to be read any more; it never goes back."""
        if offset <= self.start_offset:
            return
        self.start_offset = offset
        self.dirty_offset = max(self.dirty_offset, offset)
        self.cuts += 1
        self.high_watermark = max(self.high_watermark, offset)
        while len(self.segments) > 1 and self.segments[1].base_offset <= offset:
            self.size_bytes -= self.segments.pop(0).size_bytes
        self.size_bytes -= self.segments[0].drop_before(offset)
        self.epochs.truncate_start(offset)
        self.transactions.deleted(offset)
        if self.store is not None:
            self.store.started(offset)

    def enforce_retention(self, wall_ms: int) -> int:
        """Drop segments that are too old or too many, oldest first; how many.

        Java: UnifiedLog.deleteOldSegments. The last segment goes only by age, and only when all of
        it is below the high watermark.
        """
        if not self.config.delete:
            return 0
        oldest = wall_ms - self.config.retention_ms
        too_much = self.size_bytes - self.config.retention_bytes
        count = 0
        for segment in self.segments:
            end = self._end_of_segment(count)
            if not segment.ends or end > self.high_watermark:
                break
            newest = segment.max_timestamp if segment.max_timestamp >= 0 else segment.created_ms
            too_old = self.config.retention_ms != UNLIMITED and newest < oldest
            too_much -= segment.size_bytes
            if not too_old and (self.config.retention_bytes == UNLIMITED or too_much < 0):
                break
            count += 1
        if count:
            end = self._end_of_segment(count - 1)
            if count == len(self.segments):
                self._roll(wall_ms)
            self.advance_start(end)
        return count

    def replace(self, count: int, cleaned: list[Segment], dirty_offset: int) -> None:
        """Put what compaction has left in the place of the first segments."""
        old = self.segments[:count]
        self.segments[:count] = cleaned
        self.size_bytes += sum(one.size_bytes for one in cleaned)
        self.size_bytes -= sum(one.size_bytes for one in old)
        self.dirty_offset = dirty_offset
        if self.store is not None:
            batches = [data for segment in cleaned for data in segment.batches]
            self.store.replaced(
                old[0].base_offset, self.segments[len(cleaned)].base_offset, batches
            )

    def let_go(self) -> None:
        """Its node has no replica of the partition any more."""
        store, self.store = self.store, None
        if store is not None:
            store.delete()

    def _end_of_segment(self, index: int) -> int:
        after = index + 1
        return self.segments[after].base_offset if after < len(self.segments) else self.end_offset

    # Reading -------------------------------------------------------------------------------------

    def read(
        self,
        offset: int,
        max_bytes: int,
        *,
        at_least_one: bool = False,
        up_to: int | None = None,
    ) -> Read:
        """Whole batches from the one that has `offset` on, up to `max_bytes`.

        at_least_one: the first batch is given whatever its size. up_to: where it ends at the
        latest; None: at the high watermark. RefusedError (OFFSET_OUT_OF_RANGE) outside of the log.
        """
        if not self.start_offset <= offset <= self.end_offset:
            raise RefusedError(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"{offset} is not within {self.start_offset} to {self.end_offset}",
            )
        limit = self.high_watermark if up_to is None else up_to
        found: list[bytes] = []
        size = 0
        for index in range(self._segment_of(offset), len(self.segments)):
            segment = self.segments[index]
            start, stop = segment.index_of(offset), segment.index_of(limit)
            if start >= stop:
                continue
            base = segment.position(start)
            fit = bisect_right(segment.ends, base + max_bytes - size, start, stop)
            if fit == start and at_least_one and not found:
                fit = start + 1
            if fit > start:
                found += segment.batches[start:fit]
                size += segment.ends[fit - 1] - base
            if fit < stop:
                break
        return Read(found, size)

    def bytes_from(self, offset: int, enough: int, up_to: int | None = None) -> int:
        """How many bytes there are to read at `offset`, counted up to `enough` or so."""
        limit = self.high_watermark if up_to is None else up_to
        size = 0
        for index in range(self._segment_of(offset), len(self.segments)):
            segment = self.segments[index]
            start, stop = segment.index_of(offset), segment.index_of(limit)
            if start < stop:
                size += segment.ends[stop - 1] - segment.position(start)
                if size >= enough:
                    break
        return size

    def batches(self) -> Iterator[bytes]:
        """All of them, oldest first."""
        for segment in self.segments:
            yield from segment.batches

    def load(self, batches: Iterable[bytes], start_offset: int, wall_ms: int) -> None:
        """Fill an empty log with what was kept elsewhere; all of it counts as replicated.

        The batches are whole and their offsets ascend: whoever kept them has seen to that.
        """
        self._begin_at(start_offset)
        for data in batches:
            self.follow(data, read_header(data), wall_ms)
        self.high_watermark = self.end_offset
        self.size_bytes -= self.segments[0].drop_before(start_offset)

    def _segment_of(self, offset: int) -> int:
        """The segment that has `offset`."""
        segments = self.segments
        if offset >= segments[-1].base_offset:
            return len(segments) - 1
        return max(0, bisect_right(segments, offset, key=_base_offset) - 1)

    def first_reaching(self, timestamp: int) -> Iterator[bytes]:
        """The batches whose largest timestamp is at or after this, oldest first."""
        for segment in self.segments:
            if segment.newest >= timestamp:
                for data, latest in zip(segment.batches, segment.latest, strict=True):
                    if latest >= timestamp:
                        yield data

    @property
    def max_timestamp(self) -> int:
        """The largest timestamp of the batches that are left; -1 if there is none."""
        return max((segment.newest for segment in self.segments), default=NO_TIME)

    def end_of_epoch(self, epoch: int) -> EpochEnd:
        """KIP-101, KIP-279: the end of the largest epoch that is not above `epoch`."""
        return self.epochs.end_of(epoch, self.end_offset)

    def epoch_at(self, offset: int) -> int:
        """The epoch in which a record was appended; -1 if that is not known."""
        return self.epochs.at(offset)
