"""ShareAcknowledge v1-2 (KIP-932), and what acknowledgements that ride in a ShareFetch have in
common with it: renewal of locks (KIP-1222).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from kcore.broker.batches import RefusedError
from kcore.broker.calls import Call
from kcore.broker.share.partition import Acknowledgement
from kcore.broker.share.sessions import FINAL_EPOCH, INITIAL_EPOCH, Part
from kcore.coordinator.share.member import MEMBER_CHARS_MAX
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import ShareAcknowledgeRequest, ShareAcknowledgeResponse

_RENEW: Final = 4
_RENEW_VERSION: Final = 2

# What became of the acknowledgements of each partition: an error, and what it says if it does.
Said = dict[Part, tuple[ErrorCode, str | None]]

Result = ShareAcknowledgeResponse.PartitionData


def handle(call: Call, request: ShareAcknowledgeRequest) -> ShareAcknowledgeResponse:
    """Each partition by itself succeeds or fails."""
    renewing = call.version >= _RENEW_VERSION and request.is_renew_ack
    group_id, member = request.group_id, request.member_id
    shares = call.node.shares
    if group_id is None or not member or len(member) > MEMBER_CHARS_MAX:
        return ShareAcknowledgeResponse(error_code=ErrorCode.INVALID_REQUEST)
    key = (group_id, member)
    epoch = request.share_session_epoch
    if epoch == INITIAL_EPOCH:
        return ShareAcknowledgeResponse(error_code=ErrorCode.INVALID_SHARE_SESSION_EPOCH)
    final = epoch == FINAL_EPOCH
    try:
        session = shares.sessions.find(key) if final else shares.sessions.step(key, epoch)
    except RefusedError as refused:
        return ShareAcknowledgeResponse(error_code=refused.code)
    asked = [(topic.topic_id, topic.partitions) for topic in request.topics]
    said = acknowledge_all(call, group_id, member, asked, renewing=renewing)
    if final:
        shares.release(session)
    options = call.node.cluster.share_options(group_id)
    response = ShareAcknowledgeResponse(acquisition_lock_timeout_ms=options.record_lock_duration_ms)
    topics: dict[bytes, ShareAcknowledgeResponse.ShareAcknowledgeTopicResponse] = {}
    for (topic_id, number), (code, why) in said.items():
        if topic_id not in topics:
            topics[topic_id] = ShareAcknowledgeResponse.ShareAcknowledgeTopicResponse(
                topic_id=topic_id
            )
        topics[topic_id].partitions.append(
            Result(partition_index=number, error_code=code, error_message=why)
        )
    response.responses = list(topics.values())
    return response


def acknowledge_all(
    call: Call,
    group_id: str,
    member: str,
    asked: Iterable[tuple[bytes, Sequence[Any]]],
    *,
    renewing: bool,
) -> Said:
    """Take the word of a member for each partition that it says something of.

    asked: partitions by topic id. renewing: whether locks may be renewed.
    """
    said: Said = {}
    for topic_id, partitions in asked:
        for one in partitions:
            if not one.acknowledgement_batches:
                continue
            part = (topic_id, one.partition_index)
            try:
                batches = _checked(call, one.acknowledgement_batches, renewing=renewing)
                call.node.shares.acknowledge((group_id, *part), member, batches)
                said[part] = (ErrorCode.NONE, None)
            except RefusedError as refused:
                said[part] = (refused.code, refused.why or None)
    return said


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
