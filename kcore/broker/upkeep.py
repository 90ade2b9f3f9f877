"""What a node does from time to time: retention, old producers, compaction, preferred leaders."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kcore.broker.cleaner import Cleaner

if TYPE_CHECKING:
    from kcore.broker.cluster import Cluster

# Kafka: log.retention.check.interval.ms.
RETENTION_CHECK_INTERVAL_MS: Final = 300_000


class Upkeep:
    """The upkeep of one node; it rests while the node is down."""

    __slots__ = (
        "_balance_at_ms",
        "_balance_ms",
        "_cleaner",
        "_cluster",
        "_node_id",
        "_retention_at_ms",
    )

    def __init__(self, cluster: Cluster, node_id: int, now_ms: int) -> None:
        self._cluster = cluster
        self._node_id = node_id
        self._cleaner = Cleaner(cluster, node_id, now_ms)
        self._retention_at_ms = now_ms + RETENTION_CHECK_INTERVAL_MS
        self._balance_ms = cluster.config.leader_imbalance_check_interval_seconds * 1_000
        self._balance_at_ms = now_ms + self._balance_ms

    def deadline(self) -> int:
        """When there is something to do."""
        return min(self._retention_at_ms, self._balance_at_ms, self._cleaner.at_ms)

    def expire(self, now_ms: int) -> None:
        """Do what is due."""
        if now_ms < self.deadline():
            return
        up = self._node_id in self._cluster.live
        if now_ms >= self._retention_at_ms:
            self._retention_at_ms = now_ms + RETENTION_CHECK_INTERVAL_MS
            if up:
                self._enforce_retention(now_ms)
        if now_ms >= self._balance_at_ms:
            self._balance_at_ms = now_ms + self._balance_ms
            if up:
                self._cluster.keep_balance(self._node_id, now_ms)
        self._cleaner.expire(now_ms, up=up)

    def stop(self) -> None:
        """The node goes down."""
        self._cleaner.stop()

    def _enforce_retention(self, now_ms: int) -> None:
        wall_ms = self._cluster.wall_ms(now_ms)
        expiration_ms = self._cluster.settings.producer_id_expiration_ms(self._node_id)
        oldest_ms = wall_ms - expiration_ms
        for topic in self._cluster.topics.topics():
            for partition in topic.partitions:
                log = partition.logs.get(self._node_id)
                if log is None:
                    continue
                log.sequences.expire(oldest_ms, log.transactions)
                if log.enforce_retention(wall_ms):
                    self._cluster.replication.changed(partition)
