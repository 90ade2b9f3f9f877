"""Every request about one group, refused before any group is looked at (section 5)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from kcore.coordinator.answers import refuse_join, refuse_sync
from kcore.coordinator.commits import commit_response, txn_commit_response
from kcore.coordinator.context import Topics
from kcore.coordinator.desk import Ticket
from kcore.wire.codes import ErrorCode
from kcore.wire.message import Message
from kcore.wire.messages import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsResponse,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    LeaveGroupRequest,
    LeaveGroupResponse,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
    StreamsGroupTopologyDescriptionUpdateRequest,
    StreamsGroupTopologyDescriptionUpdateResponse,
    SyncGroupRequest,
    TxnOffsetCommitRequest,
)

# Answers that have one place for an error.
_PLAIN: Final[dict[type[Message], Callable[..., Message]]] = {
    ConsumerGroupHeartbeatRequest: ConsumerGroupHeartbeatResponse,
    ShareGroupHeartbeatRequest: ShareGroupHeartbeatResponse,
    StreamsGroupHeartbeatRequest: StreamsGroupHeartbeatResponse,
    StreamsGroupTopologyDescriptionUpdateRequest: StreamsGroupTopologyDescriptionUpdateResponse,
    LeaveGroupRequest: LeaveGroupResponse,
    OffsetDeleteRequest: OffsetDeleteResponse,
    AlterShareGroupOffsetsRequest: AlterShareGroupOffsetsResponse,
    DeleteShareGroupOffsetsRequest: DeleteShareGroupOffsetsResponse,
}


def refuse(ticket: Ticket, request: Message, error: ErrorCode, topics: Topics) -> None:
    """Answer with an error, wherever the API has its place."""
    loading = error == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    if isinstance(request, JoinGroupRequest):
        refuse_join(ticket, error, request.member_id)
    elif isinstance(request, SyncGroupRequest):
        # Kafka 4 says LOAD_IN_PROGRESS, which its own client takes as fatal; before, brokers said
        # what makes every client join again.
        refuse_sync(ticket, ErrorCode.REBALANCE_IN_PROGRESS if loading else error)
    elif isinstance(request, HeartbeatRequest):
        # A coordinator that is loading knows nobody, and the session will be begun anew.
        ticket.answer(HeartbeatResponse(error_code=ErrorCode.NONE if loading else error))
    elif type(request) in _PLAIN:
        ticket.answer(_PLAIN[type(request)](error_code=error))
    elif isinstance(request, OffsetCommitRequest):
        commit, wanted = commit_response(topics, request, ticket.version)
        for one in wanted:
            one.result.error_code = error
        ticket.answer(commit)
    elif isinstance(request, TxnOffsetCommitRequest):
        txn_commit, wanted = txn_commit_response(topics, request, ticket.version)
        for one in wanted:
            one.result.error_code = error
        ticket.answer(txn_commit)
