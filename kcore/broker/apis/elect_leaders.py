"""ElectLeaders v0-2 (KIP-460), at any node."""

from __future__ import annotations

from typing import Final

from kcore.broker.batches import RefusedError
from kcore.broker.calls import Call
from kcore.broker.partitions import NOBODY, Partition
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import ElectLeadersRequest, ElectLeadersResponse

# Java: ElectionType.
_PREFERRED: Final = 0
_UNCLEAN: Final = 1

Result = ElectLeadersResponse.PartitionResult


def handle(call: Call, request: ElectLeadersRequest) -> ElectLeadersResponse:
    """Each partition by itself succeeds or fails; of all partitions, those that need none are not
    spoken of.
    """
    if request.election_type not in {_PREFERRED, _UNCLEAN}:
        return ElectLeadersResponse(error_code=ErrorCode.INVALID_REQUEST)
    everything = request.topic_partitions is None
    wanted: list[tuple[str, list[int]]]
    if request.topic_partitions is None:
        topics = call.node.cluster.topics.topics()
        wanted = [(topic.name, list(range(len(topic.partitions)))) for topic in topics]
    else:
        wanted = [(entry.topic, entry.partitions) for entry in request.topic_partitions]
    response = ElectLeadersResponse()
    for name, numbers in wanted:
        results = [_elect(call, name, number, request.election_type) for number in numbers]
        if everything:
            results = [one for one in results if one.error_code != ErrorCode.ELECTION_NOT_NEEDED]
        response.replica_election_results.append(
            ElectLeadersResponse.ReplicaElectionResult(topic=name, partition_result=results)
        )
    return response


def _elect(call: Call, name: str, number: int, kind: int) -> Result:
    result = Result(partition_id=number, error_message=None)
    try:
        partition = call.node.cluster.partition(name, number)
        leader = _preferred(call, partition) if kind == _PREFERRED else _any(call, partition)
        call.node.cluster.move_leader_of(partition, leader, call.now_ms)
    except RefusedError as refused:
        result.error_code = refused.code
        result.error_message = refused.why
    return result


def _preferred(call: Call, partition: Partition) -> int:
    first = partition.replicas[0]
    if partition.leader == first:
        raise RefusedError(ErrorCode.ELECTION_NOT_NEEDED, "Leader election not needed.")
    if first not in partition.isr or first not in call.node.cluster.live:
        raise RefusedError(
            ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
            "The preferred leader was not available.",
        )
    return first


def _any(call: Call, partition: Partition) -> int:
    if partition.leader != NOBODY:
        raise RefusedError(ErrorCode.ELECTION_NOT_NEEDED, "Leader election not needed.")
    live = [one for one in partition.replicas if one in call.node.cluster.live]
    if not live:
        raise RefusedError(ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE, "No replica of it is up.")
    return live[0]
