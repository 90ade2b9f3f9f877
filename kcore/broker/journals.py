"""What the coordinators' own topics say, compacted as it is written."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import replace
from itertools import count

from kcore.coordinator import Entry, Item, Marker
from kcore.coordinator.journal import NO_PRODUCER
from kcore.coordinator.offsets import PRODUCERS_MAX


class Journal:
    """One partition of `__consumer_offsets` or `__transaction_state`.

    epoch: how often it got a new leader.
    """

    def __init__(self) -> None:
        self.epoch = 0
        self._positions = count()
        self._kept: dict[bytes, tuple[int, Entry]] = {}
        # Of transactions that are open: producer id -> key -> position and entry.
        self._open: dict[int, dict[bytes, tuple[int, Entry]]] = {}
        # Of each producer its last marker, ended longest ago first: in which epoch it may write.
        self._ended: OrderedDict[int, tuple[int, Marker]] = OrderedDict()

    def elect(self) -> int:
        """It has a new leader; its epoch."""
        self.epoch += 1
        return self.epoch

    def append(self, items: Iterable[Item]) -> None:
        """Take entries in; a newer one of the same key replaces the older, a tombstone deletes.

        What a transaction writes is kept beside that until its marker decides.
        """
        for item in items:
            position = next(self._positions)
            if not isinstance(item, Entry):
                self._end(item.producer_id, committed=item.committed)
                self._ended[item.producer_id] = (position, item)
                self._ended.move_to_end(item.producer_id)
                if len(self._ended) > PRODUCERS_MAX:
                    self._ended.popitem(last=False)
            elif item.value is None:
                self._kept.pop(item.key, None)
                for producer_id in list(self._open):
                    self._open[producer_id].pop(item.key, None)
                    if not self._open[producer_id]:
                        del self._open[producer_id]
            elif item.producer_id == NO_PRODUCER:
                self._kept[item.key] = (position, item)
            else:
                self._open.setdefault(item.producer_id, {})[item.key] = (position, item)

    def _end(self, producer_id: int, *, committed: bool) -> None:
        for key, (position, entry) in self._open.pop(producer_id, {}).items():
            # What was written since outside of the transaction wins over it.
            if committed and self._kept.get(key, (-1,))[0] < position:
                plain = replace(entry, producer_id=NO_PRODUCER, producer_epoch=-1)
                self._kept[key] = (position, plain)

    def entries(self) -> list[Entry]:
        """What its keys say, oldest first."""
        return [item for item in self.items() if isinstance(item, Entry)]

    def items(self) -> list[Item]:
        """What there is to load, oldest first."""
        every: list[tuple[int, Item]] = [*self._kept.values(), *self._ended.values()]
        for pending in self._open.values():
            every += pending.values()
        return [item for _, item in sorted(every, key=lambda at: at[0])]
