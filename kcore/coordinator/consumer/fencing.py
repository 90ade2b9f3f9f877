"""How members go: they leave, are silent for too long, or do not do what they are to in time.

What a timer finds may be old news by the time it is the group's turn: it looks again then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from kcore.coordinator.consumer import records
from kcore.coordinator.consumer.group import ConsumerGroup
from kcore.coordinator.consumer.member import LEAVING_STATIC, ConsumerMember
from kcore.coordinator.consumer.migrating import downgraded, may_downgrade
from kcore.coordinator.consumer.states import MemberState
from kcore.coordinator.consumer.topics import metadata_hash
from kcore.coordinator.deadlines import Deadlines
from kcore.coordinator.journal import Item
from kcore.coordinator.purgatory import Key
from kcore.wire.codes import ErrorCode

if TYPE_CHECKING:
    from kcore.coordinator.context import Context
    from kcore.coordinator.rebalance import Rebalance

# A member's timers: its session; until when it is to have given something up; and, if it speaks the
# classic protocol, until when it is to join again, and to ask for its assignment.
SESSION: Final = "consumer-session"
REVOCATION: Final = "consumer-revocation"
JOIN: Final = "consumer-join"
SYNC: Final = "consumer-sync"
_ALL: Final = (SESSION, REVOCATION, JOIN, SYNC)


def timer_key(kind: str, group_id: str, member_id: str) -> Key:
    """A timer of a member."""
    return (kind, group_id, member_id)


class Fencing(Deadlines[ConsumerGroup]):
    """Takes members out of the groups of a partition, and keeps their timers."""

    kind = ConsumerGroup

    def __init__(self, context: Context, rebalance: Rebalance) -> None:
        super().__init__(context)
        self._rebalance = rebalance
        self._purgatory = context.purgatory

    # Timers --------------------------------------------------------------------------------------

    def watch(self, group_id: str, member: ConsumerMember, now_ms: int) -> None:
        """A member gave a sign of life."""
        key = timer_key(SESSION, group_id, member.member_id)
        self._await(key, now_ms + self._timeout_ms(group_id, member))

    def watch_revocation(self, group_id: str, member: ConsumerMember, now_ms: int) -> None:
        """C16: a member has taken a step; if it is to give something up, its time runs anew."""
        if member.state is MemberState.UNREVOKED_PARTITIONS and member.classic is None:
            at_ms = now_ms + max(member.rebalance_timeout_ms, 0)
            key = timer_key(REVOCATION, group_id, member.member_id)
            self._await(key, at_ms, member.epoch)
        else:
            self.cancel(REVOCATION, group_id, member.member_id)

    def watch_join(self, group_id: str, member: ConsumerMember, now_ms: int) -> None:
        """M4: a classic member has been told to join again; its time runs from the first time."""
        key = timer_key(JOIN, group_id, member.member_id)
        if key not in self._purgatory:
            self._await(key, now_ms + max(member.rebalance_timeout_ms, 0))

    def watch_sync(self, group_id: str, member: ConsumerMember, now_ms: int) -> None:
        """M2: a classic member is to ask for its assignment."""
        key = timer_key(SYNC, group_id, member.member_id)
        self._await(key, now_ms + max(member.rebalance_timeout_ms, 0))

    def cancel(self, kind: str, group_id: str, member_id: str) -> None:
        """It has done what it was to."""
        self._purgatory.cancel(timer_key(kind, group_id, member_id))

    def load(self, group: ConsumerGroup, now_ms: int) -> None:
        """The members of a group that has been loaded are taken to be alive until they are not."""
        for member in group.members.values():
            self.watch(group.group_id, member, now_ms)
            self.watch_revocation(group.group_id, member, now_ms)

    def forget(self, group_id: str, member_ids: Sequence[str]) -> None:
        """Nothing of these members is to fire any more."""
        for member_id in member_ids:
            for kind in _ALL:
                self.cancel(kind, group_id, member_id)

    def _session_timeout_ms(self, group: ConsumerGroup, member_id: str) -> int:
        return self._timeout_ms(group.group_id, group.members[member_id])

    def _timeout_ms(self, group_id: str, member: ConsumerMember) -> int:
        if member.classic is not None:
            return member.classic.session_timeout_ms
        return self._context.keeper.consumer_options(group_id).session_timeout_ms

    def _fence(
        self,
        group: ConsumerGroup,
        member_id: str,
        done: Callable[[ErrorCode, int], None],
        now_ms: int,
    ) -> None:
        """C16, C17."""
        self.fence(group, [group.members[member_id]], done, now_ms)

    # Going ---------------------------------------------------------------------------------------

    def fence(
        self,
        group: ConsumerGroup,
        members: Sequence[ConsumerMember],
        done: Callable[[ErrorCode, int], None],
        now_ms: int,
    ) -> None:
        """C17: take members out of a group that is held, and let go of it; the epoch is bumped, and
        whoever sends the next heartbeat makes the target without them. That of a group without
        members is there at once, as in Kafka 4.4.
        """
        group_id = group.group_id
        gone = {member.member_id for member in members}
        staying = [one for one in group.members.values() if one.member_id not in gone]
        if self.may_downgrade(staying):
            self.downgrade(group, staying, done, now_ms, rebalance=True)
            return
        regexes = {one.regex for one in staying}
        items: list[Item] = []
        for member_id in gone:
            items += records.member_tombstones(group_id, member_id)
        items += [
            records.regex_entry(group_id, regex, None)
            for regex in group.regexes
            if regex not in regexes
        ]
        names: set[str] = set()
        for one in staying:
            names |= group.topics_of(one)
        value = metadata_hash(self._context.topics, names)
        items.append(records.epoch_entry(group_id, group.epoch + 1, value))
        if not staying:
            items.append(records.target_epoch_entry(group_id, group.epoch + 1, 0))

        def fenced(error: ErrorCode, now_ms: int) -> None:
            group.held = False
            if not error:
                self.forget(group_id, list(gone))
            done(error, now_ms)

        self._context.write(items, fenced, now_ms)

    def may_downgrade(self, staying: Sequence[ConsumerMember]) -> bool:
        """M5: whether nobody is left who speaks the consumer protocol."""
        return may_downgrade(staying, self._context.config)

    def downgrade(
        self,
        group: ConsumerGroup,
        staying: Sequence[ConsumerMember],
        done: Callable[[ErrorCode, int], None],
        now_ms: int,
        *,
        rebalance: bool,
    ) -> None:
        """M5: a group that is held is a classic one of these members from now on."""
        context = self._context
        targets = {one.member_id: group.target_of(one) for one in staying}
        wall_ms = context.wall_ms(now_ms)
        classic, items = downgraded(group, staying, targets, context.topics, wall_ms)
        former = list(group.members)

        def written(error: ErrorCode, now_ms: int) -> None:
            group.held = False
            if not error:
                self.forget(group.group_id, former)
                context.groups[group.group_id] = classic
                for member in classic.members.values():
                    self._rebalance.renew_session(classic, member, now_ms)
                if rebalance:
                    self._rebalance.prepare(classic, now_ms)
            done(error, now_ms)

        context.write(items, written, now_ms)

    def depart(
        self,
        group: ConsumerGroup,
        member: ConsumerMember,
        done: Callable[[ErrorCode, int], None],
        now_ms: int,
    ) -> None:
        """C18: a static member is away for a while; its partitions wait for it until its session
        ends. Commits of its former self are as old as can be: any later owner is newer.
        """
        away = replace(
            member, epoch=LEAVING_STATIC, assigned=dict.fromkeys(member.assigned, 0), pending={}
        )

        def departed(error: ErrorCode, now_ms: int) -> None:
            group.held = False
            done(error, now_ms)

        self._context.write([records.current_entry(group.group_id, away)], departed, now_ms)
