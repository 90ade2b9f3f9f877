"""Fetches that wait: until there is enough to read, something goes wrong, or their time is over."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Final, Protocol

from kcore.broker.links import ClientLink
from kcore.timers import NEVER

# Ended waits left in the heap until it is rebuilt: they would keep their requests alive.
_ENDED_MAX: Final = 64

# A partition that is waited for: topic and number.
Place = tuple[str, int]


class Waiting:
    """A parked Fetch. `ready`: whether it can be answered now; `answer`: do so."""

    __slots__ = ("answer", "client", "open", "places", "ready")

    def __init__(
        self,
        client: ClientLink,
        places: list[Place],
        ready: Callable[[], bool],
        answer: Callable[[], None],
    ) -> None:
        self.client = client
        self.places = places
        self.ready = ready
        self.answer = answer
        self.open = True


class Outstanding(Protocol):
    """A part of what a request waits for."""

    def done(self) -> bool:
        """Whether it is known what becomes of it; once it is, it stays so."""

    def end(self) -> None:
        """Its time is over."""


def all_done(left: list[Outstanding]) -> bool:
    """Whether nothing is left to wait for. What is done is taken away, so that who waits for many,
    and looks whenever one of them changes, looks at each of them about twice.
    """
    while left and left[-1].done():
        left.pop()
    return not left


class Fetches:
    """The parked fetches of one node; at most one a connection."""

    def __init__(self) -> None:
        self._by_place: dict[Place, dict[Waiting, None]] = {}
        self._by_client: dict[ClientLink, Waiting] = {}
        self._heap: list[tuple[int, int, Waiting]] = []
        self._order = count()

    def park(self, waiting: Waiting, until_ms: int) -> None:
        """Keep it until then at the latest."""
        self._by_client[waiting.client] = waiting
        for place in waiting.places:
            self._by_place.setdefault(place, {})[waiting] = None
        heappush(self._heap, (until_ms, next(self._order), waiting))

    def recheck(self, places: Iterable[Place]) -> None:
        """Something happened to these partitions: answer whoever waited for it."""
        found = dict.fromkeys(
            waiting for place in places for waiting in self._by_place.get(place, ())
        )
        for waiting in found:  # once each: it looks at all that it waits for
            if waiting.open and waiting.ready():
                self._finish(waiting)
                waiting.answer()

    def recheck_all(self) -> None:
        """Nobody has looked for a while: answer whoever waits for what is there by now."""
        self.recheck(list(self._by_place))

    def forget(self, client: ClientLink) -> None:
        """A connection is gone."""
        waiting = self._by_client.get(client)
        if waiting is not None:
            self._finish(waiting)

    def expire(self, now_ms: int) -> None:
        """Answer those whose time is over with what there is."""
        while self._heap and self._heap[0][0] <= now_ms:
            waiting = heappop(self._heap)[2]
            if waiting.open:
                self._finish(waiting)
                waiting.answer()

    def deadline(self) -> int:
        """When the next one's time is over."""
        while self._heap and not self._heap[0][2].open:
            heappop(self._heap)
        return self._heap[0][0] if self._heap else NEVER

    def __len__(self) -> int:
        return len(self._by_client)

    def _finish(self, waiting: Waiting) -> None:
        waiting.open = False
        del self._by_client[waiting.client]
        if len(self._heap) > 2 * len(self._by_client) + _ENDED_MAX:
            self._heap = [place for place in self._heap if place[2].open]
            heapify(self._heap)
        for place in waiting.places:
            others = self._by_place.get(place)
            if others is not None:
                others.pop(waiting, None)
                if not others:
                    del self._by_place[place]
