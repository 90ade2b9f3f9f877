"""The links between the nodes of a cluster, and what is due on them.

Followers take over from leaders within the process: at once, unless a link is cut, a follower lags
on purpose, or one of the two nodes is down.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING, Final

from kcore.broker import reassignment
from kcore.broker.batches import RefusedError
from kcore.coordinator.journal import INTERNAL_TOPICS
from kcore.timers import NEVER
from kcore.wire.codes import ErrorCode

if TYPE_CHECKING:
    from kcore.broker.cluster import Cluster
    from kcore.broker.partitions import Partition
    from kcore.broker.stores import ClusterStore

# How often the logs are measured when they are full.
_MEASURE_INTERVAL_MS: Final = 1_000


class Replication:
    """What partitions and topics know of the cluster around them."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._cut: set[frozenset[int]] = set()
        self._lags: dict[int, int] = {}
        # Of each node that leads: (when, order, partition, epoch), a heap.
        self._heaps: dict[int, list[tuple[int, int, Partition, int]]] = {
            node_id: [] for node_id in cluster.node_ids
        }
        self._order = count()
        self.lag_max_ms = cluster.config.replica_lag_time_max_ms
        self._bytes_max = cluster.config.log_bytes_max
        self._bytes = 0  # in all logs, or more: what has gone is noticed when it is too much
        self._measured_ms = -_MEASURE_INTERVAL_MS
        self.store: ClusterStore | None = None  # who keeps the cluster elsewhere, too

    # Asked by partitions -------------------------------------------------------------------------

    def wall_ms(self, now_ms: int) -> int:
        """The time of day."""
        return now_ms + self._cluster.wall_offset_ms

    def check_room(self, size: int, now_ms: int) -> None:
        """RefusedError, as of a full disk, if so many bytes more would be too much."""
        self._bytes += size
        if self._bytes <= self._bytes_max:
            return
        if now_ms - self._measured_ms >= _MEASURE_INTERVAL_MS:
            self._measured_ms = now_ms
            self._bytes = size + self._measured()
        if self._bytes > self._bytes_max:
            self._bytes -= size
            raise RefusedError(
                ErrorCode.KAFKA_STORAGE_ERROR, f"the logs have {self._bytes_max} bytes at most"
            )

    def _measured(self) -> int:
        """The bytes in all logs; replicas of a partition share theirs."""
        return sum(
            max(log.size_bytes for log in partition.logs.values())
            for topic in self._cluster.topics.topics()
            for partition in topic.partitions
        )

    def is_live(self, node_id: int) -> bool:
        """Whether a node is up."""
        return node_id in self._cluster.live

    def places(self, turn: int, factor: int) -> list[int]:
        """The nodes of a partition's replicas, which go round all that there are: in as many racks
        as there are, and one that is up first (Java: StripedReplicaPlacer).
        """
        nodes = self._cluster.node_ids
        at = turn % len(nodes)
        left = [*nodes[at:], *nodes[:at]]
        found: list[int] = []
        used: Counter[str | None] = Counter()
        racks = {node_id: self._cluster.addresses[node_id].rack for node_id in left}
        while len(found) < factor:
            node_id = self.first_live(left)
            if found:
                node_id = min(left, key=lambda one: (used[racks[one]], not self.is_live(one)))
            left.remove(node_id)
            found.append(node_id)
            used[racks[node_id]] += 1
        return found

    def successor(self, partition: Partition) -> int:
        """Who can lead it, of its replicas of now."""
        return self._cluster.successor(partition)

    def first_live(self, node_ids: Iterable[int]) -> int:
        """The first of these nodes that is up; -1 if none is."""
        return next((one for one in node_ids if self.is_live(one)), -1)

    def reach(self, one: int, other: int) -> bool:
        """Whether two nodes are up and their link is."""
        live = self._cluster.live
        return one in live and other in live and frozenset((one, other)) not in self._cut

    def lag_ms(self, _leader: int, follower: int) -> int:
        """How long a follower takes to get what is new."""
        return self._lags.get(follower, 0)

    def led(self, partition: Partition) -> None:
        """Another node leads it, or nobody does; what coordinators keep in it goes with it."""
        if partition.topic in INTERNAL_TOPICS:
            self._cluster.internal.moved = True

    def schedule(self, partition: Partition, due_ms: int) -> None:
        """Call `partition.tick` then, if the same node still leads it."""
        partition.scheduled_ms = due_ms
        entry = (due_ms, next(self._order), partition, partition.leader_epoch)
        heappush(self._heaps[partition.leader], entry)

    def changed(self, partition: Partition) -> None:
        """Who waits for it is to look again: at the leader, at a follower, or where none is any
        more.
        """
        place = partition.topic, partition.number
        for node in self._cluster.nodes.values():
            node.fetches.recheck([place])

    def reassigned(self, partition: Partition, now_ms: int) -> None:
        """A replica that is added may have come into sync."""
        reassignment.finish_if_done(partition, now_ms)

    # Time ----------------------------------------------------------------------------------------

    def deadline(self, node_id: int) -> int:
        """When a node that leads has something to do."""
        heap = self._heaps[node_id]
        while heap and not _holds(heap[0]):
            heappop(heap)
        return heap[0][0] if heap else NEVER

    def expire(self, node_id: int, now_ms: int) -> None:
        """Do what is due."""
        heap = self._heaps[node_id]
        due = []
        while heap and (not _holds(heap[0]) or heap[0][0] <= now_ms):
            entry = heappop(heap)
            if _holds(entry):
                entry[2].scheduled_ms = NEVER
                due.append(entry[2])
        for partition in due:  # each one step: what is due again waits for the next turn
            partition.tick(now_ms)

    # What tests and simulation set ---------------------------------------------------------------

    def set_lag(self, follower: int, lag_ms: int, now_ms: int) -> None:
        """From now on a follower gets everything so much later; 0: at once."""
        self._lags[follower] = lag_ms
        self._settle({follower}, now_ms)

    def cut(self, one: int, other: int, now_ms: int) -> None:
        """Nothing goes from one node to the other, either way."""
        self._cut.add(frozenset((one, other)))
        self._settle({one, other}, now_ms)

    def heal(self, one: int, other: int, now_ms: int) -> None:
        """The link is up again."""
        self._cut.discard(frozenset((one, other)))
        self._settle({one, other}, now_ms)

    def _settle(self, nodes: set[int], now_ms: int) -> None:
        self._cluster.now_ms = now_ms
        for topic in self._cluster.topics.topics():
            for partition in topic.partitions:
                if len(partition.replicas) > 1 and not nodes.isdisjoint(partition.replicas):
                    partition.settle(now_ms)


def _holds(entry: tuple[int, int, Partition, int]) -> bool:
    """Whether what was scheduled still is."""
    due_ms, _, partition, epoch = entry
    return partition.leader_epoch == epoch and partition.scheduled_ms == due_ms
