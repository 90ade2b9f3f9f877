"""How members go: they leave, are silent for too long, or do not give up what they are to.

What a timer finds may be old news by the time it is the group's turn: it looks again then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from kcore.coordinator.consumer import records
from kcore.coordinator.consumer.group import ConsumerGroup
from kcore.coordinator.consumer.member import LEAVING_STATIC, ConsumerMember
from kcore.coordinator.consumer.states import MemberState
from kcore.coordinator.consumer.topics import metadata_hash
from kcore.coordinator.journal import Item
from kcore.coordinator.purgatory import Delayed, Key
from kcore.wire.codes import ErrorCode

if TYPE_CHECKING:
    from kcore.coordinator.context import AnyGroup, Context

_SESSION: Final = "consumer-session"
_REVOCATION: Final = "consumer-revocation"


def session_key(group_id: str, member_id: str) -> Key:
    """A member's session."""
    return (_SESSION, group_id, member_id)


def revocation_key(group_id: str, member_id: str) -> Key:
    """What a member is to give up, and until when."""
    return (_REVOCATION, group_id, member_id)


class DelayedSession(Delayed):
    """A session: every heartbeat moves its end."""

    __slots__ = ("_fencing", "_group_id", "_member_id")

    def __init__(self, fencing: Fencing, group_id: str, member_id: str) -> None:
        self._fencing = fencing
        self._group_id = group_id
        self._member_id = member_id

    def expire(self, now_ms: int) -> None:
        """No sign of life."""
        self._fencing.expire_session(self._group_id, self._member_id, now_ms)


class DelayedRevocation(Delayed):
    """Waits for a member to give up partitions, in the epoch in which it was told to."""

    __slots__ = ("_epoch", "_fencing", "_group_id", "_member_id")

    def __init__(self, fencing: Fencing, group_id: str, member: ConsumerMember) -> None:
        self._fencing = fencing
        self._group_id = group_id
        self._member_id = member.member_id
        self._epoch = member.epoch

    def expire(self, now_ms: int) -> None:
        """It has not."""
        self._fencing.expire_revocation(self._group_id, self._member_id, self._epoch, now_ms)


class Fencing:
    """Takes members out of the groups of a partition, and keeps their timers."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._purgatory = context.purgatory

    # Timers --------------------------------------------------------------------------------------

    def watch(self, group_id: str, member: ConsumerMember, now_ms: int) -> None:
        """A member gave a sign of life, and is like this now."""
        member_id = member.member_id
        timeout_ms = self._context.config.group_consumer_session_timeout_ms
        operation = DelayedSession(self, group_id, member_id)
        self._purgatory.watch(session_key(group_id, member_id), operation, now_ms + timeout_ms)

    def watch_revocation(self, group_id: str, member: ConsumerMember, now_ms: int) -> None:
        """C16: a member has taken a step; if it is to give something up, its time runs anew."""
        key = revocation_key(group_id, member.member_id)
        if member.state is MemberState.UNREVOKED_PARTITIONS:
            at_ms = now_ms + max(member.rebalance_timeout_ms, 0)
            self._purgatory.watch(key, DelayedRevocation(self, group_id, member), at_ms)
        else:
            self._purgatory.cancel(key)

    def load(self, group: ConsumerGroup, now_ms: int) -> None:
        """The members of a group that has been loaded are taken to be alive until they are not."""
        for member in group.members.values():
            self.watch(group.group_id, member, now_ms)
            self.watch_revocation(group.group_id, member, now_ms)

    def forget(self, group_id: str, member_ids: Sequence[str]) -> None:
        """Nothing of these members is to fire any more."""
        for member_id in member_ids:
            self._purgatory.cancel(session_key(group_id, member_id))
            self._purgatory.cancel(revocation_key(group_id, member_id))

    def expire_session(self, group_id: str, member_id: str, now_ms: int) -> None:
        """C17: fence the member, unless it was heard of in the meantime."""

        def silent(_member: ConsumerMember) -> bool:
            return session_key(group_id, member_id) not in self._purgatory

        self._expire(group_id, member_id, silent, now_ms)

    def expire_revocation(self, group_id: str, member_id: str, epoch: int, now_ms: int) -> None:
        """C16: fence the member, unless it has gone on in the meantime."""

        def late(member: ConsumerMember) -> bool:
            return (
                member.epoch == epoch
                and member.state is MemberState.UNREVOKED_PARTITIONS
                and revocation_key(group_id, member_id) not in self._purgatory
            )

        self._expire(group_id, member_id, late, now_ms)

    def _expire(
        self,
        group_id: str,
        member_id: str,
        due: Callable[[ConsumerMember], bool],
        now_ms: int,
    ) -> None:
        def run(group: AnyGroup | None, error: ErrorCode, now_ms: int) -> None:
            if error or not isinstance(group, ConsumerGroup):
                if group is not None:
                    group.held = False
                return
            member = group.members.get(member_id)
            if member is None or not due(member):
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
        items: list[Item] = []
        for member in members:
            items += records.member_tombstones(group_id, member.member_id)
        staying = [one for one in group.members.values() if one.member_id not in gone]
        regexes = {one.regex for one in staying}
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
