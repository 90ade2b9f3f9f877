"""Replication under whatever may happen: what was readable or acknowledged by all stays."""

import random

import pytest
from broker_world import World, batch, only, produce
from longer import quickly

from kcore.broker import reassignment

NODES = 4
STEPS = 80


class Storm:
    """Seeded events on one partition of a cluster, and what has to stay true."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.world = World(nodes=NODES)
        least = self.rng.choice(["1", "2"])
        settings = {"min.insync.replicas": least, "internal.segment.bytes": "200"}
        self.topic = self.world.topic("t", assignments=[[1, 2, 3]], settings=settings)
        (self.partition,) = self.topic.partitions
        self.readable = {}  # offset -> what a consumer could have read there
        self.waiting = []  # (client, value) of writes for all
        self.acknowledged = []
        self.written = 0

    @property
    def cluster(self):
        return self.world.cluster

    def step(self):
        rng, now = self.rng, self.world.now_ms
        events = (
            (self.write, 6), (self.stop, 1), (self.start, 2), (self.cut, 1), (self.heal, 2),
            (self.lag, 1), (self.wait, 3), (self.move, 1), (self.reassign, 1), (self.delete, 1),
        )  # fmt: skip
        event = rng.choices([one for one, _ in events], [weight for _, weight in events])[0]
        event(now)
        self.world.drain()
        self.check()

    def write(self, _now):
        if self.partition.leader < 0:
            return
        self.written += 1
        value = b"%d" % self.written
        client = self.world.client(self.partition.leader)
        acks = self.rng.choice([1, -1])
        client.send(produce(batch(value), acks=acks), 9)
        if acks == -1:
            self.waiting.append((client, value))

    def stop(self, now):
        if len(self.cluster.live) > 1:
            self.cluster.stop_node(self.rng.choice(self.cluster.live), now)

    def start(self, now):
        down = [one for one in self.cluster.node_ids if one not in self.cluster.live]
        if down:
            self.cluster.start_node(self.rng.choice(down), now)

    def cut(self, now):
        self.cluster.replication.cut(*self.rng.sample(range(1, NODES + 1), 2), now)

    def heal(self, now):
        self.cluster.replication.heal(*self.rng.sample(range(1, NODES + 1), 2), now)

    def lag(self, now):
        node_id, lag_ms = self.rng.randint(1, NODES), self.rng.choice([0, 0, 10, 5_000])
        self.cluster.replication.set_lag(node_id, lag_ms, now)

    def wait(self, _now):
        self.world.run(self.rng.choice([1, 100, 10_000, 40_000]))

    def move(self, now):
        able = [one for one in self.partition.isr if one in self.cluster.live]
        if able and self.partition.leader >= 0:
            self.cluster.move_leader_of(self.partition, self.rng.choice(able), now)

    def reassign(self, now):
        target = self.rng.sample(range(1, NODES + 1), 3)
        reassignment.begin(self.partition, target, now)

    def delete(self, now):
        if self.partition.leader >= 0:
            self.partition.delete_before(-1, now)

    def check(self):
        partition = self.partition
        log = partition.log
        assert not self.world.faults
        assert partition.isr
        assert set(partition.isr) <= set(partition.replicas) == set(partition.logs)
        if partition.leader < 0:
            return
        assert partition.leader in partition.isr
        for data in log.read(log.start_offset, 1 << 20).batches:
            assert self.readable.setdefault(offset_of(data), data[16:]) == data[16:]
        for client, value in list(self.waiting):
            answer = client.answer()
            if answer is None and not client.closed:
                continue
            self.waiting.remove((client, value))
            if answer is not None and not only(answer).error_code:
                self.acknowledged.append((value, only(answer).base_offset))

    def settle(self):
        for one in range(1, NODES + 1):
            for other in range(1, one):
                self.cluster.replication.heal(one, other, self.world.now_ms)
            self.cluster.replication.set_lag(one, 0, self.world.now_ms)
        while len(self.cluster.live) < NODES:
            self.start(self.world.now_ms)
        self.world.run(1_000)
        if set(self.partition.adding).intersection(self.partition.removing):
            # Who is to come and to go at once never has: a Kafka waits until that is called off.
            reassignment.cancel(self.partition, self.world.now_ms)
            self.world.run(1_000)
        self.check()


def offset_of(data):
    return int.from_bytes(data[:8], "big")


@pytest.mark.parametrize("seed", quickly(12, of=40))
def test_nothing_readable_is_lost(seed):
    storm = Storm(seed)
    for _ in range(STEPS):
        storm.step()
    storm.settle()
    partition = storm.partition
    log = partition.log
    # Everybody has the same, everybody is in sync, everything is readable.
    assert sorted(partition.isr) == sorted(partition.replicas)
    assert log.high_watermark == log.end_offset
    assert not partition.adding + partition.removing
    kept = {offset_of(data): data for data in log.batches()}
    for other in partition.logs.values():
        # A leader that was late may begin before where records were deleted, as in Kafka.
        assert other.start_offset >= log.start_offset
        assert other.end_offset == log.end_offset
        left = [data for offset, data in kept.items() if offset >= other.start_offset]
        assert list(other.batches()) == left
        assert other.size_bytes == sum(map(len, left))
    # What could be read once is there, unless it was deleted, and so is what all acknowledged.
    for offset, data in storm.readable.items():
        assert offset < log.start_offset or kept[offset][16:] == data
    for value, offset in storm.acknowledged:
        assert offset < log.start_offset or batch(value)[21:] == kept[offset][21:]


def test_storms_are_storms():
    storms = [Storm(seed) for seed in range(10)]
    for storm in storms:
        for _ in range(STEPS):
            storm.step()
    assert sum(storm.partition.leader_epoch for storm in storms) > 50
    assert sum(len(storm.acknowledged) for storm in storms) > 50
