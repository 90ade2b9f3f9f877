"""AlterPartitionReassignments v0-1 (KIP-455, KIP-860), at any node. Left out: throttles."""

from __future__ import annotations

from kcore.broker import reassignment
from kcore.broker.batches import RefusedError
from kcore.broker.calls import Call
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
)

Wanted = AlterPartitionReassignmentsRequest.ReassignablePartition
Result = AlterPartitionReassignmentsResponse.ReassignablePartitionResponse


def handle(
    call: Call, request: AlterPartitionReassignmentsRequest
) -> AlterPartitionReassignmentsResponse:
    """Each partition by itself succeeds or fails."""
    response = AlterPartitionReassignmentsResponse(
        allow_replication_factor_change=request.allow_replication_factor_change,
        error_message=None if request.topics else "",  # so a Kafka says of nothing
    )
    for entry in request.topics:
        results = []
        for wanted in entry.partitions:
            result = Result(partition_index=wanted.partition_index, error_message=None)
            try:
                _alter(call, entry.name, wanted, may_resize=request.allow_replication_factor_change)
            except RefusedError as refused:
                result.error_code = refused.code
                result.error_message = refused.why or None
            results.append(result)
        response.responses.append(
            AlterPartitionReassignmentsResponse.ReassignableTopicResponse(
                name=entry.name, partitions=results
            )
        )
    return response


def _alter(call: Call, name: str, wanted: Wanted, *, may_resize: bool) -> None:
    cluster = call.node.cluster
    partition = cluster.partition(name, wanted.partition_index)
    if wanted.replicas is None:
        reassignment.cancel(partition, call.now_ms)
        return
    nodes = list(wanted.replicas)
    wrong = None if nodes else "an empty replica list"
    for index, node_id in enumerate(nodes):
        if node_id in nodes[:index]:
            wrong = f"the broker {node_id} more than once"
        elif node_id not in cluster.addresses:
            wrong = f"broker {node_id}, but no such broker is registered"
        if wrong is not None:
            break
    if wrong is not None:
        raise RefusedError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"The manual partition assignment includes {wrong}.",
        )
    size = reassignment.size(partition)
    if not may_resize and len(nodes) != size:
        raise RefusedError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"The replication factor is changed from {size} to {len(nodes)}",
        )
    reassignment.begin(partition, nodes, call.now_ms)
