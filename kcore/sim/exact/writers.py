"""Producers that write numbered records: with a `transactional_id`, or idempotent only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kcore.events import Closed, ErrorRaised, Event
from kcore.sim.chance import Chance
from kcore.sim.exact.producing import Producing
from kcore.sim.habits import Habits
from kcore.sim.processes import CLOSE_MS, Process
from kcore.sim.stage import Stage
from kcore.sim.trace import What

if TYPE_CHECKING:
    from kcore.sim.exact.judge import ExactJudge
    from kcore.sim.nodes import Brokers

# Who has so many batches under way waits.
_UNFINISHED_MAX: Final = 20


class Writer(Process):
    """One process that produces. What it writes last it writes when the faults are over, as a proof
    that it can.
    """

    def __init__(
        self,
        stage: Stage,
        brokers: Brokers,
        judge: ExactJudge,
        habits: Habits,
        chance: Chance,
        process: int,
    ) -> None:
        super().__init__(stage, habits, chance, process)
        self.judge = judge
        self._brokers = brokers
        self.producing = Producing(self, self, judge)
        self.core = self.producing.core
        self._goal: int | None = None  # it stops when it has finished so much
        self._turns_left = 0  # of the transaction that is open
        self.begin()

    @property
    def settled(self) -> bool:
        """Whether it has shown that it can write, and has nothing open."""
        producing = self.producing
        return producing.idle and self._goal is not None and producing.finished >= self._goal

    def poll(self) -> None:
        """Write; end the transaction that is open, or begin one."""
        producing, plan = self.producing, self.stage.plan
        done = self._goal is not None and producing.finished >= self._goal
        if not producing.advance() or done or producing.unfinished > _UNFINISHED_MAX:
            return
        if producing.deal is None:
            producing.begin()
            self._turns_left = self.chance.between(0, 3)
        for _ in range(self.chance.between(1, plan.records_per_append)):
            partitions = self._brokers.partitions()
            tp = self.chance.one_of(partitions) if partitions else None
            if tp is not None and tp.topic in self.topics:
                producing.append(tp)
        if producing.deal is not None and not producing.held and not self.ended:
            self._turns_left -= 1
            if self._turns_left < 0:
                self._finish()
        self.drain()

    def _finish(self) -> None:
        if self._goal is None and self.chance.happens(self.stage.plan.abort_share):
            self.producing.abort()
        else:
            self.producing.commit()

    def follow(self, event: Event) -> None:
        """Tell the judge."""
        if self.producing.follow(event):
            return
        if isinstance(event, ErrorRaised):
            self.complain(event.error)
        elif isinstance(event, Closed):
            self.end("left")
        else:
            self.stage.trace.note(self.name, type(event).__name__)

    def subscribe(self, topics: tuple[str, ...]) -> None:
        """Write to these from now on."""
        self.topics = topics
        self.say(What.SUBSCRIBED, topics=list(topics))

    def hurry(self) -> None:
        """One thing more, then it is done."""
        super().hurry()
        self._goal = self.producing.finished + 1

    def close(self) -> None:
        """Deliver what was taken, abort what is open."""
        if not self.ended and not self.closing:
            self.closing = True
            self.producing.close(CLOSE_MS)
            self.drain()
