"""Moving a partition's replicas to other nodes (KIP-455): the new ones are added, and when all of
them are in sync the old ones go.
"""

from __future__ import annotations

from kcore.broker.batches import RefusedError
from kcore.broker.log import PartitionLog
from kcore.broker.partitions import NOBODY, Partition
from kcore.wire.codes import ErrorCode


def begin(partition: Partition, target: list[int], now_ms: int) -> None:
    """Let these nodes, which exist, be the replicas; of one under way those there are now count."""
    partition.target = target
    for node_id in target:
        if node_id not in partition.logs:
            log = PartitionLog(partition.topic, partition.number, partition.log.config)
            partition.logs[node_id] = log
    old = [one for one in partition.replicas if one not in target]
    partition.adding = [one for one in target if one not in partition.replicas]
    partition.replicas = [*target, *old]
    partition.settle(now_ms)
    partition.home.changed(partition)


def cancel(partition: Partition, now_ms: int) -> None:
    """Back to the old replicas. RefusedError if none is under way, or only a new one has all."""
    if partition.target is None:
        raise RefusedError(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, "")
    old = [one for one in partition.replicas if one not in partition.adding]
    if not any(one in partition.isr for one in old):
        raise RefusedError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "Unable to revert partition assignment because it would require an unclean leader"
            " election.",
        )
    _keep(partition, old, now_ms)


def finish_if_done(partition: Partition, now_ms: int) -> None:
    """The new replicas are in sync: the old ones go."""
    target = partition.target
    if target is not None and all(one in partition.isr for one in target):
        _keep(partition, target, now_ms)


def _keep(partition: Partition, replicas: list[int], now_ms: int) -> None:
    """Let go of all but these."""
    partition.target, partition.adding = None, []
    partition.replicas = replicas
    partition.isr = [one for one in partition.isr if one in replicas]
    if partition.leader in replicas or partition.leader == NOBODY:
        partition.settle(now_ms)
    else:
        able = [one for one in replicas if one in partition.isr and partition.home.is_live(one)]
        partition.lead(able[0] if able else NOBODY, now_ms)
    for node_id in [one for one in partition.logs if one not in replicas]:
        if partition.logs[node_id] is not partition.log:
            del partition.logs[node_id]
    partition.home.changed(partition)


def removing(partition: Partition) -> list[int]:
    """The replicas that are to go."""
    if partition.target is None:
        return []
    return [one for one in partition.replicas if one not in partition.target]
