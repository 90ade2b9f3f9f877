"""Which replica a consumer is sent to (KIP-392; Java: ReplicaManager.findPreferredReadReplica)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kcore.broker.cluster import Cluster
    from kcore.broker.partitions import Partition

_PACKAGE: Final = "org.apache.kafka.common.replica."
LEADER: Final = "LeaderSelector"
RACK_AWARE: Final = "RackAwareReplicaSelector"

NO_REPLICA: Final = -1


def selector_of(name: str) -> str | None:
    """LEADER or RACK_AWARE, by Java's name with its package or without; None: it is no selector."""
    short = name.removeprefix(_PACKAGE)
    return short if short in {LEADER, RACK_AWARE} else None


def preferred_replica(cluster: Cluster, partition: Partition, rack: str, offset: int) -> int:
    """The follower that a consumer of this rack is to read from, as RackAwareReplicaSelector says;
    NO_REPLICA: the leader, whom it has asked.

    It has to be in sync and to have the offset: a consumer that is sent to one that has not comes
    back, and is sent there again.
    """
    addresses, leader = cluster.addresses, partition.leader
    if not rack or rack == addresses[leader].rack:
        return NO_REPLICA
    near = [
        (log.end_offset, partition.behind_since(node_id), node_id)
        for node_id, log in partition.logs.items()
        if node_id != leader
        and node_id in partition.isr
        and node_id in cluster.live
        and addresses[node_id].rack == rack
        and log.start_offset <= offset <= log.end_offset
    ]
    return max(near)[2] if near else NO_REPLICA
