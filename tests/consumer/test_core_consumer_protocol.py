"""`ConsumerCore` as a member of the consumer protocol (KIP-848): real bytes, virtual time."""

import random

import pytest
from longer import quickly
from scripted_coordinator import ScriptedCoordinator
from test_core_world import FAULTS, T0, T1, drain, garbage, group_member, world_of

from kcore.errors import KafkaError, UnsupportedVersionError
from kcore.events import Closed, ErrorRaised, HeartbeatAnswered, PartitionsLost, PartitionsRevoked
from kcore.group.consumer_heartbeat import ConsumerHeartbeats
from kcore.wire.apis import ApiKey

BEAT = ApiKey.CONSUMER_GROUP_HEARTBEAT


def world_with(partitions=2, **more):
    world, cluster, total = world_of(partitions, **more)
    return world, cluster, total, ScriptedCoordinator(cluster)


def member(world, **options):
    world.seed += 1  # member ids are drawn
    return group_member(world, group_protocol="consumer", **options)


def test_a_group_of_one_joins_reads_commits_and_leaves():
    world, cluster, total, group = world_with()
    client = member(world, enable_auto_commit=False)
    assert drain(world, [client], total) == {T0: list(range(20)), T1: list(range(20))}
    committed = client.result(client.core.commit(None, world.now, 5_000))
    assert committed[T0].offset == 20
    assert cluster.group.offsets == {("t", 0): (20, ""), ("t", 1): (20, "")}
    world.run(10_000, polls_ms=100)
    assert 10 <= len(client.of(HeartbeatAnswered)) <= 14
    (told,) = group.members.values()
    assert {number for _, number in told.owned} == {0, 1}
    client.core.close(world.now, 5_000)
    client.drain()
    world.run(1_000)
    assert client.of(Closed)
    assert group.members == {}


def test_a_second_member_takes_its_share_and_gives_it_back():
    world, _, _, _ = world_with(partitions=4)
    first = member(world)
    world.run(2_000, polls_ms=100)
    assert len(first.core.assignment()) == 4
    second = member(world)
    world.run(8_000, polls_ms=100)
    assert len(first.core.assignment()) == len(second.core.assignment()) == 2
    assert first.core.assignment().isdisjoint(second.core.assignment())
    (revoked,) = first.of(PartitionsRevoked)
    assert set(revoked.partitions) == second.core.assignment()
    second.core.close(world.now, 5_000)
    second.drain()
    world.run(8_000, polls_ms=100)
    assert len(first.core.assignment()) == 4


def test_members_that_come_and_go_read_everything_once():
    """Auto commit before what moves is given up: nobody reads it again."""
    world, _, total, _ = world_with(partitions=6, batches=60)
    clients = [member(world)]
    seen = {}
    for round_ in range(600):
        world.run(50, polls_ms=50)
        for client in clients:
            for tp, records in client.take(5).items():
                seen.setdefault(tp, []).extend(record.offset for record in records)
        if round_ in (20, 60, 100):
            clients.append(member(world))
        elif round_ in (140, 200):
            leaver = clients.pop(0)
            leaver.poll()
            leaver.core.close(world.now, 5_000)
            leaver.drain()
        if sum(map(len, seen.values())) >= total:
            break
    assert {tp.partition: offsets for tp, offsets in seen.items()} == {
        number: list(range(300)) for number in range(6)
    }


