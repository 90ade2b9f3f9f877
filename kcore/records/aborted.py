"""Which transactional batches read_committed passes over (Java: CompletedFetch; rule I3).

The broker names the aborted transactions that touch the fetched range: producer id and first
offset. A producer's batches are aborted from that offset to its next abort marker.
"""

from __future__ import annotations

from collections.abc import Iterable


class AbortedTransactions:
    """The aborted producers while a partition's batches are walked in order."""

    __slots__ = ("_current", "_next", "_queue")

    def __init__(self, transactions: Iterable[tuple[int, int]]) -> None:
        """`transactions` are (producer_id, first_offset), in any order."""
        self._queue = sorted(((first_offset, producer) for producer, first_offset in transactions))
        self._next = 0
        self._current: set[int] = set()

    def rewind(self) -> None:
        """Begin again with the first batch."""
        self._next = 0
        self._current.clear()

    def advance(self, last_offset: int) -> None:
        """Take in the transactions that begin up to a batch's last offset."""
        while self._next < len(self._queue) and self._queue[self._next][0] <= last_offset:
            self._current.add(self._queue[self._next][1])
            self._next += 1

    def end(self, producer_id: int) -> None:
        """The producer's abort marker was met; a second one is harmless."""
        self._current.discard(producer_id)

    def __contains__(self, producer_id: int) -> bool:
        return producer_id in self._current
