"""Rows of columns poured into the batches of one topic, and what became of all of them."""

from __future__ import annotations

from collections.abc import Callable

from kcore.errors import KafkaError
from kcore.produce.accumulator import Accumulator
from kcore.produce.batch import Batch
from kcore.produce.lane import Lane
from kcore.produce.partitioning import Partitioning
from kcore.records.builder import BatchBuilder
from kcore.structs import TopicPartition
from kcore.values import Value


class PartitionDelivery(Value, frozen=False):
    """What a partition got. count: records. first_offset, last_offset: -1 if not said (acks=0);
    records of others may be between them.
    """

    count: int = 0
    first_offset: int = -1
    last_offset: int = -1


class RowsDelivery:
    """How far a table has come. rows: taken. delivered, failed: over. error: the first there was.

    partitions: what each has got.
    """

    def __init__(self) -> None:
        self.rows = 0
        self.delivered = 0
        self.failed = 0
        self.error: KafkaError | None = None
        self.complete = False  # no more rows are to come
        self.partitions: dict[TopicPartition, PartitionDelivery] = {}
        self.calls: list[Callable[[], object]] = []
        self._open: dict[Batch, list[tuple[int, int]]] = {}

    @property
    def done(self) -> bool:
        """Whether every row is delivered or has failed."""
        return self.complete and not self._open

    @property
    def batches(self) -> list[Batch]:
        """What is not over of those that rows went into."""
        return [*self._open]

    def add(self, batch: Batch, first: int, count: int) -> None:
        """These records of a batch are ours."""
        self.rows += count
        if batch not in self._open:
            self._open[batch] = []
            batch.waiters.append(self)
        self._open[batch].append((first, count))

    def settle(self, batch: Batch) -> list[Callable[[], object]]:
        """A batch, or a part of one that was split, is over; what is to be called now."""
        origin = batch.origin
        if origin.done:
            for first, count in self._open.pop(origin, ()):
                self._count(origin, first, count)
        return self.finished()

    def finished(self) -> list[Callable[[], object]]:
        """What is to be called once everything is over."""
        calls: list[Callable[[], object]] = []
        if self.done:
            calls, self.calls = self.calls, []
        return calls

    def _count(self, batch: Batch, first: int, count: int) -> None:
        if not batch.parts and not batch.record_errors:  # one outcome for all
            error = batch.error
            if error is not None:
                self.error = self.error or error
                self.failed += count
            else:
                base = batch.base_offset
                self._got(batch.tp, base + first if base >= 0 else -1, count)
            return
        for number in range(first, first + count):
            outcome = batch.outcome(number)
            assert outcome is not None
            if outcome.error is not None:
                self.error = self.error or outcome.error
                self.failed += 1
            else:
                self._got(batch.tp, outcome.offset, 1)

    def _got(self, tp: TopicPartition, offset: int, count: int) -> None:
        """Records in a row were delivered, the first at this offset; -1: nobody said."""
        self.delivered += count
        found = self.partitions.get(tp)
        if found is None:
            found = self.partitions[tp] = PartitionDelivery()
        found.count += count
        if offset >= 0:
            found.last_offset = max(found.last_offset, offset + count - 1)
            if found.first_offset < 0 or offset < found.first_offset:
                found.first_offset = offset


class Feed:
    """The open batches of one topic while rows are appended to them (see rows.pyx).

    builders: by partition, of the batches that are open and have room. raw_limit: bytes of a full
    one, uncompressed. room_bytes: what may be taken in all. wall_ms: the time of rows without one.
    """

    def __init__(
        self,
        accumulator: Accumulator,
        partitioning: Partitioning,
        delivery: RowsDelivery,
        topic: str,
        numbers: list[int],
        *,
        by_key: bool,
        now_ms: int,
        wall_ms: int,
    ) -> None:
        self.builders: list[BatchBuilder | None] = [None] * len(numbers)
        self.raw_limit = accumulator.raw_limit
        self.room_bytes = accumulator.room_bytes
        self.wall_ms = wall_ms
        self.by_key = by_key
        self._accumulator = accumulator
        self._partitioning = partitioning
        self._delivery = delivery
        self._topic = topic
        self._numbers = numbers
        self._now_ms = now_ms
        self._batches: list[tuple[Batch, int, int] | None] = [None] * len(numbers)
        self._lanes: dict[int, Lane] = {}
        stuck = partitioning.sticky(topic, numbers)
        self._stuck = stuck
        self.sticky = stuck.partition
        self.sticky_bytes = 0
        if stuck.partition >= 0:
            self.sticky_bytes = max(0, stuck.batch_size - stuck.taken_bytes)

    def move_on(self) -> tuple[int, int]:
        """Another partition for rows without a key: which, and for how many bytes."""
        self._stuck.partition = -1
        number = self._partitioning.choose_sticky(self._topic, self._numbers)
        self.sticky = number
        return number, self._stuck.batch_size

    def open_batch(self, number: int, size_bytes: int) -> bool:
        """Have an open batch with room for a record of this size; False: there is no memory."""
        if self.builders[number] is not None:
            self._sync(number)
        lane = self._lanes.get(number)
        if lane is None:
            tp = TopicPartition(self._topic, number)
            lane = self._lanes[number] = self._accumulator.lane(tp)
        batch = self._accumulator.room(lane, size_bytes, self._now_ms)
        if batch is None:
            return False
        builder = self.builders[number] = batch.builder
        assert builder is not None
        count = builder.record_count
        self._batches[number] = (batch, count, builder.size_bytes if count else 0)
        return True

    def finish(self) -> None:
        """Count what was appended."""
        for number, entry in enumerate(self._batches):
            if entry is not None:
                self._sync(number)
        if self.sticky >= 0:
            self._stuck.partition = self.sticky
            self._stuck.taken_bytes = self._stuck.batch_size - self.sticky_bytes

    def _sync(self, number: int) -> None:
        entry, self._batches[number] = self._batches[number], None
        builder, self.builders[number] = self.builders[number], None
        assert entry is not None
        assert builder is not None
        batch, first, raw_bytes = entry
        added = builder.record_count - first
        if added:
            self._delivery.add(batch, first, added)
            self._accumulator.grew(batch, builder.size_bytes - raw_bytes)
        else:
            self._accumulator.withdraw(batch)
