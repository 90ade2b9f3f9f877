"""Records in flight: batches as they were acquired, each of runs of records in one state.

A batch is one run until somebody treats some of its records another way than the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kcore.broker.share.states import TABLE, TERMINAL, RecordInput, RecordState
from kcore.errors import IllegalStateError

NOBODY = ""


@dataclass(slots=True)
class Run:
    """Offsets `first` to `last`, both of it. count: deliveries so far; member, until_ms: who has
    them if they are acquired, and when that ends.
    """

    first: int
    last: int
    state: RecordState
    count: int = 0
    member: str = NOBODY
    until_ms: int = 0

    def __len__(self) -> int:
        return self.last - self.first + 1

    def move(self, what: RecordInput) -> None:
        """The one place that changes `state`; IllegalStateError if the table has no such cell."""
        to = TABLE[self.state].get(what)
        if to is None:
            raise IllegalStateError(f"{what.name} cannot happen to {self}")
        self.state = to
        if to is not RecordState.ACQUIRED:
            self.member, self.until_ms = NOBODY, 0

    @property
    def over(self) -> bool:
        """Whether nothing happens to these records any more."""
        return self.state in TERMINAL

    def goes_on_in(self, other: Run) -> bool:
        """Whether the run behind this one is of the same kind."""
        return (self.state, self.count, self.member, self.until_ms) == (
            other.state,
            other.count,
            other.member,
            other.until_ms,
        )


class InFlightBatch:
    """Records that were acquired together; `runs` cover it without holes.

    split: whether some of its records have been treated another way than the rest, ever.
    """

    __slots__ = ("first", "last", "runs", "split")

    def __init__(self, run: Run) -> None:
        self.first, self.last = run.first, run.last
        self.runs = [run]
        self.split = False

    def __len__(self) -> int:
        return self.last - self.first + 1

    def carve(self, first: int, last: int) -> list[Run]:
        """The runs from `first` to `last`, cut out of those that reach beyond."""
        for at in (first, last + 1):
            self._cut(at)
        return [run for run in self.runs if first <= run.first and run.last <= last]

    def _cut(self, at: int) -> None:
        for index, run in enumerate(self.runs):
            if run.first < at <= run.last:
                rest = Run(at, run.last, run.state, run.count, run.member, run.until_ms)
                run.last = at - 1
                self.runs.insert(index + 1, rest)
                self.split = True
                return

    def join(self) -> None:
        """Make one run of neighbours that do not differ (any more)."""
        joined = [self.runs[0]]
        for run in self.runs[1:]:
            if joined[-1].goes_on_in(run):
                joined[-1].last = run.last
            else:
                joined.append(run)
        self.runs = joined


def runs_of(batches: list[InFlightBatch]) -> Iterator[Run]:
    """The runs of all batches."""
    for batch in batches:
        yield from batch.runs
