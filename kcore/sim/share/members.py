"""Members of share groups: a `ShareConsumerCore` each, and an application that acknowledges.

It polls, works, and polls again, which accepts what it has, or it says of each record what became
of it: mostly that it is done, sometimes that somebody else is to have it, that nobody is, or that
it needs more time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kcore.errors import IllegalStateError, KafkaError, UnsupportedVersionError
from kcore.events import (
    Closed,
    ErrorRaised,
    Event,
    GroupJoined,
    GroupLeft,
    OperationCompleted,
    PartitionsAssigned,
    RecordsAcknowledged,
    RecordsFetched,
)
from kcore.records import ConsumerRecord
from kcore.share.config import ShareConsumerConfig
from kcore.share.core import ShareConsumerCore
from kcore.sim.chance import Chance
from kcore.sim.habits import Habits
from kcore.sim.processes import CLOSE_MS, Process
from kcore.sim.stage import Stage
from kcore.sim.trace import What
from kcore.structs import AcknowledgeType, TopicPartition

if TYPE_CHECKING:
    from kcore.sim.share.judge import ShareJudge

_API_MS: Final = 8_000
_COMMIT_MS: Final = 3_000

# Who is given no more than that asks for its own number; others for as much as is usual.
_FEW_RECORDS: Final = 50

# Who asks one node after the other gets nowhere with one record an answer.
_MORE: Final = 4

# What becomes of a record, up to which draw; the rest is accepted.
_REJECTED: Final = 0.05
_RELEASED: Final = 0.15
_RENEWED: Final = 0.22
_SAID_TWICE: Final = 0.05

# How often a call does not return what it has taken, up to which draw, or a loop not go through it.
_INTERRUPTED: Final = 0.03
_ENDED_EARLY: Final = 0.06


class ShareMember(Process):
    """One process that is a member of a share group."""

    core: ShareConsumerCore

    def __init__(
        self, stage: Stage, judge: ShareJudge, habits: Habits, chance: Chance, process: int
    ) -> None:
        super().__init__(stage, habits, chance, process)
        self.judge = judge
        self.core = ShareConsumerCore(self._config(), chance.fork(), self.local_ms)
        self._polls = 0
        self._commits: set[int] = set()
        self._hurried = False
        self.begin()

    def _config(self) -> ShareConsumerConfig:
        plan, habits = self.stage.plan, self.habits
        return ShareConsumerConfig.from_options(
            {
                "bootstrap_servers": list(habits.bootstrap),
                "client_id": habits.name,
                "client_rack": habits.rack,
                "group_id": habits.group_id,
                "max_poll_records": habits.max_records + (_MORE if habits.one_by_one else 0),
                "max_poll_interval_ms": plan.max_poll_interval_ms,
                "request_timeout_ms": plan.request_timeout_ms,
                "metadata_max_age_ms": plan.metadata_max_age_ms,
                "fetch_max_wait_ms": plan.fetch_max_wait_ms,
                "fetch_min_bytes": plan.fetch_min_bytes,
                "fetch_max_bytes": plan.partition_fetch_bytes,
                "default_api_timeout_ms": _API_MS,
                "share_acknowledgement_mode": "explicit" if habits.explicit else "implicit",
                "share_acquire_mode": "record_limit" if habits.one_by_one else "batch_optimized",
            }
        )

    @property
    def member_id(self) -> str:
        """What its group calls it: it has chosen that itself."""
        return self.core.member_id

    # Turns ---------------------------------------------------------------------------------------

    def poll(self) -> None:
        """Be done with what it has, take records, and commit as its habits have it."""
        core, judge = self.core, self.judge
        judge.polled(self)
        self._polls += 1
        self._conclude(0.0)
        core.poll(self.local_ms)
        judge.collected(self)
        self.drain()
        if self.ended:
            return
        few = self.max_records < _FEW_RECORDS and self.chance.happens(0.5)
        core.hand_over()
        try:
            taken = core.take_records(self.max_records if few else None, self.local_ms)
        except KafkaError as error:
            self.complain(error)
        else:
            self._take(taken)
        self.drain()
        if self.habits.commits_in(self._polls) and not self._commits and not self.ended:
            self._commit()

    def _take(self, taken: dict[TopicPartition, list[ConsumerRecord]]) -> None:
        """Mostly all of it; but some calls are interrupted (Ctrl-C), and some loops ended early."""
        draw = 1.0 if self._hurried or not taken else self.chance.random()
        if draw < _INTERRUPTED:
            self.core.take_back(self.local_ms)
            return
        if draw < _ENDED_EARLY:
            for tp, records in list(taken.items()):
                half = len(records) // 2
                self.core.give_back(records[half:])
                if half:
                    taken[tp] = records[:half]
                else:
                    del taken[tp]
            if not taken:
                return
        self.judge.delivered(self, taken)

    def _conclude(self, left: float) -> None:
        """Say what became of the last poll's records, of a share `left` of them nothing yet."""
        if not self.habits.explicit:
            self.judge.hands.says_of_all(self)
            return
        for at in self.judge.hands.in_hand(self):
            if self.chance.happens(left):
                continue
            kinds = [self._draw_kind()]
            if not self._hurried and self.chance.happens(_SAID_TWICE):
                kinds.append(self._draw_kind())
            for kind in kinds:
                try:
                    self.core.acknowledge(at.tp, at.offset, kind)
                except IllegalStateError:
                    self.judge.hands.cannot_say(self, at)
                    break
                self.judge.hands.says(self, at, int(kind))

    def _draw_kind(self) -> AcknowledgeType:
        draw = 1.0 if self._hurried else self.chance.random()
        if draw < _REJECTED:
            return AcknowledgeType.REJECT
        if draw < _RELEASED:
            return AcknowledgeType.RELEASE
        if draw < _RENEWED and self.stage.plan.renews:
            return AcknowledgeType.RENEW
        return AcknowledgeType.ACCEPT

    def _commit(self) -> None:
        """Of what it has now, too; who acknowledges record by record may be done with some."""
        self._conclude(0.5)
        operation = self.core.commit(self.local_ms, _COMMIT_MS)
        self._commits.add(operation)
        self.judge.hands.commits(self, operation)
        self.judge.collected(self)
        self.drain()

    # News ----------------------------------------------------------------------------------------

    def follow(self, event: Event) -> None:
        """Tell the judge."""
        judge = self.judge
        if isinstance(event, RecordsFetched):
            judge.hands.fetched(self, f"node{event.node_id}", event.partitions)
        elif isinstance(event, RecordsAcknowledged):
            judge.told(self, event)
        elif isinstance(event, OperationCompleted):
            self._commits.discard(event.operation)
            if event.error is None:
                judge.hands.committed(self, event.operation, event.result)
        elif isinstance(event, GroupJoined):
            self.say(
                What.JOINED, group=self.group_id, generation=event.generation, leads=event.is_leader
            )
        elif isinstance(event, PartitionsAssigned):
            partitions = list(event.partitions)
            self.say(What.ASSIGNED, generation=event.generation, partitions=partitions)
        elif isinstance(event, GroupLeft):
            self.say(What.STEPPED_OUT)
            judge.attendance.stepped_out(self)
        elif isinstance(event, ErrorRaised):
            self.complain(event.error)
        elif isinstance(event, Closed):
            self.end("left")
        else:
            self.stage.trace.note(self.name, type(event).__name__)

    def complain(self, error: KafkaError) -> None:
        """If the cluster has no share groups now, it ends, and comes again."""
        super().complain(error)
        if isinstance(error, UnsupportedVersionError):
            self.end("refused")
            self.stage.start_again(self.habits)

    # What happens to it --------------------------------------------------------------------------

    def subscribe(self, topics: tuple[str, ...]) -> None:
        """Read these topics from now on."""
        self.topics = topics
        self.say(What.SUBSCRIBED, topics=list(topics))
        self.core.subscribe(topics, self.local_ms)
        self.judge.collected(self)
        self.drain()

    def hurry(self) -> None:
        """Nothing is given back any more, either."""
        super().hurry()
        self._hurried = True

    def close(self) -> None:
        """Leave in peace: what it has is done; or, if it says so itself, perhaps some of it."""
        if not self.ended and not self.closing:
            self.closing = True
            self.judge.polled(self)
            self._conclude(0.3)
            if not self.habits.explicit:
                self.core.accept()
            self.core.close(self.local_ms, CLOSE_MS)
            self.judge.collected(self)
            self.drain()
