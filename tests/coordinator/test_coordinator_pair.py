"""The client's core and the coordinator together: groups of real members over real bytes."""

import random

import pytest
from pair_world import CoordinatedCluster, PairWorld

from kcore.coordinator import GroupState
from kcore.events import Closed, GroupJoined, HeartbeatAnswered, PartitionsLost
from kcore.records import encode_batch
from kcore.structs import TopicPartition
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode as E


def world_of(partitions=6, nodes=1, records=20, **options):
    cluster = CoordinatedCluster({"t": partitions}, nodes, **options)
    for p in range(partitions):
        for base in range(0, records, 5):
            batch = encode_batch(
                [(1, None, b"%d-%d" % (p, base + i)) for i in range(5)], base_offset=base
            )
            cluster.append("t", p, batch, base, 5)
    return PairWorld(cluster), cluster


def member(world, **options):
    settings = {"group_id": "g", "auto_offset_reset": "earliest", **options}
    settings.setdefault("session_timeout_ms", 10_000)
    client = world.client(**settings)
    client.core.subscribe(["t"], world.now)
    client.drain()
    return client


def shares(clients):
    """Who has what; nobody has what another has."""
    taken = {}
    for client in clients:
        for tp in client.core.assignment():
            assert taken.setdefault(tp, client) is client, f"{tp} is owned twice"
    return taken


def settled(world, clients, partitions=6, within_ms=60_000):
    """Run until these members share all partitions in one stable generation."""
    end = world.now + within_ms
    group = None
    while world.now < end:
        world.run(250, polls_ms=50)
        group = world.cluster.active.group("g")
        if group is None or group.state is not GroupState.STABLE:
            continue
        if len(group.members) != len(clients):
            continue
        told = [client.core.group_metadata() for client in clients]
        if {x.generation_id for x in told} != {group.generation}:
            continue
        if len({tp for c in clients for tp in c.core.assignment()}) == partitions:
            assert len(shares(clients)) == partitions
            assert {x.member_id for x in told} == set(group.members)
            return group
    raise AssertionError(f"did not settle: {group and (group.state, group.members)}")


def close(world, client):
    client.core.close(world.now, 5_000)
    client.drain()
    while not client.of(Closed):
        world.run(100)
    world.clients.remove(client)


def test_three_members_share_read_commit_and_hand_over():
    world, cluster = world_of()
    clients = [member(world, enable_auto_commit=False) for _ in range(3)]
    group = settled(world, clients)
    assert group.generation == 1
    assert sorted(len(c.core.assignment()) for c in clients) == [2, 2, 2]
    seen = {}
    for client in clients:
        while not all(client.core.position(tp) == 20 for tp in client.core.assignment()):
            world.run(50, polls_ms=25)
            for tp, records in client.take().items():
                seen.setdefault(tp, []).extend(r.offset for r in records)
        client.result(client.core.commit(None, world.now, 5_000))
    assert seen == {TopicPartition("t", p): list(range(20)) for p in range(6)}
    close(world, clients.pop())
    group = settled(world, clients)
    assert group.generation == 2
    for client in clients:
        for tp in client.core.assignment():
            assert client.core.position(tp) == 20  # what the other one had read is not read again
    found = clients[0].result(
        clients[0].core.committed([TopicPartition("t", p) for p in range(6)], world.now, 5_000)
    )
    assert {x.offset for x in found.values()} == {20}


def test_a_member_that_is_silent_is_replaced():
    world, _ = world_of()
    clients = [member(world) for _ in range(2)]
    settled(world, clients)
    silent = clients.pop()
    world.clients.remove(silent)
    for link in list(silent.links):
        silent.links.pop(link)
    group = settled(world, clients)
    assert len(group.members) == 1
    assert group.generation >= 2


def test_a_coordinator_that_dies_is_followed_and_the_group_goes_on():
    world, cluster = world_of(nodes=3)
    clients = [member(world) for _ in range(3)]
    generation = settled(world, clients).generation
    world.crash(1)
    cluster.lead(2)
    world.run(8_000, polls_ms=50)
    group = settled(world, clients)
    assert group.generation == generation  # nobody had to join again
    assert not any(client.of(PartitionsLost) for client in clients)
    for client in clients:
        assert client.of(HeartbeatAnswered)[-1].error is None


