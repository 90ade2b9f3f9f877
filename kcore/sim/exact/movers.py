"""Exactly-once from one topic to another: consume, transform, produce, and the offsets go with the
transaction (KIP-447).

The application is the one of Kafka's documentation: it polls when its transaction is over; if that
was aborted it goes back to where it began.
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
    PartitionsAssigned,
    PartitionsLost,
    PartitionsRevoked,
    RebalanceStarted,
    TopicRecreated,
)
from kcore.sim.chance import Chance
from kcore.sim.exact.copies import Fate
from kcore.sim.exact.producing import Producing
from kcore.sim.habits import Habits
from kcore.sim.peers import Peer
from kcore.sim.processes import CLOSE_MS, Process
from kcore.sim.stage import Stage
from kcore.sim.trace import What
from kcore.structs import ConsumerGroupMetadata, OffsetAndMetadata, TopicPartition

if TYPE_CHECKING:
    from kcore.sim.exact.judge import ExactJudge

# What comes out is in topics of these names, of as many partitions at most.
OUT: Final = "-out"
OUT_PARTITIONS: Final = 2

# Of a transaction, which has little time.
_TAKEN_MAX: Final = 50


class _Arm(Peer):
    """The producer of a mover: the process has two cores."""

    def __init__(self, mover: Mover) -> None:
        super().__init__(mover.stage, mover.name, mover.clock)
        self.owner = self._mover = mover

    def follow(self, event: Event) -> None:
        """Tell the process."""
        if self._mover.producing.follow(event):
            return
        if isinstance(event, ErrorRaised):
            self._mover.complain(event.error)
        elif isinstance(event, Closed):
            self._mover.arm_closed()


class Mover(Process):
    """One process that makes a record of each that it reads."""

    core: ConsumerCore

    def __init__(
        self, stage: Stage, judge: ExactJudge, habits: Habits, chance: Chance, process: int
    ) -> None:
        super().__init__(stage, habits, chance, process)
        self.judge = judge
        self.core = ConsumerCore(self._config(), chance.fork(), self.local_ms)
        self.arm = _Arm(self)
        self.producing = Producing(self, self.arm, judge)
        self.arm.core = self.producing.core
        self._begun: dict[TopicPartition, int] = {}  # where the transaction began to read
        self._ends: dict[TopicPartition, OffsetAndMetadata] = {}
        self._lives: dict[TopicPartition, int] = {}  # of the topics that this is in
        self._group = ConsumerGroupMetadata()
        self._closed = 0  # of its two cores
        self._hurried = False
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
            "enable_auto_commit": False,
            "isolation_level": "read_committed",
            "max_poll_interval_ms": plan.max_poll_interval_ms,
            "request_timeout_ms": plan.request_timeout_ms,
            "metadata_max_age_ms": plan.metadata_max_age_ms,
            "fetch_max_wait_ms": plan.fetch_max_wait_ms,
            "fetch_min_bytes": plan.fetch_min_bytes,
            "max_partition_fetch_bytes": plan.partition_fetch_bytes,
            "enable_incremental_fetch_sessions": plan.fetch_sessions,
        }
        if habits.by_epochs:
            options |= {
                "group_protocol": "consumer",
                "group_remote_assignor": habits.remote_assignor,
            }
        else:
            options |= {
                "partition_assignment_strategy": list(habits.assignors),
                "session_timeout_ms": plan.session_timeout_ms,
                "heartbeat_interval_ms": plan.heartbeat_interval_ms,
            }
        return ConsumerConfig.from_options(options)

    @property
    def member_id(self) -> str:
        """What its group calls it; empty before it is told."""
        return self.core.group_metadata().member_id

    @property
    def settled(self) -> bool:
        """Whether nothing is open."""
        return self.producing.idle

    # Turns ---------------------------------------------------------------------------------------

    def poll(self) -> None:
        """Go on with the transaction, or begin one."""
        producing = self.producing
        if not producing.advance():
            return
        if producing.deal is None:
            self._go_back()
            self._read()
        if producing.deal is not None and not self.ended:
            self._go_on()
        self.arm.drain()

    def _go_back(self) -> None:
        """The last transaction was aborted: what it read is read again, if it is still to."""
        begun, self._begun = self._begun, {}
        if self.producing.last is Fate.COMMITTED:
            return
        assigned = self.core.assignment()
        for tp, offset in begun.items():
            if tp in assigned:
                self.judge.copies.goes_back(self.process, tp, self._lives[tp], offset)
                self.core.seek(tp, offset, self.local_ms)
        self.drain()

    def _read(self) -> None:
        core, producing = self.core, self.producing
        core.poll(self.local_ms)
        self.drain()
        if self.ended:
            return
        try:
            taken = core.take_records(min(self.max_records, _TAKEN_MAX), self.local_ms)
        except KafkaError as error:
            self.complain(error)
            return
        self.drain()
        if not taken or self.ended:
            return
        producing.begin()
        producing.last = None
        self._group = core.group_metadata()
        self._begun = {tp: records[0].offset for tp, records in taken.items()}
        self._ends = {
            tp: OffsetAndMetadata(records[-1].offset + 1) for tp, records in taken.items()
        }
        for tp, records in taken.items():
            for record in records:
                out = TopicPartition(tp.topic + OUT, record.offset % self._outs)
                source = self.judge.read(self, tp, record)
                self._lives[tp] = source[1]
                producing.append(out, source)

    @property
    def _outs(self) -> int:
        return min(self.stage.plan.partitions, OUT_PARTITIONS)

    def _go_on(self) -> None:
        producing = self.producing
        if producing.busy:
            return
        if producing.offsets_taken:
            if not self._hurried and self.chance.happens(self.stage.plan.abort_share):
                producing.abort()
            else:
                producing.commit()
        elif self.chance.happens(0.7):
            self._send_offsets()

    def _send_offsets(self) -> None:
        deal = self.producing.deal
        assert deal is not None
        ends = {tp: (self._lives[tp], end.offset) for tp, end in self._ends.items()}
        self.judge.names(deal, ends)
        self.producing.send_offsets(self._ends, self._group)

    # News ----------------------------------------------------------------------------------------

    def follow(self, event: Event) -> None:
        """What it reads comes and goes."""
        if isinstance(event, GroupJoined):
            self.say(
                What.JOINED, group=self.group_id, generation=event.generation, leads=event.is_leader
            )
            self.judge.joined(self, event.generation)
        elif isinstance(event, PartitionsAssigned):
            partitions = list(event.partitions)
            self.say(What.ASSIGNED, generation=event.generation, partitions=partitions)
            self._forget(event.added)
        elif isinstance(event, PartitionsRevoked | PartitionsLost):
            lost = isinstance(event, PartitionsLost)
            self.say(What.LOST if lost else What.REVOKED, partitions=list(event.partitions))
            self._forget(event.partitions)
        elif isinstance(event, TopicRecreated):
            self._forget((event.partition,))
        elif isinstance(event, RebalanceStarted):
            self.say(What.REBALANCING, why=event.reason)
        elif isinstance(event, GroupLeft):
            self.say(What.STEPPED_OUT)
        elif isinstance(event, ErrorRaised):
            self.complain(event.error)
        elif isinstance(event, Closed):
            self.arm_closed()
        else:
            self.stage.trace.note(self.name, type(event).__name__)

    def _forget(self, partitions: tuple[TopicPartition, ...]) -> None:
        """Whoever gets them begins where the group is."""
        for tp in partitions:
            self._begun.pop(tp, None)

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

    def arm_closed(self) -> None:
        """One of its cores is closed."""
        self._closed += 1
        if self._closed == 2:
            self.end("left")

    # What happens to it --------------------------------------------------------------------------

    def subscribe(self, topics: tuple[str, ...]) -> None:
        """Read these from now on."""
        self.topics = topics
        self.say(What.SUBSCRIBED, topics=list(topics))
        self.core.subscribe(topics, self.local_ms)
        self.drain()

    def rejoin(self) -> None:
        """Ask for a rebalance."""
        self.core.request_rejoin("the application wants one", self.local_ms)
        self.drain()

    def hurry(self) -> None:
        """Nothing is aborted any more."""
        super().hurry()
        self._hurried = True

    def pause_process(self) -> None:
        """Both cores stand still."""
        super().pause_process()
        self.arm.paused = self.arm.deaf = True

    def resume_process(self) -> None:
        """Both go on."""
        if self.paused:
            self.arm.paused = False
        super().resume_process()

    def catch_up(self) -> None:
        """With what has come for either."""
        super().catch_up()
        self.arm.catch_up()

    def end(self, how: str, *, told: bool = True) -> None:
        """Its process is over."""
        if not self.ended:
            self.arm.ended = True
            self.stage.network.vanish(self.arm, told=told)
        super().end(how, told=told)

    def close(self) -> None:
        """Abort what is open, and leave."""
        if not self.ended and not self.closing:
            self.closing = True
            self.producing.close(CLOSE_MS)
            self.arm.drain()
            self.core.close(self.local_ms, CLOSE_MS)
            self.drain()
