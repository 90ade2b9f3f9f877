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
from kcore.coordinator.heartbeating import DelayedFence
from kcore.coordinator.journal import Item
from kcore.coordinator.purgatory import Key
from kcore.timers import NEVER
from kcore.wire.codes import ErrorCode

if TYPE_CHECKING:
    from kcore.coordinator.context import AnyGroup, Context
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


class Fencing:
    """Takes members out of the groups of a partition, and keeps their timers."""

    def __init__(self, context: Context, rebalance: Rebalance) -> None:
        self._context = context
        self._rebalance = rebalance
        self._purgatory = context.purgatory

    # Timers --------------------------------------------------------------------------------------

    def watch(self, group_id: str, member: ConsumerMember, now_ms: int) -> None:
        """A member gave a sign of life."""
        timeout_ms = self._context.config.group_consumer_session_timeout_ms
        if member.classic is not None:
            timeout_ms = member.classic.session_timeout_ms
        self._watch(SESSION, group_id, member.member_id, now_ms + timeout_ms)

    def watch_revocation(self, group_id: str, member: ConsumerMember, now_ms: int) -> None:
        """C16: a member has taken a step; if it is to give something up, its time runs anew."""
        if member.state is MemberState.UNREVOKED_PARTITIONS and member.classic is None:
            at_ms = now_ms + max(member.rebalance_timeout_ms, 0)
            self._watch(REVOCATION, group_id, member.member_id, at_ms, member.epoch)
        else:
            self.cancel(REVOCATION, group_id, member.member_id)

    def watch_join(self, group_id: str, member: ConsumerMember, now_ms: int) -> None:
        """M4: a classic member has been told to join again; its time runs from the first time."""
        if self._purgatory.at(timer_key(JOIN, group_id, member.member_id)) == NEVER:
            at_ms = now_ms + max(member.rebalance_timeout_ms, 0)
            self._watch(JOIN, group_id, member.member_id, at_ms)

    def watch_sync(self, group_id: str, member: ConsumerMember, now_ms: int) -> None:
        """M2: a classic member is to ask for its assignment."""
        at_ms = now_ms + max(member.rebalance_timeout_ms, 0)
        self._watch(SYNC, group_id, member.member_id, at_ms)

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

    def _watch(
        self, kind: str, group_id: str, member_id: str, at_ms: int, epoch: int | None = None
    ) -> None:
        key = timer_key(kind, group_id, member_id)
        self._purgatory.watch(key, DelayedFence(self.expire, key, epoch), at_ms)

    def expire(self, key: Key, epoch: int | None, now_ms: int) -> None:
        """C16, C17: fence the member, unless it has done what it was to in the meantime."""
        _, group_id, member_id = map(str, key)

        def run(group: AnyGroup | None, error: ErrorCode, now_ms: int) -> None:
            if group is None or error:
                return
            member = group.members.get(member_id) if isinstance(group, ConsumerGroup) else None
            if (
                not isinstance(group, ConsumerGroup)
                or member is None
                or key in self._purgatory
                or epoch not in {None, member.epoch}
            ):
                group.held = False
                return

            def done(error: ErrorCode, now_ms: int) -> None:
                if error:  # nothing was written: it is still there, and looked at again
                    self.watch(group_id, member, now_ms)

            self.fence(group, [member], done, now_ms)

        self._context.hold(group_id, run, now_ms)

    # Going ---------------------------------------------------------------------------------------

    def fence(
        self,
        group: ConsumerGroup,
        members: Sequence[ConsumerMember],
        done: Callable[[ErrorCode, int], None],
        now_ms: int,
    ) -> None:
        """C17: take members out of a group that is held, and let go of it; the epoch is bumped, and
        whoever sends the next heartbeat makes the target without them.
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
