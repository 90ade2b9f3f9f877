"""What applications of share groups are handed, what they say of it, and what they are told.

A member's own side of the custody: it hands over what was acquired for it, once an acquisition and
while it may, acknowledges what its application has said, and tells what brokers have said.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from kcore.sim.share.custody import ACCEPT, GAP, RELEASE, RENEW, Hold
from kcore.sim.violations import Rule, ViolationError
from kcore.structs import TopicPartition
from kcore.tuples import NamedTuple

if TYPE_CHECKING:
    from kcore.errors import KafkaError
    from kcore.sim.attendance import Attendance
    from kcore.sim.logs import Logs
    from kcore.sim.plan import Plan
    from kcore.sim.share.members import ShareMember

# How soon a member that is at peace tells of an answer, beside the network's time.
_TELL_MS: Final = 2_000
_TRIPS: Final = 12

# Acquisitions of one record for one member that are remembered: words of older ones are long over.
_KEPT: Final = 4


class At(NamedTuple):
    """A record: where it is, in which life of its topic."""

    tp: TopicPartition
    life: int
    offset: int

    def __str__(self) -> str:
        life = f" (life {self.life})" if self.life else ""
        return f"{self.offset} of {self.tp.topic}-{self.tp.partition}{life}"


class _Hand:
    """One member's. holds: what was acquired for it. in_hand: what its application can say
    something of. unreceived: what has not come yet, for all we know. taken, told: how many words a
    broker has taken, and of how many of these the application was told. untold: what it has said
    and was told nothing of.
    commits: the words that each is about, and what was told of them (None: nothing yet).
    lives: the newest of each topic that it has asked for.
    """

    def __init__(self) -> None:
        self.holds: dict[At, list[Hold]] = defaultdict(list)
        self.in_hand: dict[At, Hold] = {}
        self.unreceived: list[tuple[At, Hold]] = []
        self.taken: Counter[At] = Counter()
        self.told: Counter[At] = Counter()
        self.untold: dict[At, Hold] = {}
        self.commits: dict[int, dict[At, bool | None]] = {}
        self.lives: dict[str, int] = {}

    def owes(self, at: At) -> bool:
        """Whether the application is still to be told of a word that was taken."""
        return self.told[at] < self.taken[at]


class Hands:
    """Those of all members."""

    def __init__(
        self, plan: Plan, attendance: Attendance, logs: Logs, now: Callable[[], int]
    ) -> None:
        self._attendance = attendance
        self._logs = logs
        self._now = now
        self._lock_ms = plan.lock_ms
        self._longer_ms = plan.longest_lock_ms - plan.lock_ms  # it may last
        self._tell_ms = _TELL_MS + _TRIPS * plan.latency_ms[1]
        self._hands: dict[ShareMember, _Hand] = {}
        # To be told of by then: of whom, of what, and which of the words on that.
        self._due: deque[tuple[int, ShareMember, At, int]] = deque()
        self._refused: deque[tuple[int, ShareMember, At, Hold]] = deque()  # to be told of, too

    def started(self, member: ShareMember) -> None:
        """A process is there."""
        self._hands[member] = _Hand()

    # Coming --------------------------------------------------------------------------------------

    def asks(self, member: ShareMember, topic: str, life: int) -> None:
        """A member wants records of a topic: it hands over none of those before it any more that
        had its name.
        """
        lives = self._hands[member].lives
        lives[topic] = max(life, lives.get(topic, 0))

    def acquired(self, member: ShareMember, at: At, hold: Hold) -> None:
        """A node has sent that this is the member's."""
        hand = self._hands[member]
        holds = hand.holds[at]
        holds.append(hold)
        del holds[:-_KEPT]
        hand.unreceived.append((at, hold))

    def fetched(self, member: ShareMember, node: str, tps: Iterable[TopicPartition]) -> None:
        """An answer with records has come: what was acquired by it is there from now on."""
        hand, wanted = self._hands[member], set(tps)
        left = []
        for at, hold in hand.unreceived:
            if hold.node == node and at.tp in wanted:
                hold.received_until_ms = member.local_ms + self._lock_ms
                if at in hand.in_hand:  # it is to be handed over anew: words before do not count
                    hand.untold.pop(at, None)
            else:
                left.append((at, hold))
        hand.unreceived = left

    def handed(self, member: ShareMember, taken: Mapping[TopicPartition, Sequence[Any]]) -> None:
        """The application gets records."""
        hand = self._hands[member]
        for tp, records in taken.items():
            for record in records:
                at = self._at(hand, tp, record)
                self._judge_life(member, hand, at)
                hold = self._hold_of(member, at)
                self._judge_handed(member, at, hold, record.delivery_count)
                hold.handed, hold.word = True, None
                hand.in_hand[at] = hold

    def _at(self, hand: _Hand, tp: TopicPartition, record: Any) -> At:
        """Which record it is. One that was on its way to a log when its topic was deleted may be of
        that life, or of a later one: it is of the one in which this has come.
        """
        now = self._logs.life(tp.topic)
        life = self._logs.life_of(record.value)
        lives = range(now, -1, -1) if life is None else [life]
        ats = [At(tp, life, record.offset) for life in lives]
        come = [at for at in ats if any(map(_may_be_handed, hand.holds.get(at, ())))]
        return come[0] if come else ats[0]

    def _judge_life(self, member: ShareMember, hand: _Hand, at: At) -> None:
        newest = hand.lives.get(at.tp.topic, 0)
        if at.life < newest:
            raise ViolationError(
                Rule.HANDED, f"{member.name} is handed {at}, and has asked for life {newest} of it"
            )

    def _hold_of(self, member: ShareMember, at: At) -> Hold:
        for hold in reversed(self._hands[member].holds.get(at, ())):
            if hold.received_until_ms is not None:
                return hold
        raise ViolationError(
            Rule.HANDED, f"{member.name} is handed {at}, which was not acquired for it"
        )

    def _judge_handed(self, member: ShareMember, at: At, hold: Hold, count: int | None) -> None:
        assert hold.received_until_ms is not None
        wrong = ""
        if hold.handed:
            wrong = "for the second time"
        elif hold.word is not None:
            wrong = "which it has given away"
        elif member.local_ms >= hold.received_until_ms + self._longer_ms:
            wrong = f"{member.local_ms - hold.received_until_ms} ms after its lock was over"
        elif count != hold.count:
            wrong = f"as delivered {count} times, it is {hold.count}"
        if wrong:
            raise ViolationError(Rule.HANDED, f"{member.name} is handed {at} {wrong}")

    def left_out(self, member: ShareMember) -> list[At]:
        """What has come for a member, is locked for it, and was not handed over."""
        return [
            at
            for at, holds in self._hands[member].holds.items()
            if at.life == self._logs.life(at.tp.topic)
            for hold in holds[-1:]
            if hold.received_until_ms is not None
            and member.local_ms < hold.received_until_ms
            and not (hold.handed or hold.over or hold.leaving or hold.word is not None)
        ]

    # Saying --------------------------------------------------------------------------------------

    def in_hand(self, member: ShareMember) -> list[At]:
        """What the application has to say something of."""
        return list(self._hands[member].in_hand)

    def says(self, member: ShareMember, at: At, kind: int) -> None:
        """Its last word on a record, for now."""
        hand = self._hands[member]
        hand.in_hand[at].word = kind
        hand.untold[at] = hand.in_hand[at]

    def cannot_say(self, member: ShareMember, at: At) -> None:
        """It was refused: the record must have been given to it anew meanwhile."""
        hand = self._hands[member]
        hold = hand.in_hand.pop(at)
        hand.untold.pop(at, None)
        newer = [one for one in hand.holds[at] if one.received_until_ms is not None]
        if newer[-1] is hold:
            raise ViolationError(
                Rule.NO_FAULT, f"{member.name} cannot acknowledge {at}, which it has"
            )

    def says_of_all(self, member: ShareMember, kind: int = ACCEPT) -> None:
        """What it has said nothing of is accepted, as that is implicit."""
        for at, hold in self._hands[member].in_hand.items():
            if hold.word is None:
                self.says(member, at, kind)

    def collected(self, member: ShareMember) -> None:
        """What was said is on its way: there are no other words on it from now on."""
        hand = self._hands[member]
        for at in [at for at, hold in hand.in_hand.items() if hold.word is not None]:
            del hand.in_hand[at]

    def spoken_of(self, member: ShareMember, at: At, kind: int) -> Hold:
        """A member sends this word: which acquisition it speaks of."""
        holds = self._hands[member].holds.get(at, [])
        for hold in reversed(holds):
            if kind in {GAP, RELEASE}:
                if not hold.handed or (kind == RELEASE and hold.word == kind):
                    break
            elif hold.handed and hold.word == kind:
                break
        else:
            had = [f"{'handed' if one.handed else 'not handed'}, {one.word}" for one in holds]
            raise ViolationError(
                Rule.SAID,
                f"{member.name} says {kind} of {at}, its application has not"
                f" ({'; '.join(had) or 'it was never acquired'})",
            )
        is_now = at.life == self._logs.life(at.tp.topic)
        if kind == GAP and is_now and self._logs.has(at.tp, at.offset):
            raise ViolationError(Rule.SAID, f"{member.name} says that there is no record at {at}")
        return hold

    def taken(self, member: ShareMember, at: At, kind: int, hold: Hold) -> None:
        """A broker has taken a word."""
        hold.renewed = kind == RENEW
        if kind != GAP:
            taken = self._hands[member].taken
            taken[at] += 1
            if self._attendance.well(member):
                self._due.append((self._now() + self._tell_ms, member, at, taken[at]))

    def refused(self, member: ShareMember, at: At, hold: Hold) -> None:
        """A broker has refused a word on what is deleted: it would do so again."""
        if self._attendance.well(member):
            self._refused.append((self._now() + self._tell_ms, member, at, hold))

    # Telling -------------------------------------------------------------------------------------

    def told(
        self,
        member: ShareMember,
        tp: TopicPartition,
        life: int,
        ranges: Iterable[tuple[int, int]],
        error: KafkaError | None,
    ) -> None:
        """The application hears what became of its words."""
        hand = self._hands[member]
        for first, last in ranges:
            for offset in range(first, last + 1):
                at = At(tp, life, offset)
                hand.untold.pop(at, None)
                for outcome in hand.commits.values():
                    if at in outcome and outcome[at] is None:  # later ones are of later words
                        outcome[at] = error is None
                if error is not None:
                    continue
                if not hand.owes(at):
                    raise ViolationError(
                        Rule.TOLD,
                        f"{member.name} is told that its word on {at} was taken, which no"
                        " broker has said",
                    )
                hand.told[at] += 1
                for hold in hand.holds[at]:
                    if hold.renewed:  # it is handed over once more
                        hold.handed, hold.word, hold.renewed = False, None, False
                        hold.received_until_ms = member.local_ms + self._lock_ms

    def look(self) -> None:
        """Whatever should have been told by now was."""
        while self._due and self._due[0][0] < self._now():
            _, member, at, number = self._due.popleft()
            if self._hands[member].told[at] < number and self._attendance.well(member):
                raise ViolationError(
                    Rule.TOLD,
                    f"{member.name} is not told that its word on {at} was taken",
                )

        while self._refused and self._refused[0][0] < self._now():
            _, member, at, hold = self._refused.popleft()
            if self._hands[member].untold.get(at) is hold and self._attendance.well(member):
                raise ViolationError(
                    Rule.TOLD, f"{member.name} is not told that its word on {at} was refused"
                )

    def commits(self, member: ShareMember, operation: int) -> None:
        """The application wants to know what becomes of all it has said."""
        hand = self._hands[member]
        hand.commits[operation] = dict.fromkeys(hand.untold)

    def committed(
        self,
        member: ShareMember,
        operation: int,
        results: Mapping[TopicPartition, KafkaError | None],
    ) -> None:
        """It is told: of all, and what others were told."""
        hand = self._hands[member]
        for at, well in hand.commits.pop(operation, {}).items():
            if at.tp not in results:
                raise ViolationError(
                    Rule.TOLD, f"{member.name} has committed, without its word on {at}"
                )
            if results[at.tp] is None and not (hand.owes(at) if well is None else well):
                raise ViolationError(
                    Rule.TOLD,
                    f"{member.name} is told that it has committed {at}, which no broker has said",
                )


def _may_be_handed(hold: Hold) -> bool:
    return hold.received_until_ms is not None and not hold.handed
