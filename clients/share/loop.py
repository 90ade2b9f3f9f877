"""Where a loop over a share consumer stands in the records of its last poll.

They are the application's from when the poll took them; those that the loop does not come to are
given back, and must not be accepted before they are handed over again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from operator import length_hint
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kcore.records import ConsumerRecord

Records = list["ConsumerRecord"]


class ShareLoop:
    """records: iterate this."""

    __slots__ = ("_batch", "records")

    def __init__(self) -> None:
        self._batch: Records = []
        self.records: Iterator[Any] = iter(())

    def begin(self, taken: Iterable[Records]) -> None:
        """Go through these."""
        batch = [record for records in taken for record in records]
        self._batch, self.records = batch, iter(batch)

    @property
    def left(self) -> Records:
        """What the loop has not come to."""
        return self._batch[len(self._batch) - length_hint(self.records) :]

    @property
    def unfinished(self) -> Records:
        """The same, and the record in hand before it."""
        done = len(self._batch) - length_hint(self.records)
        return self._batch[max(done - 1, 0) :]

    def leave(self, give_back: Callable[[Records], object]) -> None:
        """Give back what is left. (Who is struck in the middle loses all locks: it comes anew.)"""
        left = self.left
        self.clear()
        if left:
            give_back(left)

    def clear(self) -> None:
        """There is no loop."""
        self._batch, self.records = [], iter(())
