"""What goes wrong, and what changes: one function a kind, called as often as the plan says.

Each does one thing to the world and says so in the trace; what has an end ends by itself, or when
the world heals.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from kcore.broker.features import TRANSACTIONS
from kcore.broker.mishaps import Kind, Mishap
from kcore.coordinator.group import CONSUMER_PROTOCOL, Group
from kcore.sim.chance import Chance
from kcore.sim.exact.movers import OUT
from kcore.sim.nodes import JOURNALS, NodePeer
from kcore.sim.operations import OPERATIONS
from kcore.sim.plan import LATE_ANSWER_MAX_MS, UPGRADE, Fault
from kcore.sim.processes import Process
from kcore.sim.refusals import late, refusals
from kcore.sim.trace import What
from kcore.sim.world import World
from kcore.structs import TopicPartition

# How much a member may do in a second, where it may not do what it likes.
_RATES: Final = (
    ("consumer_byte_rate", 200.0),
    ("producer_byte_rate", 200.0),
    ("request_percentage", 0.1),
)
_MEMBERS_MAX: Final = 12  # of a small run, however many come
_PARTITIONS_MAX: Final = 24
_TOPICS_MAX: Final = 5

# How soon who waits for a node looks whether there is one.
_NODE_LOOK_MS: Final = 500

# Changes that a group of static members may not see.
_UNSEEN: Final = {Fault.GROW, Fault.TOPIC, Fault.RESUBSCRIBE, Fault.REMAKE}

# Who leads a group after these knows of no rebalance that has only begun.
_LOST_COORDINATORS: Final = {Fault.NODE_CRASH, Fault.COORDINATOR_MOVE}

Act = Callable[[World, Chance], None]


def schedule(world: World, chance: Chance) -> None:
    """Let every kind of the plan happen until its end."""
    for kind, mean_ms in world.plan.faults.items():
        own = chance.fork()
        world.at(own.around(mean_ms), _happen, world, own, kind, mean_ms)


def heal(world: World) -> None:
    """No fault any more: nodes are up, processes run, everything passes."""
    world.trace.event(What.HEALED, "world")
    world.healed = True
    world.judge.peace.healed(world.now_ms)
    world.brokers.cluster.mishaps.clear()
    for peer in world.brokers.peers.values():
        if not peer.up:
            world.brokers.start(peer)
        peer.resume()
    world.brokers.heal()
    world.brokers.use_groups()
    for slot in world.slots if Fault.THROTTLE in world.plan.faults else ():
        world.brokers.unlimit(slot.name)
    world.network.heal()
    for name in list(world.gone):
        _remade(world, name)
    world.fill()
    for member in list(world.living()):
        member.hurry()
        member.resume_process()
        member.resume_partitions()
    plan = world.plan
    mixed = 0 < plan.consumer_share < 1
    unseen = plan.static_share and (_UNSEEN & plan.faults.keys() or mixed)
    at_ms = world.now_ms + 2 * plan.session_timeout_ms
    if plan.static_share and mixed and Fault.MIGRATE in plan.faults:
        world.at(at_ms, _come, world)
    if unseen:
        world.at(at_ms, _nudge, world)
    elif mixed and _LOST_COORDINATORS & plan.faults.keys():
        world.at(at_ms, _nudge_classic, world)


def _nudge(world: World) -> None:
    """Ask for rebalances where static members may have come back: none begins by that (KIP-345),
    and a leader is not told to assign (KIP-814), so that partitions and subscriptions that came
    meanwhile, and what members of the other protocol left behind, are nobody's until somebody asks.
    """
    for member in list(world.living()):
        member.rejoin()


def _come(world: World) -> None:
    """Somebody more comes, for a rebalance: who goes over to the consumer protocol under its name,
    with the same subscription, takes its place in what a classic group had, and begins none, also
    where members have just given up what was to go to others (as at a Kafka 4.3.1).
    """
    if not world.ending:
        world.start_member(world.add_slot())


def _nudge_classic(world: World) -> None:
    """So it is in a group that has become a classic one, if its coordinator was gone before the
    rebalance that this begins was over: the next coordinator finds it stable, as a Kafka does.
    """
    for member in list(world.living()):
        if isinstance(world.judge.group_of(member.group_id), Group):
            member.rejoin()


def _happen(world: World, chance: Chance, kind: Fault, mean_ms: int) -> None:
    if world.now_ms < world.plan.duration_ms:
        _ACTS[kind](world, chance)
        world.at(world.now_ms + chance.around(mean_ms), _happen, world, chance, kind, mean_ms)


# Connections -------------------------------------------------------------------------------------


def _cut(world: World, chance: Chance) -> None:
    wires = world.network.wires()
    if wires:
        wire = chance.one_of(wires)
        world.fault(Fault.CUT, wire.client.name, node=wire.node.name)
        world.network.reset(wire)


def _half_open(world: World, chance: Chance) -> None:
    wires = world.network.wires()
    if wires:
        wire = chance.one_of(wires)
        told = chance.one_of(("nobody", "the client", "the node"))
        world.fault(Fault.HALF_OPEN, wire.client.name, node=wire.node.name, told=told)
        world.network.lose_wire(wire)
        if told == "the client":
            world.network.tell_client(wire, "connection reset")
        elif told == "the node":
            world.network.tell_node(wire, "connection reset")


def _split(world: World, chance: Chance) -> None:
    members = world.living()
    if members:
        member = chance.one_of(members)
        node = chance.one_of(list(world.brokers.peers.values()))
        until_ms = world.now_ms + chance.between(500, 9_000)
        world.fault(Fault.SPLIT, member.name, node=node.name, until_ms=until_ms)
        world.network.keep_apart(member.name, node.name, until_ms)


def _refuse(world: World, chance: Chance) -> None:
    until_ms = world.now_ms + chance.between(500, 5_000)
    world.fault(Fault.REFUSE, "network", until_ms=until_ms)
    world.network.refused_until_ms = until_ms


def _stall(world: World, chance: Chance) -> None:
    wires = world.network.wires()
    if wires:
        wire = chance.one_of(wires)
        until_ms = world.now_ms + chance.between(200, 5_000)
        world.fault(Fault.STALL, wire.client.name, node=wire.node.name, until_ms=until_ms)
        world.network.hush(wire, until_ms)


def _one_way(world: World, chance: Chance) -> None:
    """Of a connection what goes one way is lost, or late; or of all between two machines."""
    wires = world.network.wires()
    if not wires:
        return
    network, wire, up = world.network, chance.one_of(wires), chance.happens(0.5)
    name, node = wire.client.name, wire.node.name
    way = "to the node" if up else "to the client"
    how = chance.one_of(("lost", "late", "late on all"))
    if how == "lost":
        world.fault(Fault.ONE_WAY, name, node=node, how=how, way=way)
        network.lose_wire(wire, up=up, down=not up)
        return
    until_ms = world.now_ms + chance.between(500, 9_000)
    world.fault(Fault.ONE_WAY, name, node=node, how=how, way=way, until_ms=until_ms)
    if how == "late":
        network.hush(wire, until_ms, up=up, down=not up)
    else:
        network.keep_apart(name, node, until_ms, up=up, down=not up)


# Nodes -------------------------------------------------------------------------------------------


def _node_crash(world: World, chance: Chance) -> None:
    up = [peer for peer in world.brokers.peers.values() if peer.up]
    if up:
        peer = chance.one_of(up)
        until_ms = world.now_ms + chance.between(200, 8_000)
        world.fault(Fault.NODE_CRASH, peer.name, until_ms=until_ms)
        world.brokers.stop(peer)
        world.at(until_ms, _node_back, world, peer)


def _node_back(world: World, peer: NodePeer) -> None:
    if not peer.up:
        world.brokers.start(peer)


def _node_pause(world: World, chance: Chance) -> None:
    able = [peer for peer in world.brokers.peers.values() if peer.up and not peer.paused]
    if able:
        peer = chance.one_of(able)
        until_ms = world.now_ms + chance.between(200, 8_000)
        world.fault(Fault.NODE_PAUSE, peer.name, until_ms=until_ms)
        for wire in world.network.all_wires():
            wire.excused = wire.excused or wire.node is peer
        peer.pause()
        world.at(until_ms, peer.resume)


def _node_fence(world: World, chance: Chance) -> None:
    able = [peer for peer in world.brokers.peers.values() if peer.up and not peer.paused]
    if len(able) > 1:
        peer = chance.one_of(able)
        fenced_ms = world.now_ms + chance.between(200, 4_000)
        until_ms = fenced_ms + chance.between(200, 8_000)
        world.fault(Fault.NODE_FENCE, peer.name, until_ms=until_ms)
        for wire in world.network.all_wires():
            wire.excused = wire.excused or wire.node is peer
        peer.pause()
        world.at(fenced_ms, _fenced, world, peer)
        world.at(until_ms, _fenced_back, world, peer)


def _fenced(world: World, peer: NodePeer) -> None:
    if peer.up and peer.paused:
        world.brokers.fence(peer)


def _fenced_back(world: World, peer: NodePeer) -> None:
    if peer.paused:
        _node_back(world, peer)
        peer.resume()


def _node_split(world: World, chance: Chance) -> None:
    nodes = list(world.brokers.peers.values())
    if len(nodes) < 2:
        return
    one = chance.between(0, len(nodes) - 2)
    other = chance.between(one + 1, len(nodes) - 1)
    until_ms = world.now_ms + chance.between(200, 8_000)
    world.fault(Fault.NODE_SPLIT, nodes[one].name, node=nodes[other].name, until_ms=until_ms)
    world.brokers.keep_apart(nodes[one], nodes[other])
    world.at(until_ms, world.brokers.join, nodes[one], nodes[other])


def _lag(world: World, chance: Chance) -> None:
    node = chance.one_of(list(world.brokers.peers.values()))
    lag_ms = chance.one_of((0, 50, 500, 2_000))
    world.fault(Fault.LAG, node.name, lag_ms=lag_ms)
    world.brokers.set_lag(node, lag_ms)


def _coordinator_move(world: World, chance: Chance) -> None:
    node = chance.one_of(list(world.brokers.peers.values()))
    if node.up:
        partition = chance.between(0, JOURNALS - 1)
        world.fault(Fault.COORDINATOR_MOVE, node.name, journal=partition)
        world.brokers.move_coordinator(partition, node)


def _leader_move(world: World, chance: Chance) -> None:
    tp = _partition(world, chance)
    node = chance.one_of(list(world.brokers.peers.values()))
    if tp is not None and node.up and world.brokers.move_leader(tp, node):
        world.fault(Fault.LEADER_MOVE, node.name, partition=f"{tp.topic}-{tp.partition}")


def _refusal(world: World, chance: Chance) -> None:
    api, error = chance.one_of(refusals(world.plan))
    times = chance.between(1, 3)
    world.fault(Fault.REFUSAL, "nodes", api=api.name, error=error.name, times=times)
    world.brokers.cluster.mishaps.add(Mishap(api, Kind.REFUSED, times, error=error))


def _late_answer(world: World, chance: Chance) -> None:
    api = chance.one_of(late(world.plan))
    delay_ms = chance.between(50, LATE_ANSWER_MAX_MS)
    world.fault(Fault.LATE_ANSWER, "nodes", api=api.name, delay_ms=delay_ms)
    world.brokers.cluster.mishaps.add(Mishap(api, Kind.DELAYED, delay_ms=delay_ms))


def _lost_answer(world: World, chance: Chance) -> None:
    api = chance.one_of(late(world.plan))
    times = chance.between(1, 3)
    world.fault(Fault.LOST_ANSWER, "nodes", api=api.name, times=times)
    world.network.lose(api, times)


# Members -----------------------------------------------------------------------------------------


def _member(world: World, chance: Chance) -> Process | None:
    able = [member for member in world.living() if not member.closing and not member.paused]
    return chance.one_of(able) if able else None


def _zombie(world: World, chance: Chance) -> None:
    member = _member(world, chance)
    if member is not None:
        session_ms = world.plan.session_timeout_ms
        until_ms = world.now_ms + chance.between(500, 2 * session_ms)
        world.fault(Fault.ZOMBIE, member.name, until_ms=until_ms)
        member.pause_process()
        world.at(until_ms, member.resume_process)


def _slow(world: World, chance: Chance) -> None:
    member = _member(world, chance)
    if member is not None:
        until_ms = world.now_ms + chance.between(1_000, 2 * world.plan.max_poll_interval_ms)
        world.fault(Fault.SLOW, member.name, until_ms=until_ms)
        member.slow_until_ms = until_ms


def _throttle(world: World, chance: Chance) -> None:
    member = _member(world, chance)
    if member is not None:
        rate, value = chance.one_of(_RATES)
        until_ms = world.now_ms + chance.between(500, 8_000)
        world.fault(Fault.THROTTLE, member.name, until_ms=until_ms, rate=f"{rate}={value}")
        world.brokers.limit(member.name, **{rate: value})
        world.at(until_ms, world.brokers.unlimit, member.name)


def _crash(world: World, chance: Chance) -> None:
    member = _member(world, chance)
    if member is not None:
        told = chance.happens(0.5)
        world.fault(Fault.CRASH, member.name, told=told)
        member.crash(told=told)


def _leave(world: World, chance: Chance) -> None:
    member = _member(world, chance)
    if member is not None:
        world.fault(Fault.LEAVE, member.name)
        member.close()


def _join(world: World, chance: Chance) -> None:
    if len(world.living()) < _MEMBERS_MAX:
        taken = {member.name for member in world.living()}
        free = [slot for slot in world.slots if slot.name not in taken]
        slot = chance.one_of(free) if free else world.add_slot()
        world.fault(Fault.JOIN, slot.name)
        world.start_member(slot)


def _restart(world: World, chance: Chance) -> None:
    """A process ends, or only seems to (then it is a zombie that wakes up fenced), and a new one
    takes its name.
    """
    able = [m for m in world.living() if m.habits.named and not m.closing]
    if not able or len(world.living()) >= _MEMBERS_MAX:
        return
    member = chance.one_of(able)
    twin = chance.happens(0.3)
    world.fault(Fault.RESTART, member.name, twin=twin)
    if twin:
        member.pause_process()
        world.at(world.now_ms + chance.between(100, 8_000), member.resume_process)
    else:
        member.crash(told=True)
    world.at(world.now_ms + chance.between(0, 4_000), _come_back, world, member)


def _come_back(world: World, member: Process) -> None:
    others = [one for one in world.living() if one.name == member.name and one is not member]
    if not others and world.now_ms < world.plan.duration_ms:
        world.start_member(member.habits)


def _upgrade(world: World, chance: Chance) -> None:
    """One of those that are furthest behind is started anew; who has the last assignors needs that
    nobody is in the group any more who has only the first.
    """
    stages = [UPGRADE.index(slot.assignors) for slot in world.slots]
    stage = min(stages)
    behind = [UPGRADE.index(member.habits.assignors) < stage for member in world.living()]
    if stage + 1 == len(UPGRADE) or any(behind):
        return
    number = chance.one_of([at for at, one in enumerate(stages) if one == stage])
    slot = replace(world.slots[number], assignors=UPGRADE[stage + 1])
    group = world.judge.group_of(slot.group_id)
    if isinstance(group, Group) and not group.supports(CONSUMER_PROTOCOL, slot.assignors):
        return
    world.slots[number] = slot
    world.fault(Fault.UPGRADE, slot.name, assignors=", ".join(slot.assignors))
    for member in world.living():
        if member.name == slot.name:
            if chance.happens(0.5):
                member.close()
            else:
                member.crash(told=True)
    world.at(world.now_ms + chance.between(0, 4_000), _upgraded, world, slot.name)


def _migrate(world: World, chance: Chance) -> None:
    """Where members of both protocols are, one goes over to the other (KIP-848)."""
    member = _member(world, chance)
    if member is None:
        return
    number, slot = next(at for at in enumerate(world.slots) if at[1].name == member.name)
    if 0 < world.plan.consumer_share < 1:
        slot = replace(
            slot, by_epochs=not slot.by_epochs, by_remote_pattern=False, remote_assignor=None
        )
        world.slots[number] = slot
    protocol = "consumer" if slot.by_epochs else "classic"
    world.fault(Fault.MIGRATE, slot.name, protocol=protocol)
    if chance.happens(0.7):
        member.close()
    else:
        member.crash(told=True)
    world.at(world.now_ms + chance.between(0, 4_000), _upgraded, world, slot.name)


def _upgraded(world: World, name: str) -> None:
    """Its new process, when the old one is gone."""
    if world.ending:
        return
    if any(member.name == name for member in world.living()):
        world.at(world.now_ms + 500, _upgraded, world, name)
        return
    world.start_member(next(slot for slot in world.slots if slot.name == name))


def _resubscribe(world: World, chance: Chance) -> None:
    member = _member(world, chance)
    if member is not None:
        topics = chance.some_of(world.topics, 0.6) or [chance.one_of(world.topics)]
        world.fault(Fault.RESUBSCRIBE, member.name)
        member.subscribe(tuple(topics))


def _rejoin(world: World, chance: Chance) -> None:
    member = _member(world, chance)
    if member is not None:
        world.fault(Fault.REJOIN, member.name)
        member.rejoin()


def _hold(world: World, chance: Chance) -> None:
    member = _member(world, chance)
    if member is not None:
        world.fault(Fault.HOLD, member.name)
        member.pause_partitions(chance)
        world.at(world.now_ms + chance.between(100, 5_000), member.resume_partitions)


def _feature(world: World, chance: Chance) -> None:
    """Of 0 nothing comes back: who is connected could not go on."""
    now = world.brokers.cluster.features.levels.get(TRANSACTIONS)
    if now is not None and world.brokers.live:
        level = chance.one_of([one for one in (0, 1, 2) if one != now and one >= min(now, 1)])
        world.fault(Fault.FEATURE, TRANSACTIONS, level=level)
        world.brokers.cluster.finalize({TRANSACTIONS: level})


def _downgrade(world: World, chance: Chance) -> None:
    """Who speaks the newer protocols is refused meanwhile, and comes again until it is not."""
    brokers = world.brokers
    if brokers.has_groups and brokers.live:
        until_ms = world.now_ms + chance.one_of((0, 300, 3_000, 9_000))
        world.fault(Fault.DOWNGRADE, brokers.groups_feature, until_ms=until_ms)
        brokers.use_groups(level=0)
        world.at(until_ms, brokers.use_groups)


# Topics ------------------------------------------------------------------------------------------


def _grow(world: World, chance: Chance) -> None:
    if world.brokers.live and len(world.brokers.partitions()) < _PARTITIONS_MAX:
        name = chance.one_of(world.topics)
        if name not in world.gone:
            world.fault(Fault.GROW, name)
            world.brokers.add_partitions(name, chance.between(1, 3))


def _topic(world: World, chance: Chance) -> None:
    if world.brokers.live and len(world.topics) < _TOPICS_MAX:
        name = world.add_topic(chance.between(1, 4))
        world.fault(Fault.TOPIC, name)


def _trim(world: World, chance: Chance) -> None:
    tp = _partition(world, chance)
    until = None if tp is None else world.brokers.trim(tp, chance)
    if tp is not None and until is not None:
        world.fault(Fault.TRIM, f"{tp.topic}-{tp.partition}", start_offset=until)


def _partition(world: World, chance: Chance) -> TopicPartition | None:
    """Any one; None if all topics are gone."""
    partitions = world.brokers.partitions()
    return chance.one_of(partitions) if partitions else None


def _remake(world: World, chance: Chance) -> None:
    """Gone for no time at all, or for longer than members take to hear of it."""
    outs = [name + OUT for name in world.topics] if world.plan.exact else []
    name = chance.one_of(world.topics + outs)
    if name in world.gone or not world.brokers.live:
        return
    if world.plan.exact and not world.plan.transaction_version:
        return  # what comes late is a transaction in the new log that nobody ends
    before = world.brokers.partition_count(name)
    after = before if chance.happens(0.5) else chance.between(1, before + 2)
    if world.plan.exact and (name in outs or after < before):
        after = before  # who writes to a partition that is no more waits for its delivery timeout
    until_ms = world.now_ms + chance.one_of((0, 20, 300, 3_000, 9_000))
    world.fault(Fault.REMAKE, name, until_ms=until_ms, partitions=after)
    world.gone[name] = after
    world.brokers.delete_topic(name)
    if until_ms == world.now_ms:
        _remade(world, name)
    else:
        world.at(until_ms, _remade, world, name)


def _remade(world: World, name: str) -> None:
    """It is there again, unless it waits for a node that could have it."""
    if name not in world.gone:
        return
    if world.brokers.live:
        world.brokers.create_topic(name, world.gone.pop(name))
    else:
        world.at(world.now_ms + _NODE_LOOK_MS, _remade, world, name)


_ACTS: Final[dict[Fault, Act]] = {
    Fault.CUT: _cut,
    Fault.HALF_OPEN: _half_open,
    Fault.SPLIT: _split,
    Fault.REFUSE: _refuse,
    Fault.STALL: _stall,
    Fault.NODE_CRASH: _node_crash,
    Fault.NODE_PAUSE: _node_pause,
    Fault.NODE_FENCE: _node_fence,
    Fault.NODE_SPLIT: _node_split,
    Fault.LAG: _lag,
    Fault.LEADER_MOVE: _leader_move,
    Fault.COORDINATOR_MOVE: _coordinator_move,
    Fault.REFUSAL: _refusal,
    Fault.LATE_ANSWER: _late_answer,
    Fault.ZOMBIE: _zombie,
    Fault.SLOW: _slow,
    Fault.CRASH: _crash,
    Fault.LEAVE: _leave,
    Fault.JOIN: _join,
    Fault.RESTART: _restart,
    Fault.RESUBSCRIBE: _resubscribe,
    Fault.REJOIN: _rejoin,
    Fault.HOLD: _hold,
    Fault.GROW: _grow,
    Fault.TOPIC: _topic,
    Fault.TRIM: _trim,
    Fault.LOST_ANSWER: _lost_answer,
    Fault.THROTTLE: _throttle,
    Fault.UPGRADE: _upgrade,
    Fault.REMAKE: _remake,
    Fault.ONE_WAY: _one_way,
    Fault.FEATURE: _feature,
    Fault.DOWNGRADE: _downgrade,
    Fault.MIGRATE: _migrate,
    **OPERATIONS,
}
