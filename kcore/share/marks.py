"""What has become of each offset that was acquired: a byte an offset, in runs without holes.

Marks up to RENEW are the wire's own and have not been told to the broker yet; GAP says that there
is no record at an offset. Whatever is done to many offsets is done to slices.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import Final

GAP: Final = 0
ACCEPT: Final = 1
RELEASE: Final = 2
REJECT: Final = 3
RENEW: Final = 4
WAITING: Final = 0x10  # nobody has been given it yet
HELD: Final = 0x11  # the application has it
RENEWING: Final = 0x12  # the broker is asked to renew its lock
DONE: Final = 0x13  # told, lost, or never ours

_ACKNOWLEDGED: Final = re.compile(rb"[\x00-\x04]+")
_SAID: Final = bytes(mark <= RENEW for mark in range(256))
_TOLD: Final = bytes.maketrans(bytes(range(RENEW + 1)), bytes([*[DONE] * RENEW, RENEWING]))

# Acknowledged offsets in a row: the first one, and a mark for each.
Stretch = tuple[int, bytes]


class Marks:
    """Of the offsets in `ranges`, of (first, last, ...) in order; all WAITING at first."""

    __slots__ = ("_firsts", "_runs")

    def __init__(self, ranges: Iterable[tuple[int, ...]]) -> None:
        self._firsts: list[int] = []
        self._runs: list[bytearray] = []
        for first, last, *_ in ranges:
            fresh = bytes([WAITING]) * (last - first + 1)
            if self._firsts and self._firsts[-1] + len(self._runs[-1]) == first:
                self._runs[-1] += fresh
            else:
                self._firsts.append(first)
                self._runs.append(bytearray(fresh))

    def at(self, offset: int) -> int:
        """The mark of an offset; DONE if it is none of these."""
        index = bisect_right(self._firsts, offset) - 1
        if index < 0 or offset - self._firsts[index] >= len(self._runs[index]):
            return DONE
        return self._runs[index][offset - self._firsts[index]]

    def put(self, offset: int, mark: int) -> None:
        """Mark an offset, which is one of these."""
        index = bisect_right(self._firsts, offset) - 1
        self._runs[index][offset - self._firsts[index]] = mark

    def change(self, before: int, after: int, first: int = 0, last: int | None = None) -> None:
        """Make every mark `before` of the offsets from `first` to `last` one `after`."""
        old, new = bytes([before]), bytes([after])
        for run, start, end in self._slices(first, last):
            if old in run:
                run[start:end] = run[start:end].replace(old, new)

    def drop(self, first: int, last: int) -> None:
        """Whatever the offsets from `first` to `last` are, they are DONE."""
        for run, start, end in self._slices(first, last):
            run[start:end] = bytes([DONE]) * (end - start)

    def count(self, mark: int) -> int:
        """How many offsets have this mark."""
        return sum(run.count(mark) for run in self._runs)

    @property
    def through(self) -> bool:
        """Whether all are DONE."""
        return all(run.count(DONE) == len(run) for run in self._runs)

    def take(self) -> list[Stretch]:
        """What is acknowledged and not told yet; from here on it counts as told."""
        found: list[Stretch] = []
        for first, run in zip(self._firsts, self._runs, strict=True):
            told = run.translate(_TOLD)
            if told == run:
                continue
            # A poll of one record looks at all others, too: what is alike is passed over quickly.
            said = run.translate(_SAID)
            start, end = said.find(1), said.rfind(1) + 1
            if said.count(1) == end - start:  # and what is in a row, as quickly
                found.append((first + start, bytes(run[start:end])))
            else:
                stretches = _ACKNOWLEDGED.finditer(run, start, end)
                found += [(first + one.start(), one.group()) for one in stretches]
            run[:] = told
        return found

    def _slices(self, first: int, last: int | None) -> Iterator[tuple[bytearray, int, int]]:
        """Each run that these offsets touch, and where: (run, from, to)."""
        for index in range(max(bisect_right(self._firsts, first) - 1, 0), len(self._runs)):
            start_at, run = self._firsts[index], self._runs[index]
            if last is not None and start_at > last:
                break
            start = max(first - start_at, 0)
            end = len(run) if last is None else min(last - start_at + 1, len(run))
            if start < end:
                yield run, start, end
