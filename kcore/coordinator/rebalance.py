"""How a group gets from one generation to the next, and how a silent member is lost on the way.

    prepare -> members join (parked) -> complete_join -> members sync (parked) -> assignment stored

Rule ids are those of the tests. Sources: Kafka's GroupMetadataManager (4.3), and the delayed
operations of its predecessor.
"""

from __future__ import annotations

from kcore.coordinator.answers import accept_join, accept_sync, refuse_join, refuse_sync
from kcore.coordinator.config import MIN_JOIN_RETRY_MS, NEW_MEMBER_JOIN_TIMEOUT_MS
from kcore.coordinator.context import Context, ignore
from kcore.coordinator.group import Group, Member
from kcore.coordinator.purgatory import (
    DelayedHeartbeat,
    DelayedJoin,
    DelayedSync,
    InitialDelayedJoin,
    heartbeat_key,
    join_key,
    sync_key,
)
from kcore.coordinator.states import GroupInput, GroupState
from kcore.wire.codes import ErrorCode


class Rebalance:
    """The rounds of every group of a partition; implements `purgatory.Outcomes`."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._purgatory = context.purgatory

    # A round begins ------------------------------------------------------------------------------

    def prepare_or_complete(self, group: Group, now_ms: int) -> None:
        """The members must join again; if they are at it, this may have been the last thing
        missing.
        """
        if group.can_rebalance:
            self.prepare(group, now_ms)
        else:
            self.check_join(group, now_ms)

    def prepare(self, group: Group, now_ms: int) -> None:
        """R1-R5: the members must join again."""
        if group.state is GroupState.COMPLETING_REBALANCE:
            self.cancel_syncs(group, ErrorCode.REBALANCE_IN_PROGRESS, now_ms)
        group.pending_sync.clear()
        self._purgatory.cancel(sync_key(group))
        initial = group.state is GroupState.EMPTY
        self._context.move(group, GroupInput.REBALANCE, now_ms)
        timeout_ms = group.max_rebalance_timeout_ms()
        if initial:
            delay_ms = self._context.config.group_initial_rebalance_delay_ms
            remaining_ms = max(timeout_ms - delay_ms, 0)
            operation = InitialDelayedJoin(group, self, delay_ms, remaining_ms)
            self._purgatory.watch(join_key(group), operation, now_ms + delay_ms)
            return
        self._purgatory.watch(join_key(group), DelayedJoin(group, self), now_ms + timeout_ms)
        self.check_join(group, now_ms)

    def check_join(self, group: Group, now_ms: int) -> None:
        """R14: complete the join phase if nobody is missing (never within the initial delay)."""
        self._purgatory.check(join_key(group), now_ms)

    def extend_initial_delay(
        self, group: Group, delay_ms: int, remaining_ms: int, now_ms: int
    ) -> None:
        """R7: more members came."""
        group.new_member_added = False
        longer_ms = min(self._context.config.group_initial_rebalance_delay_ms, remaining_ms)
        left_ms = max(remaining_ms - delay_ms, 0)
        operation = InitialDelayedJoin(group, self, longer_ms, left_ms)
        self._purgatory.watch(join_key(group), operation, now_ms + longer_ms)

    # The join phase ends -------------------------------------------------------------------------

    def complete_join(self, group: Group, now_ms: int) -> None:
        """R8-R13: whoever has joined is in the next generation."""
        self._purgatory.cancel(join_key(group))
        group.new_member_added = False
        for member in [m for m in group.members.values() if m.join is None]:
            if member.instance_id is None:
                self.remove(group, member)
        if group.members and not self._elect(group):
            # Only static members, and none has come back yet: there is nobody to lead.
            wait_ms = max(group.max_rebalance_timeout_ms(), MIN_JOIN_RETRY_MS)
            self._purgatory.watch(join_key(group), DelayedJoin(group, self), now_ms + wait_ms)
            return
        group.generation += 1
        group.pending_sync.clear()
        if not group.members:
            group.protocol_name = None
            group.recompute_subscribed()
            self._context.move(group, GroupInput.EMPTIED, now_ms)
            self._context.write_group(group, {}, ignore, now_ms)
            return
        group.protocol_name = group.select_protocol()
        group.recompute_subscribed()
        self._context.move(group, GroupInput.JOINED, now_ms)
        group.pending_sync.update(group.members)
        timeout_ms = group.max_rebalance_timeout_ms()
        self._purgatory.watch(sync_key(group), DelayedSync(group, self), now_ms + timeout_ms)
        for member in group.members.values():
            member.is_new = False
            self.renew_session(group, member, now_ms)
            ticket = group.unpark_join(member)
            if ticket is not None:
                accept_join(ticket, group, member)

    def _elect(self, group: Group) -> bool:
        """R10: the leader stays if it is here, else the first who is; False if nobody is."""
        leader = None if group.leader_id is None else group.members[group.leader_id]
        if leader is None or leader.join is None:
            leader = next((m for m in group.members.values() if m.join is not None), None)
            if leader is not None:
                group.leader_id = leader.member_id
        return leader is not None

    # Syncs ---------------------------------------------------------------------------------------

    def cancel_syncs(self, group: Group, error: ErrorCode, now_ms: int) -> None:
        """R1: the generation gets no assignment."""
        for member in group.members.values():
            member.assignment = b""
        for member in group.members.values():
            ticket, member.sync = member.sync, None
            if ticket is not None:
                self.renew_session(group, member, now_ms)
                refuse_sync(ticket, error)

    def complete_syncs(self, group: Group, now_ms: int) -> None:
        """S5: the assignment is in the journal; everybody who waits gets its part."""
        self._context.move(group, GroupInput.ASSIGNED, now_ms)
        for member in group.members.values():
            ticket, member.sync = member.sync, None
            if ticket is not None:
                self.renew_session(group, member, now_ms)
                accept_sync(ticket, group, member)

    def synced(self, group: Group, member: Member, now_ms: int) -> None:
        """R22: the member has asked for its assignment; the last one ends the wait."""
        group.pending_sync.discard(member.member_id)
        self._purgatory.check(sync_key(group), now_ms)

    def expire_syncs(self, group: Group, generation: int, now_ms: int) -> None:
        """R21: whoever has not asked by now is out, static or not."""
        if generation != group.generation or not group.in_state(
            GroupState.COMPLETING_REBALANCE, GroupState.STABLE
        ):
            return
        if group.pending_sync:
            for member_id in sorted(group.pending_sync):
                self.remove(group, group.members[member_id])
            self.prepare(group, now_ms)

    # Sessions ------------------------------------------------------------------------------------

    def renew_session(self, group: Group, member: Member, now_ms: int) -> None:
        """H3: a sign of life."""
        self.watch_session(group, member.member_id, now_ms + member.session_timeout_ms)

    def await_first_generation(self, group: Group, member: Member, now_ms: int) -> None:
        """J17: a new member cannot send heartbeats while its JoinGroup is parked."""
        member.is_new = True
        self.watch_session(group, member.member_id, now_ms + NEW_MEMBER_JOIN_TIMEOUT_MS)

    def watch_session(self, group: Group, member_id: str, at_ms: int) -> None:
        """Let a member, or an id that was handed out, expire then."""
        operation = DelayedHeartbeat(group, member_id, self)
        self._purgatory.watch(heartbeat_key(group, member_id), operation, at_ms)

    def expire_session(self, group: Group, member_id: str, now_ms: int) -> None:
        """R18-R20: silence."""
        if member_id in group.pending_join:
            group.pending_join.remove(member_id)
            self.complete_if_all_joined(group, now_ms)
            return
        member = group.members.get(member_id)
        if member is None:
            return
        if not member.is_new and (member.join is not None or member.sync is not None):
            return  # the answer it waits for renews the session
        self.remove(group, member)
        if group.in_state(GroupState.STABLE, GroupState.COMPLETING_REBALANCE):
            self.prepare(group, now_ms)
        else:
            self.complete_if_all_joined(group, now_ms)

    def complete_if_all_joined(self, group: Group, now_ms: int) -> None:
        """Somebody has expired, and the rest may be all that there is.

        Unlike joining and leaving, this ends an initial delay, too (Kafka 4.3:
        removeMemberAndUpdateClassicGroup).
        """
        if group.state is GroupState.PREPARING_REBALANCE and group.all_joined():
            self.complete_join(group, now_ms)

    def remove(self, group: Group, member: Member) -> None:
        """R17: the member is gone; what it had parked is answered, its session ends."""
        ticket = group.unpark_join(member)
        sync, member.sync = member.sync, None
        group.remove(member.member_id)
        self._purgatory.cancel(heartbeat_key(group, member.member_id))
        if ticket is not None:
            refuse_join(ticket, ErrorCode.UNKNOWN_MEMBER_ID)
        if sync is not None:
            refuse_sync(sync, ErrorCode.UNKNOWN_MEMBER_ID)
