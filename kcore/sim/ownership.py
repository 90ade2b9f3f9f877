"""Which member had which partition when, as the members themselves saw it.

A member that stands still goes on believing that its partitions are its own, so two may have one
for a while, in different generations: the rows say where.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, Final

# More than this nobody looks at one by one.
ROWS_MAX: Final = 400
SPANS_MAX: Final = 60_000

# Of a group: the partition of a topic.
Owned = tuple[str, str, int]

# From, to, whose, in its generations from and to.
Span = tuple[int, int, str, int, int]


class Ownership:
    """Rows of partitions with spans of owners."""

    def __init__(self) -> None:
        self._spans: dict[Owned, list[Span]] = {}
        self._read: set[tuple[str, str]] = set()

    def read(self, group: str, topics: Iterable[str], partitions: int) -> None:
        """A group reads topics, of so many partitions: they have rows, owned or not."""
        for topic in topics:
            if (group, topic) not in self._read:
                self._read.add((group, topic))
                for partition in range(partitions):
                    self._spans.setdefault((group, topic, partition), [])

    def given_up(
        self,
        owner: str,
        owned: dict[Owned, tuple[int, int]],
        at_ms: int,
        generation: int,
        *,
        but: Collection[Owned] = (),
    ) -> None:
        """A member has these no more. owned: since when, and in which generation then."""
        for one in [one for one in owned if one not in but]:
            since_ms, first = owned.pop(one)
            self._spans.setdefault(one, []).append((since_ms, at_ms, owner, first, generation))

    def fold(self) -> list[str]:
        """Keep what a picture has room for; what it has not, in words."""
        kept: dict[Owned, list[Span]] = {}
        spans = 0
        for one in sorted(self._spans, key=_natural):
            spans += len(self._spans[one])
            if len(kept) == ROWS_MAX or (spans > SPANS_MAX and kept):
                break
            kept[one] = sorted(self._spans[one])
        left = len(self._spans) - len(kept)
        self._spans = kept
        return [f"{left:,} more partitions have no row of their own."] if left else []

    def strangers(self, places: dict[str, int]) -> list[str]:
        """Owners that have no lane; they are numbered after those that have."""
        names = {span[2] for spans in self._spans.values() for span in spans}
        return sorted(names - places.keys())

    def rows(self, places: dict[str, int]) -> list[list[Any]]:
        """Group, topic, partition, spans by numbers of owners, and where two believe."""
        numbers = dict(places)
        for name in self.strangers(places):
            numbers[name] = len(numbers)
        return [
            [
                *one,
                [[since, until, numbers[owner], *rest] for since, until, owner, *rest in spans],
                _overlaps(spans),
            ]
            for one, spans in self._spans.items()
        ]


def _overlaps(spans: list[Span]) -> list[list[int]]:
    """Where one had it while another one, too, believed so. spans: by their beginning."""
    found: list[list[int]] = []
    latest_ms = -1
    for since_ms, until_ms, *_ in spans:
        if since_ms < latest_ms:
            found.append([since_ms, min(until_ms, latest_ms)])
        latest_ms = max(latest_ms, until_ms)
    return found


def _natural(one: Owned) -> tuple[int, str, int, str, int]:
    """group2 before group10."""
    group, topic, partition = one
    return len(group), group, len(topic), topic, partition
