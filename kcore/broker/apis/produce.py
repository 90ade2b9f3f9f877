"""Produce v3-13: acks 0, 1 and all; batches validated, kept as they are; idempotent producers.

Who asks a node that does not lead is told who does (KIP-951). acks=all is answered when the high
watermark is behind the batch, or its time is over. What begins a transaction in a log is kept if
the transaction coordinator knows of it (KIP-890); from v12 on it is told so by this.
"""

from __future__ import annotations

from kcore.broker.batches import RefusedError, only_batch, read_header
from kcore.broker.calls import PARKED, UNANSWERED, Call
from kcore.broker.config import FETCH_WAIT_MAX_MS
from kcore.broker.fetches import Outstanding, Waiting, all_done
from kcore.broker.hints import Hints
from kcore.broker.partitions import NOBODY, Partition
from kcore.broker.topics import Topic
from kcore.broker.verdicts import ToldError, Verdicts, judge
from kcore.coordinator.journal import INTERNAL_TOPICS
from kcore.records.codecs import ZSTD
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import ProduceRequest, ProduceResponse

_ZSTD_VERSION = 7  # KIP-110
_TOPIC_IDS_VERSION = 13
_HINTS_VERSION = 10
_NO_ANSWER = 0
_ALL = -1

# Refused before the log was asked, so that nothing is known of it (Java:
# ReplicaManager.appendRecordsToLeader).
_UNASKED = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.INVALID_REQUIRED_ACKS,
    ErrorCode.MESSAGE_TOO_LARGE,
    ErrorCode.CORRUPT_MESSAGE,
}


def handle(call: Call, request: ProduceRequest) -> ProduceResponse | str:
    """Append, and wake up who waited for it."""
    response = ProduceResponse()
    hints = Hints(call.node.cluster)
    failed = False
    written = []
    unreplicated: list[_Unreplicated] = []
    verdicts = judge(call, request)
    for entry in request.topic_data:
        by_id = call.version >= _TOPIC_IDS_VERSION
        topic, error = call.node.cluster.find(entry.name, entry.topic_id, by_id=by_id)
        results = []
        for part in entry.partition_data:
            result = _append(call, request.acks, topic, error, part, verdicts, unreplicated)
            failed |= bool(result.error_code)
            if result.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER:
                _hint(call, hints, topic, result)
            if topic is not None and not result.error_code:
                written.append((topic.name, part.index))
            results.append(result)
        response.responses.append(
            ProduceResponse.TopicProduceResponse(
                name=entry.name, topic_id=entry.topic_id, partition_responses=results
            )
        )
    for address in hints.endpoints():
        response.node_endpoints.append(
            ProduceResponse.NodeEndpoint(
                node_id=address.node_id, host=address.host, port=address.port, rack=address.rack
            )
        )
    for node in call.node.cluster.nodes.values():  # some read at followers
        node.fetches.recheck(written)
    if unreplicated:
        return _wait(call, request, response, unreplicated)
    if request.acks != _NO_ANSWER:
        return response
    if failed:
        call.node.hang_up(call)
    return UNANSWERED


def _append(
    call: Call,
    acks: int,
    topic: Topic | None,
    error: ErrorCode,
    part: ProduceRequest.PartitionProduceData,
    verdicts: Verdicts,
    unreplicated: list[_Unreplicated],
) -> ProduceResponse.PartitionProduceResponse:
    result = ProduceResponse.PartitionProduceResponse(index=part.index, base_offset=-1)
    partition = None
    try:
        if error:
            raise RefusedError(error, "no such topic")
        topic = _writable(topic, part.index)
        records = only_batch(part.records)
        if call.version < _ZSTD_VERSION and read_header(records).codec == ZSTD:
            raise RefusedError(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, "zstd before version 7")
        if acks not in {-1, 0, 1}:
            raise RefusedError(ErrorCode.INVALID_REQUIRED_ACKS, f"acks={acks}")
        verdicts.check(topic, part.index)
        partition = call.node.cluster.lead(call.node.node_id, topic, part.index)
        if acks == _ALL:
            partition.check_min_isr()
        appended = partition.append(records, call.now_ms, verdicts.origin)
        result.base_offset = appended.base_offset
        result.log_append_time_ms = appended.append_time_ms
        result.log_start_offset = partition.log.start_offset
        if acks == _ALL and partition.log.high_watermark < appended.end_offset:
            unreplicated.append(_Unreplicated(partition, appended.end_offset, result))
    except RefusedError as refused:
        result.error_code = refused.code
        if partition is not None and refused.code not in _UNASKED:
            result.log_start_offset = partition.log.start_offset
        if refused.records or isinstance(refused, ToldError):  # else a Kafka says no more
            result.error_message = refused.why
        result.record_errors = [
            ProduceResponse.BatchIndexAndErrorMessage(
                batch_index=index, batch_index_error_message=why
            )
            for index, why in refused.records
        ]
    return result


def _writable(topic: Topic | None, number: int) -> Topic:
    """RefusedError if there is no such partition, or it is not for clients to write to."""
    if topic is None or not 0 <= number < len(topic.partitions):
        raise RefusedError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "no such partition")
    if topic.name in INTERNAL_TOPICS:
        raise RefusedError(ErrorCode.INVALID_TOPIC_EXCEPTION, "only coordinators write to it")
    return topic


class _Unreplicated:
    """A batch that the other replicas do not have yet (Java: DelayedProduce)."""

    __slots__ = ("_end_offset", "_epoch", "_result", "partition")

    def __init__(
        self,
        partition: Partition,
        end_offset: int,
        result: ProduceResponse.PartitionProduceResponse,
    ) -> None:
        self.partition = partition
        self._end_offset = end_offset
        self._epoch = partition.leader_epoch
        self._result = result

    def done(self) -> bool:
        """Whether it is known what becomes of it."""
        if self.partition.leader_epoch != self._epoch or self.partition.leader == NOBODY:
            self._fail(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        elif self.partition.log.high_watermark < self._end_offset:
            return False
        elif self.partition.under_min_isr:
            self._fail(ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND)
        return True

    def end(self) -> None:
        """Its time is over."""
        if not self.done():
            self._fail(ErrorCode.REQUEST_TIMED_OUT)

    def _fail(self, code: ErrorCode) -> None:
        self._result.error_code = code
        self._result.base_offset = -1


def _wait(
    call: Call,
    request: ProduceRequest,
    response: ProduceResponse,
    unreplicated: list[_Unreplicated],
) -> str:
    left: list[Outstanding] = [*unreplicated]

    def answer() -> None:
        for one in left:
            one.end()
        call.answer(response)

    places = [(one.partition.topic, one.partition.number) for one in unreplicated]
    waiting = Waiting(call.link, places, lambda: all_done(left), answer)
    wait_ms = min(max(request.timeout_ms, 0), FETCH_WAIT_MAX_MS)
    call.node.fetches.park(waiting, call.now_ms + wait_ms)
    return PARKED


def _hint(
    call: Call,
    hints: Hints,
    topic: Topic | None,
    result: ProduceResponse.PartitionProduceResponse,
) -> None:
    """Say who leads the partition instead."""
    if call.version >= _HINTS_VERSION:
        leader, epoch = hints.leader(topic, result.index)
        result.current_leader = ProduceResponse.LeaderIdAndEpoch(
            leader_id=leader, leader_epoch=epoch
        )
