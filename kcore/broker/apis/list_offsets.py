"""ListOffsets v1-11: by time, earliest, latest, largest timestamp (KIP-734).

Left out: what is in tiered storage (there is none: -4 is the earliest, -5 and -6 find nothing).
"""

from __future__ import annotations

from typing import Final

from kcore.broker.batches import RefusedError
from kcore.broker.calls import Call
from kcore.broker.topics import Partition, Topic
from kcore.structs import OffsetAndTimestamp
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import ListOffsetsRequest, ListOffsetsResponse

_LATEST: Final = -1
_EARLIEST: Final = -2
_MAX_TIMESTAMP: Final = -3
_EARLIEST_LOCAL: Final = -4

_EPOCHS_VERSION: Final = 4

# Timestamps that mean something else -> the first version that has them.
_SPECIAL: Final = {_LATEST: 1, _EARLIEST: 1, _MAX_TIMESTAMP: 7, _EARLIEST_LOCAL: 8, -5: 9, -6: 11}


def handle(call: Call, request: ListOffsetsRequest) -> ListOffsetsResponse:
    """One offset a partition."""
    response = ListOffsetsResponse()
    for entry in request.topics:
        topic = call.node.cluster.topics.get(entry.name)
        response.topics.append(
            ListOffsetsResponse.ListOffsetsTopicResponse(
                name=entry.name,
                partitions=[_offset(call, topic, wanted) for wanted in entry.partitions],
            )
        )
    return response


def _offset(
    call: Call, topic: Topic | None, wanted: ListOffsetsRequest.ListOffsetsPartition
) -> ListOffsetsResponse.ListOffsetsPartitionResponse:
    result = ListOffsetsResponse.ListOffsetsPartitionResponse(
        partition_index=wanted.partition_index
    )
    try:
        partition = call.node.cluster.lead(
            call.node.node_id, topic, wanted.partition_index, wanted.current_leader_epoch
        )
        if wanted.timestamp < 0 and call.version < _SPECIAL.get(wanted.timestamp, call.version + 1):
            raise RefusedError(ErrorCode.UNSUPPORTED_VERSION, f"timestamp {wanted.timestamp}")
        found = _find(partition, wanted.timestamp)
    except RefusedError as refused:
        result.error_code = refused.code
        return result
    if found is not None:
        result.offset, result.timestamp, epoch = found
        if call.version >= _EPOCHS_VERSION:
            result.leader_epoch = epoch
    return result


def _find(partition: Partition, timestamp: int) -> OffsetAndTimestamp | None:
    log = partition.log
    if timestamp == _LATEST:
        return OffsetAndTimestamp(log.high_watermark, -1, partition.leader_epoch)
    if timestamp in {_EARLIEST, _EARLIEST_LOCAL}:
        return OffsetAndTimestamp(log.start_offset, -1, log.epoch_at(log.start_offset))
    if timestamp == _MAX_TIMESTAMP:
        return log.latest_time()
    return None if timestamp < 0 else log.offset_for_time(timestamp)
