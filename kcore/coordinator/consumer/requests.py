"""ConsumerGroupHeartbeat: what is wrong with a request wherever it goes, and refusals."""

from __future__ import annotations

from collections.abc import Iterable

from kcore.coordinator.consumer.member import LEAVING, LEAVING_STATIC, TopicIdPartition
from kcore.coordinator.refused import RefusedError
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import ConsumerGroupHeartbeatRequest

# From this version on members bring their ids (KIP-1082).
_OWN_ID_VERSION = 1


def check(
    request: ConsumerGroupHeartbeatRequest, version: int, assignors: Iterable[str]
) -> RefusedError | None:
    """C1-C3: what is wrong; None if nothing is."""
    why = _empty(request, version) or _incomplete(request)
    if why is not None:
        return RefusedError(ErrorCode.INVALID_REQUEST, why)
    if request.server_assignor is not None and request.server_assignor not in assignors:
        return RefusedError(
            ErrorCode.UNSUPPORTED_ASSIGNOR, f"the assignors here are {', '.join(assignors)}"
        )
    return None


def owned_by(request: ConsumerGroupHeartbeatRequest) -> set[TopicIdPartition] | None:
    """What the member says it has; None if it does not say."""
    if request.topic_partitions is None:
        return None
    return {
        (bytes(topic.topic_id), number)
        for topic in request.topic_partitions
        for number in topic.partitions
    }


def is_full(request: ConsumerGroupHeartbeatRequest) -> bool:
    """Whether it says everything, as after an error: then it is told everything."""
    return request.member_epoch == 0 or (
        request.rebalance_timeout_ms != -1
        and request.topic_partitions is not None
        and (
            request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None
        )
    )


def _empty(request: ConsumerGroupHeartbeatRequest, version: int) -> str | None:
    needs_id = version >= _OWN_ID_VERSION or request.member_epoch > 0
    named = {
        "MemberId": request.member_id if needs_id or request.member_epoch == LEAVING else None,
        "GroupId": request.group_id,
        "InstanceId": request.instance_id,
        "RackId": request.rack_id,
    }
    for name, value in named.items():
        if value is not None and not value.strip():
            return f"{name} is empty"
    return None


def _incomplete(request: ConsumerGroupHeartbeatRequest) -> str | None:
    if request.member_epoch < LEAVING_STATIC:
        return f"{request.member_epoch} is no epoch"
    if request.member_epoch == LEAVING_STATIC and request.instance_id is None:
        return "InstanceId is missing: only static members leave for a while"
    if request.member_epoch == 0:
        if request.rebalance_timeout_ms == -1:
            return "RebalanceTimeoutMs is missing from a member's first request"
        if request.topic_partitions is None or request.topic_partitions:
            return "TopicPartitions has to be empty: who joins has nothing"
        if request.subscribed_topic_names is None and request.subscribed_topic_regex is None:
            return "a member that joins has to say what it subscribes to"
    return None
