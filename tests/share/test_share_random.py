"""Random histories of several members, and answers with bits that flipped on their way."""

import random

import pytest
from longer import quickly
from scripted import World
from scripted_share import ShareClient, ShareCluster

from kcore.errors import KafkaError
from kcore.events import RecordsAcknowledged
from kcore.structs import AcknowledgeType, TopicPartition
from kcore.wire.apis import ApiKey

KINDS = list(AcknowledgeType)
SHARE = (ApiKey.SHARE_FETCH, ApiKey.SHARE_ACKNOWLEDGE, ApiKey.SHARE_GROUP_HEARTBEAT)


def cut_off(cluster, world, client):
    """Its links end, and brokers release what it held."""
    for link in list(client.links):
        world.cut(client, link)
    for share in cluster.partitions.values():
        share.release(client.core.member_id)
    for key in [key for key in cluster.sessions if key[1] == client.core.member_id]:
        del cluster.sessions[key]


def live(rng, cluster, world, client, accepted):
    """One of the things that happen to a member."""
    dice = rng.random()
    if dice < 0.05:
        cut_off(cluster, world, client)
    elif dice < 0.08:
        client.core.unsubscribe(world.now)
        client.drain()
        client.subscribe("t")
    elif dice < 0.3:
        client.core.commit(world.now, 5_000)
        client.drain()
    else:
        for record in client.polled(rng.choice([20, 300]), rng.choice([None, 1, 5])):
            for kind in rng.choices(KINDS, weights=[7, 3, 0, 2], k=rng.choice([1, 1, 2])):
                tp = TopicPartition(record.topic, record.partition)
                client.core.acknowledge(tp, record.offset, kind)
            if kind is AcknowledgeType.ACCEPT:
                accepted.add((record.partition, record.offset))
    world.run(rng.choice([0, 1, 3, 50]))


@pytest.mark.parametrize("seed", quickly(8, of=25))
def test_whatever_members_do_every_record_ends_and_none_ends_unasked(seed):
    rng = random.Random(seed)
    nodes = rng.choice([1, 2, 3])
    cluster = ShareCluster({"t": 3}, nodes=nodes)
    world = World(cluster, seed)
    for number in range(3):
        for base in range(0, 40, 10):
            cluster.fill(10, partition=number, base=base)
    options = {"share_acknowledgement_mode": "explicit"}
    modes = ["batch_optimized", "record_limit"]
    members = [
        ShareClient(
            world,
            {
                **options,
                "share_acquire_mode": rng.choice(modes),
                "max_poll_records": rng.choice([3, 20]),
            },
        ).subscribe("t")
        for _ in range(3)
    ]
    accepted: set[tuple[int, int]] = set()
    for _ in range(120):
        live(rng, cluster, world, rng.choice(members), accepted)
        done = {(number, at) for number in range(3) for at in cluster.done(partition=number)}
        assert done <= accepted
    for _ in range(60):
        for client in members:
            for record in client.polled(100):
                tp = TopicPartition(record.topic, record.partition)
                client.core.acknowledge(tp, record.offset, AcknowledgeType.ACCEPT)
            client.commit()
    for number in range(3):
        assert cluster.done(partition=number) == list(range(40))
    for client in members:
        client.close()
    assert cluster.sessions == {}
    assert cluster.members == {}


@pytest.mark.parametrize("seed", quickly(10, of=40))
def test_bits_that_flip_break_nothing(seed):
    rng = random.Random(seed)
    cluster = ShareCluster({"t": 2}, nodes=2)
    world = World(cluster, seed)
    for number in range(2):
        cluster.fill(10, partition=number)
    client = ShareClient(world, {"fetch_max_wait_ms": 50, "request_timeout_ms": 2_000})

    def garble(request, answer):
        if request.api_key not in SHARE or rng.random() < 0.5:
            return answer
        spoiled = bytearray(answer)
        for _ in range(rng.choice([1, 1, 8])):
            spoiled[rng.randrange(4, len(spoiled))] ^= 1 << rng.randrange(8)
        return bytes(spoiled)

    world.garble = garble
    client.subscribe("t")
    for _ in range(30):
        try:
            client.polled(200)
        except KafkaError:
            pass
        client.core.commit(world.now, 1_000)
        client.drain()
        world.run(rng.choice([10, 500]))
    world.garble = None
    cut_off(cluster, world, client)
    client.core.unsubscribe(world.now)
    client.drain()
    world.run(3_000)
    client.subscribe("t")
    cluster.fill(5, partition=0, base=100)
    cluster.partitions["t", 0].release(client.core.member_id)
    found = []
    for _ in range(20):
        found += [record.offset for record in client.polled(500) if record.partition == 0]
    assert found[-5:] == list(range(100, 105))
    assert all(event.ranges for event in client.of(RecordsAcknowledged))
