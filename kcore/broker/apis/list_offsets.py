"""ListOffsets v1-11: by time, earliest, latest, largest timestamp (KIP-734).

Who asks as a replica does is told of what cannot be read yet, too; a debugger (replica id -2) may
ask followers.

Left out: what is in tiered storage (there is none: -4 is the earliest, -5 and -6 find nothing).
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from kcore.broker.batches import RefusedError
from kcore.broker.calls import Call
from kcore.broker.log import PartitionLog
from kcore.broker.lookup import latest_time, offset_for_time
from kcore.broker.partitions import Partition
from kcore.broker.topics import Topic
from kcore.structs import OffsetAndTimestamp
from kcore.tuples import NamedTuple
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import ListOffsetsRequest, ListOffsetsResponse

_LATEST: Final = -1
_EARLIEST: Final = -2
_MAX_TIMESTAMP: Final = -3
_EARLIEST_LOCAL: Final = -4

_EPOCHS_VERSION: Final = 4
_NOT_AVAILABLE_VERSION: Final = 5
_READ_COMMITTED: Final = 1
_CONSUMER: Final = -1
_DEBUGGER: Final = -2  # Java: ListOffsetsRequest.DEBUGGING_REPLICA_ID

# Timestamps that mean something else -> the first version that has them.
_SPECIAL: Final = {_LATEST: 1, _EARLIEST: 1, _MAX_TIMESTAMP: 7, _EARLIEST_LOCAL: 8, -5: 9, -6: 11}


_Found = ListOffsetsResponse.ListOffsetsPartitionResponse


class _Scope(NamedTuple):
    """What who asks is told of."""

    committed: bool
    replica_id: int

    @property
    def debugging(self) -> bool:
        """Whether followers are asked, too."""
        return self.replica_id == _DEBUGGER

    @property
    def readable_only(self) -> bool:
        """Whether it ends where consumers have to stop."""
        return self.replica_id == _CONSUMER

    def end_of(self, log: PartitionLog) -> int:
        """Up to where."""
        if not self.readable_only:
            return log.end_offset
        return log.last_stable_offset if self.committed else log.high_watermark


def handle(call: Call, request: ListOffsetsRequest) -> ListOffsetsResponse:
    """One offset a partition; one that is asked for twice, in whatever entries, has none."""
    response = ListOffsetsResponse()
    scope = _Scope(
        committed=request.isolation_level == _READ_COMMITTED,
        replica_id=request.replica_id,
    )
    asked: dict[str, list[ListOffsetsRequest.ListOffsetsPartition]] = {}
    for entry in request.topics:
        if entry.partitions:
            asked.setdefault(entry.name, []).extend(entry.partitions)
    for name, partitions in asked.items():
        topic = call.node.cluster.topics.get(name)
        times = Counter(wanted.partition_index for wanted in partitions)
        once = {wanted.partition_index: wanted for wanted in partitions}
        response.topics.append(
            ListOffsetsResponse.ListOffsetsTopicResponse(
                name=name,
                partitions=[
                    _offset(call, topic, wanted, scope)
                    if times[number] == 1
                    else _Found(partition_index=number, error_code=ErrorCode.INVALID_REQUEST)
                    for number, wanted in once.items()
                ],
            )
        )
    return response


def _offset(
    call: Call,
    topic: Topic | None,
    wanted: ListOffsetsRequest.ListOffsetsPartition,
    scope: _Scope,
) -> ListOffsetsResponse.ListOffsetsPartitionResponse:
    result = ListOffsetsResponse.ListOffsetsPartitionResponse(
        partition_index=wanted.partition_index
    )
    try:
        if wanted.timestamp < 0 and call.version < _SPECIAL.get(wanted.timestamp, call.version + 1):
            raise RefusedError(ErrorCode.UNSUPPORTED_VERSION, f"timestamp {wanted.timestamp}")
        cluster, here = call.node.cluster, call.node.node_id
        where = (here, topic, wanted.partition_index, wanted.current_leader_epoch)
        partition = cluster.host(*where) if scope.debugging else cluster.lead(*where)
        log = partition.logs[here] if scope.debugging else partition.log
        found = _find(partition, log, wanted.timestamp, call.version, scope)
    except RefusedError as refused:
        result.error_code = refused.code
        return result
    if found is not None:
        result.offset, result.timestamp, epoch = found
        if call.version >= _EPOCHS_VERSION:
            result.leader_epoch = epoch
    return result


def _find(
    partition: Partition, log: PartitionLog, timestamp: int, version: int, scope: _Scope
) -> OffsetAndTimestamp | None:
    """Java: Partition.fetchOffsetForTimestamp. What is not readable yet is not found."""
    if timestamp in {_EARLIEST, _EARLIEST_LOCAL}:
        return OffsetAndTimestamp(log.start_offset, -1, log.epoch_at(log.start_offset))
    end = scope.end_of(log)
    if timestamp == _LATEST:
        _check_caught_up(log, version, scope)
        return OffsetAndTimestamp(end, -1, partition.leader_epoch)
    found = None
    if timestamp == _MAX_TIMESTAMP:
        found = latest_time(log)
    elif timestamp >= 0:
        found = offset_for_time(log, timestamp)
    if found is None or found.offset >= end:
        _check_caught_up(log, version, scope)
        return None
    return found


def _check_caught_up(log: PartitionLog, version: int, scope: _Scope) -> None:
    """KIP-207: a new leader does not know yet what was readable at the old one."""
    if scope.readable_only and log.high_watermark < log.epochs.latest_start:
        code = ErrorCode.OFFSET_NOT_AVAILABLE
        if version < _NOT_AVAILABLE_VERSION:
            code = ErrorCode.LEADER_NOT_AVAILABLE
        raise RefusedError(code, "the high watermark is not known yet")
