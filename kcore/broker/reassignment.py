"""Moving a partition's replicas to other nodes (KIP-455): the new ones are added, and when they are
in sync the old ones go.
"""

from __future__ import annotations

from kcore.broker.batches import RefusedError
from kcore.broker.log import PartitionLog
from kcore.broker.partitions import Partition
from kcore.wire.codes import ErrorCode


def under_way(partition: Partition) -> bool:
    """Whether replicas come or go."""
    return bool(partition.adding or partition.removing)


def begin(partition: Partition, target: list[int], now_ms: int) -> None:
    """Let these nodes, which exist, be the replicas; of one under way those there are now count.

    Another order takes no time. As in a Kafka 4.3.1, who was to come or to go is so still if nobody
    else is (Java: PartitionChangeBuilder); one who is both ends in nothing until it is called off.
    """
    for node_id in target:
        if node_id not in partition.logs:
            log = PartitionLog(partition.topic, partition.number, partition.log.config)
            partition.logs[node_id] = log
    before = set(partition.replicas)
    going = sorted(before.difference(target))
    partition.adding = sorted(set(target).difference(before)) or partition.adding
    partition.removing = going or partition.removing
    partition.replicas = [*target, *going]
    partition.settle(now_ms)


def size(partition: Partition) -> int:
    """How many replicas it has, once all have come and gone."""
    return len(set(partition.replicas).difference(partition.removing))


def cancel(partition: Partition, now_ms: int) -> None:
    """Back to the old replicas. RefusedError if none is under way, or only a new one has all and
    its topic does not allow for losses.
    """
    if not under_way(partition):
        raise RefusedError(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, "")
    old = [one for one in partition.replicas if one not in partition.adding]
    may_lose = partition.log.config.unclean_leader_election_enable
    if not may_lose and not any(one in partition.isr for one in old):
        raise RefusedError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "Unable to revert partition assignment because it would require an unclean leader"
            " election.",
        )
    _keep(partition, old, now_ms)


def finish_if_done(partition: Partition, now_ms: int) -> None:
    """Who was to come is in sync, or if more go than come, all that stay: the old ones go (Java:
    PartitionReassignmentReplicas.maybeCompleteReassignment).
    """
    stay = [one for one in partition.replicas if one not in partition.removing]
    isr = [one for one in partition.isr if one in stay]
    needed = set(partition.adding)
    if len(partition.adding) < len(partition.removing):
        needed.update(stay)
    if needed.issubset(isr):
        _keep(partition, stay, now_ms)


def _keep(partition: Partition, replicas: list[int], now_ms: int) -> None:
    """Let go of all but these."""
    home = partition.home
    partition.adding, partition.removing = [], []
    partition.replicas = replicas
    partition.isr = [one for one in partition.isr if one in replicas] or replicas[:1]
    leader = partition.leader if partition.leader in replicas else home.successor(partition)
    if leader == partition.leader:
        partition.settle(now_ms)
    else:
        partition.lead(leader, now_ms)
    for node_id in [one for one in partition.logs if one not in replicas]:
        if partition.logs[node_id] is not partition.log:
            partition.logs.pop(node_id).let_go()
    home.changed(partition)
