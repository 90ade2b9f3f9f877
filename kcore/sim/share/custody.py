"""Who has which record of a share group, and what has become of it: as the wire has it.

A record is acquired for a member (ShareFetch), until that one says what became of it, its lock is
over, its session ends, it is no member any more, or another leader goes on from what was kept:
acquisitions are not (Kafka's rule). An acknowledgement whose answer nobody saw may count or not.

A topic that is made anew under its name has another life (`kcore/sim/logs.py`), and a way of its
own through each partition: of the former ones nothing is given out any more, no word counts, and
what became of their records is nobody's affair.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Final

from kcore.sim.violations import Rule, ViolationError
from kcore.structs import TopicPartition
from kcore.tuples import NamedTuple

if TYPE_CHECKING:
    from kcore.sim.logs import Logs
    from kcore.sim.plan import Plan
    from kcore.sim.processes import Process

GAP: Final = 0
ACCEPT: Final = 1
RELEASE: Final = 2
REJECT: Final = 3
RENEW: Final = 4

# Behind these a record is nobody's any more.
_LAST_WORDS: Final = {GAP, ACCEPT, REJECT}

_MILLION: Final = 1_000_000

# Timers are as coarse as clocks.
_GRAIN_MS: Final = 2

# Who leads, and since when: the leader's epoch, and how often its node has come up.
Term = tuple[int, int]
_NOBODY_LEADS: Final = (-1, -1)  # what is deleted


class Place(NamedTuple):
    """A group's way through a partition, in one life of its topic."""

    group_id: str
    tp: TopicPartition
    life: int

    def __str__(self) -> str:
        life = f" (life {self.life})" if self.life else ""
        return f"{self.tp.topic}-{self.tp.partition}{life} of {self.group_id}"


class Hold:
    """A record that is acquired for a member. Times are the world's, but `received_until_ms`.

    until_ms: its lock is not over before. session: how many of its member's with this node had
    ended. leaving: words that free it, of which nobody knows yet whether they count. over: it has
    ended for certain. renewed: its lock was, and its member was not told yet. handed: its
    application has it, or had it; word: what that has said last.
    received_until_ms: by the member's own clock; None: it has not come.
    """

    __slots__ = (
        "count",
        "handed",
        "leaving",
        "member",
        "member_id",
        "node",
        "over",
        "received_until_ms",
        "renewed",
        "session",
        "term",
        "until_ms",
        "word",
    )

    def __init__(
        self, member: Process, node: str, count: int, until_ms: int, term: Term, session: int
    ) -> None:
        self.member = member
        self.member_id = member.member_id
        self.node = node
        self.count = count
        self.until_ms = until_ms
        self.term = term
        self.session = session
        self.leaving = 0
        self.renewed = False
        self.over = False
        self.handed = False
        self.word: int | None = None
        self.received_until_ms: int | None = None


class Record:
    """One offset. done: accepted, rejected or a gap, for certain. maybes: last words of which
    nobody knows yet whether they count. kept_count: deliveries that any leader knows of.
    """

    __slots__ = ("done", "hold", "kept_count", "maybes")

    def __init__(self) -> None:
        self.hold: Hold | None = None
        self.done = False
        self.maybes = 0
        self.kept_count = 0


class Word(NamedTuple):
    """What a request says of one record, and which acquisition it speaks of, for all we know. late:
    its topic was deleted before.
    """

    place: Place
    offset: int
    kind: int
    hold: Hold
    late: bool


