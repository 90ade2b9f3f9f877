"""Everything random in a simulation: draws from one seeded stream, and streams made from it.

Whoever draws has a stream of its own, so that one more draw here changes nothing there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol, TypeVar

from kcore.structs import Rng

T = TypeVar("T")

_SEED_BITS: Final = 64


class Source(Protocol):
    """What makes a stream from a seed, such as the class `random.Random`."""

    def __call__(self, seed: int, /) -> Rng:
        """A new stream."""


class Chance:
    """Draws from one stream. It is an `Rng` itself."""

    __slots__ = ("_source", "getrandbits", "random")

    def __init__(self, source: Source | Callable[[int], Any], seed: int) -> None:
        self._source = source
        rng: Rng = source(seed)
        self.random = rng.random
        self.getrandbits = rng.getrandbits

    def fork(self) -> Chance:
        """A stream of its own, seeded from this one."""
        return Chance(self._source, self.getrandbits(_SEED_BITS))

    def beside(self, seed: int) -> Chance:
        """A stream of this seed; nothing is drawn from this one."""
        return Chance(self._source, seed)

    def happens(self, share: float) -> bool:
        """True that often; nothing is drawn for never and always."""
        if share <= 0:
            return False
        return share >= 1 or self.random() < share

    def between(self, lowest: int, highest: int) -> int:
        """An integer, both ends included."""
        return lowest + int(self.random() * (highest - lowest + 1))

    def around(self, mean: int) -> int:
        """A time between two things that happen once every `mean`: 1 to 2 * mean - 1."""
        return self.between(1, max(2 * mean - 1, 1))

    def one_of(self, things: Sequence[T]) -> T:
        """One of them."""
        return things[int(self.random() * len(things))]

    def some_of(self, things: Sequence[T], share: float) -> list[T]:
        """Each with that chance, in their order."""
        return [thing for thing in things if self.random() < share]
