"""Which leader epoch each part of a log was written in (KIP-101; Java: LeaderEpochFileCache)."""

from __future__ import annotations

from bisect import bisect_right
from operator import itemgetter
from typing import Final

from kcore.tuples import NamedTuple

UNKNOWN: Final = -1

_epoch = itemgetter(0)
_first = itemgetter(1)


class EpochEnd(NamedTuple):
    """Where an epoch ends: the epoch that was found and the offset behind it; -1, -1: unknown."""

    epoch: int
    end_offset: int


class Epochs:
    """The epochs of one log, each with its first offset; both ascend."""

    __slots__ = ("_entries",)

    def __init__(self) -> None:
        self._entries: list[tuple[int, int]] = []

    @property
    def latest(self) -> int:
        """The last epoch; -1 if there is none."""
        return self._entries[-1][0] if self._entries else UNKNOWN

    @property
    def latest_start(self) -> int:
        """The first offset of the last epoch; -1 if there is none."""
        return self._entries[-1][1] if self._entries else UNKNOWN

    def begin(self, epoch: int, offset: int) -> None:
        """What is at `offset` and behind is of this epoch. Ignored if that is known."""
        if self.latest < epoch:
            while self._entries and self._entries[-1][1] >= offset:
                self._entries.pop()  # an epoch in which nothing was written
            self._entries.append((epoch, offset))

    def end_of(self, epoch: int, log_end: int) -> EpochEnd:
        """KIP-101, KIP-279: the end of the largest epoch that is not above `epoch`."""
        after = bisect_right(self._entries, epoch, key=_epoch)
        if epoch < 0:
            return EpochEnd(UNKNOWN, UNKNOWN)
        if after == len(self._entries):
            if self.latest < epoch:
                return EpochEnd(UNKNOWN, UNKNOWN)
            return EpochEnd(epoch, log_end)
        end_offset = self._entries[after][1]
        return EpochEnd(self._entries[after - 1][0] if after else epoch, end_offset)

    def at(self, offset: int) -> int:
        """The epoch in which a record was appended; -1 if that is not known."""
        index = bisect_right(self._entries, offset, key=_first)
        return self._entries[index - 1][0] if index else UNKNOWN

    def truncate_end(self, end_offset: int) -> None:
        """Nothing is left from `end_offset` on."""
        while self._entries and self._entries[-1][1] >= end_offset:
            self._entries.pop()

    def truncate_start(self, start_offset: int) -> None:
        """Nothing is left before `start_offset`."""
        before = bisect_right(self._entries, start_offset, key=_first) - 1
        if before >= 0:
            self._entries[: before + 1] = [(self._entries[before][0], start_offset)]