class Custody:
    """All records of all share groups.

    term_of(tp): who leads now. is_member(group, member id): as the coordinator has it.
    """

    def __init__(
        self,
        plan: Plan,
        now: Callable[[], int],
        term_of: Callable[[TopicPartition], Term],
        is_member: Callable[[str, str], bool],
        logs: Logs,
    ) -> None:
        self._now = now
        self._term_of = term_of
        self._is_member = is_member
        self._logs = logs
        self._limit = plan.delivery_limit
        self._highest_limit = plan.highest_delivery_limit
        self._lock_ms = plan.lock_ms
        drift_ppm = max((time.drift_ppm for time in plan.node_times), default=0)
        gain_ppm = max(drift_ppm, 0)
        self._least_lock_ms = plan.lock_ms * _MILLION // (_MILLION + gain_ppm) - _GRAIN_MS
        self.records: dict[Place, dict[int, Record]] = defaultdict(dict)
        self._ended: Counter[tuple[str, str]] = Counter()  # sessions, by member id and node
        self._ending: Counter[tuple[str, str]] = Counter()  # last requests that are on their way
        self.acquired_ms: dict[str, int] = {}  # by groups: when anything was, last
        self.judged_to: dict[Place, int] = {}  # up to where what is done with was looked at
        self.acquisitions = 0
        self.done = 0

    def over(self, place: Place) -> bool:
        """Whether the topic is deleted, of which it is."""
        return place.life != self._logs.life(place.tp.topic)

    def _term(self, place: Place) -> Term:
        return _NOBODY_LEADS if self.over(place) else self._term_of(place.tp)

    # Acquiring -----------------------------------------------------------------------------------

    def acquire(
        self, place: Place, member: Process, node: str, first: int, last: int, count: int
    ) -> Iterator[tuple[int, Hold]]:
        """A node says that these are a member's now."""
        if self.over(place):
            raise ViolationError(
                Rule.DONE_ONCE, f"{member.name} is given {first} of {place}, which is deleted"
            )
        term = self._term(place)
        records = self.records[place]
        self.acquired_ms[place.group_id] = self._now()
        for offset in range(first, last + 1):
            record = records.setdefault(offset, Record())
            self._judge(place, offset, record, member, count, term)
            held = record.hold
            if held is not None and held.term == term:
                record.kept_count = max(record.kept_count, held.count)
            hold = record.hold = Hold(
                member,
                node,
                count,
                self._now() + self._least_lock_ms,
                term,
                self._ended[member.member_id, node],
            )
            self.acquisitions += 1
            yield offset, hold

    def _judge(
        self, place: Place, offset: int, record: Record, member: Process, count: int, term: Term
    ) -> None:
        what, hold = f"{offset} of {place}", record.hold
        if record.done:
            raise ViolationError(
                Rule.DONE_ONCE, f"{member.name} is given {what}, which was done with"
            )
        if hold is not None and not self.free(place, hold):
            raise ViolationError(
                Rule.HELD_ONCE,
                f"{member.name} is given {what}, which is {hold.member.name}'s for another"
                f" {hold.until_ms - self._now()} ms",
            )
        lowest, highest = record.kept_count + 1, 1 if hold is None else hold.count + 1
        if hold is not None and hold.term == term:
            lowest = highest
        if not lowest <= count <= min(highest, self._highest_limit):
            raise ViolationError(
                Rule.COUNTED,
                f"{member.name} is given {what} for the {count}. time, after"
                f" {0 if hold is None else hold.count} (at least {record.kept_count}), and"
                f" {self._highest_limit} are the most",
            )

    def free(self, place: Place, hold: Hold) -> bool:
        """Whether others may have the record by now."""
        return (
            hold.over
            or hold.leaving > 0
            or self._now() >= hold.until_ms
            or self._ended[hold.member_id, hold.node] != hold.session
            or self._ending[hold.member_id, hold.node] > 0
            or self._term(place) != hold.term
            or not self._is_member(place.group_id, hold.member_id)
        )

    # Words ---------------------------------------------------------------------------------------

    def said(self, word: Word) -> None:
        """A member sends this."""
        if word.kind != RENEW:
            word.hold.leaving += 1
        if word.kind in _LAST_WORDS:
            self.records[word.place][word.offset].maybes += 1

    def refused(self, word: Word) -> None:
        """A node has not taken it."""
        if word.kind != RENEW:
            word.hold.leaving -= 1
        if word.kind in _LAST_WORDS:
            self.records[word.place][word.offset].maybes -= 1

    def taken(self, word: Word) -> None:
        """A node has taken it."""
        record = self.records[word.place][word.offset]
        hold = word.hold
        if word.late:
            raise ViolationError(
                Rule.HELD_ONCE,
                f"the word of {hold.member.name} on {word.offset} of {word.place} counts, which was"
                " deleted before",
            )
        if word.kind == RENEW:
            # One that is given up by now, and before the start, is "renewed" as well.
            if not self.free(word.place, hold):
                hold.until_ms = self._now() + self._least_lock_ms
            return
        hold.over = True
        if word.kind == RELEASE:
            record.kept_count = max(record.kept_count, hold.count)
            return
        held = record.hold
        assert held is not None
        others = held.member is not hold.member and not record.done
        if others and not self.free(word.place, held) and not self.gone(word.place, word.offset):
            raise ViolationError(
                Rule.HELD_ONCE,
                f"{word.offset} of {word.place} is {held.member.name}'s, and the word of"
                f" {hold.member.name} counts",
            )
        record.maybes -= 1
        if not record.done:
            record.done = True
            self.done += 1

    def session_ended(self, member_id: str, node: str) -> None:
        """What the member has of this node is free, or will be."""
        self._ended[member_id, node] += 1

    def session_ends(self, member_id: str, node: str) -> None:
        """A last request is sent: it ends what session there is when it arrives."""
        self.session_ended(member_id, node)
        self._ending[member_id, node] += 1

    def last_request_over(self, member_id: str, node: str) -> None:
        """It has arrived, or never will."""
        self.session_ended(member_id, node)
        self._ending[member_id, node] -= 1

    # At the end ----------------------------------------------------------------------------------

    def gone(self, place: Place, offset: int) -> bool:
        """Whether the log has it no more, perhaps."""
        return self.over(place) or offset < self._logs.kept_from(place.tp)

    def waits(self, place: Place, promised: Iterable[int]) -> bool:
        """Whether there is a record that a member could be given."""
        for offset in promised:
            record = self.records[place].get(offset)
            hold = None if record is None else record.hold
            if self.state_of(place, offset) and (hold is None or self.free(place, hold)):
                return True
        return False

    def state_of(self, place: Place, offset: int) -> str:
        """What is to become of a record still, in words; empty: nothing."""
        record = self.records[place].get(offset)
        if self.gone(place, offset):
            return ""
        if record is None or record.hold is None:
            return "nobody has got it"
        if record.done or record.maybes:
            return ""
        hold = record.hold
        free = self.free(place, hold)
        if free and hold.count >= self._limit:
            return ""
        return "nobody has got it again" if free else f"{hold.member.name} has it"
