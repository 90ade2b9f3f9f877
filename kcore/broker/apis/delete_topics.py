"""DeleteTopics v1-6, by name or id, at any node."""

from __future__ import annotations

from collections import Counter

from kcore.broker.batches import RefusedError
from kcore.broker.calls import Call
from kcore.broker.mutations import Mutations, mutations_of, text_of
from kcore.broker.topics import Topic
from kcore.wire.codes import ErrorCode
from kcore.wire.message import ZERO_UUID
from kcore.wire.messages import DeleteTopicsRequest, DeleteTopicsResponse

_BY_ID_VERSION = 6
_STRICT_VERSION = 5  # from which a quota refuses (KIP-599)


def handle(call: Call, request: DeleteTopicsRequest) -> DeleteTopicsResponse:
    """Delete topics; each by itself succeeds or fails."""
    if call.version < _BY_ID_VERSION:
        wanted: list[tuple[str | None, bytes]] = [(name, ZERO_UUID) for name in request.topic_names]
    else:
        wanted = [(entry.name, entry.topic_id) for entry in request.topics]
    mutations = mutations_of(call, _STRICT_VERSION)
    times = Counter(wanted)
    results: list[DeleteTopicsResponse.DeletableTopicResult] = []
    gone: list[Topic] = []
    both = _named_twice(call, wanted)
    for name, topic_id in times:
        if name is None and topic_id in both.values():
            continue  # it is told of by its name
        result = DeleteTopicsResponse.DeletableTopicResult(name=name, topic_id=topic_id)
        try:
            if name in both and topic_id == ZERO_UUID:
                result.topic_id = both[name]
                raise RefusedError(ErrorCode.INVALID_REQUEST, "named by its id, too")
            if times[name, topic_id] > 1:
                raise RefusedError(ErrorCode.INVALID_REQUEST, "named more than once")
            gone.append(_found(call, result, mutations))
        except RefusedError as refused:
            result.error_code = refused.code
            result.error_message = text_of(refused)
        results.append(result)
    call.node.cluster.delete_all(gone, call.now_ms)
    return DeleteTopicsResponse(responses=results, throttle_time_ms=mutations.throttle_ms)


def _named_twice(call: Call, wanted: list[tuple[str | None, bytes]]) -> dict[str | None, bytes]:
    """Topics that are named by name and by id: they stay."""
    topics = call.node.cluster.topics
    ids = {topic_id for name, topic_id in wanted if name is None}
    names = {name for name, topic_id in wanted if name is not None and topic_id == ZERO_UUID}
    return {name: known for name in names if (known := topics.id_of(name)) in ids and known}


def _found(
    call: Call, result: DeleteTopicsResponse.DeletableTopicResult, mutations: Mutations
) -> Topic:
    """What the result is about, which is to go."""
    if (result.name is None) is (result.topic_id == ZERO_UUID):
        raise RefusedError(ErrorCode.INVALID_REQUEST, "neither a name nor an id, or both")
    cluster = call.node.cluster
    topic, error = cluster.find(result.name, result.topic_id, by_id=result.name is None)
    if topic is None:
        raise RefusedError(error, "no such topic")
    mutations.check(len(topic.partitions))
    result.name, result.topic_id = topic.name, topic.topic_id
    return topic
