"""What is taken from members: that they give it up soon, that nobody has it before they are done
with it, and that they commit nothing of it any more.

A member knows what it is to have from SyncGroup, or from a heartbeat of the consumer protocol
(KIP-848). What it has beyond that it gives up in its next polls: both protocols wait for it. A
revocation is over when the application has acknowledged it, or polls again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NoReturn

from kcore.assignors import CooperativeStickyAssignor, blobs
from kcore.errors import ProtocolError
from kcore.sim.violations import Rule, ViolationError
from kcore.structs import TopicPartition
from kcore.wire.messages import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    JoinGroupRequest,
    SyncGroupResponse,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from kcore.events import PartitionsAssigned
    from kcore.sim.attendance import Attendance
    from kcore.sim.ledger import Asked
    from kcore.sim.members import Member
    from kcore.sim.network import Wire
    from kcore.sim.offsets import Hands, Offsets
    from kcore.wire.message import Message

# How many polls, and how much time beside the network's, a member may take until its application
# hears what goes. A reconciliation under way ends first: its commit, what goes, what comes.
_POLLS: Final = 6
_GIVE_UP_MS: Final = 2_000
_TRIPS: Final = 12

# What goes is committed first, and a partition of a topic that is deleted is left out of that when
# its coordinator has not known it three times: a backoff of at most a second (and its jitter) each.
_TRIES: Final = 3
_BACKOFF_MAX_MS: Final = 1_200

# Generations whose assignments are remembered, of each member.
_GENERATIONS_KEPT: Final = 20

_COOPERATIVE: Final = CooperativeStickyAssignor.name

_Partitions = frozenset[TopicPartition]


class _Taken:
    """What a member was told last, and what it still has beyond that: since when."""

    __slots__ = ("going", "is_to_have", "known", "polls", "since", "told")

    def __init__(self) -> None:
        self.polls = 0
        self.told: dict[int, list[_Partitions]] = {}  # by generation, of the classic protocol
        self.is_to_have: _Partitions | None = None
        self.since: dict[TopicPartition, tuple[int, int]] = {}  # polls, ms
        self.going: set[TopicPartition] = set()  # told to be revoked, not acknowledged
        self.known: set[TopicPartition] = set()  # what its coordinator was told that it has


class Revocations:
    """Partitions that are to go, and those that are going."""

    def __init__(
        self,
        attendance: Attendance,
        hands: Mapping[Member, Hands],
        offsets: Offsets,
        topic_names: Mapping[bytes, str],
        may_hold: Callable[[Member, TopicPartition], bool],
        now: Callable[[], int],
        latency_ms: int,
    ) -> None:
        self._attendance = attendance
        self._hands = hands
        self._offsets = offsets
        self._topic_names = topic_names
        self._may_hold = may_hold
        self._now = now
        self._give_up_ms = _GIVE_UP_MS + _TRIPS * latency_ms
        self._tries_ms = _TRIES * (_BACKOFF_MAX_MS + 2 * latency_ms)
        self._taken: dict[Member, _Taken] = {}
        self._giving: dict[Member, _Taken] = {}  # those that may be at it: acknowledging, closing

    def started(self, member: Member) -> None:
        """A process is there."""
        self._taken[member] = _Taken()

    def ended(self, member: Member, *, left: bool) -> None:
        """It has nothing any more. left: it has closed."""
        taken = self._taken.pop(member)
        self._giving.pop(member, None)
        if left and member.habits.awaits and taken.going and self._attendance.at_peace(member):
            self._raise_early(member, "is closed", taken.going)

    # What members are to have --------------------------------------------------------------------

    def answered(self, wire: Wire, asked: Asked, answer: Message) -> None:
        """A coordinator says what a member is to have."""
        request: Any = asked.message
        member: Any = wire.client
        taken = self._taken.get(member)
        if taken is None:
            return
        if isinstance(answer, SyncGroupResponse) and not answer.error_code:
            try:
                found, _ = blobs.decode_assignment(bytes(answer.assignment))
            except ProtocolError:
                return
            told = taken.told.setdefault(request.generation_id, [])
            told.append(frozenset(found))
            while len(taken.told) > _GENERATIONS_KEPT:
                del taken.told[next(iter(taken.told))]
            self._tell(member, taken, frozenset(found))
        elif isinstance(answer, ConsumerGroupHeartbeatResponse) and answer.assignment is not None:
            self._tell(member, taken, self._by_name(answer.assignment.topic_partitions))

    def _tell(self, member: Member, taken: _Taken, is_to_have: _Partitions) -> None:
        taken.is_to_have = is_to_have
        self._note(taken, self._hands[member].owned)
        for tp in is_to_have.intersection(taken.since):
            del taken.since[tp]

    def _note(self, taken: _Taken, has: Iterable[TopicPartition]) -> None:
        if taken.is_to_have is not None:
            for tp in has:
                if tp not in taken.is_to_have:
                    taken.since.setdefault(tp, (taken.polls, self._now()))

    def assigned(self, member: Member, event: PartitionsAssigned) -> None:
        """An application hears what it has."""
        taken = self._taken[member]
        has = frozenset(event.partitions)
        told = taken.told.get(event.generation)
        if not member.habits.by_epochs and told is not None and has not in told:
            more, less = _names(has - told[-1]), _names(told[-1] - has)
            raise ViolationError(
                Rule.GIVES_UP,
                f"{member.name} takes over generation {event.generation} of {member.group_id} with"
                f" {more or 'nothing'} beyond what that gives it, and without {less or 'nothing'}",
            )
        self._judge_handled(member, event.added)
        self._note(taken, event.added)
        taken.known.update(event.partitions)

    def revoked(self, member: Member, partitions: Iterable[TopicPartition]) -> None:
        """An application hears what goes."""
        taken = self._taken[member]
        taken.going.update(partitions)
        if member.habits.awaits:
            self._giving[member] = taken
        self.lost(member, partitions)

    def lost(self, member: Member, partitions: Iterable[TopicPartition]) -> None:
        """An application hears what is gone."""
        since = self._taken[member].since
        for tp in partitions:
            since.pop(tp, None)

    def handled(self, member: Member) -> None:
        """An application that is waited for has handled it, or closes."""
        taken = self._taken[member]
        taken.going.clear()
        if member.closing:
            self._giving[member] = taken
        else:
            self._giving.pop(member, None)

    def polled(self, member: Member) -> None:
        """An application polls: what it was told before is over with this."""
        taken = self._taken[member]
        taken.polls += 1
        if not member.habits.awaits:
            taken.going.clear()
        late = [
            tp
            for tp, (polls, since_ms) in taken.since.items()
            if taken.polls - polls > _POLLS and self._now() - since_ms > self._give_up_ms
        ]
        if late and self._attendance.well(member):
            raise ViolationError(
                Rule.GIVES_UP,
                f"{member.name} is to have {_names(late)} no more, and has polled"
                f" {taken.polls - taken.since[late[0]][0]} times since",
            )

    def topic_gone(self, name: str) -> None:
        """One is deleted: who commits it before something goes tries that three times more."""
        for member, taken in self._taken.items():
            has = {tp.topic for tp in self._hands[member].owned}
            if taken.since and member.commits_itself and name in has:
                for tp, (polls, since_ms) in taken.since.items():
                    taken.since[tp] = polls, since_ms + self._tries_ms

    # Who comes next ------------------------------------------------------------------------------

    def _judge_handled(self, member: Member, added: Iterable[TopicPartition]) -> None:
        for other, taken in self._giving.items():
            if other is member or other.group_id != member.group_id:
                continue
            still = taken.going if other.habits.awaits else set()
            if other.closing:
                still = still.union(self._hands[other].owned)
            early = {tp for tp in still.intersection(added) if self._may_hold(other, tp)}
            has_time = not self._attendance.hurried(other)
            if early and has_time and self._attendance.at_peace(other):
                self._raise_early(other, f"is not done, and {member.name} gets it,", early)

    def asked(self, wire: Wire, asked: Asked) -> None:
        """Whoever joins, or says what it has, is done with all that it does not name."""
        member: Any = wire.client
        taken = self._taken.get(member)
        if taken is None:
            return
        request = asked.message
        if isinstance(request, JoinGroupRequest):
            named = _claimed(request)
        elif (
            isinstance(request, ConsumerGroupHeartbeatRequest)
            and request.topic_partitions is not None
            and request.member_epoch >= 0
        ):
            named = self._by_name(request.topic_partitions)
        else:
            return
        taken.known = set(named)
        going = taken.going if member.habits.awaits else set()
        unsaid = going.union(self._hands[member].owned) - named
        if unsaid:
            self._raise_early(member, "says that it has nothing of it", unsaid)
        if isinstance(request, JoinGroupRequest) or not request.member_epoch:
            # What it was told is over; a plan that it had no use for any more it has not looked at.
            taken.is_to_have = None
            taken.since.clear()

    def _by_name(self, topics: Iterable[Any]) -> _Partitions:
        return frozenset(
            TopicPartition(self._topic_names[topic.topic_id], number)
            for topic in topics
            for number in topic.partitions
        )

    def _raise_early(self, member: Member, does: str, going: Iterable[TopicPartition]) -> NoReturn:
        raise ViolationError(
            Rule.HANDLED,
            f"{member.name} {does} while its application handles that {_names(going)} goes",
        )

    # Commits -------------------------------------------------------------------------------------

    def asks(
        self,
        member: Member,
        offsets: Mapping[TopicPartition, int],
        lives: Mapping[str, int] | None = None,
    ) -> None:
        """A member commits: nothing of what it has told its coordinator to be gone. What it was to
        send before that may go out late, in its order. lives: of topics that it names by their ids.
        """
        taken, hands = self._taken.get(member), self._hands[member]
        if taken is None:
            return
        for tp, offset in offsets.items():
            if tp not in hands.owned and tp not in taken.known:
                raise ViolationError(
                    Rule.COMMIT_OWN,
                    f"{member.name} commits {offset} in {_names([tp])}, which it has not",
                )
            life = self._offsets.life(tp, lives)
            began = min(self._offsets.beginnings(member.group_id, hands, tp, life))
            if offset < began:
                raise ViolationError(
                    Rule.COMMIT_OWN,
                    f"{member.name} commits {offset} in {_names([tp])}, which it has from {began}"
                    " on",
                )


def _claimed(request: JoinGroupRequest) -> _Partitions:
    """What a member of the classic protocol keeps: one of an eager protocol nothing."""
    names = {protocol.name for protocol in request.protocols}
    if names != {_COOPERATIVE}:
        return frozenset()
    [protocol] = request.protocols
    return frozenset(blobs.decode_subscription(bytes(protocol.metadata)).owned)


def _names(partitions: Iterable[TopicPartition]) -> str:
    return ", ".join(f"{tp.topic}-{tp.partition}" for tp in sorted(partitions))
