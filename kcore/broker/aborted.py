"""What a log knows of transactions: where the first open one begins, which ones were aborted.

The log calls it for every transactional batch and marker it keeps, and makes a new one from the
batches that are left when its end is cut off. Java: ProducerStateManager (ongoing and unreplicated
transactions), TransactionIndex.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque

from kcore.broker.batches import Batch
from kcore.tuples import NamedTuple


class Aborted(NamedTuple):
    """A transaction that was aborted.

    first_offset: of its first batch. last_offset: of its marker. last_stable_offset: of the log,
    when the marker came.
    """

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class TransactionIndex:
    """The transactions of one log."""

    __slots__ = ("_aborted", "_open", "_start_offset", "_unreplicated")

    def __init__(self, start_offset: int = 0) -> None:
        self._open: dict[int, int] = {}  # producer id -> first offset, which ascend
        # Ended, but not known to be replicated: (first offset, offset of the marker).
        self._unreplicated: deque[tuple[int, int]] = deque()
        self._aborted: list[Aborted] = []  # by their markers
        self._start_offset = start_offset

    def __contains__(self, producer_id: object) -> bool:
        """Whether the producer has an open transaction."""
        return producer_id in self._open

    def first_offset(self, producer_id: int) -> int | None:
        """Where the producer's open transaction begins; None if it has none."""
        return self._open.get(producer_id)

    def appended(self, batch: Batch) -> None:
        """A transactional batch has been kept; `batch.base_offset` is its place."""
        self._open.setdefault(batch.producer_id, batch.base_offset)

    def ended(self, batch: Batch, *, committed: bool) -> None:
        """A marker has been kept."""
        first_offset = self._open.pop(batch.producer_id, None)
        if first_offset is None:
            return  # of a transaction without a record here
        last_offset = batch.base_offset
        self._unreplicated.append((first_offset, last_offset))
        if not committed:
            stable = next(iter(self._open.values()), last_offset + 1)
            self._aborted.append(Aborted(batch.producer_id, first_offset, last_offset, stable))

    def deleted(self, start_offset: int) -> None:
        """Nothing is left before `start_offset`."""
        self._start_offset = start_offset
        del self._aborted[: self._index_of(start_offset)]

    def last_stable_offset(self, high_watermark: int) -> int:
        """Up to where consumers that read committed records may read."""
        ended = self._unreplicated
        while ended and ended[0][1] < high_watermark:
            ended.popleft()
        stable = min(high_watermark, next(iter(self._open.values()), high_watermark))
        if ended:
            stable = min(stable, *(first for first, _ in ended))
        return max(stable, self._start_offset)  # what is deleted is not waited for

    def aborted(self, offset: int, end_offset: int) -> list[Aborted]:
        """The aborted transactions that have records from `offset` up to before `end_offset`."""
        found = []
        for index in range(self._index_of(offset), len(self._aborted)):
            one = self._aborted[index]
            if one.first_offset < end_offset:
                found.append(one)
            if one.last_stable_offset >= end_offset:
                break
        return found

    def _index_of(self, offset: int) -> int:
        """The first whose marker is at `offset` or behind."""
        return bisect_left(self._aborted, offset, key=lambda one: one.last_offset)
