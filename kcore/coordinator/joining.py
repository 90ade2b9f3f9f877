"""JoinGroup: who is let in, under which id, and whether that makes a round (rules J, T)."""

from __future__ import annotations

from kcore.coordinator.answers import accept_join, refuse_join, refuse_sync
from kcore.coordinator.appends import answered
from kcore.coordinator.config import MAX_PENDING_MEMBERS
from kcore.coordinator.consumer.classic import ClassicMembers
from kcore.coordinator.context import Context
from kcore.coordinator.desk import Ticket
from kcore.coordinator.group import Group, Member, Protocols, protocols_of
from kcore.coordinator.purgatory import heartbeat_key
from kcore.coordinator.rebalance import Rebalance
from kcore.coordinator.share.states import FOREIGN
from kcore.coordinator.states import GroupInput, GroupState
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import JoinGroupRequest

# From this version on a member without an id is given one and joins again with it (KIP-394), so
# that a client that is gone by then leaves no member behind.
_REQUIRES_ID_VERSION = 4

# From this version on a returning static leader is told to leave the assignment as it is (KIP-814).
_SKIPS_ASSIGNMENT_VERSION = 9


class Joining:
    """Handles JoinGroup for the groups of a partition."""

    def __init__(self, context: Context, rebalance: Rebalance, consumers: ClassicMembers) -> None:
        self._context = context
        self._rebalance = rebalance
        self._consumers = consumers

    def handle(self, ticket: Ticket, request: JoinGroupRequest, now_ms: int) -> None:
        """J1: a group is made for a member without an id, not for one that claims to have been
        there.
        """
        group = self._context.groups.get(request.group_id)
        if group is not None:
            self._admit(ticket, group, request, now_ms)
        elif request.group_id in self._context.shares:
            refuse_join(ticket, FOREIGN[ApiKey.JOIN_GROUP])
        elif (
            request.group_id in self._context.consumers or request.group_id in self._context.streams
        ):

            def again(now_ms: int) -> None:
                self.handle(ticket, request, now_ms)

            self._consumers.join(ticket, request, again, now_ms)
        elif request.member_id:
            refuse_join(ticket, ErrorCode.UNKNOWN_MEMBER_ID, request.member_id)
        else:
            group = self._context.groups[request.group_id] = Group(request.group_id)
            self._admit(ticket, group, request, now_ms)
            self._record_new_group(group, now_ms)

    def _record_new_group(self, group: Group, now_ms: int) -> None:
        """The journal is to know that the group exists, although it says nothing yet."""

        def done(error: ErrorCode, now_ms: int) -> None:
            if error and group.generation == 0:
                self._undo_new_group(group, answered(error), now_ms)

        empty = Group(group.group_id)
        self._context.write_group(empty, {}, done, now_ms)

    def _undo_new_group(self, group: Group, error: ErrorCode, now_ms: int) -> None:
        """Nothing was written: the group never was."""
        if self._context.groups.get(group.group_id) is group:
            del self._context.groups[group.group_id]
            dismiss(self._context, group, error, now_ms)

    def _admit(self, ticket: Ticket, group: Group, request: JoinGroupRequest, now_ms: int) -> None:
        if not self._has_room(group, request.member_id):
            member = group.members.get(request.member_id)
            if member is not None:
                self._rebalance.remove(group, member)
            elif request.member_id in group.pending_join:
                group.pending_join.remove(request.member_id)
                self._context.purgatory.cancel(heartbeat_key(group, request.member_id))
            refuse_join(ticket, ErrorCode.GROUP_MAX_SIZE_REACHED)
            return
        error = group.refusal(ApiKey.JOIN_GROUP)
        if not error and not group.supports(
            request.protocol_type, (protocol.name for protocol in request.protocols)
        ):
            error = ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        if error:
            refuse_join(ticket, error, request.member_id)
        elif request.member_id:
            self._join_known(ticket, group, request, now_ms)
        else:
            self._join_unknown(ticket, group, request, now_ms)

    def _has_room(self, group: Group, member_id: str) -> bool:
        """J3-J5. While members join again, the first to do so stay."""
        largest = self._context.config.group_max_size
        if group.state is GroupState.PREPARING_REBALANCE:
            member = group.members.get(member_id)
            return (member is not None and member.join is not None) or group.awaiting_join < largest
        if group.in_state(GroupState.COMPLETING_REBALANCE, GroupState.STABLE):
            return member_id in group.members or len(group.members) < largest
        return True

    # Without an id -------------------------------------------------------------------------------

    def _join_unknown(
        self, ticket: Ticket, group: Group, request: JoinGroupRequest, now_ms: int
    ) -> None:
        """J9-J11."""
        instance_id = request.group_instance_id
        if instance_id is not None:
            member_id = self._context.new_member_id(instance_id)
            holder = group.static_members.get(instance_id)
            if holder is None:
                self._add(ticket, group, request, member_id, now_ms)
            else:
                self._replace(ticket, group, group.members[holder], request, member_id, now_ms)
            return
        member_id = self._context.new_member_id(ticket.caller.client_id)
        if ticket.version < _REQUIRES_ID_VERSION:
            self._add(ticket, group, request, member_id, now_ms)
        elif len(group.pending_join) >= MAX_PENDING_MEMBERS:
            refuse_join(ticket, ErrorCode.GROUP_MAX_SIZE_REACHED)
        else:
            group.pending_join.add(member_id)
            self._rebalance.watch_session(group, member_id, now_ms + request.session_timeout_ms)
            refuse_join(ticket, ErrorCode.MEMBER_ID_REQUIRED, member_id)

    def _add(
        self, ticket: Ticket, group: Group, request: JoinGroupRequest, member_id: str, now_ms: int
    ) -> None:
        """J15-J18: a member more."""
        caller = ticket.caller
        member = Member(
            member_id,
            request.group_instance_id,
            caller.client_id,
            caller.client_host,
            _rebalance_timeout_ms(ticket, request),
            request.session_timeout_ms,
            _protocols(request),
        )
        if not group.members:
            group.protocol_type = request.protocol_type
        group.add(member)
        group.park_join(member, ticket)
        if group.initial_delay():
            group.new_member_added = True
        self._rebalance.await_first_generation(group, member, now_ms)
        self._rebalance.prepare_or_complete(group, now_ms)

    # With an id ----------------------------------------------------------------------------------

    def _join_known(
        self, ticket: Ticket, group: Group, request: JoinGroupRequest, now_ms: int
    ) -> None:
        """J13, J14."""
        member_id = request.member_id
        if member_id in group.pending_join:
            if request.group_instance_id is not None:
                # Such an id is only ever given to members without an instance id.
                refuse_join(ticket, ErrorCode.UNKNOWN_SERVER_ERROR, member_id)
            else:
                self._add(ticket, group, request, member_id, now_ms)
            return
        error = group.check_member(member_id, request.group_instance_id)
        if error:
            refuse_join(ticket, error, member_id)
            return
        member = group.members[member_id]
        changed = member.protocols != _protocols(request)
        if group.state is GroupState.COMPLETING_REBALANCE and not changed:
            accept_join(ticket, group, member)  # the first answer was lost on its way
        elif group.state is GroupState.STABLE and not changed and group.leader_id != member_id:
            accept_join(ticket, group, member)
        else:
            self._update(ticket, group, member, request)
            self._rebalance.prepare_or_complete(group, now_ms)

    def _update(
        self, ticket: Ticket, group: Group, member: Member, request: JoinGroupRequest
    ) -> None:
        """The member joins (again), as what it says it is now."""
        group.update(
            member,
            _protocols(request),
            _rebalance_timeout_ms(ticket, request),
            request.session_timeout_ms,
        )
        older = group.park_join(member, ticket)
        if older is not None:
            # Kafka never answers it. Whoever still waits for it is better told than left: answers
            # of one connection come in order, and this one would hold up all that follow.
            refuse_join(older, ErrorCode.REBALANCE_IN_PROGRESS, member.member_id)

    # Static members ------------------------------------------------------------------------------

    def _replace(
        self,
        ticket: Ticket,
        group: Group,
        member: Member,
        request: JoinGroupRequest,
        member_id: str,
        now_ms: int,
    ) -> None:
        """T1-T4: the instance is back under a new id; the old one is fenced from here on."""
        old_id, old_leader = member.member_id, group.leader_id
        old = (member.protocols, member.rebalance_timeout_ms, member.session_timeout_ms)
        self._fence(group, member)
        self._rename(group, member, member_id, now_ms)
        self._update(ticket, group, member, request)
        if group.state is not GroupState.STABLE:
            self._rebalance.prepare_or_complete(group, now_ms)
            return
        if group.select_protocol() != group.protocol_name:
            self._rebalance.prepare(group, now_ms)
            return

        generation = group.generation

        def done(error: ErrorCode, now_ms: int) -> None:
            if (
                member.join is not ticket
                or group.state is not GroupState.STABLE
                or group.generation != generation
            ):
                return  # a round has begun: it answers, and writes who is who
            group.unpark_join(member)
            if error:
                group.update(member, *old)
                self._rename(group, member, old_id, now_ms)
                refuse_join(ticket, answered(error))
            else:
                self._rebalance.renew_session(group, member, now_ms)
                self._welcome_back(ticket, group, member, old_leader)

        self._context.write_group(group, group.assignments(), done, now_ms)

    def _fence(self, group: Group, member: Member) -> None:
        """Whatever the old process still waits for."""
        join = group.unpark_join(member)
        sync, member.sync = member.sync, None
        if join is not None:
            refuse_join(join, ErrorCode.FENCED_INSTANCE_ID, member.member_id)
        if sync is not None:
            refuse_sync(sync, ErrorCode.FENCED_INSTANCE_ID)

    def _rename(self, group: Group, member: Member, member_id: str, now_ms: int) -> None:
        self._context.purgatory.cancel(heartbeat_key(group, member.member_id))
        group.rename(member, member_id)
        self._rebalance.renew_session(group, member, now_ms)

    def _welcome_back(
        self, ticket: Ticket, group: Group, member: Member, old_leader: str | None
    ) -> None:
        """T2: no rebalance. A client that cannot be told to skip the assignment is told that its
        former self leads, so that it makes none.
        """
        if ticket.version >= _SKIPS_ASSIGNMENT_VERSION:
            accept_join(ticket, group, member, skip_assignment=True)
        else:
            accept_join(ticket, group, member, leader=old_leader, listed=False)


def dismiss(context: Context, group: Group, error: ErrorCode, now_ms: int) -> None:
    """The group ends here: whoever waits is told why, and nothing of it fires any more."""
    context.forget_timers(group)
    for member in group.members.values():
        join = group.unpark_join(member)
        sync, member.sync = member.sync, None
        if join is not None:
            refuse_join(join, error)
        if sync is not None:
            refuse_sync(sync, error)
    context.move(group, GroupInput.RETIRED, now_ms)


def _protocols(request: JoinGroupRequest) -> Protocols:
    return protocols_of([(protocol.name, protocol.metadata) for protocol in request.protocols])


def _rebalance_timeout_ms(ticket: Ticket, request: JoinGroupRequest) -> int:
    """Version 0 has no rebalance timeout of its own; what is negative is no time at all."""
    if ticket.version == 0:
        return request.session_timeout_ms
    return max(request.rebalance_timeout_ms, 0)
