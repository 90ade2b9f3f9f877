"""Members: a `ConsumerCore` each, and an application around it that polls, works and commits.

The application is what most are: poll, take records, work for a while, poll again. It may be slow,
stand still (a zombie: nothing is taken in, the kernel keeps what comes) or die.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from kcore.actions import Connect, Disconnect, Send
from kcore.consumer.config import ConsumerConfig
from kcore.consumer.core import ConsumerCore
from kcore.errors import FencedInstanceIdError, KafkaError, UnreleasedInstanceIdError
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
from kcore.sim.clock import Clock
from kcore.sim.stage import Stage
from kcore.sim.trace import What
from kcore.structs import OffsetAndMetadata
from kcore.timers import NEVER

_CLOSE_MS: Final = 5_000

# How long a listener may take with one step of a rebalance.
_LISTENER_MS: Final = 400

# How soon an application that is stuck looks whether it still is.
_LOOK_AGAIN_MS: Final = 500

# How an application polls that has nothing else to do.
_QUICK_POLL_MS: Final = 250
_MANY_RECORDS: Final = 500


class Commit(Enum):
    """When an application commits."""

    AUTO = "auto"  # leaves it to the core
    EACH = "each"  # everything handed over, before the next poll
    NAMED = "named"  # the same, with the offsets by name, and retried for a while
    SOMETIMES = "sometimes"  # every few polls


_DUE_EVERY: Final = {Commit.AUTO: 0, Commit.EACH: 1, Commit.NAMED: 1, Commit.SOMETIMES: 4}  # polls


@dataclass(frozen=True, slots=True)
class Habits:
    """How one member is set up, and what its application does."""

    name: str
    group_id: str
    topics: tuple[str, ...]
    bootstrap: tuple[str, ...]
    assignors: tuple[str, ...]
    commit: Commit
    clock: Clock
    poll_every_ms: int
    max_records: int
    awaits: bool = False  # acknowledges each step of a rebalance
    remote_assignor: str | None = None
    by_epochs: bool = False  # speaks the consumer protocol (KIP-848)
    instance_id: str | None = None
    by_pattern: bool = False
    by_remote_pattern: bool = False  # that brokers match


class Member:
    """One process that is a member of a group."""

    def __init__(self, stage: Stage, habits: Habits, chance: Chance, process: int) -> None:
        self.stage = stage
        self.process = process  # of those of the run: two may have one name for a while
        self.habits = habits
        self.name = habits.name
        self.group_id = habits.group_id
        self.identity = habits.instance_id or habits.name
        self.topics = habits.topics
        self.chance = chance
        self.core = ConsumerCore(self._config(), chance.fork(), self.local_ms)
        self.ended = False
        self.closing = False
        self.paused = False  # its process stands still
        self.slow_until_ms = 0  # it works on something until then
        self.poll_every_ms = habits.poll_every_ms
        self.max_records = habits.max_records
        self.errors = 0
        self._backlog: list[tuple[Callable[..., None], tuple[Any, ...]]] = []
        self._wake_ms = NEVER
        self._steps_to_acknowledge = 0
        self._operations: set[int] = set()
        self._polls = 0
        stage.judge.member_started(self)
        self._say(What.MEMBER_STARTED, group=self.group_id, instance=habits.instance_id)
        self.subscribe(habits.topics)
        stage.at(stage.now() + chance.between(0, habits.poll_every_ms), self._turn)

    def _config(self) -> ConsumerConfig:
        plan, habits = self.stage.plan, self.habits
        options: dict[str, object] = {
            "bootstrap_servers": list(habits.bootstrap),
            "client_id": habits.name,
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
    def local_ms(self) -> int:
        """What its own clock says."""
        return self.habits.clock.read(self.stage.now())

    # The network ---------------------------------------------------------------------------------

    def wire_opened(self, link: int) -> None:
        """See ClientSide."""
        self._input(self.core.handle_connected, link)

    def wire_data(self, link: int, data: bytes) -> None:
        """See ClientSide."""
        self._input(self._receive, link, data)

    def wire_closed(self, link: int, why: str) -> None:
        """See ClientSide."""
        self._input(self.core.handle_closed, link, why)

    def _receive(self, link: int, data: bytes, now_ms: int) -> None:
        """Into the room that the core lends, as drivers do; each fill is an input of its own."""
        rest = memoryview(data)
        while rest:
            try:
                room = self.core.receive_buffer(link)
            except LookupError:
                return
            size = min(len(room), len(rest))
            room[:size] = rest[:size]
            rest = rest[size:]
            self.core.receive_advance(link, size, now_ms)
            self._drain_actions()

    def _input(self, verb: Callable[..., None], *arguments: Any) -> None:
        if self.paused:
            self._backlog.append((verb, arguments))
        elif not self.ended:
            verb(*arguments, self.local_ms)
            self.drain()

    # Turns ---------------------------------------------------------------------------------------

    def drain(self) -> None:
        """Do what the core wants done, take its news, and come back when it wants."""
        self._drain_actions()
        core = self.core
        event = core.next_event()
        while event is not None:
            self._follow(event)
            event = core.next_event()
        if not self.ended:
            at_ms = self.habits.clock.when(core.deadline())
            if at_ms < self._wake_ms:
                self._wake_ms = max(at_ms, self.stage.now())
                self.stage.at(self._wake_ms, self._wake, self._wake_ms)

    def _drain_actions(self) -> None:
        network = self.stage.network
        action = self.core.next_action()
        while action is not None:
            if isinstance(action, Send):
                network.client_sends(self, action.link, action.data)
            elif isinstance(action, Connect):
                network.connect(self, action.link, self.stage.find(action))
            elif isinstance(action, Disconnect):
                network.client_closes(self, action.link)
            action = self.core.next_action()

    def _wake(self, at_ms: int) -> None:
        if self.ended or self.paused or self._wake_ms != at_ms:
            return
        self._wake_ms = NEVER
        now_ms = self.local_ms
        if self.core.deadline() <= now_ms:
            self.core.handle_deadline(now_ms)
        self.drain()

    def _turn(self) -> None:
        """The application's loop comes round."""
        if self.ended or self.closing:
            return
        now_ms = self.stage.now()
        if self.paused or now_ms < self.slow_until_ms:
            self.stage.at(now_ms + _LOOK_AGAIN_MS, self._turn)
            return
        if not self._steps_to_acknowledge:
            self._poll()
        every_ms = self.poll_every_ms
        self.stage.at(now_ms + self.chance.between(every_ms // 2, every_ms * 3 // 2), self._turn)

    def _poll(self) -> None:
        core, judge = self.core, self.stage.judge
        judge.polled(self)
        self._polls += 1
        core.poll(self.local_ms)
        self.drain()
        if self.ended or self._steps_to_acknowledge:
            return
        try:
            taken = core.take_records(self.max_records, self.local_ms)
        except KafkaError as error:
            self._complain(error)
        else:
            if taken:
                judge.delivered(self, taken)
        self.drain()
        due = _DUE_EVERY[self.habits.commit]
        if due and self._polls % due == 0 and not self._operations and not self.ended:
            self.commit()

    def commit(self) -> None:
        """Commit what was handed over, if there is something new."""
        news = self.stage.judge.uncommitted(self)
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

    def _follow(self, event: Event) -> None:
        trace, judge = self.stage.trace, self.stage.judge
        if isinstance(event, GroupJoined):
            self._say(
                What.JOINED,
                group=self.group_id,
                generation=event.generation,
                leads=event.is_leader,
            )
        elif isinstance(event, PartitionsAssigned):
            partitions = list(event.partitions)
            self._say(What.ASSIGNED, generation=event.generation, partitions=partitions)
            judge.assigned(self, event)
            self._step()
        elif isinstance(event, PartitionsRevoked | PartitionsLost):
            lost = isinstance(event, PartitionsLost)
            self._say(What.LOST if lost else What.REVOKED, partitions=list(event.partitions))
            (judge.lost if lost else judge.revoked)(self, event.partitions)
            self._step()
        elif isinstance(event, OffsetsCommitted | OperationCompleted):
            self._operations.discard(event.operation or 0)
            if event.error is not None:
                trace.note(self.name, "commit failed", event.error)
            else:
                done = event.offsets if isinstance(event, OffsetsCommitted) else event.result
                judge.promises.told(self, done)
        elif isinstance(event, RebalanceStarted):
            self._say(What.REBALANCING, why=event.reason)
        elif isinstance(event, GroupLeft):
            self._say(What.STEPPED_OUT)
            judge.attendance.stepped_out(self)
        elif isinstance(event, ErrorRaised):
            self._complain(event.error)
        elif isinstance(event, Closed):
            self.end("left")
        else:
            trace.note(self.name, type(event).__name__)

    def _say(self, what: What, **detail: Any) -> None:
        self.stage.trace.event(what, self.name, process=self.process, **detail)

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
        self.stage.judge.handled(self)
        self.core.acknowledge_rebalance(self.local_ms)
        self.drain()

    def _complain(self, error: KafkaError) -> None:
        """The application is told of an error, and goes on; if its name is another's, it ends, and
        comes again if that one has only not left yet.
        """
        self.errors += 1
        self.stage.judge.complained(self)
        self._say(What.ERROR, error=f"{type(error).__name__}: {error}")
        if isinstance(error, FencedInstanceIdError):
            self.end("fenced")
        elif isinstance(error, UnreleasedInstanceIdError):
            self.end("refused")
            self.stage.start_again(self.habits)

    # What happens to it --------------------------------------------------------------------------

    def subscribe(self, topics: tuple[str, ...]) -> None:
        """Read these topics from now on."""
        self.topics = topics
        self._say(What.SUBSCRIBED, topics=list(topics))
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

    def hurry(self) -> None:
        """Get through what there is: nothing is slow any more."""
        self.slow_until_ms = 0
        self.poll_every_ms, self.max_records = _QUICK_POLL_MS, _MANY_RECORDS

    def pause_process(self) -> None:
        """Stand still."""
        self.paused = True
        self._say(What.MEMBER_PAUSED)

    def resume_process(self) -> None:
        """Go on with what has come meanwhile, data before deadlines; the application may have its
        turn before both.
        """
        if self.ended or not self.paused:
            return
        self.paused = False
        self._say(What.MEMBER_RESUMED)
        if self.chance.happens(0.5) and not self._steps_to_acknowledge and not self.closing:
            self._poll()
        backlog, self._backlog = self._backlog, []
        for verb, arguments in backlog:
            self._input(verb, *arguments)
        if not self.ended:
            self._wake_ms = NEVER
            self.drain()

    def close(self) -> None:
        """Leave in peace."""
        if not self.ended and not self.closing:
            self.closing = True
            self.stage.judge.polled(self)  # it is done with everything,
            self.stage.judge.handled(self)  # whatever it is told of still
            self.core.close(self.local_ms, _CLOSE_MS)
            self.drain()

    def crash(self, *, told: bool) -> None:
        """Be gone without a word; told: the machine is there and resets its connections."""
        self.end("crashed", told=told)

    def end(self, how: str, *, told: bool = True) -> None:
        """Its process is over."""
        if not self.ended:
            self.ended = True
            self.stage.network.vanish(self, told=told)
            self._say(What.MEMBER_ENDED, how=how)
            self.stage.judge.member_ended(self, left=how == "left")
