"""Records that `poll` has taken ahead of the program, so that most calls have nothing to do but to
give the next one: few where the program is slow, and none for long, because nothing else that a
poll is for is done meanwhile.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Iterator, Mapping
from itertools import islice
from operator import length_hint
from time import monotonic
from typing import Any, Final

from kcore.clients.iteration import next_size
from kcore.structs import TopicPartition as Place

_KEPT_S: Final = 1.0
_SIZE_MAX: Final = 500


class Hand:
    """See the module's text. current: the partition that records are given of now, and those.
    until: when what is left is given no more. size: how many to take next. last: the record given
    last of each partition.
    """

    __slots__ = ("_at", "_more", "current", "last", "size", "until")

    def __init__(self, last: dict[Place, Any]) -> None:
        self.last = last
        self.current: tuple[Place, Iterator[Any]] = (Place("", 0), iter(()))
        self._more: deque[tuple[Place, list[Any]]] = deque()
        self.until = self._at = 0.0
        self.size = 1

    def fill(self, found: Mapping[Place, list[Any]]) -> None:
        """Take these; nothing is left of what was taken before."""
        self._more.extend(found.items())
        self._at = monotonic()
        self.until = self._at + _KEPT_S

    @property
    def is_empty(self) -> bool:
        """Whether all has been given that was taken."""
        return not self._more and not length_hint(self.current[1])

    def holds(self, place: Place) -> bool:
        """Whether there are records of this partition."""
        now, records = self.current
        if now == place and length_hint(records):
            return True
        return any(place == held for held, _ in self._more)

    def turn(self) -> bool:
        """Go on with the next partition. False: there is none, and this was it."""
        if not self._more:
            took_ms = (monotonic() - self._at) * 1000
            self.size = next_size(self.size, int(took_ms), _SIZE_MAX)
            return False
        place, records = self._more.popleft()
        self.current = place, iter(records)
        return True

    def take(self, limit: int) -> list[tuple[Place, list[Any]]]:
        """So many of what is left."""
        found: list[tuple[Place, list[Any]]] = []
        while limit > 0:
            place, records = self.current
            some = [*islice(records, limit)]
            if some:
                found.append((place, some))
                limit -= len(some)
            elif self._more:
                self.turn()
            else:
                break
        return found

    def drop(self, places: Container[Place]) -> None:
        """Give nothing of what is left of these."""
        for place, records in [*self._more]:
            if place in places:
                self._more.remove((place, records))
        place, _ = self.current
        if place in places:
            self.current = place, iter(())

    def leave(self, first: Any = None) -> dict[Place, int]:
        """Give nothing of what is left: where it begins, in each partition. first: what of it was
        taken out last.
        """
        place, records = self.current
        if first is None:
            first = next(records, None)
        found = {} if first is None else {place: first.offset}
        found |= {place: records[0].offset for place, records in self._more if records}
        self._more.clear()
        self.current = place, iter(())
        self.size = 1
        return found
