"""ShareAcknowledge v1-2 (KIP-932), and what acknowledgements that ride in a ShareFetch have in
common with it: renewal of locks (KIP-1222), hints about new leaders.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from kcore.broker.batches import RefusedError
from kcore.broker.calls import Call
from kcore.broker.hints import HINTED, Hints
from kcore.broker.share.partition import Acknowledgement
from kcore.broker.share.sessions import FINAL_EPOCH, INITIAL_EPOCH, Part
from kcore.coordinator.share.member import MEMBER_CHARS_MAX
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import ShareAcknowledgeRequest, ShareAcknowledgeResponse

_RENEW: Final = 4
_RENEW_VERSION: Final = 2

# What became of the acknowledgements of each partition: an error and what it says.
Said = dict[Part, tuple[ErrorCode, str | None]]

Result = ShareAcknowledgeResponse.PartitionData


def handle(call: Call, request: ShareAcknowledgeRequest) -> ShareAcknowledgeResponse:
    """Each partition by itself succeeds or fails."""
    renewing = call.version >= _RENEW_VERSION and request.is_renew_ack
    group_id, member = request.group_id, request.member_id
    shares = call.node.shares
    try:
        if group_id is None:
            raise RefusedError(ErrorCode.INVALID_REQUEST, "Invalid group id in the request.")
        if not member or len(member) > MEMBER_CHARS_MAX:
            raise RefusedError(ErrorCode.INVALID_REQUEST, "Invalid member id in the request.")
        epoch = request.share_session_epoch
        if epoch == INITIAL_EPOCH:
            raise session_error(ErrorCode.INVALID_SHARE_SESSION_EPOCH)
        final = epoch == FINAL_EPOCH
        key = (group_id, member)
        session = shares.sessions.find(key) if final else shares.sessions.step(key, epoch)
    except RefusedError as refused:
        return ShareAcknowledgeResponse(error_code=refused.code, error_message=refused.why)
    asked = [(topic.topic_id, topic.partitions) for topic in request.topics]
    said = acknowledge_all(call, group_id, member, asked, renewing=renewing)
    if final:
        shares.release(session)
    response = ShareAcknowledgeResponse(
        acquisition_lock_timeout_ms=call.node.cluster.share_options(
            group_id
        ).record_lock_duration_ms
    )
    hints = Hints(call.node.cluster)
    topics: dict[bytes, ShareAcknowledgeResponse.ShareAcknowledgeTopicResponse] = {}
    for (topic_id, number), (code, why) in said.items():
        if topic_id not in topics:
            topics[topic_id] = ShareAcknowledgeResponse.ShareAcknowledgeTopicResponse(
                topic_id=topic_id
            )
        result = Result(partition_index=number, error_code=code, error_message=why)
        if code in HINTED:
            leader, leader_epoch = hints.leader(
                call.node.cluster.topics.get(None, topic_id), number
            )
            result.current_leader = ShareAcknowledgeResponse.LeaderIdAndEpoch(
                leader_id=leader, leader_epoch=leader_epoch
            )
        topics[topic_id].partitions.append(result)
    response.responses = list(topics.values())
    response.node_endpoints = [
        ShareAcknowledgeResponse.NodeEndpoint(
            node_id=one.node_id, host=one.host, port=one.port, rack=one.rack
        )
        for one in hints.endpoints()
    ]
    return response


def session_error(code: ErrorCode) -> RefusedError:
    """The request does not fit its session."""
    if code is ErrorCode.INVALID_SHARE_SESSION_EPOCH:
        return RefusedError(code, "The share session epoch is invalid.")
    return RefusedError(code, "The request is not valid for a new share session.")


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
                said[part] = (refused.code, refused.why)
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
            raise RefusedError(
                ErrorCode.INVALID_REQUEST,
                "The acknowledgement batches are not in order, or their types are not valid.",
            )
        end = last
        found.append(Acknowledgement(first, last, tuple(types)))
    return found
