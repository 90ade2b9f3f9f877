"""DeleteTopics v1-6, by name or id, at any node."""

from __future__ import annotations

from kcore.broker.calls import Call
from kcore.wire.codes import ErrorCode
from kcore.wire.message import ZERO_UUID
from kcore.wire.messages import DeleteTopicsRequest, DeleteTopicsResponse

_BY_ID_VERSION = 6


def handle(call: Call, request: DeleteTopicsRequest) -> DeleteTopicsResponse:
    """Delete topics; each by itself succeeds or fails."""
    if call.version < _BY_ID_VERSION:
        wanted: list[tuple[str | None, bytes]] = [(name, ZERO_UUID) for name in request.topic_names]
    else:
        wanted = [(entry.name, entry.topic_id) for entry in request.topics]
    results = [_delete(call, name, topic_id) for name, topic_id in wanted]
    return DeleteTopicsResponse(responses=results)


def _delete(
    call: Call, name: str | None, topic_id: bytes
) -> DeleteTopicsResponse.DeletableTopicResult:
    cluster = call.node.cluster
    topic, error = cluster.find(name, topic_id, by_id=name is None)
    if topic is not None:
        cluster.delete(topic, call.now_ms)
        name, topic_id = topic.name, topic.topic_id
    elif error == ErrorCode.UNKNOWN_TOPIC_ID and topic_id == ZERO_UUID:
        error = ErrorCode.INVALID_REQUEST
    return DeleteTopicsResponse.DeletableTopicResult(name=name, topic_id=topic_id, error_code=error)
