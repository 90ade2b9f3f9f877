"""DeleteRecords v0-2: move the start of logs; answered when the other replicas have done so."""

from __future__ import annotations

from kcore.broker.batches import RefusedError
from kcore.broker.calls import PARKED, Call
from kcore.broker.config import FETCH_WAIT_MAX_MS
from kcore.broker.fetches import Outstanding, Waiting, all_done
from kcore.broker.partitions import Partition
from kcore.broker.topics import Topic
from kcore.coordinator.journal import INTERNAL_TOPICS
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import DeleteRecordsRequest, DeleteRecordsResponse

Result = DeleteRecordsResponse.DeleteRecordsPartitionResult


def handle(call: Call, request: DeleteRecordsRequest) -> DeleteRecordsResponse | str:
    """Each partition by itself succeeds or fails."""
    response = DeleteRecordsResponse()
    behind: list[_Behind] = []
    for entry in request.topics:
        topic = call.node.cluster.topics.get(entry.name)
        response.topics.append(
            DeleteRecordsResponse.DeleteRecordsTopicResult(
                name=entry.name,
                partitions=[_delete(call, topic, wanted, behind) for wanted in entry.partitions],
            )
        )
    if not behind:
        return response

    left: list[Outstanding] = [*behind]

    def answer() -> None:
        for one in left:
            one.end()
        call.answer(response)

    places = [(one.partition.topic, one.partition.number) for one in behind]
    waiting = Waiting(call.link, places, lambda: all_done(left), answer)
    wait_ms = min(max(request.timeout_ms, 0), FETCH_WAIT_MAX_MS)
    call.node.fetches.park(waiting, call.now_ms + wait_ms)
    return PARKED


def _delete(
    call: Call,
    topic: Topic | None,
    wanted: DeleteRecordsRequest.DeleteRecordsPartition,
    behind: list[_Behind],
) -> Result:
    result = Result(partition_index=wanted.partition_index, low_watermark=-1)
    try:
        partition = call.node.cluster.lead(call.node.node_id, topic, wanted.partition_index)
        if partition.topic in INTERNAL_TOPICS:
            raise RefusedError(ErrorCode.INVALID_TOPIC_EXCEPTION, "coordinators compact it")
        start = partition.delete_before(wanted.offset, call.now_ms)
        # Who waits for records that are gone has an error to get.
        call.node.cluster.replication.changed(partition)
        one = _Behind(partition, start, result)
        if not one.done():
            behind.append(one)
    except RefusedError as refused:
        result.error_code = refused.code
    return result


class _Behind:
    """A partition of which not every live replica begins there yet (Java: DelayedDeleteRecords)."""

    __slots__ = ("_epoch", "_result", "_start", "partition")

    def __init__(self, partition: Partition, start: int, result: Result) -> None:
        self.partition = partition
        self._start = start
        self._epoch = partition.leader_epoch
        self._result = result

    def done(self) -> bool:
        """Whether it is known what becomes of it."""
        if self.partition.leader_epoch != self._epoch:
            self._result.error_code = ErrorCode.NOT_LEADER_OR_FOLLOWER
            return True
        lowest = self.partition.low_watermark
        if lowest < self._start:
            return False
        self._result.low_watermark = lowest
        return True

    def end(self) -> None:
        """Its time is over."""
        if not self.done():
            self._result.error_code = ErrorCode.REQUEST_TIMED_OUT
