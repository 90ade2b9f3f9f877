"""WriteTxnMarkers v1-2: for whoever ends a transaction by hand (KIP-664). The coordinators here
write theirs without it.
"""

from __future__ import annotations

from kcore.broker.batches import RefusedError
from kcore.broker.calls import Call
from kcore.broker.endings import append_marker, end_offsets
from kcore.coordinator.journal import OFFSETS_TOPIC
from kcore.coordinator.transactions import Markers
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import WriteTxnMarkersRequest, WriteTxnMarkersResponse


def handle(call: Call, request: WriteTxnMarkersRequest) -> WriteTxnMarkersResponse:
    """One marker a partition."""
    response = WriteTxnMarkersResponse()
    for asked in request.markers:
        markers = Markers(
            partition=-1,
            transactional_id="",
            producer_id=asked.producer_id,
            producer_epoch=asked.producer_epoch,
            committed=asked.transaction_result,
            coordinator_epoch=asked.coordinator_epoch,
            transaction_version=asked.transaction_version,
            partitions=(),
        )
        topics = [
            WriteTxnMarkersResponse.WritableTxnMarkerTopicResult(
                name=topic.name,
                partitions=[
                    WriteTxnMarkersResponse.WritableTxnMarkerPartitionResult(
                        partition_index=number,
                        error_code=_write(call, topic.name, number, markers),
                    )
                    for number in topic.partition_indexes
                ],
            )
            for topic in asked.topics
        ]
        response.markers.append(
            WriteTxnMarkersResponse.WritableTxnMarkerResult(
                producer_id=asked.producer_id, topics=topics
            )
        )
    return response


def _write(call: Call, name: str, number: int, markers: Markers) -> ErrorCode:
    cluster = call.node.cluster
    if name == OFFSETS_TOPIC:
        if not call.node.groups.keeps(number):
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        return end_offsets(cluster, number, markers, call.now_ms)
    try:
        partition = cluster.lead(call.node.node_id, cluster.topics.get(name), number)
        append_marker(partition, markers, call.now_ms)
    except RefusedError as refused:
        return refused.code
    return ErrorCode.NONE
