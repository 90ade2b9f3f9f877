"""The world of one run: its time, what is to happen when, who is in it.

Time jumps from one thing to the next. Things of the same moment happen in the order in which they
were scheduled, so that a run is its seed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from heapq import heappop, heappush
from typing import Any, Final

from kcore.actions import Connect
from kcore.broker.partitions import Partition
from kcore.broker.verification import VERIFIES_SINCE
from kcore.coordinator.context import AnyGroup
from kcore.sim.chance import Chance
from kcore.sim.clock import Clock
from kcore.sim.exact.judge import ExactJudge
from kcore.sim.exact.movers import OUT, OUT_PARTITIONS, Mover
from kcore.sim.exact.readers import Reader
from kcore.sim.exact.writers import Writer
from kcore.sim.habits import Commit, Habits, Role
from kcore.sim.judge import Judge
from kcore.sim.ledger import Ledger
from kcore.sim.members import Member
from kcore.sim.network import Network, NodeSide
from kcore.sim.nodes import Brokers
from kcore.sim.operators import OPERATOR, Operator
from kcore.sim.plan import CLOCKS_BEGIN_MS, UPGRADE, Fault, Plan
from kcore.sim.processes import Process
from kcore.sim.producers import Producer
from kcore.sim.referee import Referee
from kcore.sim.share.custody import Term
from kcore.sim.share.judge import ShareJudge
from kcore.sim.share.members import ShareMember
from kcore.sim.stage import Stage
from kcore.sim.trace import Trace, What
from kcore.sim.violations import Rule, ViolationError, escaped
from kcore.sim.watch import Watch, judge_groups
from kcore.structs import TopicPartition
from kcore.wire.apis import ApiKey

# Turns of one millisecond, for each peer: more and something goes round in circles.
_TURNS_PER_PEER: Final = 300

# Whoever comes, where producers are simulated: these in turn.
_ROLES: Final = (Role.WRITER, Role.MOVER, Role.READER, Role.WRITER, Role.MOVER)

_MEMBERS_PER_TOUCH: Final = 10

_OPERATOR_STREAM: Final = 0x0BE8

# How soon a supervisor starts a process that was refused.
_SUPERVISOR_MS: Final = 2_000


class World:
    """Peers, and a heap of what is to come."""

    def __init__(self, plan: Plan, chance: Chance) -> None:
        self.plan = plan
        self.now_ms = 0
        self.trace = Trace()
        self._heap: list[tuple[int, int, Callable[..., None], tuple[Any, ...]]] = []
        self._order = 0
        self._turns = 0  # in this millisecond
        self._chance = chance
        ledger = Ledger(plan, self.trace)
        self.ledger = ledger
        self._recruit, self.judge = self._draw_up()
        self.network = Network(
            chance.fork(), ledger, self.at, self.now, plan.latency_ms, plan.split_share
        )
        if plan.exact and not plan.has_epochs:
            # One would end whatever transaction is open when it arrives, the others would begin one
            # that nobody ends.
            late = {ApiKey.END_TXN, ApiKey.ADD_PARTITIONS_TO_TXN, ApiKey.ADD_OFFSETS_TO_TXN}
            if plan.release < VERIFIES_SINCE:
                late |= {ApiKey.PRODUCE, ApiKey.TXN_OFFSET_COMMIT}
            self.network.never_linger = frozenset(late)
        self.stage = Stage(
            plan,
            self.now,
            self.at,
            self.network,
            self.judge,
            self.trace,
            self._find,
            self._start_again,
        )
        self.healed = False  # nothing goes wrong any more
        self.ending = False  # everybody leaves
        self.brokers = Brokers(self.stage, chance)
        self.watch = self.judge.watch = Watch(self)
        self.topics: list[str] = []
        self.gone: dict[str, int] = {}  # those that are deleted now; of how many they will be
        self.members: list[Process] = []  # those that have not ended
        self._operator: Operator | None = None
        self.stopped: set[str] = set()  # groups whose members are away until something is done
        self.started = 0
        for _ in range(plan.topics):
            self.add_topic(plan.partitions)
        self._slots = [self._draw_slot(number) for number in range(plan.members)]
        until_ms = plan.append_until_ms
        self.producer = Producer(
            self.stage,
            self.brokers,
            chance.fork(),
            plan.duration_ms if until_ms is None else until_ms,
        )

    def _draw_up(self) -> tuple[Callable[[Habits, Chance, int], Process], Referee]:
        """Who starts members, and who judges them."""
        plan, about = self.plan, (self.ledger, self.trace, self._group_of, self.now)
        if plan.share:
            shares = ShareJudge(plan, *about, self._term_of)
            return lambda *of: ShareMember(self.stage, shares, *of), shares
        if plan.exact:
            exact = ExactJudge(
                plan,
                self.ledger,
                self.trace,
                self._group_of,
                self.now,
                self._partition_of,
                self._partitions,
            )
            return lambda *of: self._recruit_exact(exact, *of), exact
        judge = Judge(plan, *about)
        return lambda *of: Member(self.stage, judge, *of), judge

    def _recruit_exact(
        self, judge: ExactJudge, habits: Habits, chance: Chance, process: int
    ) -> Process:
        about = (judge, habits, chance, process)
        if habits.role is Role.WRITER:
            return Writer(self.stage, self.brokers, *about)
        if habits.role is Role.READER:
            return Reader(self.stage, self.brokers, *about)
        return Mover(self.stage, *about)

    def now(self) -> int:
        """The time."""
        return self.now_ms

    def at(self, at_ms: int, what: Callable[..., None], /, *arguments: Any) -> None:
        """Let something happen then."""
        self._order += 1
        heappush(self._heap, (at_ms, self._order, what, arguments))

    def run_until(self, end_ms: int) -> None:
        """Let time pass."""
        heap, trace, judge = self._heap, self.trace, self.judge
        # The books of small groups are looked at whenever they may have changed.
        patience = self.plan.members // _MEMBERS_PER_TOUCH
        limit = _TURNS_PER_PEER * (self.plan.members + self.plan.brokers + 1)
        while heap and heap[0][0] <= end_ms:
            at_ms, _, what, arguments = heappop(heap)
            if at_ms > self.now_ms:
                self.now_ms = at_ms
                self._turns = 0
            self._turns += 1
            trace.begin_step(self.now_ms)
            judge.turn_begins()
            if self._turns > limit:
                raise ViolationError(Rule.BOUNDED, f"{self._turns} turns without time passing")
            try:
                what(*arguments)
                if judge.touches > patience:
                    judge.touches = 0
                    judge_groups(self)
                    self.watch.look_at_rounds()
            except ViolationError:
                raise
            except Exception as error:
                raise escaped(error) from error
        self.now_ms = max(self.now_ms, end_ms)

    # Who is there --------------------------------------------------------------------------------

    @property
    def operator(self) -> Operator:
        """Who operates the cluster; it comes when there is something to do."""
        if self._operator is None:
            chance = self._chance.beside(self.plan.seed ^ _OPERATOR_STREAM)
            self._operator = Operator(self.stage, self.brokers.bootstrap, chance)
            about = self.judge.interventions
            self.ledger.operators[OPERATOR] = about.asked, about.answered
            self.network.never_linger_of.add(OPERATOR)
        return self._operator

    def dismiss(self) -> bool:
        """Nothing is to be done any more; whether nobody does."""
        if self._operator is not None and not self._operator.ended:
            self._operator.close()
        return self._operator is None or self._operator.ended

    def _find(self, action: Connect) -> NodeSide:
        return self.brokers.find(action)

    def _group_of(self, group_id: str) -> AnyGroup | None:
        return self.brokers.group_of(group_id)

    def _partitions(self) -> list[TopicPartition]:
        return self.brokers.partitions()

    def _partition_of(self, tp: TopicPartition) -> Partition | None:
        return self.brokers.partition(tp)

    def _term_of(self, tp: TopicPartition) -> Term:
        return self.brokers.term_of(tp)

    def _draw_slot(self, number: int) -> Habits:
        """One place in a group; processes come and go in it."""
        plan, chance = self.plan, self._chance
        commit = Commit.AUTO
        if not chance.happens(plan.auto_commit_share):
            commit = chance.one_of((Commit.EACH, Commit.NAMED, Commit.SOMETIMES))
        drift_ppm = chance.between(-plan.drift_ppm, plan.drift_ppm)
        role = _ROLES[number % len(_ROLES)] if plan.exact else None
        transactional = role is Role.MOVER or (
            role is Role.WRITER and chance.happens(plan.transactional_share)
        )
        return Habits(
            name=f"m{number + 1}",
            group_id=f"group{number % plan.groups + 1}",
            topics=self._draw_topics(number),
            bootstrap=self.brokers.bootstrap,
            assignors=chance.one_of(plan.assignors),
            commit=commit,
            clock=Clock(chance.one_of(CLOCKS_BEGIN_MS), drift_ppm),
            poll_every_ms=chance.between(*plan.poll_every_ms),
            max_records=chance.one_of((1, 3, 50, 500)),
            awaits=chance.happens(plan.await_share),
            instance_id=f"i{number + 1}" if chance.happens(plan.static_share) else None,
            by_pattern=(by_pattern := chance.happens(plan.pattern_share)),
            by_epochs=(by_epochs := chance.happens(plan.consumer_share) or plan.share),
            remote_assignor=chance.one_of(plan.remote_assignors) if by_epochs else None,
            by_remote_pattern=by_epochs
            and by_pattern
            and chance.happens(0.5)
            and self._matches_in_time,
            explicit=plan.share and chance.happens(plan.explicit_share),
            one_by_one=plan.share and chance.happens(plan.one_by_one_share),
            rack=(*plan.racks, "")[number % (len(plan.racks) + 1)],
            role=role,
            transactional_id=f"x{number + 1}" if transactional else None,
            committed=role is not Role.READER or chance.happens(0.7),
        )

    @property
    def _matches_in_time(self) -> bool:
        """Coordinators find out what patterns stand for by the time of day: one that is behind the
        one before does not look for as long. Where topics go that may leave a group without any.
        """
        return bool(self.plan.assignment_interval_ms) or Fault.REMAKE not in self.plan.faults

    def _draw_topics(self, number: int) -> tuple[str, ...]:
        """What a member reads; all topics are read if there are members enough."""
        each = self.plan.topics_each
        if each is None or each >= len(self.topics):
            return tuple(self.topics)
        first = number * each % len(self.topics)
        return tuple(sorted((self.topics * 2)[first : first + each]))

    @property
    def slots(self) -> list[Habits]:
        """The places, taken or free."""
        return self._slots

    def add_slot(self) -> Habits:
        """A place more."""
        slot = self._draw_slot(len(self._slots))
        if Fault.UPGRADE in self.plan.faults:  # as those that are furthest behind
            slot = replace(
                slot, assignors=min((s.assignors for s in self._slots), key=UPGRADE.index)
            )
        self._slots.append(slot)
        return slot

    def start_member(self, slot: Habits) -> Process:
        """A new process in a place."""
        self.started += 1
        member = self._recruit(slot, self._chance.fork(), self.started)
        self.members.append(member)
        if self.healed:
            member.hurry()
        return member

    def _start_again(self, slot: Habits) -> None:
        """A supervisor starts a process again, unless its name is taken by then."""
        self.at(self.now_ms + _SUPERVISOR_MS, self._supervise, slot)

    def _supervise(self, slot: Habits) -> None:
        if not self.ending and slot.name not in {member.name for member in self.living()}:
            self.start_member(slot)

    def living(self) -> list[Process]:
        """Members whose process is there."""
        self.members = [member for member in self.members if not member.ended]
        return self.members

    def fill(self) -> None:
        """Somebody is there; where producers are simulated, of each kind."""
        roles = {slot.role for slot in self._slots}
        roles -= {m.habits.role for m in self.living() if not (m.closing and m.habits.role)}
        for slot in self._slots:
            if slot.role in roles:
                roles.remove(slot.role)
                self.start_member(slot)

    def fault(
        self, kind: Fault, who: str, *, until_ms: int | None = None, **detail: object
    ) -> None:
        """One happens. who: whom it hits."""
        if until_ms is not None:
            detail["until_ms"] = until_ms
        self.trace.event(What.FAULT, who, kind=kind.value, **detail)
        self.judge.peace.touched(kind, who, self.now_ms, until_ms)

    def add_topic(self, partitions: int) -> str:
        """A topic more."""
        name = f"t{len(self.topics) + 1}"
        self.topics.append(name)
        self.brokers.create_topic(name, partitions)
        if self.plan.exact:
            self.brokers.create_topic(name + OUT, min(partitions, OUT_PARTITIONS))
        return name
