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
warm-up if its process has it in no role: members of one process share state stores. Pure: the same
input gives the same member. (Java: streams.CurrentAssignmentBuilder.)
"""

from __future__ import annotations

from dataclasses import dataclass

from kcore.coordinator.streams.group import StreamsGroup, in_process
from kcore.coordinator.streams.member import NOTHING, Assigned, StreamsMember, Task, Tasks
from kcore.coordinator.streams.states import MemberState


@dataclass(frozen=True, slots=True)
class Goal:
    """What a member is led to. group: who has which task. owned: what the member says it has; None
    if it does not.
    """

    epoch: int
    target: Tasks
    group: StreamsGroup
    owned: Tasks | None


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
    kept = Assigned(
        {task: since for task, since in has.active.items() if task in target.active},
        has.standby & target.standby,
        has.warmup & target.warmup,
    )
    revoked = Assigned(
        {task: since for task, since in has.active.items() if task not in target.active},
        has.standby - target.standby,
        has.warmup - target.warmup,
    )
    if revoked and (goal.owned is None or goal.owned.meet(revoked)):
        return member.moved(MemberState.UNREVOKED_TASKS, epoch, kept, revoked)
    missing = Tasks(
        target.active - kept.active.keys(),
        target.standby - kept.standby,
        target.warmup - kept.warmup,
    )
    group, process_id = goal.group, member.process_id
    free = Tasks(
        frozenset(
            task
            for task in missing.active
            if task not in group.active_in and not _elsewhere(group, task, process_id)
        ),
        frozenset(task for task in missing.standby if not _anywhere(group, task, process_id)),
        frozenset(task for task in missing.warmup if not _anywhere(group, task, process_id)),
    )
    state = MemberState.STABLE if free == missing else MemberState.UNRELEASED_TASKS
    assigned = Assigned(
        {**kept.active, **dict.fromkeys(free.active, goal.epoch)},
        kept.standby | free.standby,
        kept.warmup | free.warmup,
    )
    return member.moved(state, goal.epoch, assigned, NOTHING)


def _elsewhere(group: StreamsGroup, task: Task, process_id: str) -> bool:
    """Whether the process has the task, but not as an active one."""
    return in_process(group.standby_in, task, process_id) or in_process(
        group.warmup_in, task, process_id
    )


def _anywhere(group: StreamsGroup, task: Task, process_id: str) -> bool:
    return group.active_in.get(task) == process_id or _elsewhere(group, task, process_id)
