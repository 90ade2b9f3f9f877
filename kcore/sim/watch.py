"""What is looked at from time to time: coordinators' books, bounds, progress, overdue answers."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from kcore.coordinator import GroupState
from kcore.coordinator.consumer.group import ConsumerGroup
from kcore.coordinator.consumer.member import ConsumerMember, TopicIdPartition
from kcore.coordinator.group import Group
from kcore.coordinator.share.group import ShareGroup
from kcore.sim.members import Member
from kcore.sim.rounds import Rounds
from kcore.sim.share.books import judge_progress, judge_share_group, judge_shares
from kcore.sim.share.judge import ShareJudge
from kcore.sim.violations import Rule, ViolationError
from kcore.structs import TopicPartition

if TYPE_CHECKING:
    from kcore.sim.processes import Process
    from kcore.sim.world import World

_EVERY_MS: Final = 1_000

# A member's connections: some to each node, some that it has given up and that are still closing.
_WIRES_PER_NODE: Final = 12

# What a client sends, and how often it tries to connect, in a second in which everything is fast.
# Backoffs begin at 50 ms; a fetch that finds records is followed by the next one.
_REQUESTS_PER_S: Final = 400
_CONNECTS_PER_S: Final = 60

# How soon a member that could get a record has one, or an error, when nothing is wrong any more.
_PROGRESS_MS: Final = 20_000

# An application that takes so few at a time has its own pace.
_FEW_RECORDS: Final = 50


class Watch:
    """Looks at a world once in a while."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._rounds = Rounds(world.plan)
        self._calm_since_ms: int | None = None if world.plan.faults else 0
        self._lagging: dict[Process, dict[TopicPartition, int]] = {}  # since when
        self._requests: Counter[str] = Counter()
        self._connects: Counter[str] = Counter()
        world.ledger.counted = self.asked
        world.network.counted = self.connected
        world.at(_EVERY_MS, self._tick)

    def calm(self) -> None:
        """Nothing is wrong from now on: what should go on has to."""
        if self._calm_since_ms is None:
            self._calm_since_ms = self._world.now_ms

    def asked(self, name: str) -> None:
        """A client has sent a request."""
        self._requests[name] += 1

    def connected(self, name: str) -> None:
        """A client has tried to connect."""
        self._connects[name] += 1

    def got_on(self, member: Process, tp: TopicPartition | None) -> None:
        """A member got records of a partition; None: an error."""
        since = self._lagging.get(member)
        if since:
            if tp is None or member.max_records < _FEW_RECORDS:
                since.clear()
            else:
                since.pop(tp, None)

    def _tick(self) -> None:
        world = self._world
        world.at(world.now_ms + _EVERY_MS, self._tick)
        for wire in world.network.all_wires():
            world.ledger.judge_open(wire, world.now_ms)
        self._judge_rates()
        self._judge_links()
        world.judge.look(world.living())
        self.look_at_rounds()
        if isinstance(world.judge, ShareJudge):
            judge_shares(world, world.judge)
            if self._calm_since_ms is not None:
                judge_progress(world, world.judge, self._calm_since_ms)
        elif self._calm_since_ms is not None:
            for member in world.living():
                if isinstance(member, Member):
                    self._judge_progress(member)

    def look_at_rounds(self) -> None:
        """Look at all groups, wherever they are kept."""
        world = self._world
        for peer in world.brokers.peers.values():
            for group_id in world.judge.groups:
                group = peer.group(group_id)
                if not isinstance(group, ShareGroup):
                    self._rounds.look(peer.name, group_id, group, world.now_ms, still=peer.paused)

    def _judge_rates(self) -> None:
        for counts, most, what in (
            (self._requests, _REQUESTS_PER_S, "requests"),
            (self._connects, _CONNECTS_PER_S, "connects"),
        ):
            for name, count in counts.items():
                if count > most:
                    raise ViolationError(Rule.BOUNDED, f"{name}: {count} {what} in a second")
            counts.clear()

    def _judge_links(self) -> None:
        """Nodes know the connections there are, and no client has too many."""
        world = self._world
        at_nodes: Counter[str] = Counter()
        at_clients: Counter[tuple[str, str]] = Counter()
        for wire in world.network.all_wires():
            if wire.node_open:
                at_nodes[wire.node.name] += 1
            if wire.client_open:
                at_clients[wire.client.name, wire.node.name] += 1
        for peer in world.brokers.peers.values():
            # One that was put out ends them when it goes on.
            if peer.node.link_count != at_nodes[peer.name] and not (peer.paused and not peer.up):
                raise ViolationError(
                    Rule.BOUNDED,
                    f"{peer.name} knows {peer.node.link_count} connections, there are"
                    f" {at_nodes[peer.name]}",
                )
        for (client, node), count in at_clients.items():
            if count > _WIRES_PER_NODE:
                raise ViolationError(Rule.BOUNDED, f"{client} has {count} connections to {node}")

    def _judge_progress(self, member: Member) -> None:
        """P: assigned, unpaused and lagging means a record or a typed error in time."""
        world = self._world
        since = self._lagging.setdefault(member, {})
        if member.closing or member.paused:
            since.clear()
            return
        lagging = member.judge.lagging(member)
        for tp in [tp for tp in since if tp not in lagging]:
            del since[tp]
        for tp in lagging:
            began_ms = since.setdefault(tp, world.now_ms)
            if world.now_ms - began_ms > _PROGRESS_MS:
                raise ViolationError(
                    Rule.PROGRESS,
                    f"{member.name} has got nothing of {tp.topic}-{tp.partition} for"
                    f" {world.now_ms - began_ms} ms: {member.core.health().get(tp)}",
                )


