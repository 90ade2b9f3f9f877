"""How a transaction ends where it wrote: a marker in a log, a decision about a group's offsets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kcore.broker.batches import RefusedError
from kcore.broker.markers import Marker, marker_batch
from kcore.broker.partitions import NOBODY, Partition
from kcore.coordinator import Marker as Ending
from kcore.coordinator.journal import OFFSETS_TOPIC
from kcore.coordinator.transactions import Markers
from kcore.wire.codes import ErrorCode

if TYPE_CHECKING:
    from kcore.broker.cluster import Cluster

# What a transaction coordinator does not expect is told as "try again" (Java: KafkaApis).
_NOT_THERE: Final = (
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_COORDINATOR,
)


def append_marker(partition: Partition, markers: Markers, now_ms: int) -> int:
    """Append a marker at the leader; the offset behind it. RefusedError if that cannot be."""
    if partition.leader == NOBODY:
        raise RefusedError(ErrorCode.NOT_LEADER_OR_FOLLOWER, "nobody leads the partition")
    partition.check_min_isr()
    log = partition.log
    log.sequences.check_marker(
        markers.producer_id,
        markers.producer_epoch,
        markers.coordinator_epoch,
        markers.transaction_version,
        opened=markers.producer_id in log.transactions,
    )
    data = marker_batch(
        markers.producer_id,
        markers.producer_epoch,
        Marker(markers.committed, markers.coordinator_epoch),
        partition.home.wall_ms(now_ms),
    )
    return partition.add(data, now_ms).end_offset


def end_offsets(cluster: Cluster, number: int, markers: Markers, now_ms: int) -> ErrorCode:
    """Decide about the offsets pending in a partition of `__consumer_offsets`, wherever it is."""
    keeper = cluster.nodes.get(cluster.internal.keeper(OFFSETS_TOPIC, number))
    if keeper is None:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    ending = Ending(
        markers.producer_id, markers.producer_epoch, markers.committed, markers.coordinator_epoch
    )
    error = keeper.groups.end_transaction(
        number, ending, now_ms, transaction_version=markers.transaction_version
    )
    return ErrorCode.NOT_LEADER_OR_FOLLOWER if error in _NOT_THERE else error
