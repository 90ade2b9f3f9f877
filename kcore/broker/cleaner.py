"""A node's cleaner: which log is compacted next, and when (Java: LogCleaner).

One log at a time, the dirtiest first; a step each time the node is called, so that nobody waits
long for it. A log that has a record which is larger than it may be by now
(`max.decompressed.message.bytes`) is left alone from then on, until the node starts again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from kcore.broker.compaction import clean, dirt, needs_cleaning
from kcore.coordinator.journal import INTERNAL_TOPICS
from kcore.records.survey import OversizedRecordError

if TYPE_CHECKING:
    from kcore.broker.cluster import Cluster

# When there was nothing to do (Kafka: log.cleaner.backoff.ms).
BACKOFF_MS: Final = 15_000

# Topic id, partition.
_Where = tuple[bytes, int]


class Cleaner:
    """The cleaner of one node."""

    __slots__ = ("_cluster", "_left_alone", "_node_id", "_run", "_running", "at_ms")

    def __init__(self, cluster: Cluster, node_id: int, now_ms: int) -> None:
        self._cluster = cluster
        self._node_id = node_id
        self._run: Iterator[None] | None = None
        self._running: _Where = b"", 0  # what the run is about
        self._left_alone: set[_Where] = set()
        self.at_ms = now_ms + BACKOFF_MS  # when it wants to be called

    def expire(self, now_ms: int, *, up: bool) -> None:
        """Do a step, if it is time; up: whether the node is."""
        if now_ms < self.at_ms:
            return
        if not up:
            self._run = None
            self.at_ms = now_ms + BACKOFF_MS
            return
        self.at_ms = now_ms
        if self._run is None:
            self._run = self._next(now_ms)
            if self._run is None:
                self.at_ms = now_ms + BACKOFF_MS
                return
        try:
            next(self._run)
        except StopIteration:
            self._run = None
        except OversizedRecordError:
            self._run = None
            self._left_alone.add(self._running)

    def stop(self) -> None:
        """The node goes down."""
        self._run = None
        self._left_alone.clear()

    def _next(self, now_ms: int) -> Iterator[None] | None:
        """The dirtiest log's run; None if all are clean enough."""
        wall_ms = self._cluster.wall_ms(now_ms)
        worst, found = 0.0, None
        seen = set()
        for topic in self._cluster.topics.topics():
            if not topic.config.compact or topic.name in INTERNAL_TOPICS:  # see journals.py
                continue
            for partition in topic.partitions:
                log = partition.logs.get(self._node_id)
                where = topic.topic_id, partition.number
                seen.add(where)
                if log is None or where in self._left_alone:
                    continue
                here = dirt(log, wall_ms)
                if needs_cleaning(log, here) and here.ratio > worst:
                    worst, found = here.ratio, clean(log, here.end_offset, wall_ms)
                    self._running = where
        self._left_alone &= seen
        return found
