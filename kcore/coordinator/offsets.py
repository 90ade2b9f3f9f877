"""Committed offsets, and those of open transactions (rules O13, O15). Only replay writes here."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterator
from typing import Final

from kcore.coordinator.journal import Epochs
from kcore.structs import TopicPartition
from kcore.tuples import NamedTuple
from kcore.wire.messages import OffsetCommitValue

# Producers of transactions remembered, so that those that have been replaced can be told.
PRODUCERS_MAX: Final = 10_000


class StoredOffset(NamedTuple):
    """A committed offset, and where in the journal it stands."""

    position: int
    value: OffsetCommitValue


Stored = dict[TopicPartition, StoredOffset]


class Offsets:
    """The offsets of a partition's groups."""

    __slots__ = ("_epochs", "_open", "_pending", "_stored")

    def __init__(self) -> None:
        self._stored: dict[str, Stored] = {}
        self._pending: dict[int, dict[str, Stored]] = {}  # producer id -> group -> offsets
        self._open: dict[str, dict[TopicPartition, set[int]]] = {}  # group -> who has it pending
        # Of producers, used longest ago first.
        self._epochs: OrderedDict[int, Epochs] = OrderedDict()

    # Questions -----------------------------------------------------------------------------------

    def get(self, group_id: str, tp: TopicPartition) -> OffsetCommitValue | None:
        """The committed offset, if there is one."""
        stored = self._stored.get(group_id, {}).get(tp)
        return None if stored is None else stored.value

    def of(self, group_id: str) -> Stored:
        """Everything the group has committed."""
        return self._stored.get(group_id, {})

    def is_pending(self, group_id: str, tp: TopicPartition) -> bool:
        """Whether an open transaction will decide about this offset."""
        return tp in self._open.get(group_id, {})

    def has_open_transaction(self, group_id: str) -> bool:
        """Whether any offset of the group is pending."""
        return group_id in self._open

    def epochs_of(self, producer_id: int) -> Epochs:
        """What is known of a producer here."""
        return self._epochs.get(producer_id, Epochs())

    def has_pending(self, producer_id: int) -> bool:
        """Whether a producer has written what its transaction will decide about."""
        return producer_id in self._pending

    def touched(self, group_id: str) -> list[TopicPartition]:
        """What a delete of the group has to take: stored or pending, in a steady order."""
        return sorted({*self._stored.get(group_id, ()), *self._open.get(group_id, ())})

    def with_topics(self, topics: Collection[str]) -> Iterator[tuple[str, TopicPartition]]:
        """Every stored or pending offset of these topics."""
        for group_id in sorted({*self._stored, *self._open}):
            for tp in self.touched(group_id):
                if tp.topic in topics:
                    yield group_id, tp

    # Replay --------------------------------------------------------------------------------------

    def replay_epoch(
        self, producer_id: int, epoch: int, coordinator_epoch: int | None = None
    ) -> None:
        """A producer wrote, or a coordinator ended its transaction, in this epoch."""
        known = self.epochs_of(producer_id)
        self._epochs[producer_id] = Epochs(
            max(epoch, known.producer),
            known.coordinator if coordinator_epoch is None else coordinator_epoch,
        )
        self._epochs.move_to_end(producer_id)
        while len(self._epochs) > PRODUCERS_MAX:
            self._epochs.popitem(last=False)

    def replay(
        self,
        group_id: str,
        tp: TopicPartition,
        value: OffsetCommitValue | None,
        producer_id: int,
        position: int,
    ) -> None:
        """A commit (pending if a producer made it), or the end of an offset."""
        if value is None:
            self._remove(group_id, tp)
        elif producer_id < 0:
            self._stored.setdefault(group_id, {})[tp] = StoredOffset(position, value)
        else:
            pending = self._pending.setdefault(producer_id, {}).setdefault(group_id, {})
            pending[tp] = StoredOffset(position, value)
            self._open.setdefault(group_id, {}).setdefault(tp, set()).add(producer_id)

    def replay_marker(self, producer_id: int, committed: bool) -> None:
        """A transaction ended. What was committed since it wrote its offset wins over that."""
        for group_id, pending in self._pending.pop(producer_id, {}).items():
            for tp, offset in pending.items():
                self._close(group_id, tp, producer_id)
                if not committed:
                    continue
                stored = self._stored.setdefault(group_id, {})
                if tp not in stored or stored[tp].position < offset.position:
                    stored[tp] = offset

    def _remove(self, group_id: str, tp: TopicPartition) -> None:
        stored = self._stored.get(group_id, {})
        if stored.pop(tp, None) is not None and not stored:
            del self._stored[group_id]
        for producer_id in tuple(self._open.get(group_id, {}).get(tp, ())):
            self._close(group_id, tp, producer_id)
            groups = self._pending[producer_id]
            del groups[group_id][tp]
            if not groups[group_id]:
                del groups[group_id]
            if not groups:
                del self._pending[producer_id]

    def _close(self, group_id: str, tp: TopicPartition, producer_id: int) -> None:
        group = self._open[group_id]
        group[tp].remove(producer_id)
        if not group[tp]:
            del group[tp]
        if not group:
            del self._open[group_id]
