"""Where iteration stands in the records it has taken.

The core's position is behind everything it has handed over; `for record in consumer` hands it on
one by one. In between, the true position of a partition is that of its first record not yet
yielded. A batch answers for that without any work per record: the list iterator itself knows how
many it has left.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from operator import length_hint

from kcore.hints import Any
from kcore.structs import OffsetAndMetadata, TopicPartition

# Slow handlers get small batches: auto commit covers whole batches, and max_poll_interval_ms
# counts from one batch to the next.
FIRST_BATCH = 64
_QUICK_MS = 100
_SLOW_MS = 1_000


class ShutDoor:
    """A core's way of handing over one record without a look at anything else, for consumers whose
    records have to be looked at: it gives none.
    """

    def __init__(self, inside: Any) -> None:
        self._inside = inside

    @property
    def taken(self) -> int:
        """How many were taken any other way."""
        return int(self._inside.taken)

    def take(self) -> None:
        """Nothing."""


class Batch:
    """The records of one poll on their way through the loop.

    records: iterate this. made_at: pump ms. remade: partitions whose topics are made anew
    meanwhile: what is left of them is yielded still, and stands for no position.
    """

    __slots__ = ("_flat", "_given_back", "_spans", "made_at", "records", "remade")

    def __init__(
        self,
        taken: Mapping[TopicPartition, list[Any]],
        made_at: int,
        remade: Container[TopicPartition] = (),
    ) -> None:
        self._flat: list[Any] = []
        self._spans: list[tuple[TopicPartition, int, int]] = []  # partition, from, to in _flat
        for tp, records in taken.items():
            start = len(self._flat)
            self._flat.extend(records)
            self._spans.append((tp, start, len(self._flat)))
        self._given_back: set[TopicPartition] = set()
        self.made_at = made_at
        self.remade = remade
        self.records: Iterator[Any] = iter(self._flat)

    @property
    def _yielded(self) -> int:
        return len(self._flat) - length_hint(self.records)

    def __len__(self) -> int:
        """Records not yielded yet."""
        return length_hint(self.records)

    def positions(self, *, finished: bool) -> dict[TopicPartition, OffsetAndMetadata]:
        """Where partitions stand that are not through, as offsets to commit.

        finished: whether the record yielded last counts as done.
        """
        done = self._yielded - (not finished)
        found: dict[TopicPartition, OffsetAndMetadata] = {}
        for tp, start, end in self._spans:
            if tp in self._given_back or tp in self.remade or done >= end:
                continue
            at = max(done, start)
            # The epoch belongs to the last record consumed (KIP-320); at the start it is not known.
            epoch = getattr(self._flat[at - 1], "leader_epoch", None) if at > start else None
            found[tp] = OffsetAndMetadata(self._flat[at].offset, "", -1 if epoch is None else epoch)
        return found

    def give_back(self, tp: TopicPartition, *, whole: bool = True) -> None:
        """Do not yield what is left of this partition.

        whole: the record in hand stands for no position of it any more, either.
        """
        if whole:
            self._given_back.add(tp)
        done = self._yielded
        ahead = [span for span in self._spans if span[2] > done]
        kept = [(part, max(start, done), end) for part, start, end in ahead if part != tp]
        if len(kept) == len(ahead):
            return
        last = self._flat[done - 1 : done]  # the record in hand stays the one yielded last
        before = [(part, start, end) for part, start, end in self._spans if start < done <= end]
        flat: list[Any] = list(last)
        spans: list[tuple[TopicPartition, int, int]] = []
        if last and before and before[-1][0] not in self._given_back:
            spans.append((before[-1][0], 0, 1))
        for part, start, end in kept:
            at = len(flat)
            flat.extend(self._flat[start:end])
            if spans and spans[-1][0] == part:
                spans[-1] = (part, spans[-1][1], len(flat))
            else:
                spans.append((part, at, len(flat)))
        records = iter(flat)
        for _ in last:
            next(records)
        # In one go: nothing can strike between these.
        self._flat, self._spans, self.records = flat, spans, records


def next_size(
    size: int, took_ms: int, maximum: int, quick_ms: int = _QUICK_MS, slow_ms: int = _SLOW_MS
) -> int:
    """How many records to take next, from how long the last `size` took to handle."""
    if took_ms < quick_ms:
        size *= 2
    elif took_ms > slow_ms:
        size //= 2
    return max(1, min(size, maximum))
