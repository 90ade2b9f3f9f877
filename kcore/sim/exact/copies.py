"""What logs hold, read from the brokers' own bytes, and the rules about it.

Every record has a number as its value, so that it is known wherever it turns up: who has written
it, as which of its records, in which transaction. Read is what all replicas in sync have: that is
never taken back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Final

from kcore.records import RecordReader
from kcore.records.batches import BatchInfo, describe_batches
from kcore.sim.violations import Rule, ViolationError
from kcore.structs import COMMIT, TopicPartition

if TYPE_CHECKING:
    from kcore.broker.partitions import Partition

_READ_BYTES: Final = 1 << 24
_TAKE: Final = 10_000


class Fate(Enum):
    """What becomes of a transaction."""

    OPEN = "open"
    COMMITTED = "committed"
    ABORTED = "aborted"


@dataclass(slots=True, eq=False)
class Deal:
    """One transaction, as its application has it.

    asked: what the application has asked for last; told: what it was told of that. fate: as markers
    say. begun_ms: by the time of the world.
    """

    name: str  # of the member
    number: int
    begun_ms: int
    items: list[Item] = field(default_factory=list)
    asked: Fate = Fate.OPEN
    told: Fate = Fate.OPEN
    fate: Fate = Fate.OPEN

    def __str__(self) -> str:
        return f"transaction {self.number} of {self.name}"


@dataclass(slots=True, eq=False)
class Item:
    """One record. source: what it was made of. offset: where it is; promised: where its producer
    was told that it is (-1: somewhere). failed: its producer was told that it has failed.
    """

    value: bytes
    tp: TopicPartition
    process: int
    name: str  # of the member
    deal: Deal | None = None
    source: tuple[TopicPartition, int] | None = None
    offset: int | None = None
    promised: int | None = None
    failed: bool = False

    @property
    def visible(self) -> bool:
        """Whether who reads what is committed gets it."""
        return self.offset is not None and (self.deal is None or self.deal.fate is Fate.COMMITTED)

    @property
    def wanted(self) -> bool:
        """Whether it has to be in the log: its producer was promised that, and not in vain."""
        return self.promised is not None and (self.deal is None or self.deal.told is Fate.COMMITTED)

    def __str__(self) -> str:
        return f"{self.value.decode()} of {self.name} for {at(self.tp)}"


@dataclass(slots=True)
class Copy:
    """What a partition holds, up to `end`."""

    end: int = 0
    items: dict[int, Item] = field(default_factory=dict)  # by offset
    open: dict[int, list[Item]] = field(default_factory=dict)  # by producer id
    ended: set[Deal] = field(default_factory=set)  # with a marker
    epochs: dict[int, int] = field(default_factory=dict)  # the newest, by producer id
    last: dict[int, int] = field(default_factory=dict)  # the number of its last record, by process


class Copies:
    """Of all partitions. partition_of: the brokers' own; partitions: which there are."""

    def __init__(
        self,
        partition_of: Callable[[TopicPartition], Partition],
        partitions: Callable[[], list[TopicPartition]],
    ) -> None:
        self._partition_of = partition_of
        self._partitions = partitions
        self.copies: dict[TopicPartition, Copy] = {}
        self.items: dict[bytes, Item] = {}
        self.moved: dict[tuple[TopicPartition, int], Item] = {}  # by what it was made of
        self._fences: dict[int, dict[TopicPartition, int]] = {}  # by process: where it is over
        self.committed = self.aborted = 0  # transactions

    def add(
        self,
        tp: TopicPartition,
        process: int,
        name: str,
        deal: Deal | None,
        source: tuple[TopicPartition, int] | None,
    ) -> Item:
        """A record that is about to be sent."""
        item = Item(b"%d" % (len(self.items) + 1), tp, process, name, deal, source)
        self.items[item.value] = item
        if deal is not None:
            deal.items.append(item)
        return item

    def fence(self, process: int) -> None:
        """Another process has its transactional id: it writes no more, wherever."""
        ends = {tp: self._partition_of(tp).log.end_offset for tp in self._partitions()}
        self._fences.setdefault(process, ends)

    # Reading -------------------------------------------------------------------------------------

    def read_all(self) -> None:
        """Read on in all of them."""
        for tp in self._partitions():
            self.read(tp)

    def read(self, tp: TopicPartition) -> Copy:
        """Read on, up to what all replicas in sync have."""
        copy = self.copies.setdefault(tp, Copy())
        partition = self._partition_of(tp)
        end = min(partition.logs[node_id].end_offset for node_id in partition.isr)
        if copy.end < end:
            for data in partition.log.read(copy.end, _READ_BYTES, up_to=end).batches:
                for info in describe_batches(data):
                    self._take(tp, copy, info, data)
                    copy.end = info.last_offset + 1
        return copy

    def _take(self, tp: TopicPartition, copy: Copy, info: BatchInfo, data: bytes) -> None:
        self._judge_epoch(tp, copy, info)
        reader = RecordReader(
            tp.topic, tp.partition, data, info.base_offset, keep_control=info.control
        )
        records = reader.take(_TAKE)
        if info.control:
            for marker in reader.control_records or ():
                self._end(tp, copy, info.producer_id, committed=marker.kind == COMMIT)
            return
        for record in records:
            item = self.items.get(record.value)
            self._judge(tp, copy, record.offset, item, record.value)
            assert item is not None
            item.offset = record.offset
            copy.items[record.offset] = item
            if item.deal is not None:
                copy.open.setdefault(info.producer_id, []).append(item)
                self._judge_late(tp, copy, item)

    def _judge_epoch(self, tp: TopicPartition, copy: Copy, info: BatchInfo) -> None:
        if info.producer_id < 0:
            return
        newest = copy.epochs.setdefault(info.producer_id, info.producer_epoch)
        if info.producer_epoch < newest:
            raise ViolationError(
                Rule.FENCED,
                f"{at(tp)} has at {info.base_offset} what producer {info.producer_id} has written"
                f" in epoch {info.producer_epoch}, behind epoch {newest}",
            )
        copy.epochs[info.producer_id] = info.producer_epoch

    def _judge(
        self, tp: TopicPartition, copy: Copy, offset: int, item: Item | None, value: bytes
    ) -> None:
        if item is None or item.tp != tp:
            raise ViolationError(Rule.WRITTEN_ONCE, f"{at(tp)} has {value!r} at {offset}")
        if item.offset is not None:
            raise ViolationError(
                Rule.WRITTEN_ONCE, f"{item} is there twice, at {item.offset} and at {offset}"
            )
        if item.promised not in {None, -1, offset}:
            raise ViolationError(
                Rule.WRITTEN_ONCE, f"{item} is at {offset}, {item.promised} was promised"
            )
        number = int(value)
        before = copy.last.get(item.process, 0)
        if number < before:
            raise ViolationError(Rule.IN_ORDER, f"{item} is at {offset}, behind its {before}")
        copy.last[item.process] = number
        if offset >= self._fences.get(item.process, {}).get(tp, offset + 1):
            raise ViolationError(
                Rule.FENCED, f"{item} is at {offset}, and another process had its id before"
            )

    def _judge_late(self, tp: TopicPartition, copy: Copy, item: Item) -> None:
        if item.deal in copy.ended:
            raise ViolationError(
                Rule.ALL_OR_NOTHING, f"{item} came to {at(tp)} behind the end of {item.deal}"
            )

    def _end(self, tp: TopicPartition, copy: Copy, producer_id: int, *, committed: bool) -> None:
        """A marker: the transaction of that producer has ended here."""
        ended = copy.open.pop(producer_id, [])
        deals = list(dict.fromkeys(item.deal for item in ended if item.deal is not None))
        if len(deals) > 1:
            raise ViolationError(
                Rule.ALL_OR_NOTHING,
                f"{' and '.join(map(str, deals))} have ended together in {at(tp)}",
            )
        copy.ended.update(deals)
        for deal in deals:
            self._decide(tp, deal, Fate.COMMITTED if committed else Fate.ABORTED)

    def _decide(self, tp: TopicPartition, deal: Deal, fate: Fate) -> None:
        if deal.fate is fate:
            return
        if deal.fate is not Fate.OPEN:
            raise ViolationError(
                Rule.ALL_OR_NOTHING,
                f"{deal} is {fate.value} in {at(tp)}, and {deal.fate.value} elsewhere",
            )
        deal.fate = fate
        judge_told(deal)
        if fate is Fate.ABORTED:
            self.aborted += 1
            return
        self.committed += 1
        for item in deal.items:
            if item.source is not None:
                self._judge_moved(item, item.source)

    def _judge_moved(self, item: Item, source: tuple[TopicPartition, int]) -> None:
        other = self.moved.setdefault(source, item)
        if other is not item:
            tp, offset = source
            raise ViolationError(
                Rule.MOVED_ONCE,
                f"{offset} of {at(tp)} was moved twice: by {other.deal} and by {item.deal}",
            )

    # What is there -------------------------------------------------------------------------------

    def shown(self, tp: TopicPartition, since: int, *, committed: bool) -> Iterator[Item]:
        """What a reader gets from an offset on, as far as the log was read."""
        copy = self.copies.get(tp, Copy())
        for offset in range(since, copy.end):
            item = copy.items.get(offset)
            if item is not None and (item.visible or not committed):
                yield item


def judge_told(deal: Deal) -> None:
    """An application is told of its transaction what has become of it."""
    if Fate.OPEN not in {deal.told, deal.fate} and deal.told is not deal.fate:
        raise ViolationError(
            Rule.TOLD, f"{deal} is {deal.fate.value}, its application is told {deal.told.value}"
        )
    if deal.fate is Fate.COMMITTED and deal.asked is not Fate.COMMITTED:
        raise ViolationError(
            Rule.ALL_OR_NOTHING, f"{deal} is committed, and {deal.name} has not asked for that"
        )


def at(tp: TopicPartition) -> str:
    """A partition's name."""
    return f"{tp.topic}-{tp.partition}"
