"""What members of the classic protocol say to a consumer group.

A group without members gives way to a classic one. Members of a group that was classic stay in it
as they are, and new ones may come: their JoinGroup is what a heartbeat is to others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from kcore.coordinator.answers import refuse_join
from kcore.coordinator.appends import answered
from kcore.coordinator.consumer.fencing import Fencing
from kcore.coordinator.consumer.group import ConsumerGroup
from kcore.coordinator.consumer.member import ConsumerMember
from kcore.coordinator.consumer.records import group_tombstones
from kcore.coordinator.desk import Ticket
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import JoinGroupRequest, LeaveGroupRequest, LeaveGroupResponse

if TYPE_CHECKING:
    from kcore.coordinator.context import AnyGroup, Context

# From this version on LeaveGroup names several members (KIP-345).
_LEAVE_BATCH_VERSION = 3

_Identity = LeaveGroupRequest.MemberIdentity
Again = Callable[[int], None]


class ClassicMembers:
    """Handles the classic protocol for the consumer groups of a partition."""

    def __init__(self, context: Context, fencing: Fencing) -> None:
        self._context = context
        self._fencing = fencing

    # JoinGroup -----------------------------------------------------------------------------------

    def join(self, ticket: Ticket, request: JoinGroupRequest, again: Again, now_ms: int) -> None:
        """M2, M6. again: handle the request anew, as there is no consumer group any more."""

        def run(group: AnyGroup | None, error: ErrorCode, now_ms: int) -> None:
            if error:
                refuse_join(ticket, error, request.member_id)
            elif not isinstance(group, ConsumerGroup):
                if group is not None:
                    group.held = False
                again(now_ms)
            elif group.members:
                group.held = False
                refuse_join(ticket, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, request.member_id)
            elif request.member_id:
                group.held = False
                refuse_join(ticket, ErrorCode.UNKNOWN_MEMBER_ID, request.member_id)
            else:
                self._give_way(ticket, request, group, again, now_ms)

        self._context.hold(request.group_id, run, now_ms)

    def _give_way(
        self,
        ticket: Ticket,
        request: JoinGroupRequest,
        group: ConsumerGroup,
        again: Again,
        now_ms: int,
    ) -> None:
        def done(error: ErrorCode, now_ms: int) -> None:
            group.held = False
            if error:
                refuse_join(ticket, answered(error), request.member_id)
            else:
                again(now_ms)

        self._context.write(group_tombstones(group), done, now_ms)

    # LeaveGroup ----------------------------------------------------------------------------------

    def leave(
        self, ticket: Ticket, group_id: str, members: Sequence[_Identity], now_ms: int
    ) -> None:
        """L1-L5; an administrator may name any member, whichever protocol that speaks."""

        def run(group: AnyGroup | None, error: ErrorCode, now_ms: int) -> None:
            if error or not isinstance(group, ConsumerGroup):
                if group is not None:
                    group.held = False
                ticket.answer(
                    LeaveGroupResponse(error_code=error or ErrorCode.COORDINATOR_NOT_AVAILABLE)
                )
                return
            gone: dict[str, ConsumerMember] = {}
            response = LeaveGroupResponse()
            for entry in members:
                member, wrong = _named(group, entry)
                if member is not None:
                    gone[member.member_id] = member
                response.members.append(
                    LeaveGroupResponse.MemberResponse(
                        member_id=entry.member_id,
                        group_instance_id=entry.group_instance_id,
                        error_code=wrong,
                    )
                )

            def done(error: ErrorCode, _now_ms: int) -> None:
                ticket.answer(
                    LeaveGroupResponse(error_code=answered(error)) if error else response
                )

            if ticket.version < _LEAVE_BATCH_VERSION:
                response = LeaveGroupResponse(error_code=response.members[0].error_code)
            if gone:
                self._fencing.fence(group, list(gone.values()), done, now_ms)
            else:
                group.held = False
                ticket.answer(response)

        self._context.hold(group_id, run, now_ms)


def _named(group: ConsumerGroup, entry: _Identity) -> tuple[ConsumerMember | None, ErrorCode]:
    """The member that is meant, or why there is none."""
    if entry.group_instance_id is None:
        member = group.members.get(entry.member_id)
    else:
        member = group.static_member(entry.group_instance_id)
        if member is not None and entry.member_id not in {"", member.member_id}:
            return None, ErrorCode.FENCED_INSTANCE_ID
    return member, ErrorCode.UNKNOWN_MEMBER_ID if member is None else ErrorCode.NONE
