"""Who leads instead (KIP-951): what an answer tells a client that asked the wrong node."""

from __future__ import annotations

from typing import Final

from kcore.broker.cluster import Cluster
from kcore.broker.topics import Topic
from kcore.structs import Node as Address
from kcore.wire.codes import ErrorCode

# The errors that come with a hint.
HINTED: Final = frozenset({ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH})


class Hints:
    """The leaders that one answer names."""

    __slots__ = ("_cluster", "_nodes")

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._nodes: dict[int, Address] = {}

    def leader(self, topic: Topic | None, number: int) -> tuple[int, int]:
        """The leader of a partition and its epoch; -1, -1 if there is no such partition."""
        if topic is None or not 0 <= number < len(topic.partitions):
            return -1, -1
        partition = topic.partitions[number]
        if partition.leader in self._cluster.live:
            self._nodes[partition.leader] = self._cluster.addresses[partition.leader]
        return partition.leader, partition.leader_epoch

    def endpoints(self) -> list[Address]:
        """Where the leaders named are."""
        return list(self._nodes.values())
