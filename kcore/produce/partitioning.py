"""Which partition a record goes to, as Java's default partitioner decides.

A key decides by its hash. A record without a key goes
where the last one went, until that partition has got `batch_size` bytes (KIP-480); the next is
drawn at random, those with short queues more often than those with long ones (KIP-794), and those
with a leader in the rack that is wanted before all others (KIP-1123). Unlike in Java, a partition
that has lost its leader gets no more of them while others have one, nor one whose leader has left
the rack.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate

from kcore.connection.calls import ClusterView
from kcore.produce.accumulator import Accumulator
from kcore.produce.config import ProduceConfig
from kcore.produce.intake import Draw
from kcore.structs import Rng, TopicPartition


class Partitioning:
    """Chooses, for every topic."""

    def __init__(
        self, config: ProduceConfig, cluster: ClusterView, accumulator: Accumulator, rng: Rng
    ) -> None:
        self._config = config
        self._cluster = cluster
        self._accumulator = accumulator
        self._rng = rng
        self._sticky: dict[str, Sticky] = {}
        # Of each topic: the view's version, and what could be drawn from under it.
        self._choices: dict[str, tuple[int, list[int], list[TopicPartition]]] = {}

    def choose_sticky(self, topic: str, partitions: list[int]) -> int:
        """The partition of a record without a key."""
        stuck = self.sticky(topic, partitions)
        if stuck.partition >= 0:
            return stuck.partition
        version = self._cluster.version
        known = self._choices.get(topic)
        if known is None or known[0] != version:
            numbers = self._preferred(topic, partitions) or partitions
            known = version, numbers, [TopicPartition(topic, number) for number in numbers]
            self._choices[topic] = known
        queued = None
        if self._config.partitioner_adaptive and len(known[1]) > 1:
            lanes = self._accumulator.lanes
            queued = [len(lanes[tp].queue) if tp in lanes else 0 for tp in known[2]]
        return stuck.choose(known[1], queued)

    def sticky(self, topic: str, partitions: list[int]) -> Sticky:
        """Where records without a key go now; nowhere yet, if that partition is none of these any
        more (the topic was made anew), or has no leader, or none in the rack, and others have one.
        """
        sticky = self._sticky.get(topic)
        if sticky is None:
            sticky = self._sticky[topic] = Sticky(self._config.batch_size, self._rng)
        elif sticky.partition > partitions[-1]:
            sticky.partition = -1
        elif sticky.seen_version != self._cluster.version:
            sticky.seen_version = self._cluster.version
            if sticky.partition >= 0 and self._is_left_out(topic, sticky.partition, partitions):
                sticky.partition = -1
        return sticky

    def _is_left_out(self, topic: str, number: int, partitions: list[int]) -> bool:
        """Whether others have a leader, or one in the rack, and this one has not."""
        led = self._cluster.leader(TopicPartition(topic, number)) is not None
        if led and not self._config.rack:
            return False
        preferred = self._preferred(topic, partitions)
        return bool(preferred) and number not in preferred

    def available(self, topic: str, partitions: list[int]) -> list[int]:
        """Those that have a leader."""
        leader = self._cluster.leader
        return [number for number in partitions if leader(TopicPartition(topic, number))]

    def _preferred(self, topic: str, partitions: list[int]) -> list[int]:
        """Those that have a leader in the rack that is wanted; if there are none, in any."""
        available = self.available(topic, partitions)
        if not self._config.rack:
            return available
        return [number for number in available if self._is_near(topic, number)] or available

    def _is_near(self, topic: str, number: int) -> bool:
        leader = self._cluster.leader(TopicPartition(topic, number))
        node = None if leader is None else self._cluster.node(leader.node_id)
        return node is not None and node.rack == self._config.rack


class Sticky(Draw):
    """Where records of one topic go that have no key. seen_version: of the view, when the partition
    was last looked at.
    """

    __slots__ = ("_rng", "seen_version")

    def __init__(self, batch_size: int, rng: Rng) -> None:
        super().__init__(max(1, batch_size))
        self._rng = rng
        self.seen_version = -1

    def choose(self, partitions: list[int], queued: list[int] | None) -> int:
        """Draw the partition for the next records.

        partitions: those to draw from. queued: how many batches wait for each of them; None: all
        count the same.
        """
        self.partition = self._draw(partitions, queued)
        self.taken_bytes = 0
        return self.partition

    def take(self, size_bytes: int, *, full: bool) -> None:
        """A record of this size went there. full: a batch has become full by it."""
        self.taken_bytes += size_bytes
        if self.taken_bytes >= self.batch_size:
            self.move_on(full=full)

    def move_on(self, *, full: bool) -> None:
        """`batch_size` is reached. full: a batch has just become full, a good moment to move on; at
        twice the size that moment is no longer waited for.
        """
        if full or self.taken_bytes >= 2 * self.batch_size:
            self.partition = -1

    def _draw(self, partitions: list[int], queued: list[int] | None) -> int:
        count = len(partitions)
        if count == 1:
            return partitions[0]
        if queued is None:
            return partitions[int(self._rng.random() * count) % count]
        ceiling = max(queued) + 1
        weights = [*accumulate([ceiling - size for size in queued])]
        return partitions[bisect_right(weights, int(self._rng.random() * weights[-1]))]
