"""What must be true when the faults are over, and how soon.

Every member is in one stable generation, all partitions have an owner, every promised record was
delivered, and what was delivered is committed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kcore.sim.exact import settle as exact
from kcore.sim.exact.judge import ExactJudge
from kcore.sim.members import Member
from kcore.sim.share import settle as shares
from kcore.sim.share.judge import ShareJudge
from kcore.sim.trace import What
from kcore.sim.violations import Rule, ViolationError
from kcore.structs import MemberState, TopicPartition

if TYPE_CHECKING:
    from kcore.sim.world import World

_LOOK_EVERY_MS: Final = 500
_SHOWN: Final = 8


def settle(world: World) -> int:
    """Let time pass until all is well; how long it took, in ms. ViolationError if it takes too
    long.
    """
    began_ms = world.now_ms
    bound_ms = world.plan.settle_within_ms
    wrong = unsettled(world)
    while wrong:
        if world.now_ms - began_ms >= bound_ms:
            raise ViolationError(
                Rule.SETTLES,
                f"{bound_ms} ms after the last fault: " + "; ".join(wrong[:_SHOWN]),
            )
        world.run_until(world.now_ms + _LOOK_EVERY_MS)
        wrong = unsettled(world)
    world.trace.event(What.SETTLED, "world")
    return world.now_ms - began_ms


def unsettled(world: World) -> list[str]:
    """What is not well yet, in words."""
    if isinstance(world.judge, ShareJudge):
        return shares.unsettled(world, world.judge)
    if isinstance(world.judge, ExactJudge):
        return exact.unsettled(world, world.judge)
    wrong: list[str] = []
    groups: dict[str, list[Member]] = {}
    for member in world.living():
        assert isinstance(member, Member)
        groups.setdefault(member.group_id, []).append(member)
    for group_id, members in groups.items():
        wrong += _group(world, group_id, members)
    return wrong


def _group(world: World, group_id: str, members: list[Member]) -> list[str]:
    states = {member: member.core.group_metadata() for member in members}
    moving = [member.name for member, state in states.items() if state.state != MemberState.STABLE]
    if moving:
        return [f"{group_id}: {', '.join(moving[:_SHOWN])} are not in a generation"]
    generations = sorted({state.generation_id for state in states.values()})
    if len(generations) > 1:
        return [f"{group_id} is in generations {generations}"]
    owners: dict[TopicPartition, Member] = {}
    for member in members:
        for tp in sorted(member.core.assignment()):
            if tp in owners:
                return [f"{_name(tp)} is {owners[tp].name}'s and {member.name}'s"]
            owners[tp] = member
    topics = {topic for member in members for topic in member.topics}
    wrong = []
    for tp in world.brokers.partitions():
        if tp.topic not in topics:
            continue
        owner = owners.get(tp)
        if owner is None:
            wrong.append(f"nobody has {_name(tp)}")
        else:
            wrong += _partition(group_id, owner, tp)
    return wrong


def _partition(group_id: str, owner: Member, tp: TopicPartition) -> list[str]:
    judge = owner.judge
    logs, end = judge.logs, judge.logs.end_offset(tp)
    missing = judge.offsets.missing(group_id, tp)
    if missing:
        return [f"{_name(tp)}: nobody got {missing[:_SHOWN]}"]
    position = owner.core.position(tp)
    if position is None or position < end:
        return [f"{owner.name} is at {position} of {end} in {_name(tp)}"]
    committed = judge.offsets.of(group_id, tp).sure
    handed = logs.handed_end(group_id, tp)
    deleted = handed <= logs.kept_from(tp)  # whoever begins there has nothing to commit
    if not deleted and (committed is None or committed < handed):
        return [f"{committed} of {handed} is committed in {_name(tp)}"]
    return []


def _name(tp: TopicPartition) -> str:
    return f"{tp.topic}-{tp.partition}"
