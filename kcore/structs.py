"""The small tuples that users hold: same fields, same order as kafka-python's, so equality and hashing agree.

Sources: kafka-python's `kafka.structs`, Java's `TopicPartition` / `OffsetAndMetadata` (KIP-320 for epochs).
"""

from __future__ import annotations

from typing import NamedTuple, Protocol


class TopicPartition(NamedTuple):
    """A topic name and a partition number; any tuple (or named tuple) of the two is taken in its place."""

    topic: str
    partition: int


class OffsetAndMetadata(NamedTuple):
    """A committed position: the next offset to read, the user's text, the epoch it was read under (-1: unknown)."""

    offset: int
    metadata: str = ""
    leader_epoch: int = -1


class OffsetAndTimestamp(NamedTuple):
    """An answer to a look-up by time: the first offset at or after it, its record's time (ms), its leader epoch."""

    offset: int
    timestamp: int
    leader_epoch: int = -1


class Leader(NamedTuple):
    """Who leads a partition: node id and leader epoch (-1: unknown)."""

    node_id: int
    epoch: int


class Node(NamedTuple):
    """A broker as the cluster advertises it."""

    node_id: int
    host: str
    port: int
    rack: str | None = None


class Rng(Protocol):
    """The part of `random.Random` that the core uses; the caller passes a seeded one in."""

    def random(self) -> float:
        """A float in [0, 1)."""
