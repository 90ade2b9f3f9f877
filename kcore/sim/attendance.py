"""Who has to be in its group, and who must not: judged of members that are at peace.

A member that polls in time is not put out, by the coordinator or by itself; one that polls too
late, or closes, is out of the coordinator's books in time, without its session having to end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kcore.coordinator.consumer.group import ConsumerGroup
from kcore.coordinator.group import Group
from kcore.sim.violations import Rule, ViolationError
from kcore.structs import GroupMembershipOperation, TopicPartition
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import (
    ConsumerGroupHeartbeatResponse,
    HeartbeatResponse,
    JoinGroupResponse,
    OffsetCommitResponse,
    ShareGroupHeartbeatResponse,
    SyncGroupResponse,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from kcore.coordinator.context import AnyGroup
    from kcore.sim.ledger import Asked
    from kcore.sim.network import Wire
    from kcore.sim.peace import Peace
    from kcore.sim.plan import Plan
    from kcore.sim.processes import Process
    from kcore.wire.message import Message

# What a coordinator tells who is no member any more.
_PUT_OUT: Final = {
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.FENCED_MEMBER_EPOCH,
    ErrorCode.FENCED_INSTANCE_ID,
}
_TELLS: Final = (
    JoinGroupResponse,
    SyncGroupResponse,
    HeartbeatResponse,
    ConsumerGroupHeartbeatResponse,
    ShareGroupHeartbeatResponse,
)

# How long it takes to say that one leaves, on a link that works, beside the network's own time.
_LEAVE_MS: Final = 3_000
_TRIPS: Final = 12
_POLLS_TO_JOIN: Final = 3


class Attendance:
    """Members, the ids that their groups know them by, and when they last polled."""

    def __init__(
        self,
        plan: Plan,
        peace: Peace,
        now: Callable[[], int],
        group_of: Callable[[str], AnyGroup | None],
    ) -> None:
        self._peace = peace
        self._now = now
        self._group_of = group_of
        # A group of both protocols that becomes a classic one lets all sessions begin anew, and
        # tells its members that their generation is over: they have lost what they had, and are no
        # members in their own eyes until they poll (Kafka 4.3 and its client do the same).
        self._both = 0 < plan.consumer_share < 1
        self._over_ms = plan.settle_within_ms
        self._by_epochs: dict[str, bool] = {}  # groups of both: which kind they were
        self._turned_ms: dict[str, int] = {}  # when they last became classic ones
        self._max_poll_ms = plan.max_poll_interval_ms
        # A classic member hears of a rebalance with a heartbeat, gives up in one poll what it has,
        # may say in the next that it did, and joins in the one behind: a plan may leave it less
        # time, which is that of a poll, than this takes.
        takes_ms = plan.heartbeat_interval_ms + _POLLS_TO_JOIN * plan.poll_every_ms[1]
        self._in_a_hurry = takes_ms + _TRIPS * plan.latency_ms[1] > plan.max_poll_interval_ms
        self._leave_ms = _LEAVE_MS + _TRIPS * plan.latency_ms[1]
        shortest_ms = min(plan.session_timeout_ms, plan.max_poll_interval_ms)
        self._remain_ms = shortest_ms - plan.heartbeat_interval_ms - self._leave_ms
        # By the id of who has closed to remain: who, and until when that has to hold.
        self._remaining: dict[str, tuple[Process, int]] = {}
        self._ids: dict[Process, set[str]] = {}  # those that it was given, or has used
        self._polled_ms: dict[Process, int] = {}  # or joined
        self._left: dict[Process, int] = {}  # closed, and not looked for any more: when

    def at_peace(self, member: Process) -> bool:
        """No fault has touched it, or it has got over all of them."""
        return not member.paused and self._peace.at(member.name, self._now())

    def well(self, member: Process) -> bool:
        """It is there, and is to stay: nothing stands between it and its coordinator."""
        return not member.ended and not member.closing and self.at_peace(member)

    def hurried(self, member: Process) -> bool:
        """Whether its plan may leave it too little time for a rebalance, and it is put out."""
        return self._in_a_hurry and not member.habits.by_epochs

    # What happens --------------------------------------------------------------------------------

    def started(self, member: Process) -> None:
        """A process is there."""
        self._ids[member] = set()
        self._polled_ms[member] = self._now()

    def ended(self, member: Process, *, left: bool) -> None:
        """It is gone. left: it has closed."""
        if (
            left
            and self._says_goodbye(member)
            and self._peace.at(member.name, self._now(), but_slow=True)
        ):
            self._left[member] = self._now()
        else:
            del self._ids[member]
        del self._polled_ms[member]

    def polled(self, member: Process) -> None:
        """The application shows that it is alive."""
        self._polled_ms[member] = self._now()

    def lost(self, member: Process, partitions: Sequence[TopicPartition]) -> None:
        """Its application is told that it was put out."""
        self._judge_stays(member, f"is told that it has lost {len(partitions)} partitions")

    def stepped_out(self, member: Process) -> None:
        """It gives its membership up by itself."""
        self._judge_stays(member, f"steps out of {member.group_id}")

    def _judge_stays(self, member: Process, why: str) -> None:
        if not self.hurried(member) and self._steady(member) and self.well(member):
            raise ViolationError(Rule.STAYS, f"{member.name} {why}")

    def asked(self, wire: Wire, asked: Asked) -> None:
        """A request is sent: whoever names itself knows who it is."""
        member: Any = wire.client
        request: Any = asked.message
        self._turn(request.group_id)
        if request.member_id and member in self._polled_ms:
            self._ids[member].add(request.member_id)

    def answered(self, wire: Wire, asked: Asked, answer: Message) -> None:
        """A member may be told that it is none; who has joined has time from then on."""
        request: Any = asked.message
        member: Any = wire.client
        self._turn(request.group_id)
        joins = isinstance(answer, JoinGroupResponse)
        if isinstance(answer, JoinGroupResponse) and answer.member_id and member in self._ids:
            self._ids[member].add(answer.member_id)
        if isinstance(answer, ConsumerGroupHeartbeatResponse | ShareGroupHeartbeatResponse):
            joins = not request.member_epoch
        if joins and member in self._polled_ms:
            self._polled_ms[member] = self._now()
        codes: set[int] = set()
        if isinstance(answer, _TELLS):
            codes.add(answer.error_code)
        elif isinstance(answer, OffsetCommitResponse):
            codes.update(each.error_code for topic in answer.topics for each in topic.partitions)
        put_out = codes & _PUT_OUT
        if put_out and request.member_id in self._ids.get(member, ()):
            word = ErrorCode(put_out.pop()).name
            self._judge_stays(member, f"is told {word} by the coordinator of {member.group_id}")

    # From time to time ---------------------------------------------------------------------------

    def look(self, living: Iterable[Process]) -> None:
        """Whoever is to be out of its group by now is."""
        now_ms = self._now()
        for group_id in self._by_epochs:
            self._turn(group_id)
        for member in living:
            away_ms = now_ms - self._polled_ms[member]
            able = not member.closing and not member.paused and self._says_goodbye(member)
            if able and away_ms > self._max_poll_ms + self._leave_ms:
                self._judge_out(member, f"has not polled for {away_ms} ms")
        self._judge_remaining()
        for member, left_ms in list(self._left.items()):
            if now_ms - left_ms > self._leave_ms:
                self._judge_out(member, f"has closed {now_ms - left_ms} ms ago")
                del self._left[member], self._ids[member]

    def _says_goodbye(self, member: Process) -> bool:
        """Static members of the classic protocol do not (KIP-345): their sessions end."""
        if member.operation is not GroupMembershipOperation.DEFAULT:
            leaves = member.operation is GroupMembershipOperation.LEAVE_GROUP
        else:
            leaves = member.habits.by_epochs or member.habits.instance_id is None
        return leaves and self._steady(member)

    def remains(self, member: Process) -> None:
        """It closes, and is to be a member until its session is over, or it has not joined a
        rebalance in time; whose name another process has may be put out by that.
        """
        ids, group = self._ids[member], self._group_of(member.group_id)
        if group is None or not self._steady(member) or member.habits.instance_id is not None:
            return
        if self._peace.at(member.name, self._now()):
            for member_id in ids:
                if _counts(group, member_id):
                    self._remaining[member_id] = (member, self._now() + self._remain_ms)

    def _judge_remaining(self) -> None:
        for member_id, (member, until_ms) in list(self._remaining.items()):
            group = self._group_of(member.group_id)
            peace = group is not None and self._peace.at(member.name, self._now())
            if self._now() >= until_ms or not peace or not self._steady(member):
                del self._remaining[member_id]
            elif group is not None and member_id not in group.members:
                raise ViolationError(
                    Rule.REMAINS, f"{member.name} has closed to remain in {member.group_id}"
                )

    def _turn(self, group_id: str) -> None:
        """A group may have become another kind of group; or it is empty, and begins anew as any:
        of ids that it has handed out to members of the classic protocol it knows nothing then.
        """
        if self._both:
            group = self._group_of(group_id)
            by_epochs = isinstance(group, ConsumerGroup) and bool(group.members)
            if self._by_epochs.get(group_id, False) and not by_epochs:
                self._turned_ms[group_id] = self._now()
            self._by_epochs[group_id] = by_epochs

    def _steady(self, member: Process) -> bool:
        """Its group has not become a classic one, or is over that."""
        turned_ms = self._turned_ms.get(member.group_id)
        return turned_ms is None or self._now() - turned_ms > self._over_ms

    def _judge_out(self, member: Process, why: str) -> None:
        group = self._group_of(member.group_id)
        if group is None or not self._peace.at(member.name, self._now(), but_slow=True):
            return
        for member_id in self._ids[member]:
            if _counts(group, member_id):
                raise ViolationError(
                    Rule.LEAVES, f"{member.name} {why}, and is in {member.group_id}"
                )


def _counts(group: AnyGroup, member_id: str) -> bool:
    """Whether it is a member that could leave, or an id that the next generation waits for: one
    whose join waits for others is not told so yet, and of the consumer protocol's members some are
    away and keep their place (KIP-848).
    """
    if isinstance(group, Group):
        if member_id in group.pending_join:
            return True
        classic = group.members.get(member_id)
        return classic is not None and classic.join is None and classic.sync is None
    known = group.members.get(member_id)
    return known is not None and known.epoch >= 0
