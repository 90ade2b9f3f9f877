"""A member of a streams group: a value, which is replaced as a whole when something changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Final

from kcore.coordinator.streams.states import MemberState

# The epochs by which a member says that it goes.
LEAVING: Final = -1
LEAVING_STATIC: Final = -2

# A part of the topology, and a partition of what that reads.
Task = tuple[str, int]

# How far a member says that it is with tasks: offsets, summed up over the changelogs of each.
Offsets = Mapping[Task, int]

# Tasks, and the epoch in which the member got each (KIP-1251): who commits in an older one had the
# task from before somebody else had it.
Held = Mapping[Task, int]

NO_TASKS: Final[frozenset[Task]] = frozenset()
NO_OFFSETS: Final[Offsets] = {}


@dataclass(frozen=True, slots=True)
class Tasks:
    """Tasks by role: what a member is to get, or says that it has."""

    active: frozenset[Task] = NO_TASKS
    standby: frozenset[Task] = NO_TASKS
    warmup: frozenset[Task] = NO_TASKS

    def meet(self, assigned: Assigned) -> bool:
        """Whether any task is in the same role in both."""
        return bool(
            self.active & assigned.active.keys()
            or self.standby & assigned.standby
            or self.warmup & assigned.warmup
        )

    def within(self, assigned: Assigned) -> bool:
        """Whether all of these tasks are there in their roles."""
        return (
            self.active <= assigned.active.keys()
            and self.standby <= assigned.standby
            and self.warmup <= assigned.warmup
        )


@dataclass(frozen=True, slots=True)
class Assigned:
    """Tasks that a member has, by role."""

    active: Held = field(default_factory=dict)
    standby: frozenset[Task] = NO_TASKS
    warmup: frozenset[Task] = NO_TASKS

    def __bool__(self) -> bool:
        return bool(self.active or self.standby or self.warmup)


NOTHING: Final = Assigned()
NO_TARGET: Final = Tasks()


@dataclass(frozen=True, slots=True)
class StreamsMember:
    """One member. assigned: the tasks it may have; pending: what it is to give up and may still
    have. process_id: those of one process share its state stores. endpoint: host and port at which
    its application answers questions; tags: what racks and the like go by. instance_id: of one that
    may go for a while, and keeps what it has (LEAVING_STATIC is its epoch then).
    """

    member_id: str
    epoch: int = 0
    previous_epoch: int = 0
    state: MemberState = MemberState.STABLE
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    topology_epoch: int = -1
    process_id: str = ""
    endpoint: tuple[str, int] | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    client_id: str = ""
    client_host: str = ""
    assigned: Assigned = NOTHING
    pending: Assigned = NOTHING
    classic: ClassVar[None] = None  # nobody speaks the classic protocol here

    def reconciled_to(self, target_epoch: int) -> bool:
        """Whether it has all that this target gives it."""
        return self.state is MemberState.STABLE and self.epoch == target_epoch

    def since(self, at: Task) -> int | None:
        """The epoch in which it got an active task; None if it does not have it."""
        return self.assigned.active.get(at, self.pending.active.get(at))

    def left_for_a_while(self) -> StreamsMember:
        """It comes back: nobody gets its tasks meanwhile, and their epochs count no more."""
        kept = replace(self.assigned, active=dict.fromkeys(self.assigned.active, 0))
        return replace(self, epoch=LEAVING_STATIC, assigned=kept, pending=NOTHING)

    def moved(
        self, state: MemberState, epoch: int, assigned: Assigned, pending: Assigned
    ) -> StreamsMember:
        """The member a step further."""
        return replace(
            self,
            state=state,
            epoch=epoch,
            previous_epoch=self.epoch,
            assigned=assigned,
            pending=pending,
        )
