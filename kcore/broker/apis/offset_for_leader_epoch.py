"""OffsetForLeaderEpoch v2-4 (KIP-320): where an epoch ends."""

from __future__ import annotations

from kcore.broker.batches import RefusedError
from kcore.broker.calls import Call
from kcore.broker.topics import Topic
from kcore.wire.messages import OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse


def handle(call: Call, request: OffsetForLeaderEpochRequest) -> OffsetForLeaderEpochResponse:
    """One end a partition."""
    response = OffsetForLeaderEpochResponse()
    for entry in request.topics:
        topic = call.node.cluster.topics.get(entry.topic)
        response.topics.append(
            OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult(
                topic=entry.topic,
                partitions=[_end(call, topic, wanted) for wanted in entry.partitions],
            )
        )
    return response


def _end(
    call: Call,
    topic: Topic | None,
    wanted: OffsetForLeaderEpochRequest.OffsetForLeaderPartition,
) -> OffsetForLeaderEpochResponse.EpochEndOffset:
    result = OffsetForLeaderEpochResponse.EpochEndOffset(partition=wanted.partition)
    try:
        partition = call.node.cluster.lead(
            call.node.node_id, topic, wanted.partition, wanted.current_leader_epoch
        )
        end = partition.log.end_of_epoch(wanted.leader_epoch)
        result.leader_epoch, result.end_offset = end
    except RefusedError as refused:
        result.error_code = refused.code
    return result
