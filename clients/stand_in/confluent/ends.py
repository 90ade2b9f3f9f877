"""At which ends of partitions a consumer stands, for who is told of them (enable.partition.eof)."""

from __future__ import annotations

from collections.abc import Iterable

from kcore.clients.stand_in.confluent.reader import Reader
from kcore.structs import TopicPartition as Place


class Ends:
    """An end is one when a broker had nothing for who asked from there, as librdkafka has it: what
    came with the last records says where it was, and more may have been written since.

    A broker says so by an answer, or by none of that partition while a fetch waits at it: wait_ms.
    """

    def __init__(self, reader: Reader, wait_ms: int) -> None:
        self._reader = reader
        self._wait_ms = wait_ms
        self._told: dict[Place, int] = {}
        self._seen: dict[Place, tuple[int, float]] = {}  # where it stands, since when

    def forget(self, places: Iterable[Place]) -> None:
        """Tell of these anew."""
        for place in places:
            self._told.pop(place, None)
            self._seen.pop(place, None)

    def look(self, places: Iterable[Place]) -> dict[Place, int]:
        """The ends to be told of now, of these that are read and not paused."""
        reader, found = self._reader, {}
        core, now, paused = reader.core, reader.now_ms(), reader.paused()
        for place in places:
            at = core.position(place)
            if at is None or place in paused or self._told.get(place) == at:
                self._seen.pop(place, None)
                continue
            stood, since = self._seen.get(place, (None, now))
            if stood != at:
                self._seen[place] = at, now
            elif reader.end_of(place) == at and (
                reader.told_of(place) > since or now - since >= self._wait_ms
            ):
                self._told[place] = found[place] = at
        return found