def judge_groups(world: World) -> None:
    """Each group is kept by one coordinator at most, and its books agree with each other."""
    for peer in world.brokers.peers.values():
        waiting = 0
        coordinator = peer.node.groups.coordinator
        for group_id in world.judge.groups:
            group = peer.group(group_id)
            if group is not None and not peer.up:
                raise ViolationError(Rule.COHERENT, f"{peer.name} is down and has {group_id}")
            if isinstance(group, ConsumerGroup):
                _judge_consumer_group(group)
            elif isinstance(group, ShareGroup):
                judge_share_group(group)
            elif isinstance(group, Group):
                _judge_group(group)
                waiting += sum(
                    (member.join is not None) + (member.sync is not None)
                    for member in group.members.values()
                )
        if coordinator.parked > waiting:
            raise ViolationError(
                Rule.ANSWERED_ONCE,
                f"{peer.name} has {coordinator.parked} requests to answer, its groups know of"
                f" {waiting}",
            )


def _judge_group(group: Group) -> None:
    members = group.members
    joins = sum(member.join is not None for member in members.values())
    syncs = sum(member.sync is not None for member in members.values())
    named = {m.instance_id: m.member_id for m in members.values() if m.instance_id is not None}
    empty = group.state in {GroupState.EMPTY, GroupState.DEAD}
    wrong = {
        "parked joins are miscounted": joins != group.awaiting_join,
        "a member's id is handed out again": not members.keys().isdisjoint(group.pending_join),
        "somebody has to sync who is no member": not members.keys() >= group.pending_sync,
        "static members are others than those": named != group.static_members,
        "the leader is no member": group.leader_id is not None and group.leader_id not in members,
        "the state does not fit the members": empty == bool(members)
        and group.state is not GroupState.PREPARING_REBALANCE,
        "a request is parked in a stable group": group.state is GroupState.STABLE
        and joins + syncs > 0,
        "everybody has joined, and nobody is told": group.state is GroupState.PREPARING_REBALANCE
        and not group.initial_delay()
        and bool(members)
        and group.all_joined(),
        "a sync is parked before joins are over": group.state is GroupState.PREPARING_REBALANCE
        and syncs > 0,
    }
    for text, broken in wrong.items():
        if broken:
            raise ViolationError(Rule.COHERENT, f"{group.group_id}, {group.state.name}: {text}")


def _judge_consumer_group(group: ConsumerGroup) -> None:
    members = group.members.values()
    held: Counter[TopicIdPartition] = Counter()
    targeted: Counter[TopicIdPartition] = Counter()
    for member in members:
        held.update({**member.assigned, **member.pending}.keys())
    for target in group.target.values():
        targeted.update(target)
    named = {m.instance_id: m.member_id for m in members if m.instance_id is not None}
    wrong = {
        "a partition is held by two": any(count > 1 for count in held.values()),
        "a partition is to go to two": any(count > 1 for count in targeted.values()),
        "others are held than those that members hold": held.keys() != group.holders.keys(),
        "static members are others than those": named != group.static_members,
        "somebody is to get something who is no member": not group.target.keys()
        <= group.members.keys(),
        "the target is newer than the group": group.target_epoch > group.epoch,
        "a member is newer than the target": any(m.epoch > group.target_epoch for m in members),
        "a member has what it is to give up": any(
            not m.assigned.keys().isdisjoint(m.pending) for m in members
        ),
        "a partition is newer than its owner": any(map(_is_behind_its_own, members)),
    }
    for text, broken in wrong.items():
        if broken:
            raise ViolationError(Rule.COHERENT, f"{group.group_id}, {group.state.name}: {text}")


def _is_behind_its_own(member: ConsumerMember) -> bool:
    return member.epoch >= 0 and any(since > member.epoch for since in member.assigned.values())
