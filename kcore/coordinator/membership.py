"""SyncGroup, Heartbeat and LeaveGroup (rules S, H, L)."""

from __future__ import annotations

from kcore.coordinator.answers import accept_sync, refuse_sync
from kcore.coordinator.appends import answered
from kcore.coordinator.consumer.classic import ClassicMembers
from kcore.coordinator.context import Context
from kcore.coordinator.desk import Ticket
from kcore.coordinator.group import Group, Member
from kcore.coordinator.purgatory import heartbeat_key
from kcore.coordinator.rebalance import Rebalance
from kcore.coordinator.states import GroupState
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import (
    HeartbeatRequest,
    HeartbeatResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    SyncGroupRequest,
)

# From this version on LeaveGroup names several members (KIP-345).
_LEAVE_BATCH_VERSION = 3


class Membership:
    """Handles what members of a partition's groups send besides JoinGroup."""

    def __init__(self, context: Context, rebalance: Rebalance, consumers: ClassicMembers) -> None:
        self._context = context
        self._rebalance = rebalance
        self._consumers = consumers

    # SyncGroup -----------------------------------------------------------------------------------

    def sync(self, ticket: Ticket, request: SyncGroupRequest, now_ms: int) -> None:
        """S1-S6."""
        if request.group_id in self._context.consumers:
            self._consumers.sync(ticket, request, now_ms)
            return
        group = self._context.groups.get(request.group_id)
        if group is None:
            refuse_sync(ticket, ErrorCode.UNKNOWN_MEMBER_ID)
            return
        error = self._check_sync(group, request)
        if error:
            refuse_sync(ticket, error)
            return
        member = group.members[request.member_id]
        if group.state is GroupState.STABLE:
            self._rebalance.synced(group, member, now_ms)
            accept_sync(ticket, group, member)
            return
        older, member.sync = member.sync, ticket
        if older is not None:
            refuse_sync(older, ErrorCode.REBALANCE_IN_PROGRESS)  # see Joining._update
        self._rebalance.synced(group, member, now_ms)
        if group.leader_id == member.member_id:
            self._assign(group, request, now_ms)

    def _check_sync(self, group: Group, request: SyncGroupRequest) -> ErrorCode:
        if group.state is GroupState.DEAD:
            return group.refusal(ApiKey.SYNC_GROUP)
        error = group.check_member(request.member_id, request.group_instance_id)
        if not error and request.generation_id != group.generation:
            error = ErrorCode.ILLEGAL_GENERATION
        if not error and (
            _differ(request.protocol_type, group.protocol_type)
            or _differ(request.protocol_name, group.protocol_name)
        ):
            error = ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        return error or group.refusal(ApiKey.SYNC_GROUP)

    def _assign(self, group: Group, request: SyncGroupRequest, now_ms: int) -> None:
        """S5: the assignment holds once it is in the journal, if the generation still stands."""
        assignments = {
            entry.member_id: bytes(entry.assignment)
            for entry in request.assignments
            if entry.member_id in group.members
        }
        generation = group.generation

        def done(error: ErrorCode, now_ms: int) -> None:
            if generation != group.generation or (
                group.state is not GroupState.COMPLETING_REBALANCE
            ):
                return
            if error:
                self._rebalance.cancel_syncs(group, answered(error), now_ms)
                self._rebalance.prepare(group, now_ms)
            else:
                self._rebalance.complete_syncs(group, now_ms)

        self._context.write_group(group, assignments, done, now_ms)

    # Heartbeat -----------------------------------------------------------------------------------

    def heartbeat(self, ticket: Ticket, request: HeartbeatRequest, now_ms: int) -> None:
        """H1, H2."""
        if request.group_id in self._context.consumers:
            self._consumers.heartbeat(ticket, request, now_ms)
            return
        group = self._context.groups.get(request.group_id)
        error = ErrorCode.UNKNOWN_MEMBER_ID
        if group is not None and group.state is GroupState.DEAD:
            error = group.refusal(ApiKey.HEARTBEAT)
        elif group is not None:
            error = group.check_member(request.member_id, request.group_instance_id)
            if not error and request.generation_id != group.generation:
                error = ErrorCode.ILLEGAL_GENERATION
            if not error:
                self._rebalance.renew_session(group, group.members[request.member_id], now_ms)
                error = group.refusal(ApiKey.HEARTBEAT)
        ticket.answer(HeartbeatResponse(error_code=error))

    # LeaveGroup ----------------------------------------------------------------------------------

    def leave(self, ticket: Ticket, request: LeaveGroupRequest, now_ms: int) -> None:
        """L1-L5."""
        members = request.members
        if ticket.version < _LEAVE_BATCH_VERSION:
            members = [LeaveGroupRequest.MemberIdentity(member_id=request.member_id)]
        if request.group_id in self._context.consumers:
            self._consumers.leave(ticket, request.group_id, members, now_ms)
            return
        group = self._context.groups.get(request.group_id)
        refusal = ErrorCode.NONE if group is None else group.refusal(ApiKey.LEAVE_GROUP)
        if refusal:
            ticket.answer(LeaveGroupResponse(error_code=refusal))
            return
        results = [
            LeaveGroupResponse.MemberResponse(
                member_id=entry.member_id,
                group_instance_id=entry.group_instance_id,
                error_code=ErrorCode.UNKNOWN_MEMBER_ID
                if group is None
                else self._leave_one(group, entry),
            )
            for entry in members
        ]
        if group is not None and any(not result.error_code for result in results):
            if group.in_state(GroupState.STABLE, GroupState.COMPLETING_REBALANCE):
                self._rebalance.prepare(group, now_ms)
            elif group.state is GroupState.PREPARING_REBALANCE:
                self._rebalance.check_join(group, now_ms)
        if ticket.version < _LEAVE_BATCH_VERSION:
            ticket.answer(LeaveGroupResponse(error_code=results[0].error_code))
        else:
            ticket.answer(LeaveGroupResponse(members=results))

    def _leave_one(self, group: Group, entry: LeaveGroupRequest.MemberIdentity) -> ErrorCode:
        """L2: by its id, or (an administrator does not know that) by its instance id alone."""
        member_id, instance_id = entry.member_id, entry.group_instance_id
        if not member_id:
            holder = None if instance_id is None else group.static_members.get(instance_id)
            if holder is None:
                return ErrorCode.UNKNOWN_MEMBER_ID
            self._rebalance.remove(group, group.members[holder])
            return ErrorCode.NONE
        if member_id in group.pending_join:
            group.pending_join.remove(member_id)
            self._context.purgatory.cancel(heartbeat_key(group, member_id))
            return ErrorCode.NONE
        error = group.check_member(member_id, instance_id)
        if not error:
            self._rebalance.remove(group, group.members[member_id])
        return error

    # Commits -------------------------------------------------------------------------------------

    def committed(self, group: Group, member: Member | None, now_ms: int) -> None:
        """O7: a member that commits is alive."""
        if member is not None and group.in_state(GroupState.STABLE, GroupState.PREPARING_REBALANCE):
            self._rebalance.renew_session(group, member, now_ms)


def _differ(given: str | None, known: str | None) -> bool:
    """KIP-559: what either side does not say is not compared."""
    return given is not None and known is not None and given != known
