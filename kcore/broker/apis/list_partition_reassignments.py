"""ListPartitionReassignments v0 (KIP-455), at any node."""

from __future__ import annotations

from collections.abc import Iterator

from kcore.broker.calls import Call
from kcore.broker.partitions import Partition
from kcore.broker.reassignment import under_way
from kcore.wire.messages import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)

Topic = ListPartitionReassignmentsResponse.OngoingTopicReassignment


def handle(
    call: Call, request: ListPartitionReassignmentsRequest
) -> ListPartitionReassignmentsResponse:
    """Those that are under way."""
    found: dict[str, Topic] = {}
    for partition in _asked(call, request):
        if not under_way(partition):
            continue
        entry = found.setdefault(partition.topic, Topic(name=partition.topic))
        entry.partitions.append(
            ListPartitionReassignmentsResponse.OngoingPartitionReassignment(
                partition_index=partition.number,
                replicas=partition.replicas,
                adding_replicas=partition.adding,
                removing_replicas=partition.removing,
            )
        )
    return ListPartitionReassignmentsResponse(error_message=None, topics=list(found.values()))


def _asked(call: Call, request: ListPartitionReassignmentsRequest) -> Iterator[Partition]:
    topics = call.node.cluster.topics
    if request.topics is None:
        for topic in topics.topics():
            yield from topic.partitions
        return
    for entry in request.topics:
        known = topics.get(entry.name)
        for number in entry.partition_indexes:
            if known is not None and 0 <= number < len(known.partitions):
                yield known.partitions[number]
