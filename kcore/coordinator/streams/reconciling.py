"""How a member is led from the tasks it has to those that the target gives it.

    STABLE       at the target's epoch: stays; else next
    UNREVOKED    still has what it is to give up, or does not say: stays; else next, an epoch on
    UNRELEASED   next
    UNKNOWN      says that it has nothing: next, in the target's epoch; else it is fenced

    next         has to give something up, and has not  -> UNREVOKED, in the epoch it was in
                 something of the target is free        -> gets it, in the target's epoch
                 the rest is not free                   -> UNRELEASED, in the target's epoch
                 nothing is missing                     -> STABLE, in the target's epoch

An active task is free if nobody has it and its process has it in no other role; a standby or a
warm-up if its process has it in no role: members of one process share state stores. Since Kafka 4.4
what the member itself has in another role is no hindrance: a task changes from standby to warm-up
and back at once, an active one is its standby while it is given up, and who is to have one as an
active task keeps it as what it is until it may. Pure: the same input gives the same member.
(Java: streams.CurrentAssignmentBuilder.)
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from kcore.coordinator.streams.group import StreamsGroup, in_process
from kcore.coordinator.streams.member import NOTHING, Assigned, StreamsMember, Task, Tasks
from kcore.coordinator.streams.states import MemberState


@dataclass(frozen=True, slots=True)
class Goal:
    """What a member is led to. group: who has which task. owned: what the member says it has; None
    if it does not. as_44: whether members keep tasks in other roles.
    """

    epoch: int
    target: Tasks
    group: StreamsGroup
    owned: Tasks | None
    as_44: bool = False


def reconcile(member: StreamsMember, goal: Goal) -> StreamsMember | None:
    """The member after this heartbeat, which may be the same; None if it is to be fenced."""
    owned = goal.owned
    if member.state is MemberState.STABLE and member.epoch == goal.epoch:
        return member
    if member.state is MemberState.UNREVOKED_TASKS:
        if owned is None or owned.meet(member.pending):
            return member
        return _next(member, member.epoch + 1, goal)
    if member.state is MemberState.UNKNOWN:
        if owned != Tasks():
            return None
        return _next(member, goal.epoch, goal)
    return _next(member, member.epoch, goal)


def _next(member: StreamsMember, epoch: int, goal: Goal) -> StreamsMember:
    has, target = member.assigned, goal.target
    own = has if goal.as_44 else NOTHING  # what may change its role
    missing = Tasks(
        target.active - has.active.keys(),
        target.standby - has.standby,
        target.warmup - has.warmup,
    )
    free = _free(missing, own, goal.group, member.process_id)
    changed = Tasks(
        standby=free.standby & (own.active.keys() | own.warmup),
        warmup=free.warmup & own.standby,
    )
    revoked = Assigned(
        {task: since for task, since in has.active.items() if task not in target.active},
        has.standby - target.standby - changed.warmup - (own.standby & target.active),
        has.warmup - target.warmup - changed.standby - (own.warmup & target.active),
    )
    gives_up = bool(revoked) and (goal.owned is None or goal.owned.meet(revoked))
    waiting = target.active if gives_up else target.active - free.active
    kept = Assigned(
        {task: since for task, since in has.active.items() if task in target.active},
        (has.standby & target.standby) | changed.standby | (own.standby & waiting),
        (has.warmup & target.warmup) | changed.warmup | (own.warmup & waiting),
    )
    if gives_up:
        return member.moved(MemberState.UNREVOKED_TASKS, epoch, kept, revoked)
    state = MemberState.STABLE if free == missing else MemberState.UNRELEASED_TASKS
    assigned = Assigned(
        {**kept.active, **dict.fromkeys(free.active, goal.epoch)},
        kept.standby | free.standby,
        kept.warmup | free.warmup,
    )
    return member.moved(state, goal.epoch, assigned, NOTHING)


def _free(missing: Tasks, own: Assigned, group: StreamsGroup, process_id: str) -> Tasks:
    """What of the missing tasks the member may have now. own: its tasks that may change roles."""

    def elsewhere(
        held_in: Mapping[Task, set[str]], task: Task, mine: Collection[Task] = ()
    ) -> bool:
        """Whether another member of the process has it in this role."""
        return task not in mine and in_process(held_in, task, process_id)

    def ran(task: Task, mine: Collection[Task] = ()) -> bool:
        return task not in mine and group.active_in.get(task) == process_id

    return Tasks(
        frozenset(
            task
            for task in missing.active
            if task not in group.active_in
            and not elsewhere(group.standby_in, task, own.standby)
            and not elsewhere(group.warmup_in, task, own.warmup)
        ),
        frozenset(
            task
            for task in missing.standby
            if not ran(task, own.active)
            and not elsewhere(group.standby_in, task)
            and not elsewhere(group.warmup_in, task, own.warmup)
        ),
        frozenset(
            task
            for task in missing.warmup
            if not ran(task)
            and not elsewhere(group.standby_in, task, own.standby)
            and not elsewhere(group.warmup_in, task)
        ),
    )
