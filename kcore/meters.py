"""Quantities over the last minute, as Kafka's clients measure them.

What is recorded falls into samples of 30 s; two are kept, so that a rate, an average or a maximum
is of the last 30 to 60 s. A rate is over at least one whole sample: a client that has just begun
does not look as if it went on like that for ever. Totals are since the beginning.

Source: Java's SampledStat, Rate and Meter; metrics.num.samples and metrics.sample.window.ms at
their defaults.
"""

from __future__ import annotations

from collections.abc import Iterable

from kcore.hints import Final
from kcore.tuples import NamedTuple

SAMPLES: Final = 2
SAMPLE_MS: Final = 30_000

# (begin_ms, how often, sum, largest) of what was recorded
_Sample = tuple[int, int, float, float]


Group = dict[str, float]


class Reading(NamedTuple):
    """What was measured of one thing: Kafka's name of the group, tags that say of what (none: of
    the client), and numbers by Kafka's names. A name that ends in "-total" is a sum since the
    beginning, the others are as it stands.
    """

    group: str
    tags: tuple[tuple[str, str], ...]
    values: Group


def by_group(readings: Iterable[Reading]) -> dict[str, Group]:
    """As clients give metrics: `{group: {name: value}}`, what tags say behind the group's name."""
    found: dict[str, Group] = {}
    for group, tags, values in readings:
        name = f"{group}.{'-'.join(value for _, value in tags)}" if tags else group
        found.setdefault(name, {}).update(values)
    return found


class Meter:
    """One quantity. total: of all that was ever recorded. times: how often something was."""

    __slots__ = ("_before", "_began_at", "_count", "_largest", "_sum", "times", "total")

    def __init__(self, now_ms: int) -> None:
        self.total = 0.0
        self.times = 0
        self._before: _Sample | None = None
        self._begin(now_ms)

    def _begin(self, now_ms: int) -> None:
        self._began_at = now_ms
        self._count = 0
        self._sum = 0.0
        self._largest = 0.0

    def record(self, amount: float, now_ms: int) -> None:
        """So much, now."""
        if now_ms - self._began_at >= SAMPLE_MS:
            self._move_on(now_ms)
        self.total += amount
        self.times += 1
        self._sum += amount
        if amount > self._largest or not self._count:
            self._largest = amount
        self._count += 1

    def record_many(self, total: float, times: int, largest: float, now_ms: int) -> None:
        """As often as that, together `total`, `largest` at most at once; now."""
        if now_ms - self._began_at >= SAMPLE_MS:
            self._move_on(now_ms)
        self.total += total
        self.times += times
        self._sum += total
        if largest > self._largest or not self._count:
            self._largest = largest
        self._count += times

    def _move_on(self, now_ms: int) -> None:
        self._before = (self._began_at, self._count, self._sum, self._largest)
        self._begin(now_ms)

    def _samples(self, now_ms: int) -> list[_Sample]:
        """What still counts, the newest first."""
        found = [(self._began_at, self._count, self._sum, self._largest)]
        if self._before is not None:
            found.append(self._before)
        return [sample for sample in found if now_ms - sample[0] < SAMPLES * SAMPLE_MS]

    def rate(self, now_ms: int) -> float:
        """A second."""
        samples = self._samples(now_ms)
        if not samples:
            return 0.0
        elapsed_ms = max(now_ms - samples[-1][0], (SAMPLES - 1) * SAMPLE_MS)
        return sum(sample[2] for sample in samples) / elapsed_ms * 1000

    def frequency(self, now_ms: int) -> float:
        """How often a second something was recorded, however much."""
        samples = self._samples(now_ms)
        if not samples:
            return 0.0
        elapsed_ms = max(now_ms - samples[-1][0], (SAMPLES - 1) * SAMPLE_MS)
        return sum(sample[1] for sample in samples) / elapsed_ms * 1000

    def average(self, now_ms: int) -> float:
        """Of what was recorded; 0 if nothing was."""
        samples = self._samples(now_ms)
        count = sum(sample[1] for sample in samples)
        return sum(sample[2] for sample in samples) / count if count else 0.0

    def largest(self, now_ms: int) -> float:
        """Of what was recorded; 0 if nothing was."""
        return float(max((sample[3] for sample in self._samples(now_ms)), default=0))
