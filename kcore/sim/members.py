"""Members: a `ConsumerCore` each, and an application around it that polls, works and commits.

The application is what most are: poll, take records, work for a while, poll again. It may be slow,
stand still (a zombie: nothing is taken in, the kernel keeps what comes) or die.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kcore.consumer.config import ConsumerConfig
from kcore.consumer.core import ConsumerCore
from kcore.errors import (
    FencedInstanceIdError,
    KafkaError,
    UnreleasedInstanceIdError,
    UnsupportedVersionError,
)
from kcore.events import (
    Closed,
    ErrorRaised,
    Event,
    GroupJoined,
    GroupLeft,
    OffsetsCommitted,
    OperationCompleted,
    PartitionsAssigned,
    PartitionsLost,
    PartitionsRevoked,
    RebalanceStarted,
)
from kcore.sim.chance import Chance
from kcore.sim.habits import Commit, Habits
from kcore.sim.processes import CLOSE_MS, Process
from kcore.sim.stage import Stage
from kcore.sim.trace import What
from kcore.structs import GroupMembershipOperation, OffsetAndMetadata

if TYPE_CHECKING:
    from kcore.sim.judge import Judge

# What a close may say of the membership (KIP-1092).
_OPERATIONS: Final = (
    GroupMembershipOperation.LEAVE_GROUP,
    GroupMembershipOperation.REMAIN_IN_GROUP,
)

# How long a listener may take with one step of a rebalance.
_LISTENER_MS: Final = 400


class Member(Process):
    """One process that is a member of a group."""

    core: ConsumerCore

    def __init__(
        self, stage: Stage, judge: Judge, habits: Habits, chance: Chance, process: int
    ) -> None:
        super().__init__(stage, habits, chance, process)
        self.judge = judge
        self.core = ConsumerCore(self._config(), chance.fork(), self.local_ms)
        self._steps_to_acknowledge = 0
        self._operations: set[int] = set()
        self._polls = 0
        self.begin()

    def _config(self) -> ConsumerConfig:
        plan, habits = self.stage.plan, self.habits
        options: dict[str, object] = {
            "bootstrap_servers": list(habits.bootstrap),
            "client_id": habits.name,
            "client_rack": habits.rack,
            "group_id": habits.group_id,
            "group_instance_id": habits.instance_id,
            "auto_offset_reset": "earliest",
            "enable_auto_commit": habits.commit is Commit.AUTO,
            "auto_commit_interval_ms": 1_000,
            "max_poll_interval_ms": plan.max_poll_interval_ms,
            "request_timeout_ms": plan.request_timeout_ms,
            "metadata_max_age_ms": plan.metadata_max_age_ms,
            "fetch_max_wait_ms": plan.fetch_max_wait_ms,
            "fetch_min_bytes": plan.fetch_min_bytes,
            "max_partition_fetch_bytes": plan.partition_fetch_bytes,
            "enable_incremental_fetch_sessions": plan.fetch_sessions,
        }
        return ConsumerConfig.from_options(
            options | self._protocol_options(), await_acknowledgement=habits.awaits
        )

    def _protocol_options(self) -> dict[str, object]:
        plan, habits = self.stage.plan, self.habits
        if habits.by_epochs:
            return {
                "group_protocol": "consumer",
                "group_remote_assignor": habits.remote_assignor,
            }
        return {
            "partition_assignment_strategy": list(habits.assignors),
            "session_timeout_ms": plan.session_timeout_ms,
            "heartbeat_interval_ms": plan.heartbeat_interval_ms,
        }

    @property
    def commits_itself(self) -> bool:
        """Its application leaves commits to the core."""
        return self.habits.commit is Commit.AUTO

    @property
    def member_id(self) -> str:
        """What its group calls it; empty before it is told."""
        return self.core.group_metadata().member_id

    @property
    def stuck(self) -> bool:
        """See Process."""
        return self._steps_to_acknowledge > 0

    def poll(self) -> None:
        """Take records, and commit as its habits have it."""
        core, judge = self.core, self.judge
        judge.polled(self)
        self._polls += 1
        core.poll(self.local_ms)
        self.drain()
        if self.ended or self._steps_to_acknowledge:
            return
        try:
            taken = core.take_records(self.max_records, self.local_ms)
        except KafkaError as error:
            self.complain(error)
        else:
            if taken:
                judge.delivered(self, taken)
        self.drain()
        if self.habits.commits_in(self._polls) and not self._operations and not self.ended:
            self.commit()

    def commit(self) -> None:
        """Commit what was handed over, if there is something new."""
        news = self.judge.uncommitted(self)
        if not news:
            return
        offsets = None
        timeout_ms = None
        if self.habits.commit is Commit.NAMED:
            offsets = {tp: OffsetAndMetadata(offset) for tp, offset in news.items()}
            timeout_ms = 3_000
        self._operations.add(self.core.commit(offsets, self.local_ms, timeout_ms))
        self.drain()

    # News ----------------------------------------------------------------------------------------

    def follow(self, event: Event) -> None:
        """Tell the judge, and do what an application does then."""
        trace, judge = self.stage.trace, self.judge
        if isinstance(event, GroupJoined):
            self.say(
                What.JOINED,
                group=self.group_id,
                generation=event.generation,
                leads=event.is_leader,
            )
        elif isinstance(event, PartitionsAssigned):
            partitions = list(event.partitions)
            self.say(What.ASSIGNED, generation=event.generation, partitions=partitions)
            judge.assigned(self, event)
            self._step()
        elif isinstance(event, PartitionsRevoked | PartitionsLost):
            lost = isinstance(event, PartitionsLost)
            self.say(What.LOST if lost else What.REVOKED, partitions=list(event.partitions))
            (judge.lost if lost else judge.revoked)(self, event.partitions)
            self._step()
        elif isinstance(event, OffsetsCommitted | OperationCompleted):
            self._operations.discard(event.operation or 0)
            if event.error is not None:
                trace.note(self.name, "commit failed", event.error)
                judge.promises.failed(self, event.error)
            else:
                done = event.offsets if isinstance(event, OffsetsCommitted) else event.result
                judge.promises.told(self, done)
        elif isinstance(event, RebalanceStarted):
            self.say(What.REBALANCING, why=event.reason)
        elif isinstance(event, GroupLeft):
            self.say(What.STEPPED_OUT)
            judge.attendance.stepped_out(self)
        elif isinstance(event, ErrorRaised):
            self.complain(event.error)
        elif isinstance(event, Closed):
            self.end("left")
        else:
            trace.note(self.name, type(event).__name__)

    def _step(self) -> None:
        """A step of a rebalance; its listener takes its time, and may commit."""
        if self.habits.awaits:
            self._steps_to_acknowledge += 1
            delay_ms = self.chance.between(0, _LISTENER_MS)
            self.stage.at(self.stage.now() + delay_ms, self._acknowledge)

    def _acknowledge(self) -> None:
        if self.paused:
            self.stage.at(self.stage.now() + 100, self._acknowledge)
            return
        if self.ended or not self._steps_to_acknowledge:
            return
        self._steps_to_acknowledge -= 1
        if self.habits.commit is not Commit.AUTO and not self.closing:
            self.commit()
        self.judge.handled(self)
        self.core.acknowledge_rebalance(self.local_ms)
        self.drain()

    def complain(self, error: KafkaError) -> None:
        """If its name is another's, it ends; and comes again if that one has only not left yet, or
        the cluster has no groups of its protocol now.
        """
        super().complain(error)
        if isinstance(error, FencedInstanceIdError):
            self.end("fenced")
        elif isinstance(error, UnreleasedInstanceIdError | UnsupportedVersionError):
            self.end("refused")
            self.stage.start_again(self.habits)

    # What happens to it --------------------------------------------------------------------------

    def subscribe(self, topics: tuple[str, ...]) -> None:
        """Read these topics from now on."""
        self.topics = topics
        self.say(What.SUBSCRIBED, topics=list(topics))
        if self.habits.by_remote_pattern:
            self.core.subscribe_remote_pattern("|".join(topics), self.local_ms)
        elif self.habits.by_pattern:
            self.core.subscribe_pattern("^(" + "|".join(topics) + ")$", self.local_ms)
        else:
            self.core.subscribe(topics, self.local_ms)
        self.drain()

    def rejoin(self) -> None:
        """Ask for a rebalance."""
        self.core.request_rejoin("the application wants one", self.local_ms)
        self.drain()

    def pause_partitions(self, chance: Chance) -> None:
        """Take nothing from some of its partitions for now."""
        self.core.pause(chance.some_of(sorted(self.core.assignment()), 0.5))

    def resume_partitions(self) -> None:
        """Take from all of them again."""
        if not self.ended and not self.paused:
            self.core.resume(sorted(self.core.paused()), self.local_ms)
            self.drain()

    def close(self) -> None:
        """Leave in peace."""
        if not self.ended and not self.closing:
            self.closing = True
            self.judge.polled(self)  # it is done with everything,
            self.judge.handled(self)  # whatever it is told of still
            if self.chance.happens(self.stage.plan.close_share):
                self.operation = self.chance.one_of(_OPERATIONS)
                if self.operation is GroupMembershipOperation.REMAIN_IN_GROUP:
                    self.judge.attendance.remains(self)
            self.core.close(self.local_ms, CLOSE_MS, operation=self.operation)
            self.drain()
