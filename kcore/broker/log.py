"""The log of one partition, in memory: whole batches, found by offset, by time and by epoch.

Nothing is replicated, so what is appended is committed: the high watermark is the end of the log.
Retention takes whole batches from the front, where Kafka takes whole segments.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from kcore.broker.batches import (
    NO_PRODUCER,
    Batch,
    RefusedError,
    check_batch,
    placed,
    read_header,
)
from kcore.broker.sequences import Sequences
from kcore.errors import CorruptRecordError, UnsupportedCodecError
from kcore.records import RecordReader
from kcore.structs import OffsetAndTimestamp
from kcore.wire.codes import ErrorCode

UNLIMITED: Final = -1
_UNKNOWN: Final = -1
_TAKE: Final = 1_000


@dataclass(slots=True)
class LogConfig:
    """Options of a topic's logs, under Kafka's names; -1: no limit."""

    retention_ms: int = 604_800_000
    retention_bytes: int = UNLIMITED
    max_message_bytes: int = 1_048_588


class EpochEnd(NamedTuple):
    """Where an epoch ends: the epoch that was found and the offset behind it; -1, -1: unknown."""

    epoch: int
    end_offset: int


class Read(NamedTuple):
    """Batches in a row, as they are kept; `size` in bytes."""

    batches: list[bytes]
    size: int


class PartitionLog:
    """The log of one partition. Offsets are handed out here and never twice."""

    def __init__(self, topic: str, partition: int, config: LogConfig) -> None:
        self.topic = topic
        self.partition = partition
        self.config = config
        self.start_offset = 0
        self.end_offset = 0
        self.size_bytes = 0
        self._batches: list[bytes] = []
        self._firsts: list[int] = []  # base offsets
        self._latest: list[int] = []  # max timestamps
        self._epochs: list[tuple[int, int]] = [(0, 0)]  # (epoch, its first offset)
        self._sequences = Sequences()

    @property
    def high_watermark(self) -> int:
        """Up to where consumers may read."""
        return self.end_offset

    # Writing -------------------------------------------------------------------------------------

    def append(self, data: memoryview | None, leader_epoch: int) -> int:
        """Keep the one batch in `data`; its base offset.

        A batch that an idempotent producer sends again is not kept again. RefusedError if it may
        not be kept.
        """
        batch = check_batch(self.topic, self.partition, data, self.config.max_message_bytes)
        assert data is not None
        if batch.producer_id != NO_PRODUCER:
            kept_at = self._sequences.check(batch)
            if kept_at is not None:
                return kept_at
            self._sequences.add(batch, self.end_offset)
        return self._keep(data, batch, leader_epoch)

    def _keep(self, data: memoryview, batch: Batch, leader_epoch: int) -> int:
        base_offset = self.end_offset
        self.begin_epoch(leader_epoch)
        self._batches.append(placed(data, base_offset, leader_epoch))
        self._firsts.append(base_offset)
        self._latest.append(batch.max_timestamp)
        self.size_bytes += len(data)
        self.end_offset = base_offset + batch.last_offset_delta + 1
        return base_offset

    def begin_epoch(self, leader_epoch: int) -> None:
        """A leader was chosen: what is appended from here on is of this epoch."""
        if self._epochs[-1][0] < leader_epoch:
            self._epochs.append((leader_epoch, self.end_offset))

    def delete_before(self, offset: int) -> int:
        """Move the start to `offset` (-1: to the high watermark); the new start.

        Batches that straddle it stay, readers pass over their first records. RefusedError
        (OFFSET_OUT_OF_RANGE) beyond the end.
        """
        if offset == _UNKNOWN:
            offset = self.high_watermark
        if not 0 <= offset <= self.high_watermark:
            raise RefusedError(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"{offset} is not within 0 to {self.high_watermark}",
            )
        self.start_offset = max(self.start_offset, offset)
        self._drop(self._index_of(self.start_offset))
        return self.start_offset

    def enforce_retention(self, wall_ms: int) -> int:
        """Drop batches that are too old or too many; how many."""
        oldest = wall_ms - self.config.retention_ms
        size, count = self.size_bytes, 0
        for batch, latest in zip(self._batches, self._latest, strict=True):
            too_old = self.config.retention_ms != UNLIMITED and 0 <= latest < oldest
            rest = size - len(batch)
            if not too_old and not 0 <= self.config.retention_bytes <= rest:
                break
            size, count = rest, count + 1
        if count:
            kept = count < len(self._firsts)
            self.start_offset = max(
                self.start_offset, self._firsts[count] if kept else self.end_offset
            )
            self._drop(count)
        return count

    def _drop(self, count: int) -> None:
        """Forget the first batches, and epochs that end before what is left."""
        self.size_bytes -= sum(map(len, self._batches[:count]))
        del self._batches[:count], self._firsts[:count], self._latest[:count]
        first = max(0, bisect_right(self._epochs, self.start_offset, key=lambda e: e[1]) - 1)
        self._epochs[:first] = []

    # Reading -------------------------------------------------------------------------------------

    def read(self, offset: int, max_bytes: int, *, at_least_one: bool = False) -> Read:
        """Whole batches from the one that has `offset` on, up to `max_bytes`.

        at_least_one: the first batch is given whatever its size. Nothing at the end of the log.
        RefusedError (OFFSET_OUT_OF_RANGE) outside of it.
        """
        if not self.start_offset <= offset <= self.end_offset:
            raise RefusedError(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"{offset} is not within {self.start_offset} to {self.end_offset}",
            )
        found: list[bytes] = []
        size = 0
        for index in range(self._index_of(offset), len(self._batches)):
            batch = self._batches[index]
            if size + len(batch) > max_bytes and (found or not at_least_one):
                break
            found.append(batch)
            size += len(batch)
        return Read(found, size)

    def bytes_from(self, offset: int, enough: int) -> int:
        """How many bytes there are to read at `offset`, counted up to `enough`."""
        size = 0
        for index in range(self._index_of(offset), len(self._batches)):
            size += len(self._batches[index])
            if size >= enough:
                break
        return size

    def _index_of(self, offset: int) -> int:
        """The batch that has `offset`; the number of batches at the end."""
        if offset >= self.end_offset:
            return len(self._batches)
        return max(0, bisect_right(self._firsts, offset) - 1)

    # Looking up ----------------------------------------------------------------------------------

    def offset_for_time(self, timestamp: int) -> OffsetAndTimestamp | None:
        """The first record at or after this time; None if there is none."""
        for index, latest in enumerate(self._latest):
            if latest >= timestamp:
                for found in self._times_of(index):
                    if found.timestamp >= timestamp and found.offset >= self.start_offset:
                        return found
        return None

    def latest_time(self) -> OffsetAndTimestamp | None:
        """KIP-734: the first of the records with the largest timestamp; None if there is none."""
        if not self._latest:
            return None
        latest = max(self._latest)
        return next(
            (
                found
                for found in self._times_of(self._latest.index(latest))
                if found.timestamp == latest
            ),
            None,
        )

    def _times_of(self, index: int) -> Iterator[OffsetAndTimestamp]:
        """Offset, time and epoch of the records of a batch.

        Of a batch whose codec cannot be read, one entry: its first record, with its latest time.
        """
        data = self._batches[index]
        batch = read_header(data)
        try:
            reader = RecordReader(self.topic, self.partition, data, batch.base_offset)
            while not reader.exhausted:
                for record in reader.take(_TAKE):
                    yield OffsetAndTimestamp(record.offset, record.timestamp, batch.leader_epoch)
        except (UnsupportedCodecError, CorruptRecordError):
            yield OffsetAndTimestamp(batch.base_offset, batch.max_timestamp, batch.leader_epoch)

    def end_of_epoch(self, epoch: int) -> EpochEnd:
        """KIP-101, KIP-279: the end of the largest epoch that is not above `epoch`."""
        after = bisect_right(self._epochs, epoch, key=lambda entry: entry[0])
        if after == len(self._epochs):
            if self._epochs[-1][0] < epoch:
                return EpochEnd(_UNKNOWN, _UNKNOWN)
            return EpochEnd(epoch, self.end_offset)
        end_offset = self._epochs[after][1]
        return EpochEnd(self._epochs[after - 1][0] if after else epoch, end_offset)

    def epoch_at(self, offset: int) -> int:
        """The epoch in which a record was appended; -1 if that is not known."""
        index = bisect_right(self._epochs, offset, key=lambda entry: entry[1])
        return self._epochs[index - 1][0] if index else _UNKNOWN
