"""Responses of JoinGroup and SyncGroup, which are given from many places."""

from __future__ import annotations

from kcore.coordinator.desk import Ticket
from kcore.coordinator.group import Group, Member
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import JoinGroupResponse, SyncGroupResponse

# From here on a JoinGroup response can say that there is no protocol.
_NULLABLE_PROTOCOL_VERSION = 7


def refuse_join(ticket: Ticket, error: ErrorCode, member_id: str = "") -> None:
    """JoinGroup failed."""
    nullable = ticket.version >= _NULLABLE_PROTOCOL_VERSION
    ticket.answer(
        JoinGroupResponse(
            error_code=error, member_id=member_id, protocol_name=None if nullable else ""
        )
    )


def accept_join(
    ticket: Ticket,
    group: Group,
    member: Member,
    *,
    leader: str | None = None,
    listed: bool = True,
    skip_assignment: bool = False,
) -> None:
    """The member is in the group's generation; the leader gets the list of all, unless not
    `listed`.
    """
    leads = group.leader_id == member.member_id
    name = group.protocol_name
    if name is None and ticket.version < _NULLABLE_PROTOCOL_VERSION:
        name = ""
    ticket.answer(
        JoinGroupResponse(
            generation_id=group.generation,
            protocol_type=group.protocol_type,
            protocol_name=name,
            leader=(leader if leader is not None else group.leader_id) or "",
            member_id=member.member_id,
            members=group.join_members() if leads and listed else [],
            skip_assignment=skip_assignment and leads,
        )
    )


def refuse_sync(ticket: Ticket, error: ErrorCode) -> None:
    """SyncGroup failed."""
    ticket.answer(SyncGroupResponse(error_code=error))


def accept_sync(ticket: Ticket, group: Group, member: Member) -> None:
    """The member's own part of the assignment."""
    ticket.answer(
        SyncGroupResponse(
            protocol_type=group.protocol_type,
            protocol_name=group.protocol_name,
            assignment=member.assignment,
        )
    )
