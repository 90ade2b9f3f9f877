"""Acknowledgements on their way: what is said of records of one partition to the node that they
were acquired from, in one go.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from kcore.errors import KafkaError, KafkaTimeoutError
from kcore.share.marks import GAP, RENEW, Stretch
from kcore.share.parcel import Parcel, Place
from kcore.structs import TopicPartition
from kcore.timers import Bounded

# Brokers keep one state for a batch whose offsets have become the same; so many in a row are worth
# a batch of their own (Java: Acknowledgements).
_RUN_MIN: Final = 10
_RUNS: Final = re.compile(rb"(.)\1{%d,}" % (_RUN_MIN - 1), re.DOTALL)

# first offset, last offset, types: one for all, or one for each
Batch = tuple[int, int, list[int]]


class Sheet(Bounded):
    """place: what it is about. parts: of each parcel what it says. deadline_ms: when it is given
    up.
    """

    __slots__ = ("parts", "place")

    def __init__(
        self, place: Place, parts: list[tuple[Parcel, list[Stretch]]], deadline_ms: int
    ) -> None:
        super().__init__(deadline_ms)
        self.place = place
        self.parts = parts

    @property
    def renews(self) -> bool:
        """Whether it asks for any lock to be renewed."""
        return any(RENEW in marks for _, marks in self._stretches())

    @property
    def records(self) -> int:
        """How many records it is about."""
        return sum(len(marks) - marks.count(GAP) for _, marks in self._stretches())

    def batches(self) -> list[Batch]:
        """What goes over the wire, in the order of offsets."""
        found: list[Batch] = []
        for first, marks in sorted(self._stretches()):
            found += batches_of(first, marks)
        return found

    def ranges(self) -> tuple[tuple[int, int], ...]:
        """The offsets of records, without those that have none, as (first, last)."""
        found: list[tuple[int, int]] = []
        for first, marks in sorted(self._stretches()):
            found += [
                (first + match.start(), first + match.end() - 1)
                for match in _RECORDS.finditer(marks)
            ]
        return tuple(found)

    def lock_until(self, expires_at: int) -> None:
        """Locks were renewed, and last until then."""
        for parcel, stretches in self.parts:
            for first, marks in stretches:
                for match in _RENEWED.finditer(marks) if RENEW in marks else ():
                    parcel.lock_until(first + match.start(), first + match.end() - 1, expires_at)

    def end(self, error: KafkaError | None) -> None:
        """It was answered, or given up: locks are renewed, or lost."""
        for parcel, stretches in self.parts:
            for first, marks in stretches:
                for match in _RENEWED.finditer(marks) if RENEW in marks else ():
                    parcel.renewed(
                        first + match.start(), first + match.end() - 1, kept=error is None
                    )

    def _stretches(self) -> Iterator[Stretch]:
        for _, stretches in self.parts:
            yield from stretches


class Commit(Bounded):
    """What the application waits for: the ends of these sheets, until `deadline_ms`.

    operation: its number. results: of each partition why it was not taken in, or None.
    """

    __slots__ = ("_left", "operation", "results")

    def __init__(self, operation: int, sheets: Iterable[Sheet], deadline_ms: int) -> None:
        super().__init__(deadline_ms)
        self.operation = operation
        self.results: dict[TopicPartition, KafkaError | None] = {}
        self._left = list(sheets)

    @property
    def over(self) -> bool:
        """Whether nothing is left to wait for."""
        return not self._left

    def told(self, sheet: Sheet, error: KafkaError | None) -> None:
        """A sheet has ended."""
        if sheet in self._left:
            self._left.remove(sheet)
            tp = sheet.place.tp
            self.results[tp] = self.results.get(tp) or error

    def give_up(self) -> None:
        """Nobody has said in time what became of the others; brokers may still take them in."""
        for sheet in [*self._left]:
            self.told(sheet, KafkaTimeoutError("the acknowledgement was not answered in time"))


_RECORDS: Final = re.compile(rb"[^\x%02x]+" % GAP)
_RENEWED: Final = re.compile(rb"\x%02x+" % RENEW)


def batches_of(first: int, marks: bytes) -> Iterable[Batch]:
    """Offsets in a row: those that are alike for long, and between them those that are not."""
    if marks.count(marks[0]) == len(marks):  # as most are
        yield first, first + len(marks) - 1, [marks[0]]
        return
    at = 0
    for match in _RUNS.finditer(marks):
        if at < match.start():
            yield _batch(first + at, marks[at : match.start()])
        yield _batch(first + match.start(), match.group())
        at = match.end()
    if at < len(marks):
        yield _batch(first + at, marks[at:])


def _batch(first: int, marks: bytes) -> Batch:
    types = [marks[0]] if marks.count(marks[0]) == len(marks) else list(marks)
    return first, first + len(marks) - 1, types
