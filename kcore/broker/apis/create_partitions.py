"""CreatePartitions v0-3, at any node."""

from __future__ import annotations

from kcore.broker.batches import RefusedError
from kcore.broker.calls import Call
from kcore.broker.config import PARTITIONS_MAX
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import CreatePartitionsRequest, CreatePartitionsResponse


def handle(call: Call, request: CreatePartitionsRequest) -> CreatePartitionsResponse:
    """Give topics more partitions; each by itself succeeds or fails."""
    response = CreatePartitionsResponse()
    for entry in request.topics:
        result = CreatePartitionsResponse.CreatePartitionsTopicResult(name=entry.name)
        try:
            _extend(call, entry, dry_run=request.validate_only)
        except RefusedError as refused:
            result.error_code = refused.code
            result.error_message = refused.why
        response.results.append(result)
    return response


def _extend(
    call: Call, entry: CreatePartitionsRequest.CreatePartitionsTopic, *, dry_run: bool
) -> None:
    topics = call.node.cluster.topics
    topic = topics.get(entry.name)
    if topic is None:
        raise RefusedError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "no such topic")
    more = entry.count - len(topic.partitions)
    if more < 1 or entry.count > PARTITIONS_MAX:
        raise RefusedError(
            ErrorCode.INVALID_PARTITIONS,
            f"{entry.count} is not within {len(topic.partitions) + 1} to {PARTITIONS_MAX}",
        )
    assignments = None
    if entry.assignments is not None:
        assignments = [one.broker_ids for one in entry.assignments]
        if len(assignments) != more:
            raise RefusedError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"{len(assignments)} for {more} partitions"
            )
    factor = len(topic.partitions[0].replicas)
    topics.add_partitions(topic, more, factor, assignments, dry_run=dry_run)
