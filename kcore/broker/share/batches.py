"""Records in flight: batches as they were acquired, each of runs of records in one state.

A batch is one run until somebody treats some of its records another way than the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kcore.broker.share.states import TABLE, TERMINAL, RecordInput, RecordState
from kcore.errors import IllegalStateError

NOBODY = ""

# First and last offset, and what is said of them.
Span = tuple[int, int, int]


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

    def part(self, first: int, last: int) -> Run:
        """Some of these records."""
        return Run(first, last, self.state, self.count, self.member, self.until_ms)

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
        return [run for run, _ in self.carve_all([(first, last, 0)])]

    def carve_all(self, spans: Sequence[Span]) -> list[tuple[Run, int]]:
        """The same for many in one go, each run with the number that its span has. spans: in order;
        the outer ones may go beyond the batch.
        """
        found: list[tuple[Run, int]] = []
        runs: list[Run] = []
        index = 0
        for run in self.runs:
            at = run.first
            while index < len(spans) and spans[index][0] <= run.last:
                start, end, kind = spans[index]
                start, until = max(start, at), min(end, run.last)
                if until >= start:
                    if start > at:
                        runs.append(run.part(at, start - 1))
                    part = run.part(start, until)
                    runs.append(part)
                    found.append((part, kind))
                    at = until + 1
                if end > run.last:
                    break
                index += 1
            if at <= run.last:
                runs.append(run.part(at, run.last))
        self.split = self.split or len(runs) > len(self.runs)
        self.runs = runs
        return found

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