@pytest.mark.parametrize("seed", quickly(3, of=6))
def test_whatever_happens_to_links_and_members_everything_is_read(seed):
    """And in the end everything is had by somebody, and nothing by two."""
    rng = random.Random(seed)
    world, cluster, total, group = world_with(partitions=6, batches=40, nodes=3)
    clients = [member(world, auto_commit_interval_ms=200) for _ in range(3)]
    seen = {}
    for round_ in range(1_500):
        world.run(20, polls_ms=20)
        for client in clients:
            for tp, records in client.take(3).items():
                seen.setdefault(tp, set()).update(record.offset for record in records)
        what = rng.random()
        some = rng.choice(clients)
        if round_ > 800:
            continue
        if what < 0.03 and some.links:
            world.cut(some, rng.choice(sorted(some.links)))
        elif what < 0.035:
            group.members.pop(rng.choice(sorted(group.members) or [""]), None)
            group.epoch += 1
        elif what < 0.04:
            cluster.coordinator = rng.choice([1, 2, 3])
        elif what < 0.045:
            clients.remove(some)
            some.core.close(world.now, 2_000)
            some.drain()
            clients.append(member(world, auto_commit_interval_ms=200))
    # Who could not say that it goes is missed in the end.
    here = {client.core.group_metadata().member_id for client in clients}
    group.members = {name: told for name, told in group.members.items() if name in here}
    group.epoch += 1
    world.run(20_000, polls_ms=100)
    owned = sorted(tp.partition for client in clients for tp in client.core.assignment())
    assert owned == list(range(6))
    assert {tp.partition: sorted(offsets) for tp, offsets in seen.items()} == {
        number: list(range(200)) for number in range(6)
    }


def test_an_idle_members_heartbeats_are_taken_as_bytes(monkeypatch):
    read = []
    answered = ConsumerHeartbeats._answered

    def spied(self, *args):
        read.append(args)
        answered(self, *args)

    monkeypatch.setattr(ConsumerHeartbeats, "_answered", spied)
    world, cluster, total, group = world_with()
    client = member(world)
    drain(world, [client], total)
    world.run(60_000, polls_ms=100)
    assert 55 <= cluster.count(BEAT) <= 70
    assert len(client.of(HeartbeatAnswered)) == cluster.count(BEAT)
    assert len(read) <= 4
    # What is not the same again is read.
    other = member(world)
    world.run(5_000, polls_ms=100)
    assert len(client.core.assignment()) == len(other.core.assignment()) == 1


@pytest.mark.parametrize("fault", FAULTS)
def test_three_bad_answers_cost_time_and_nothing_else(fault):
    world, cluster, total, group = world_with(batches=2)
    bad = [3]

    def script(node, request):
        if not bad[0]:
            return None
        bad[0] -= 1
        return FAULTS[fault](node, request)

    cluster.script[BEAT] = script
    client = member(world, request_timeout_ms=5_000, max_poll_interval_ms=60_000)
    seen = drain(world, [client], total, within_ms=60_000)
    assert bad == [0]
    assert seen == {T0: list(range(10)), T1: list(range(10))}
    assert len(group.members) == 1


def test_what_is_always_garbage_does_not_spin():
    world, cluster, _, _ = world_with(batches=2)
    cluster.script[BEAT] = garbage
    client = member(world, request_timeout_ms=5_000)
    for _ in range(60):
        world.run(1_000, polls_ms=200)
        try:
            client.take()
        except KafkaError:
            pass
    asked = cluster.count(BEAT)
    assert 30 <= asked <= 700, asked  # a backoff of 100 ms to 1 s lies between two tries


def test_a_coordinator_that_forgets_everybody():
    """The members lose what they have, come back, and go on from what was committed."""
    world, _, total, group = world_with(batches=40)
    client = member(world, auto_commit_interval_ms=100)
    seen = {}
    for round_ in range(400):
        world.run(50, polls_ms=50)
        for tp, records in client.take(2).items():
            seen.setdefault(tp, []).extend(record.offset for record in records)
        if round_ in (50, 100):
            group.members.clear()
            group.epoch += 1
    assert len(client.of(PartitionsLost)) == 2
    assert {tp: sorted(set(offsets)) for tp, offsets in seen.items()} == {
        T0: list(range(200)),
        T1: list(range(200)),
    }


def test_brokers_that_do_not_have_it():
    world, cluster, _ = world_of()
    client = member(world)
    world.run(3_000, polls_ms=100)
    assert {type(event.error) for event in client.of(ErrorRaised)} == {UnsupportedVersionError}
    assert "group_protocol='classic'" in str(client.of(ErrorRaised)[0].error)
    assert cluster.count(BEAT) == 0
    client.core.unsubscribe(world.now)
    client.core.close(world.now, 1_000)
    client.drain()
    world.run(2_000)
    assert client.of(Closed)
