"""How a member is led from what it has to what the target gives it.

    STABLE       at the target's epoch: stays; else next
    UNREVOKED    still has what it is to give up, or does not say: stays; else next
    UNRELEASED   next
    UNKNOWN      says that it has nothing: next, in the target's epoch; else it is fenced

    next         has to give something up, and has not  -> UNREVOKED, in the epoch it was in
                 something of the target is free        -> gets it, in the target's epoch
                 others still have the rest             -> UNRELEASED, in the target's epoch
                 nothing is missing                     -> STABLE, in the target's epoch

Topics that the member is not subscribed to any more are given up at once, before there is a target
without them. Pure: the same input gives the same member. (Java: CurrentAssignmentBuilder.)
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from kcore.coordinator.consumer.member import ConsumerMember, Owned, TopicIdPartition
from kcore.coordinator.consumer.states import MemberState


@dataclass(frozen=True, slots=True)
class Goal:
    """What a member is led to, and what is known on the way.

    topics: ids of those it is subscribed to now. changed: its subscription has, just now. is_held:
    whether any member has a partition, or may. owned: what it says it has; None if it does not.
    """

    epoch: int
    target: AbstractSet[TopicIdPartition]
    topics: AbstractSet[bytes]
    changed: bool
    is_held: Callable[[TopicIdPartition], bool]
    owned: AbstractSet[TopicIdPartition] | None


def reconcile(member: ConsumerMember, goal: Goal) -> ConsumerMember | None:
    """The member after this heartbeat, which may be the same; None if it is to be fenced."""
    if member.state is MemberState.STABLE and member.epoch == goal.epoch:
        return _without_unsubscribed(member, goal) if goal.changed else member
    if member.state is MemberState.UNREVOKED_PARTITIONS and _may_have(member.pending, goal):
        return _without_unsubscribed(member, goal) if goal.changed else member
    if member.state is MemberState.UNKNOWN:
        return None if goal.owned is None or goal.owned else _next(member, goal.epoch, goal)
    return _next(member, member.epoch, goal)


def _may_have(partitions: Owned, goal: Goal) -> bool:
    """Whether the member has, or does not deny that it has, any of these."""
    return goal.owned is None or any(partition in partitions for partition in goal.owned)


def _without_unsubscribed(member: ConsumerMember, goal: Goal) -> ConsumerMember:
    """The member in its epoch, less what it does not want any more."""
    kept = {at: epoch for at, epoch in member.assigned.items() if at[0] in goal.topics}
    if len(kept) == len(member.assigned):
        return member
    gone = {at: epoch for at, epoch in member.assigned.items() if at not in kept}
    pending = {**member.pending, **gone}
    if _may_have(pending, goal):
        return member.moved(MemberState.UNREVOKED_PARTITIONS, member.epoch, kept, pending)
    return member.moved(member.state, member.epoch, kept, member.pending)


def _next(member: ConsumerMember, epoch: int, goal: Goal) -> ConsumerMember:
    target = {at for at in goal.target if at[0] in goal.topics}
    kept = {at: since for at, since in member.assigned.items() if at in target}
    revoked = {at: since for at, since in member.assigned.items() if at not in target}
    missing = sorted(target - kept.keys())
    # What this very member is still to give up is held by nobody else.
    free = [at for at in missing if at in member.pending or not goal.is_held(at)]
    if revoked and _may_have(revoked, goal):
        return member.moved(MemberState.UNREVOKED_PARTITIONS, epoch, kept, revoked)
    complete = len(free) == len(missing)
    state = MemberState.STABLE if complete else MemberState.UNRELEASED_PARTITIONS
    assigned = {**kept, **dict.fromkeys(free, goal.epoch)}
    return member.moved(state, goal.epoch, assigned, {})
