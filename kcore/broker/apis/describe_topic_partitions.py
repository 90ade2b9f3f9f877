"""DescribeTopicPartitions v0 (KIP-966): topics in pieces, by name.

Left out: eligible leader replicas (there are none: an ISR that has no live member waits for its
last one).
"""

from __future__ import annotations

from typing import Final

from kcore.broker.authorization.acls import Operation, Resource
from kcore.broker.batches import RefusedError
from kcore.broker.calls import Call
from kcore.broker.cluster import Cluster
from kcore.broker.partitions import Partition
from kcore.broker.topics import check_name
from kcore.coordinator.journal import INTERNAL_TOPICS
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse

# Kafka: max.request.partition.size.limit.
_PARTITIONS_MAX: Final = 2_000

# Without an authorizer everybody may do everything (Java: AclOperation, a bit each); with one, its
# guard says what.
_EVERYTHING: Final = 3_576

Described = DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic
Part = DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponsePartition


def handle(call: Call, request: DescribeTopicPartitionsRequest) -> DescribeTopicPartitionsResponse:
    """The topics from the cursor on, up to a number of partitions."""
    cluster = call.node.cluster
    cursor = request.cursor
    names = sorted({entry.name for entry in request.topics})
    if cursor is not None and (
        cursor.partition_index < 0 or (names and cursor.topic_name not in names)
    ):
        return _refused(names)
    first = "" if cursor is None else cursor.topic_name
    everything = names or [topic.name for topic in cluster.topics.topics()]
    wanted = [name for name in everything if name >= first]
    allowed = [name for name in wanted if call.allows(Operation.DESCRIBE, Resource.TOPIC, name)]
    left = max(1, min(request.response_partition_limit, _PARTITIONS_MAX))
    response = DescribeTopicPartitionsResponse()
    for name in allowed:
        start = cursor.partition_index if cursor is not None and name == first else 0
        if not left:
            response.next_cursor = _cursor(name, start)
            break
        topic = cluster.topics.get(name)
        if topic is None:
            code = _missing(name)
            response.topics.append(
                Described(error_code=code, name=name, topic_authorized_operations=_EVERYTHING)
            )
            continue
        parts = topic.partitions[start : start + left]
        left -= len(parts)
        response.topics.append(
            Described(
                name=name,
                topic_id=topic.topic_id,
                is_internal=name in INTERNAL_TOPICS,
                topic_authorized_operations=_EVERYTHING,
                partitions=[_part(cluster, partition) for partition in parts],
            )
        )
        if start + len(parts) < len(topic.partitions):
            response.next_cursor = _cursor(name, start + len(parts))
            break
    if names:  # whatever the limit
        code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        refused = sorted(set(wanted).difference(allowed))
        response.topics += [Described(error_code=code, name=name) for name in refused]
    return response


def _missing(name: str) -> ErrorCode:
    """Why there is no such topic."""
    try:
        check_name(name)
    except RefusedError as refused:
        return refused.code
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _refused(names: list[str]) -> DescribeTopicPartitionsResponse:
    code = ErrorCode.INVALID_REQUEST
    return DescribeTopicPartitionsResponse(
        topics=[Described(error_code=code, name=name) for name in names]
    )


def _cursor(name: str, number: int) -> DescribeTopicPartitionsResponse.Cursor:
    return DescribeTopicPartitionsResponse.Cursor(topic_name=name, partition_index=number)


def _part(cluster: Cluster, partition: Partition) -> Part:
    return Part(
        partition_index=partition.number,
        leader_id=partition.leader,
        leader_epoch=partition.leader_epoch,
        replica_nodes=partition.replicas,
        isr_nodes=partition.isr,
        eligible_leader_replicas=[],
        last_known_elr=[],
        offline_replicas=[one for one in partition.replicas if one not in cluster.live],
    )
