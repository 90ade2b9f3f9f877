"""What judges of all kinds of groups have in common: whoever is there, logs, topics, peace."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final

from kcore.sim.attendance import Attendance
from kcore.sim.interventions import Interventions
from kcore.sim.logs import Logs
from kcore.sim.peace import Peace
from kcore.sim.trace import Trace, What
from kcore.sim.violations import Rule, ViolationError
from kcore.structs import TopicPartition
from kcore.wire.messages import ConsumerGroupHeartbeatRequest, ShareGroupHeartbeatRequest

if TYPE_CHECKING:
    from kcore.coordinator.context import AnyGroup
    from kcore.sim.members import Member
    from kcore.sim.plan import Plan
    from kcore.sim.processes import Process
    from kcore.sim.watch import Watch

# More than the largest group waits for until its books are looked at.
_MANY_TOUCHES: Final = 1_000_000

# A group where it is kept now; None: it is kept nowhere.
GroupOf = Callable[[str], "AnyGroup | None"]

# What members with epochs send.
Heartbeat = ConsumerGroupHeartbeatRequest | ShareGroupHeartbeatRequest


class GroupBook:
    """What is known of one group from outside."""

    def __init__(self) -> None:
        self.generation = -1  # the newest that anybody was told of, by this coordinator
        self.kept_generation = -1  # the newest whose assignment was given out: it is in the journal
        self.owners: dict[int, dict[TopicPartition, str]] = {}
        self.leaders: dict[int, str] = {}
        self.joined: dict[int, set[Member]] = {}  # generation -> who was told that it is in it
        self.members: frozenset[str] = frozenset()  # their ids, before this turn
        self.epochs: dict[str, int] = {}  # member id -> the epoch it was told (KIP-848)

    def begin_anew(self) -> None:
        """It may be deleted, and another one made under its name."""
        self.generation = self.kept_generation = -1
        for told in (self.owners, self.leaders, self.joined):
            told.clear()


class Referee:
    """See the module's text."""

    def __init__(self, plan: Plan, trace: Trace, group_of: GroupOf, now: Callable[[], int]) -> None:
        self._trace = trace
        self.group_of = group_of
        self.logs = Logs()
        self.groups: dict[str, GroupBook] = {}
        self._topic_names: dict[bytes, str] = {}
        self._topic_ids: dict[str, bytes] = {}
        self._topic_lives: dict[bytes, int] = {}
        self.watch: Watch | None = None
        self.interventions = Interventions()
        self.touches = 0  # of groups, since somebody looked at their books
        self.peace = Peace(plan)
        self.attendance = Attendance(plan, self.peace, now, group_of)

    # Members -------------------------------------------------------------------------------------

    def member_started(self, process: Process) -> None:
        """A process is there."""
        self.groups.setdefault(process.group_id, GroupBook())
        self.attendance.started(process)

    def member_ended(self, process: Process, *, left: bool) -> None:
        """It is gone; what it has sent may still arrive. left: it has closed."""
        self.attendance.ended(process, left=left)

    def look(self, living: Iterable[Process]) -> None:
        """From time to time: what should have happened by now has."""
        self.attendance.look(living)

    def complained(self, member: Process) -> None:
        """An application was told of an error."""
        if self.watch is not None:
            self.watch.got_on(member, None)

    def counts(self) -> dict[str, int]:
        """How much happened, by what."""
        raise NotImplementedError

    # Producers -----------------------------------------------------------------------------------

    def written(self, tp: TopicPartition, values: Sequence[bytes]) -> None:
        """Records are sent."""
        self.logs.written(tp, values)

    def acknowledged(self, tp: TopicPartition, base_offset: int, values: Sequence[bytes]) -> None:
        """Records are promised to be kept."""
        self.logs.acknowledged(tp, base_offset, values)

    # Nodes ---------------------------------------------------------------------------------------

    def topic_made(self, name: str, topic_id: bytes) -> None:
        """Newer requests name topics by id."""
        self._topic_names[topic_id] = name
        self._topic_ids[name] = topic_id
        self._topic_lives[topic_id] = self.logs.life(name)

    def topic_gone(self, name: str) -> None:
        """A topic is deleted; it may be made anew under its name."""
        self.logs.topic_gone(name)

    def turn_begins(self) -> None:
        """Time goes on, or another thing happens at the same time."""

    def coordinators_moved(self) -> None:
        """Another node keeps the groups."""
        self.touches += _MANY_TOUCHES

    def beaten(self, member_id: str, request: Heartbeat, epoch: int) -> None:
        """A member's epoch never goes back while it is a member; joining is epoch 0. epoch: what it
        is told.
        """
        group_id = request.group_id
        book = self.groups[group_id]
        if request.member_epoch < 0:
            book.epochs.pop(member_id, None)
            return
        before = book.epochs.get(member_id, 0) if request.member_epoch else 0
        if epoch < before:
            raise ViolationError(
                Rule.COHERENT, f"{member_id} of {group_id} goes back from epoch {before} to {epoch}"
            )
        book.epochs[member_id] = epoch
        self.generation_seen(group_id, book, epoch)

    def generation_seen(self, group_id: str, book: GroupBook, generation: int) -> None:
        """Somebody is told of a generation, or an epoch."""
        if generation > book.generation:
            book.generation = generation
            self._trace.event(What.GENERATION, group_id, generation=generation)
