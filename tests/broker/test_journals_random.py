"""What a node would know that took over now is what coordinators know, before compaction and after,
from the log of any replica that could lead.
"""

import random
from dataclasses import replace

import pytest
from journal_lives import CONFIG, Life

from kcore.broker import journals
from kcore.broker.journals import decode_items
from kcore.broker.share.keeping import STATE_PARTITIONS, ShareStates
from kcore.coordinator import GroupCoordinator
from kcore.coordinator.journal import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from kcore.coordinator.states import GroupState
from kcore.coordinator.transactions import TransactionCoordinator

STEPS = 400
ORDINARY = 5  # seeds that are tried every time
MOVING = {GroupState.PREPARING_REBALANCE, GroupState.COMPLETING_REBALANCE}


def logs_of(cluster, name, number):
    """What every replica has that could lead now, as a journal reads it."""
    partition = cluster.topics.get(name).partitions[number]
    for node_id in partition.isr:
        if node_id in cluster.live:
            batches = partition.logs[node_id].batches()
            yield [item for data in batches for item in decode_items(name, number, data)]


def check_groups(life, node, number):
    cluster, now_ms = life.world.cluster, life.world.now_ms
    here = node.groups.coordinator._shards[number]
    for items in logs_of(cluster, OFFSETS_TOPIC, number):
        fresh = GroupCoordinator(
            CONFIG.coordinator, random.Random(1), cluster.topics,
            wall_offset_ms=cluster.wall_offset_ms, immediate=True, keeper=cluster,
        )  # fmt: skip
        fresh.handle_elected(number)
        fresh.handle_entries(number, items, now_ms)
        there = fresh._shards[number]
        check_same("groups", groups_view(here), groups_view(there))
        check_same("classic groups", *classic_views(here, there))


def check_transactions(life, node, number):
    cluster, now_ms = life.world.cluster, life.world.now_ms
    here = node.transactions._coordinator._shards[number]
    for items in logs_of(cluster, TRANSACTIONS_TOPIC, number):
        fresh = TransactionCoordinator(
            CONFIG.transactions, cluster, cluster.topics, offsets_partitions=2,
            wall_offset_ms=cluster.wall_offset_ms, immediate=True,
        )  # fmt: skip
        fresh.handle_elected(number, 1)
        fresh.handle_entries(number, items, now_ms)
        there = fresh._shards[number]
        check_same("transactions", transactions_view(here), transactions_view(there))


def check_shares(cluster):
    here, there = cluster.share_states, ShareStates(cluster.share_journal)
    for states in (here, there):
        for number in range(STATE_PARTITIONS):
            states._load_partition(number)
    check_same("share states", here._kept, there._kept)
    check_same("snapshots of share states", here._snapshots, there._snapshots)


def check_led(cluster, nodes):
    """Every partition that a live node leads is kept there, and none anywhere else."""
    for name, kept in ((OFFSETS_TOPIC, "groups"), (TRANSACTIONS_TOPIC, "transactions")):
        topic = cluster.topics.get(name)
        led = {(one.leader, one.number) for one in (topic.partitions if topic else ())}
        assert {
            (node.node_id, number) for node in nodes for number in getattr(node, kept)._led
        } == {one for one in led if one[0] in cluster.live}


def check(life):
    world = life.world
    assert not world.faults
    check_led(world.cluster, world.nodes.values())
    for node in world.nodes.values():
        for number in sorted(node.groups._led):
            check_groups(life, node, number)
        for number in sorted(node.transactions._led):
            check_transactions(life, node, number)
    check_shares(world.cluster)


def check_same(what, here, there):
    if here == there:
        return
    if isinstance(here, dict) and isinstance(there, dict):
        for key in {*here, *there}:
            one, other = here.get(key, "absent"), there.get(key, "absent")
            check_same(f"{what} / {key}", one, other)
    raise AssertionError(f"{what}:\n  memory  {here}\n  journal {there}")


def fields(group, leave=()):
    skipped = {"held", "seen_version", *leave}
    found = {name: getattr(group, name) for name in type(group).__slots__ if name not in skipped}
    # A replica that was down has the old head of a log, and behind it what compaction left: a group
    # that is made anew there is the old one, all of whose parts are gone. It has no target either.
    found["target_epoch"] = max(found["target_epoch"], 1)
    return found


def groups_view(shard):
    context, offsets = shard.context, shard.offsets
    # How many members there were at a time is the size of a table of Kafka's in memory: of those
    # that compaction has taken away whoever takes over knows nothing, there, too.
    soft = {"configured", "shutdown_member_id", "endpoint_epoch", "members_most"}
    return {
        "consumers": {name: fields(one) for name, one in context.consumers.items()},
        "shares": {name: fields(one) for name, one in context.shares.items()},
        "streams": {name: fields(one, soft) for name, one in context.streams.items()},
        "offsets": {
            (name, *tp): found.value
            for name, stored in offsets._stored.items()
            for tp, found in stored.items()
        },
        "pending": {
            (producer, name, *tp): found.value
            for producer, groups in offsets._pending.items()
            for name, stored in groups.items()
            for tp, found in stored.items()
        },
        "open": offsets._open,
    }


def classic_views(here, there):
    mine, theirs = {}, {}
    for name in {*here.groups, *there.groups}:
        one, other = here.groups.get(name), there.groups.get(name)
        if one is not None and one.state in MOVING:
            continue  # its members are going to join again
        if one is not None and other is None and one.generation == 0:
            assert not here.offsets.touched(name)  # nobody has been in it
            continue
        mine[name] = classic_view(one)
        theirs[name] = classic_view(other)
    return mine, theirs


def classic_view(group):
    if group is None:
        return "absent"
    return {
        "state": group.state,
        "since": group.state_since_ms if group.state is GroupState.EMPTY else None,
        "type": group.protocol_type,
        "protocol": group.protocol_name,
        "generation": group.generation,
        "leader": group.leader_id,
        "static": group.static_members,
        # A static member that is back with other topics changes nothing yet, as in a Kafka.
        "subscribed": None if group.static_members else group.subscribed,
        "members": {
            one.member_id: (
                one.instance_id, one.client_id, one.client_host, one.rebalance_timeout_ms,
                one.session_timeout_ms, one.metadata(group.protocol_name), one.assignment,
            )
            for one in group.members.values()
        },
    }  # fmt: skip


def transactions_view(shard):
    return {
        name: replace(one, last_epoch=-1, previous_producer_id=-1)
        for name, one in shard.transactions.items()
    }


SLOW = [pytest.param(seed, marks=pytest.mark.slow) for seed in range(ORDINARY, 80)]


@pytest.mark.parametrize("seed", [*range(ORDINARY), *SLOW])
def test_who_takes_over_knows_what_was_known(seed, monkeypatch):
    runs = set()
    real = journals.clean
    monkeypatch.setattr(journals, "DIRTY_BYTES", 1_000)
    monkeypatch.setattr(
        journals, "clean", lambda log, *given: runs.add(log.topic) or real(log, *given)
    )
    life, shared = Life(seed), False
    for number in range(STEPS):
        life.step()
        if number % 5 == 0:
            check(life)
            shared = shared or bool(life.world.cluster.share_states._kept)
    assert {OFFSETS_TOPIC, TRANSACTIONS_TOPIC} <= runs
    assert shared or seed >= ORDINARY
