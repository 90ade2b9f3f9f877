"""ShareAcknowledge v1-2 (KIP-932), and what acknowledgements that ride in a ShareFetch have in
common with it: renewal of locks (KIP-1222).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from kcore.broker.authorization.acls import Operation, Resource
from kcore.broker.batches import RefusedError
from kcore.broker.calls import Call
from kcore.broker.share.partition import Acknowledgement
from kcore.broker.share.sessions import FINAL_EPOCH, INITIAL_EPOCH, Part, SessionKey
from kcore.coordinator.share.member import MEMBER_CHARS_MAX
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import (
    ShareAcknowledgeRequest,
    ShareAcknowledgeResponse,
    ShareFetchRequest,
)

_RENEW: Final = 4
_RENEW_VERSION: Final = 2

# What became of the acknowledgements of each partition: an error, and what it says if it does.
Said = dict[Part, tuple[ErrorCode, str | None]]

Request = ShareFetchRequest | ShareAcknowledgeRequest
Result = ShareAcknowledgeResponse.PartitionData


def handle(call: Call, request: ShareAcknowledgeRequest) -> ShareAcknowledgeResponse:
    """Each partition by itself succeeds or fails."""
    shares = call.node.shares
    key = who_asks(request)
    if key is None:
        return ShareAcknowledgeResponse(error_code=ErrorCode.INVALID_REQUEST)
    epoch = request.share_session_epoch
    if epoch == INITIAL_EPOCH:
        return ShareAcknowledgeResponse(error_code=ErrorCode.INVALID_SHARE_SESSION_EPOCH)
    final = epoch == FINAL_EPOCH
    try:
        session = shares.sessions.find(key) if final else shares.sessions.step(key, epoch)
    except RefusedError as refused:
        return ShareAcknowledgeResponse(error_code=refused.code)
    said = acknowledge_all(call, request, key)
    if final:
        shares.release(session)
    options = call.node.cluster.share_options(key[0])
    response = ShareAcknowledgeResponse(acquisition_lock_timeout_ms=options.record_lock_duration_ms)
    response.responses = by_topic(
        {
            part: Result(partition_index=part[1], error_code=code, error_message=why)
            for part, (code, why) in said.items()
        },
        ShareAcknowledgeResponse.ShareAcknowledgeTopicResponse,
    )
    return response


def who_asks(request: Request) -> SessionKey | None:
    """Group and member; None if there are no such."""
    group_id, member = request.group_id, request.member_id
    if group_id is None or not member or len(member) > MEMBER_CHARS_MAX:
        return None
    return group_id, member


def renews(call: Call, request: Request) -> bool:
    """Whether a request may renew locks, and does not ask for records then."""
    return call.version >= _RENEW_VERSION and request.is_renew_ack


def acknowledge_all(call: Call, request: Request, key: SessionKey) -> Said:
    """Take the word of a member for each partition that it says something of."""
    group_id, member = key
    renewing = renews(call, request)
    said: Said = {}
    for topic in request.topics:
        for one in topic.partitions:
            if not one.acknowledgement_batches:
                continue
            part = (topic.topic_id, one.partition_index)
            try:
                check_mishap(call, group_id, part)
                if call.guarded:
                    check_readable(call, topic.topic_id)
                batches = _checked(call, one.acknowledgement_batches, renewing=renewing)
                call.node.shares.acknowledge((group_id, *part), member, batches)
                said[part] = (ErrorCode.NONE, None)
            except RefusedError as refused:
                said[part] = (refused.code, refused.why or None)
    return said


def by_topic(results: Mapping[Part, Any], topic_of: Callable[..., Any]) -> list[Any]:
    """Results of partitions below their topics, which `topic_of` makes."""
    topics: dict[bytes, Any] = {}
    for (topic_id, _), result in results.items():
        if topic_id not in topics:
            topics[topic_id] = topic_of(topic_id=topic_id)
        topics[topic_id].partitions.append(result)
    return list(topics.values())


def check_readable(call: Call, topic_id: bytes) -> None:
    """RefusedError if who asks may not read the topic; one that is not known is not hidden."""
    name = call.node.cluster.topics.name_of(topic_id)
    if name is not None and not call.allows(Operation.READ, Resource.TOPIC, name):
        raise RefusedError(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "")


def check_mishap(call: Call, group_id: str, part: Part) -> None:
    """RefusedError with the code that a test asked for."""
    if call.parts is not None:
        name = call.node.cluster.topics.name_of(part[0])
        code = call.parts.error_of(group_id, name, part[1])
        if code:
            raise RefusedError(code, "")


def _checked(call: Call, batches: Sequence[Any], *, renewing: bool) -> list[Acknowledgement]:
    """RefusedError (INVALID_REQUEST) if they make no sense, whatever is in flight."""
    highest = _RENEW if call.version >= _RENEW_VERSION else _RENEW - 1
    end = -1
    found = []
    for batch in batches:
        first, last, types = batch.first_offset, batch.last_offset, batch.acknowledge_types
        if (
            first > last
            or first < end
            or not types
            or (len(types) > 1 and last - first + 1 != len(types))
            or not all(0 <= kind <= highest for kind in types)
            or (_RENEW in types and not renewing)
        ):
            raise RefusedError(ErrorCode.INVALID_REQUEST, "")
        end = last
        found.append(Acknowledgement(first, last, tuple(types)))
    return found
