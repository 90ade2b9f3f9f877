"""DeleteRecords v0-2: move the start of logs."""

from __future__ import annotations

from kcore.broker.batches import RefusedError
from kcore.broker.calls import Call
from kcore.broker.topics import Topic
from kcore.wire.messages import DeleteRecordsRequest, DeleteRecordsResponse


def handle(call: Call, request: DeleteRecordsRequest) -> DeleteRecordsResponse:
    """Each partition by itself succeeds or fails."""
    response = DeleteRecordsResponse()
    for entry in request.topics:
        topic = call.node.cluster.topics.get(entry.name)
        response.topics.append(
            DeleteRecordsResponse.DeleteRecordsTopicResult(
                name=entry.name,
                partitions=[_delete(call, topic, wanted) for wanted in entry.partitions],
            )
        )
    return response


def _delete(
    call: Call, topic: Topic | None, wanted: DeleteRecordsRequest.DeleteRecordsPartition
) -> DeleteRecordsResponse.DeleteRecordsPartitionResult:
    result = DeleteRecordsResponse.DeleteRecordsPartitionResult(
        partition_index=wanted.partition_index, low_watermark=-1
    )
    try:
        partition = call.node.cluster.lead(call.node.node_id, topic, wanted.partition_index)
        partition.delete_before(wanted.offset, call.now_ms)
        result.low_watermark = partition.low_watermark
        assert topic is not None
        # Who waits for records that are gone has an error to get.
        call.node.fetches.recheck([(topic.name, wanted.partition_index)])
    except RefusedError as refused:
        result.error_code = refused.code
    return result
