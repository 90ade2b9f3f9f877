"""Produce v3-13: acks 0, 1 and all; batches validated, kept as they are; idempotent producers.

Who asks a node that does not lead is told who does (KIP-951). Left out: transactions (their batches
are refused), log append time, per-record errors (KIP-467).
"""

from __future__ import annotations

from kcore.broker.batches import RefusedError
from kcore.broker.calls import UNANSWERED, Call
from kcore.broker.hints import Hints
from kcore.broker.topics import Topic
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import ProduceRequest, ProduceResponse

_TOPIC_IDS_VERSION = 13
_HINTS_VERSION = 10
_NO_ANSWER = 0


def handle(call: Call, request: ProduceRequest) -> ProduceResponse | str:
    """Append, and wake up who waited for it."""
    response = ProduceResponse()
    hints = Hints(call.node.cluster)
    failed = False
    written = []
    for entry in request.topic_data:
        by_id = call.version >= _TOPIC_IDS_VERSION
        topic, error = call.node.cluster.find(entry.name, entry.topic_id, by_id=by_id)
        results = []
        for part in entry.partition_data:
            result = _append(call, request.acks, topic, error, part)
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
    call.node.fetches.recheck(written)
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
) -> ProduceResponse.PartitionProduceResponse:
    result = ProduceResponse.PartitionProduceResponse(index=part.index, base_offset=-1)
    try:
        if error:
            raise RefusedError(error, "no such topic")
        if acks not in {-1, 0, 1}:
            raise RefusedError(ErrorCode.INVALID_REQUIRED_ACKS, f"acks={acks}")
        partition = call.node.cluster.lead(call.node.node_id, topic, part.index)
        records = None if part.records is None else memoryview(part.records)
        result.base_offset = partition.log.append(records, partition.leader_epoch)
        result.log_start_offset = partition.log.start_offset
    except RefusedError as refused:
        result.error_code = refused.code
        result.error_message = refused.why
    return result


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
