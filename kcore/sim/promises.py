"""What is to become of commits: those that auto commit owes, and what applications are told.

Where nothing goes wrong, what a member is done with is committed before others get its partitions,
so that no record comes twice. And an application is told that a commit was done if, and where
nothing goes wrong only if, its coordinator has said so.
"""

from __future__ import annotations

from collections import defaultdict, deque
from typing import TYPE_CHECKING, Final

from kcore.errors import KafkaTimeoutError
from kcore.sim.violations import Rule, ViolationError
from kcore.structs import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from kcore.errors import KafkaError
    from kcore.sim.attendance import Attendance
    from kcore.sim.logs import Logs
    from kcore.sim.members import Member
    from kcore.sim.offsets import Hands, Offsets
    from kcore.structs import OffsetAndMetadata

# How soon a member that is at peace tells of an answer, beside the network's time.
_TELL_MS: Final = 2_000
_TRIPS: Final = 12

_Commit = tuple[TopicPartition, int]


class _Answer:
    """A coordinator has taken an offset."""

    __slots__ = ("told",)

    def __init__(self) -> None:
        self.told = False


class Promises:
    """Partitions that were given up and not taken since, answers that nobody was told of yet."""

    def __init__(
        self,
        attendance: Attendance,
        logs: Logs,
        offsets: Offsets,
        now: Callable[[], int],
        latency_ms: int,
    ) -> None:
        self._attendance = attendance
        self._logs = logs
        self._offsets = offsets
        self._now = now
        self._tell_ms = _TELL_MS + _TRIPS * latency_ms
        # Until then a member was done with it, in which life of its topic.
        self._owed: dict[tuple[str, TopicPartition], tuple[Member, int, int]] = {}
        self._untold: dict[Member, dict[_Commit, list[_Answer]]] = {}
        self._due: deque[tuple[int, Member, _Commit, _Answer]] = deque()
        self._failed_ms: dict[Member, int] = {}  # when it was last told that a commit has failed
        self._timed_out_ms: dict[Member, int] = {}  # or that its time was over

    def started(self, member: Member) -> None:
        """A process is there."""
        self._untold[member] = defaultdict(list)

    def ended(self, member: Member) -> None:
        """It is told nothing any more."""
        del self._untold[member]
        self._failed_ms.pop(member, None)
        self._timed_out_ms.pop(member, None)

    # Auto commit ---------------------------------------------------------------------------------

    def revoked(self, member: Member, partitions: Iterable[TopicPartition], hands: Hands) -> None:
        """A member gives partitions up in peace."""
        if self._attendance.at_peace(member) and member.commits_itself:
            for tp in partitions:
                done = hands.done.get(tp)
                if done is not None and tp not in hands.loose:
                    life = hands.lives.get(tp, 0)
                    self._owed[member.group_id, tp] = (member, done, life)

    def assigned(self, member: Member, added: Iterable[TopicPartition]) -> None:
        """Somebody gets partitions, and reads from what is committed."""
        for tp in added:
            former, done, life = self._owed.pop((member.group_id, tp), (None, 0, 0))
            if former is None or not self._attendance.at_peace(former):
                continue
            if life != self._logs.life(tp.topic):
                continue  # it is deleted, and what was committed in it
            if former.ended and not former.closing:
                continue  # its commit may have gone with it
            committed = self._offsets.of(member.group_id, tp).sure
            # Of what is deleted nothing comes twice, and who is to begin behind it has no position.
            needed = done > self._logs.kept_from(tp)
            if needed and (committed is None or committed < done):
                raise ViolationError(
                    Rule.HANDED_ON,
                    f"{former.name} was done with {tp.topic}-{tp.partition} up to {done}, and"
                    f" {committed} is committed as {member.name} gets it",
                )

    # What is told --------------------------------------------------------------------------------

    def confirmed(
        self,
        member: Member,
        taken: Mapping[TopicPartition, int],
        asked_ms: int,
        *,
        whole: bool = True,
    ) -> None:
        """A coordinator says that it has taken these offsets. whole: and none that it was asked to
        was refused, for which the commit would be made again, or fail. One whose time was over
        while it was asked for again has failed.
        """
        untold = self._untold.get(member)
        if untold is None:
            return
        awaited = asked_ms > self._failed_ms.get(member, -1)
        well = whole and awaited and self._attendance.well(member)
        for commit in taken.items():
            answer = _Answer()
            untold[commit].append(answer)
            if well:
                self._due.append((self._now() + self._tell_ms, member, commit, answer))

    def failed(self, member: Member, error: KafkaError) -> None:
        """An application is told that its commit has failed."""
        self._failed_ms[member] = self._now()
        if isinstance(error, KafkaTimeoutError):
            self._timed_out_ms[member] = self._now()

    def told(self, member: Member, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """An application is told that these are committed."""
        untold = self._untold[member]
        for tp, offset in offsets.items():
            answers = untold.get((tp, offset.offset))
            if not answers:
                raise ViolationError(
                    Rule.TOLD,
                    f"{member.name} is told that {offset.offset} is committed in"
                    f" {tp.topic}-{tp.partition}, which its coordinator has not said",
                )
            answers.pop().told = True  # older ones may have been lost on the way
            if not answers:
                del untold[tp, offset.offset]

    def look(self) -> None:
        """Whatever should have been told by now was."""
        while self._due and self._due[0][0] < self._now():
            until_ms, member, (tp, offset), answer = self._due.popleft()
            # Its time may have been over while the answer was under way.
            over = self._timed_out_ms.get(member, -1) >= until_ms - self._tell_ms
            if not answer.told and not over and self._attendance.well(member):
                raise ViolationError(
                    Rule.TOLD,
                    f"{member.name} is not told that {offset} is committed in"
                    f" {tp.topic}-{tp.partition}, as its coordinator has said",
                )
