"""What logs hold, read from the brokers' own bytes, and the rules about it.

Every record has a number as its value, so that it is known wherever it turns up: who has written
it, as which of its records, in which transaction. Read is what all replicas in sync have: that is
never taken back, unless the topic is deleted. One that is made anew under its name has another
life, with logs of its own; what was promised of the former ones is promised no more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from kcore.records import RecordReader
from kcore.records.batches import BatchInfo, describe_batches
from kcore.sim.violations import Rule, ViolationError
from kcore.structs import COMMIT, TopicPartition

if TYPE_CHECKING:
    from kcore.broker.partitions import Partition

_READ_BYTES: Final = 1 << 24
_TAKE: Final = 10_000

# A record that something was made of: its partition, the life of the topic, its offset.
Source: TypeAlias = tuple[TopicPartition, int, int]


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

    @property
    def may_be_committed(self) -> bool:
        """Whether nobody knows better."""
        return Fate.ABORTED not in {self.told, self.fate}

    def __str__(self) -> str:
        return f"transaction {self.number} of {self.name}"


@dataclass(slots=True, eq=False)
class Item:
    """One record. life: of its topic, when it was sent; made: how often that was made. source: what
    it was made of. offset: where it is; promised: where its producer was told that it is (-1:
    somewhere). epoch: of its producer, there. lost: that was in a log that is gone. failed: its
    producer was told that it has failed; refused: at once.
    """

    value: bytes
    tp: TopicPartition
    process: int
    name: str  # of the member
    deal: Deal | None = None
    source: Source | None = None
    life: int = 0
    made: int = 0
    offset: int | None = None
    promised: int | None = None
    epoch: int = -1
    lost: bool = False
    failed: bool = False
    refused: bool = False

    @property
    def readable(self) -> bool:
        """Whether who reads what is committed gets it, wherever it is."""
        return self.deal is None or self.deal.fate is Fate.COMMITTED

    @property
    def visible(self) -> bool:
        """Whether that is so, and it is there."""
        return self.offset is not None and self.readable

    @property
    def wanted(self) -> bool:
        """Whether it has to be in the log: its producer was promised that, and not in vain."""
        kept = self.promised is not None and not self.lost
        return kept and (self.deal is None or self.deal.told is Fate.COMMITTED)

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
    """Of all partitions. partition_of: the brokers' own, None: there is none; partitions: which
    there are. named: producers cannot tell one life of a topic from another; by_ids:
    groups can, so that there somebody may be given one before who had the other knows that it is.
    """

    def __init__(
        self,
        partition_of: Callable[[TopicPartition], Partition | None],
        partitions: Callable[[], list[TopicPartition]],
        *,
        named: bool = False,
        by_ids: bool = False,
    ) -> None:
        self._partition_of = partition_of
        self._partitions = partitions
        self._named = named
        self._by_ids = by_ids
        self._lives: Counter[str] = Counter()
        self._made: Counter[str] = Counter()  # how often topics were made
        self.copies: dict[TopicPartition, Copy] = {}
        self._former: dict[tuple[TopicPartition, int], Copy] = {}
        self.items: dict[bytes, Item] = {}
        self.moved: dict[Source, Item] = {}  # by what it was made of
        self._doubtful: set[Source] = set()  # nobody knows which of them it was made of
        self._unsure: dict[Source, list[Deal]] = {}  # what was made of it was open, and is gone
        # Of offsets that were committed in another life than they are of: which deal's, how far.
        self._strays: dict[tuple[TopicPartition, int], list[tuple[Deal | None, int]]] = {}
        self._sought: dict[tuple[int, TopicPartition], int] = {}  # by process, and not read yet
        self._named_in: dict[Deal, dict[TopicPartition, int]] = {}  # offsets of open transactions
        self._fences: dict[int, dict[TopicPartition, int]] = {}  # by process: where it is over
        self.committed = self.aborted = 0  # transactions

    def add(
        self,
        tp: TopicPartition,
        process: int,
        name: str,
        deal: Deal | None,
        source: Source | None,
    ) -> Item:
        """A record that is about to be sent."""
        value, life = b"%d" % (len(self.items) + 1), self.life(tp)
        item = Item(value, tp, process, name, deal, source, life, self._made[tp.topic])
        self.items[item.value] = item
        if deal is not None:
            deal.items.append(item)
        return item

    def fence(self, process: int) -> None:
        """Another process has its transactional id: it writes no more, wherever."""
        ends = {}
        for tp in self._partitions():
            partition = self._partition_of(tp)
            assert partition is not None
            ends[tp] = partition.log.end_offset
        self._fences.setdefault(process, ends)

    # Lives of topics -----------------------------------------------------------------------------

    def life(self, tp: TopicPartition) -> int:
        """How often its topic was deleted so far."""
        return self._lives[tp.topic]

    def copy(self, tp: TopicPartition, life: int) -> Copy:
        """What a partition holds, or has held in a former life."""
        if life == self.life(tp):
            return self.copies.setdefault(tp, Copy())
        return self._former.get((tp, life), Copy())

    def lives_of(self, tp: TopicPartition, records: Sequence[Any]) -> list[int]:
        """Of the topic, in which records are, or were, at their offsets."""
        copies = [(life, self.copy(tp, life).items) for life in range(self.life(tp) + 1)]
        return [
            life
            for life, items in copies
            if all(one.offset in items and items[one.offset].value == one.value for one in records)
        ]

    def topic_made(self, topic: str) -> None:
        """It is there, perhaps anew."""
        self._made[topic] += 1

    def topic_gone(self, topic: str) -> None:
        """It is deleted: what its logs hold is wanted no more."""
        for tp in [tp for tp in self._partitions() if tp.topic == topic]:
            self.read(tp)
        for tp in [tp for tp in self.copies if tp.topic == topic]:
            self._former[tp, self.life(tp)] = self.copies.pop(tp)
        for item in self.items.values():
            if item.tp.topic == topic:
                self._lose(item)
        self._fence_anew(topic)
        self._lives[topic] += 1
        self._lead_astray(topic)

    def _fence_anew(self, topic: str) -> None:
        """Who was fenced gets nothing into the new logs."""
        for ends in self._fences.values():
            for tp in [tp for tp in ends if tp.topic == topic]:
                ends[tp] = 0

    def _lead_astray(self, topic: str) -> None:
        """What was named of the old one may count in the new one."""
        self._named_in = {
            deal: ends for deal, ends in self._named_in.items() if deal.told is Fate.OPEN
        }
        for deal, ends in self._named_in.items():
            for tp, end in ends.items():
                if tp.topic == topic:
                    self._stray(deal, tp, end)
        for (_, tp), offset in self._sought.items():
            if tp.topic == topic:
                self._stray(None, tp, offset)

    def _lose(self, item: Item) -> None:
        item.offset = None
        if item.promised is not None:
            item.promised, item.lost = -1, True
        deal = item.deal
        if item.source is not None and deal is not None and deal.may_be_committed:
            self._unsure.setdefault(item.source, []).append(deal)

    def doubt(self, sources: Iterable[Source]) -> None:
        """Something was made of one of these: its producer, who had no answer when the topic was
        deleted, has written the record again, where it was.
        """
        self._doubtful.update(sources)

    def names(self, deal: Deal, tp: TopicPartition, life: int, end: int) -> None:
        """An application commits an offset with its transaction. That names the topic, so that it
        counts in whatever life there is when the coordinator hears of it.
        """
        self._named_in.setdefault(deal, {})[tp] = end
        if life < self.life(tp):
            self._stray(deal, tp, end)

    def goes_back(self, process: int, tp: TopicPartition, life: int, offset: int) -> None:
        """An application goes back to an offset of that life. Until it has read on from there
        nothing says of which life that is.
        """
        self._sought[process, tp] = offset
        if life < self.life(tp):
            self._stray(None, tp, offset)

    def goes_on(self, process: int, tp: TopicPartition) -> None:
        """It has read on."""
        self._sought.pop((process, tp), None)

    def _stray(self, deal: Deal | None, tp: TopicPartition, end: int) -> None:
        self._strays.setdefault((tp, self.life(tp)), []).append((deal, end))

    def excused(self, source: Source) -> bool:
        """Whether it need not be moved: it was, perhaps, or the group was misled past it."""
        tp, life, offset = source
        if source in self._doubtful:
            return True
        if any(deal.may_be_committed for deal in self._unsure.get(source, ())):
            return True
        return any(offset < end for end in self._misled(tp, life))

    def _misled(self, tp: TopicPartition, life: int) -> list[int]:
        """Offsets of former lives that may have been committed in that one."""
        return [
            end
            for deal, end in self._strays.get((tp, life), ())
            if deal is None or deal.may_be_committed
        ]

    def is_moved(self, source: Source) -> bool:
        """Whether it was, or need not be."""
        return source in self.moved or self.excused(source)

    def promise(self, item: Item, offset: int) -> None:
        """A producer is told that its record is in the log; -1: it is not told where."""
        item.promised = offset
        copy, tp = self.read(item.tp), item.tp
        if item.offset is not None and offset in {-1, item.offset}:
            return
        formerly = (self.copy(tp, life) for life in range(item.life, self.life(tp)))
        if any(_had(former, item, offset) for former in formerly):
            item.promised, item.lost = -1, True
        elif item.offset is not None:
            raise ViolationError(
                Rule.WRITTEN_ONCE, f"{item} is at {item.offset}, {offset} was promised"
            )
        elif 0 <= offset < copy.end or self._partition_of(tp) is None:
            raise ViolationError(
                Rule.WRITTEN_ONCE, f"{item} was promised at {offset}, and is not there"
            )

    # Reading -------------------------------------------------------------------------------------

    def read_all(self) -> None:
        """Read on in all of them."""
        for tp in self._partitions():
            self.read(tp)

    def read(self, tp: TopicPartition) -> Copy:
        """Read on, up to what all replicas in sync have."""
        copy = self.copies.setdefault(tp, Copy())
        partition = self._partition_of(tp)
        if partition is None:
            return copy
        end = min(_end_in_common(partition, node_id) for node_id in partition.isr)
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
            self._judge(tp, copy, record.offset, item, record.value, info.producer_epoch)
            assert item is not None
            item.offset, item.epoch = record.offset, info.producer_epoch
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
        self,
        tp: TopicPartition,
        copy: Copy,
        offset: int,
        item: Item | None,
        value: bytes,
        epoch: int,
    ) -> None:
        if item is None or item.tp != tp:
            raise ViolationError(Rule.WRITTEN_ONCE, f"{at(tp)} has {value!r} at {offset}")
        if item.offset is not None and not self._lingered(item, offset, epoch):
            raise ViolationError(
                Rule.WRITTEN_ONCE, f"{item} is there twice, at {item.offset} and at {offset}"
            )
        first = item.offset is None and offset < (item.promised or 0) and self._may_linger(item)
        if item.promised not in {None, -1, offset} and not first:
            raise ViolationError(
                Rule.WRITTEN_ONCE, f"{item} is at {offset}, {item.promised} was promised"
            )
        number = int(value)
        before = copy.last.get(item.process, 0)
        # Of what was on its way before this log was, the later may come to it first.
        early = self._named and item.made < self._made[tp.topic]
        again = item.offset is not None  # what came behind it the first time does so again, too
        if number < before and not early and not again:
            raise ViolationError(Rule.IN_ORDER, f"{item} is at {offset}, behind its {before}")
        copy.last[item.process] = max(number, before)
        if offset >= self._fences.get(item.process, {}).get(tp, offset + 1):
            raise ViolationError(
                Rule.FENCED, f"{item} is at {offset}, and another process had its id before"
            )

    def _lingered(self, item: Item, offset: int, epoch: int) -> bool:
        """Whether it may come again in that epoch: what was sent without an answer, behind a record
        that has run out of time, is sent anew in the next one, and nobody can take it back from a
        connection that was given up.
        """
        promised = item.promised not in {None, offset}
        return not promised and epoch > item.epoch and self._may_linger(item)

    def _may_linger(self, item: Item) -> bool:
        return item.deal is None and any(
            one.failed and not one.refused
            for one in self.items.values()
            if (one.process, one.tp) == (item.process, item.tp) and int(one.value) < int(item.value)
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

    def told(self, deal: Deal) -> None:
        """An application is told what has become of its transaction."""
        judge_told(deal)
        if deal.told is Fate.COMMITTED:  # the logs that had its marker may be gone
            for item in deal.items:
                if item.source is not None:
                    self._judge_moved(item, item.source)

    def _judge_moved(self, item: Item, source: Source) -> None:
        other = self.moved.setdefault(source, item)
        tp, life, offset = source
        sure = source not in self._doubtful and not self._misled(tp, life)
        shared = self._by_ids and life > 0 and other.name != item.name
        if other is not item and sure and not shared:
            raise ViolationError(
                Rule.MOVED_ONCE,
                f"{offset} of {at(tp)} was moved twice: by {other.deal} and by {item.deal}",
            )

    # What is there -------------------------------------------------------------------------------

    def shown(
        self, tp: TopicPartition, life: int, since: int, *, committed: bool
    ) -> Iterator[tuple[int, Item]]:
        """What a reader gets from an offset on, as far as the log was read: offset, record."""
        copy = self.copy(tp, life)
        for offset in range(since, copy.end):
            item = copy.items.get(offset)
            if item is not None and (item.readable or not committed):
                yield offset, item


def _had(copy: Copy, item: Item, offset: int) -> bool:
    if offset >= 0:
        return copy.items.get(offset) is item
    return any(one is item for one in copy.items.values())


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


def _end_in_common(partition: Partition, node_id: int) -> int:
    """Behind what a replica surely has of the leader's log: one that has not been compared with it
    yet may end in batches of a former leader, and has what was ever shown.
    """
    late = partition.late.get(node_id)
    if late is None or late.aligned:
        return partition.logs[node_id].end_offset
    return max(log.high_watermark for log in partition.logs.values())


def at(tp: TopicPartition) -> str:
    """A partition's name."""
    return f"{tp.topic}-{tp.partition}"
