"""What must be true of share groups when the faults are over, and when everybody has left.

Everybody has partitions, every partition is somebody's, and every record is done with: accepted,
rejected, or given up after as many deliveries as there may be; so that the start has come to the
end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kcore.broker.share.states import RecordState
from kcore.coordinator.share.group import ShareGroup
from kcore.sim.share.books import share_partition
from kcore.sim.share.custody import Place
from kcore.sim.share.members import ShareMember
from kcore.structs import TopicPartition

if TYPE_CHECKING:
    from kcore.sim.share.judge import ShareJudge
    from kcore.sim.world import World

_SHOWN: Final = 8

# Of a session that somebody asks in, no request is longer ago.
_IN_USE_MS: Final = 10_000


def unsettled(world: World, judge: ShareJudge) -> list[str]:
    """What is not well yet, in words."""
    wrong: list[str] = []
    groups: dict[str, list[ShareMember]] = {}
    for member in world.living():
        assert isinstance(member, ShareMember)
        groups.setdefault(member.group_id, []).append(member)
    for group_id, members in groups.items():
        wrong += _group(world, judge, group_id, members)
    return wrong + _sessions(world, judge)


def _sessions(world: World, judge: ShareJudge) -> list[str]:
    """Nobody reads at a node what that does not lead, or is deleted. Who was refused, and has
    nothing to ask there any more, leaves a session that ends with the connection.
    """
    brokers, wrong = world.brokers, []
    for peer in brokers.peers.values():
        for (_, member_id), (topic_id, number) in peer.node.shares.sessions.parts():
            asked_ms = judge.asked_ms.get((member_id, peer.name), 0)
            if world.now_ms - asked_ms > _IN_USE_MS:
                continue
            name = brokers.cluster.topics.name_of(topic_id)
            if name is None:
                wrong.append(f"{peer.name} is asked for partition {number} of a deleted topic")
            elif brokers.leader_of(TopicPartition(name, number)) != peer.node_id:
                wrong.append(f"{peer.name} is asked for {name}-{number}, which it does not lead")
    return wrong


def _group(world: World, judge: ShareJudge, group_id: str, members: list[ShareMember]) -> list[str]:
    group = judge.group_of(group_id)
    if not isinstance(group, ShareGroup):
        return [f"{group_id} is kept nowhere"]
    there = {member.member_id for member in members}
    gone, missing = group.members.keys() - there, there - group.members.keys()
    if gone or missing:
        return [f"{group_id} has {len(gone)} members that are gone, and {len(missing)} are not in"]
    wrong = []
    topics: set[str] = set()
    covered: set[TopicPartition] = set()
    for member in members:
        topics.update(member.topics)
        assignment = member.core.assignment()
        covered |= assignment
        if not assignment:
            wrong.append(f"{member.name} has no partition")
        strange = {tp.topic for tp in assignment} - set(member.topics)
        if strange:
            wrong.append(f"{member.name} has partitions of {sorted(strange)}")
    for tp in world.brokers.partitions():
        if tp.topic not in topics:
            continue
        if tp not in covered:
            wrong.append(f"nobody has {tp.topic}-{tp.partition}")
        wrong += _partition(world, judge, judge.place(group_id, tp))
    return wrong


def _partition(world: World, judge: ShareJudge, place: Place) -> list[str]:
    promised = judge.logs.promised(place.tp)
    states = ((offset, judge.custody.state_of(place, offset)) for offset in promised)
    left = [f"{offset} of {place}: {state}" for offset, state in states if state]
    if left:
        return left[:_SHOWN]
    share = share_partition(world, judge, place)
    end = judge.logs.end_offset(place.tp)
    if share is None:
        return [f"nobody reads {place}"] if end else []
    if share.start_offset < end:
        return [f"{place} starts at {share.start_offset}, and its end is {end}"]
    return []


def left_behind(world: World, judge: ShareJudge) -> list[str]:
    """Sessions and locks that are there when all members are gone, in words."""
    left = []
    for peer in world.brokers.peers.values():
        sessions = len(peer.node.shares.sessions)
        if sessions:
            left.append(f"{peer.name} has {sessions} share sessions")
    for place in judge.custody.records:
        share = share_partition(world, judge, place)
        runs = [] if share is None else share.runs()
        locked = sum(len(run) for run in runs if run.state is RecordState.ACQUIRED)
        if locked:
            left.append(f"{locked} records of {place} are locked")
    return left