def test_members_wait_while_the_next_coordinator_loads():
    world, cluster = world_of(nodes=2)
    clients = [member(world) for _ in range(2)]
    generation = settled(world, clients).generation
    cluster.lead(2, load_ms=3_000)
    world.run(2_000, polls_ms=50)
    assert cluster.active.group("g") is None
    late = member(world)
    group = settled(world, [*clients, late])
    assert group.generation > generation


def test_a_static_member_comes_back_to_what_it_had():
    world, cluster = world_of()
    names = ["one", "two"]
    clients = [member(world, group_instance_id=x) for x in names]
    generation = settled(world, clients).generation
    owned = clients[1].core.assignment()
    gone = clients.pop()
    world.clients.remove(gone)
    for link in list(gone.links):
        world.cut(gone, link)
    back = member(world, group_instance_id="two")
    group = settled(world, [*clients, back])
    assert group.generation == generation
    assert back.core.assignment() == owned
    assert len(clients[0].of(GroupJoined)) == 1


def test_many_members_one_by_one():
    world, _ = world_of(partitions=12)
    clients = []
    for _ in range(6):
        clients.append(member(world))
        world.run(1_500, polls_ms=50)
    group = settled(world, clients, partitions=12)
    assert sorted(len(c.core.assignment()) for c in clients) == [2] * 6
    assert len(group.members) == 6


class Chaos:
    """What goes wrong for a world's members and nodes, one thing at a time."""

    def __init__(self, world, cluster, seed):
        self.world, self.cluster, self.rng = world, cluster, random.Random(seed)
        self.clients = [member(world) for _ in range(3)]
        self.kinds = [self.cut] * 15 + [self.move] * 7 + [self.crash] * 6 + [self.arrive] * 8
        self.kinds += [self.depart] * 6 + [self.slow] * 8 + [self.absent] * 5 + [self.live] * 45

    def step(self):
        self.rng.choice(self.kinds)()
        told = [c.core.group_metadata().generation_id for c in self.clients]
        for generation in set(told) - {-1}:
            pairs = zip(self.clients, told, strict=True)
            shares([client for client, its in pairs if its == generation])

    def cut(self):
        victim = self.rng.choice(self.clients)
        if victim.links:
            self.world.cut(victim, self.rng.choice(sorted(victim.links)))

    def move(self):
        node = self.rng.choice(sorted(self.cluster.nodes))
        self.cluster.lead(node, load_ms=self.rng.choice([0, 500, 4_000]))

    def crash(self):
        node = self.cluster.coordinator
        self.world.crash(node)
        others = [x for x in self.cluster.nodes if x != node and x not in self.cluster.down]
        if others:
            self.cluster.lead(self.rng.choice(others), load_ms=self.rng.choice([0, 1_000]))
        self.world.later(self.rng.choice([500, 5_000]), lambda: self.world.revive_node(node))

    def arrive(self):
        if len(self.clients) < 6:
            instance = self.rng.choice([None, f"i{self.rng.getrandbits(30)}"])
            self.clients.append(member(self.world, group_instance_id=instance))

    def depart(self):
        if len(self.clients) > 2:
            close(self.world, self.clients.pop(self.rng.randrange(len(self.clients))))

    def slow(self):
        self.cluster.append_ms = self.rng.choice([0, 1, 50, 800])
        errors = self.rng.choice([[E.NONE], [E.NONE, E.NOT_ENOUGH_REPLICAS]])
        self.cluster.append_error = lambda: self.rng.choice(errors)

    def absent(self):
        self.world.run(11_000)  # nobody polls, heartbeats go on

    def live(self):
        self.world.run(self.rng.choice([10, 300, 2_000]), polls_ms=50)
        for client in self.clients:
            client.take()

    def heal(self):
        self.cluster.append_ms, self.cluster.append_error = 1, lambda: E.NONE
        for node in self.cluster.nodes:
            self.world.revive_node(node)
        self.cluster.lead(1)


@pytest.mark.parametrize("seed", range(6))
def test_faults_then_a_settled_group(seed):
    world, cluster = world_of(nodes=3)
    chaos = Chaos(world, cluster, seed)
    for _ in range(60):
        chaos.step()
    chaos.heal()
    group = settled(world, chaos.clients, within_ms=400_000)
    assert group.generation >= 1
    assert cluster.count(ApiKey.JOIN_GROUP) > 3
