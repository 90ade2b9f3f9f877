"""What is looked at from time to time in the books of brokers: share groups, share-partitions,
sessions; and whether it goes on.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Final

from kcore.broker.share.states import RecordState
from kcore.sim.share.custody import Custody, Place
from kcore.sim.violations import Rule, ViolationError

if TYPE_CHECKING:
    from kcore.broker.share.partition import SharePartition
    from kcore.coordinator.share.group import ShareGroup
    from kcore.sim.share.judge import ShareJudge
    from kcore.sim.world import World

# How soon what nobody has is acquired when nothing is wrong any more.
_PROGRESS_MS: Final = 20_000


def judge_share_group(group: ShareGroup) -> None:
    """Its books agree with each other."""
    members = group.members.values()
    wrong = {
        "somebody is to get something who is no member": not group.target.keys()
        <= group.members.keys(),
        "the target is newer than the group": group.target_epoch > group.epoch,
        "a member is newer than the target": any(m.epoch > group.target_epoch for m in members),
        "a member is behind its target in the same epoch": any(
            m.epoch == group.target_epoch and m.assigned != group.target_of(m.member_id)
            for m in members
        ),
    }
    for text, broken in wrong.items():
        if broken:
            raise ViolationError(Rule.COHERENT, f"{group.group_id}, {group.state.name}: {text}")


def judge_shares(world: World, judge: ShareJudge) -> None:
    """Share-partitions are without holes, and nodes know no sessions but those of connections;
    nothing is kept of topics that are deleted.
    """
    for place in judge.custody.records:
        if judge.custody.over(place):
            _judge_deleted(world, judge, place)
            continue
        share = share_partition(world, judge, place)
        if share is not None:
            _judge_share(place, share, world.plan.highest_delivery_limit)
            _judge_done(judge.custody, place, share)
    for peer in world.brokers.peers.values():
        sessions = len(peer.node.shares.sessions)
        most = min(peer.node.link_count, world.started)
        if sessions > most:
            raise ViolationError(
                Rule.BOUNDED, f"{peer.name} has {sessions} share sessions, there can be {most}"
            )


def _judge_deleted(world: World, judge: ShareJudge, place: Place) -> None:
    key, cluster = judge.key_of(place), world.brokers.cluster
    who = [peer.name for peer in world.brokers.peers.values() if peer.node.shares.look(key)]
    if cluster.share_states.get(key) is not None:
        who.append("the journal")
    if who:
        raise ViolationError(Rule.BOUNDED, f"{place} is deleted, and {who[0]} has it still")


def _judge_share(place: Place, share: SharePartition, most: int) -> None:
    runs, at = share.runs(), share.start_offset
    wrong = {"its start is over": bool(runs) and runs[0].over}
    for run in runs:
        wrong["it has a hole"] = run.first != at or run.last < run.first
        wrong["a record was delivered too often"] = run.count > most
        wrong["who has a record is not clear"] = (run.state is RecordState.ACQUIRED) is not bool(
            run.member
        )
        at = run.last + 1
        for text, broken in wrong.items():
            if broken:
                raise ViolationError(Rule.COHERENT, f"{place}: {text}: {run}")
    if at != share.end_offset:
        raise ViolationError(Rule.COHERENT, f"{place} ends at {share.end_offset}, not at {at}")


def _judge_done(custody: Custody, place: Place, share: SharePartition) -> None:
    """Nothing is done with but what somebody has said so of, or was given often enough."""
    done = [run for run in share.runs() if run.state is RecordState.ACKNOWLEDGED]
    since = custody.judged_to.get(place, 0)
    spans = [range(since, share.start_offset), *(range(run.first, run.last + 1) for run in done)]
    for offset in chain(*spans):
        state = custody.state_of(place, offset) if offset in custody.records[place] else ""
        if state:
            raise ViolationError(
                Rule.DONE_ONCE, f"{offset} of {place} counts as done with, and {state}"
            )
    custody.judged_to[place] = max(since, share.start_offset)


def judge_progress(world: World, judge: ShareJudge, calm_ms: int) -> None:
    """Where somebody reads, and there is something that nobody has, somebody is given something;
    which partitions have their turn first is a broker's affair.
    """
    for group_id in judge.groups:
        topics = {
            topic
            for member in world.living()
            if member.group_id == group_id and not member.closing
            for topic in member.topics
        }
        partitions = [tp for tp in world.brokers.partitions() if tp.topic in topics]
        places = [judge.place(group_id, tp) for tp in partitions]
        waiting = [one for one in places if judge.custody.waits(one, judge.logs.promised(one.tp))]
        if not waiting:
            judge.idle_ms[group_id] = world.now_ms
        since_ms = max(
            judge.idle_ms.get(group_id, 0), judge.custody.acquired_ms.get(group_id, 0), calm_ms
        )
        if world.now_ms - since_ms > _PROGRESS_MS:
            raise ViolationError(
                Rule.PROGRESS,
                f"nobody has got anything of {waiting[0]} for {world.now_ms - since_ms} ms",
            )


def share_partition(world: World, judge: ShareJudge, place: Place) -> SharePartition | None:
    """A share-partition where it is led; None also if its topic is deleted."""
    leader = None if judge.custody.over(place) else world.brokers.leader_of(place.tp)
    if leader is None:
        return None
    return world.brokers.node(leader).node.shares.look(judge.key_of(place))
