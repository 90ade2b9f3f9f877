"""Transactions while nodes die, lag and lose their links: each is there wholly, or not at all."""

import random

import pytest
from broker_world import WALL_MS, World, batch, only, produce

from kcore.records import RecordReader
from kcore.wire import messages as m
from kcore.wire.codes import ErrorCode as E

PARTITIONS = 3
ORDINARY = 5  # seeds that are tried every time
# What a producer may try again; anything else ends its transaction, or its epoch.
AGAIN = {
    None, E.NOT_LEADER_OR_FOLLOWER, E.NOT_ENOUGH_REPLICAS, E.CONCURRENT_TRANSACTIONS,
    E.NOT_COORDINATOR, E.COORDINATOR_NOT_AVAILABLE, E.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    E.REQUEST_TIMED_OUT,
}  # fmt: skip


class Producer:
    """Writes in transactions; it tries again until it knows what became of what it asked for."""

    def __init__(self, world, rng, name, *, old):
        self.world, self.rng, self.name, self.old = world, rng, name, old
        self.clients = {}
        self.id = self.epoch = -1
        self.sequences = {}
        self.number = 0  # of its transaction
        self.acked = set()  # values of the open one
        self.sent = None  # a batch without an answer: partition, sequence, value
        self.outcome = None  # that was asked for, and is not answered
        self.open = False
        self.committed = []  # sets of values that have to be there
        self.unknown = []  # that may be there, together
        self.aborted = []  # that must not be

    def ask(self, node, message, version):
        """None: there is no answer yet, or nobody to give one."""
        if node not in self.world.cluster.live:
            return None
        client = self.clients.get(node)
        if client is None or client.closed or client.node.link_count == 0 or client.waits:
            client = self.clients[node] = self.world.client(node)
            client.waits = False
        answer = client.ask(message, version)
        client.waits = answer is None
        return answer

    def coordinator(self, message, version):
        keeper = self.world.cluster.transaction_coordinator_of(self.name)
        return self.ask(keeper, message, version)

    def begin_again(self):
        """Its transaction, if there is one, is somebody else's business from now on."""
        if self.open:
            values = self.acked | ({self.sent[2]} if self.sent else set())
            (self.aborted if self.outcome is None else self.unknown).append(values)
        self.open, self.outcome, self.sent, self.acked = False, None, None, set()
        self.id = -1

    def step(self):
        if self.id < 0:
            self.init()
        elif self.outcome is not None:
            self.end()
        elif self.sent is not None or not self.open or self.rng.random() < 0.6:
            self.write()
        else:
            self.outcome = self.rng.random() < 0.6
            self.end()

    def init(self):
        request = m.InitProducerIdRequest(transactional_id=self.name, transaction_timeout_ms=20_000)
        answer = self.coordinator(request, 4 if self.old else 5)
        if answer is not None and not answer.error_code:
            self.id, self.epoch, self.sequences = answer.producer_id, answer.producer_epoch, {}

    def write(self):
        if self.sent is None:
            partition = self.rng.randrange(PARTITIONS)
            self.number += 1
            value = f"{self.name}-{self.number}".encode()
            self.sent = (partition, self.sequences.get(partition, 0), value)
            self.open = True
        partition, sequence, value = self.sent
        if self.old and not self.added(partition):
            return
        data = batch(
            value, time=WALL_MS, producer_id=self.id, producer_epoch=self.epoch,
            base_sequence=sequence, transactional=True,
        )  # fmt: skip
        leader = self.world.cluster.topics.get("t").partitions[partition].leader
        request = produce(data, partition=partition, transactional_id=self.name)
        answer = self.ask(leader, request, 11 if self.old else 12)
        code = None if answer is None else only(answer).error_code
        if code == 0:
            self.acked.add(value)
            self.sequences[partition] = sequence + 1
            self.sent = None
        elif code not in AGAIN:
            self.begin_again()

    def added(self, partition):
        request = m.AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.name,
            v3_and_below_producer_id=self.id,
            v3_and_below_producer_epoch=self.epoch,
            v3_and_below_topics=[
                m.AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(
                    name="t", partitions=[partition]
                )
            ],
        )
        answer = self.coordinator(request, 3)
        if answer is None:
            return False
        code = answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code
        if code and code not in AGAIN:
            self.begin_again()
        return not code

    def end(self):
        request = m.EndTxnRequest(
            transactional_id=self.name, producer_id=self.id, producer_epoch=self.epoch,
            committed=self.outcome,
        )  # fmt: skip
        answer = self.coordinator(request, 4 if self.old else 5)
        code = None if answer is None else answer.error_code
        if code == 0:
            (self.committed if self.outcome else self.aborted).append(self.acked)
            self.open, self.outcome, self.acked = False, None, set()
            if not self.old:
                if (answer.producer_id, answer.producer_epoch) != (self.id, self.epoch):
                    self.sequences = {}
                self.id, self.epoch = answer.producer_id, answer.producer_epoch
        elif code not in AGAIN:
            self.begin_again()


class Chaos:
    def __init__(self, seed, *, old):
        self.rng = random.Random(seed)
        self.world = World(3)
        self.world.topic(
            "t", PARTITIONS, replication_factor=3, settings={"min.insync.replicas": "2"}
        )
        self.producers = [Producer(self.world, self.rng, name, old=old) for name in ("a", "b", "c")]

    def step(self):
        world, rng = self.world, self.rng
        cluster, now_ms = world.cluster, world.now_ms
        what = rng.random()
        if what < 0.8:
            rng.choice(self.producers).step()
        elif what < 0.84 and len(cluster.live) == 3:
            cluster.stop_node(rng.choice(cluster.live), now_ms)
        elif what < 0.88 and len(cluster.live) < 3:
            (down,) = set(cluster.node_ids) - set(cluster.live)
            cluster.start_node(down, now_ms)
        elif what < 0.91:
            cluster.replication.set_lag(rng.choice(cluster.node_ids), rng.choice([0, 200]), now_ms)
        elif what < 0.93:
            one, other = rng.sample(cluster.node_ids, 2)
            rng.choice([cluster.replication.cut, cluster.replication.heal])(one, other, now_ms)
        else:
            world.run(rng.choice([5, 50, 500, 5_000]))
        world.drain()

    def settle(self):
        world = self.world
        cluster = world.cluster
        for one in cluster.node_ids:
            if one not in cluster.live:
                cluster.start_node(one, world.now_ms)
            cluster.replication.set_lag(one, 0, world.now_ms)
            for other in cluster.node_ids:
                cluster.replication.heal(one, other, world.now_ms)
        world.run(1_000)
        for producer in self.producers:
            for _ in range(50):
                if not producer.open:
                    break
                if producer.outcome is None and producer.sent is None:
                    producer.outcome = True
                producer.step()
                world.run(100)
            assert not producer.open, "it never learned what became of its transaction"
        world.run(30_000)  # whatever nobody ends times out

    def readable(self):
        """Every value that is committed, partition by partition."""
        found = []
        for partition in self.world.cluster.topics.get("t").partitions:
            log = partition.log
            assert log.last_stable_offset == log.end_offset, "nothing is left open"
            aborted = [
                (one.producer_id, one.first_offset)
                for one in log.transactions.aborted(0, log.end_offset)
            ]
            reader = RecordReader("t", 0, b"".join(log.batches()), 0, aborted=aborted)
            while not reader.exhausted:
                found += [bytes(record.value) for record in reader.take(1_000)]
        return found


@pytest.mark.parametrize("old", [False, True], ids=["v2", "v1"])
@pytest.mark.parametrize(
    "seed",
    [
        *range(ORDINARY),
        *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(ORDINARY, 60)),
    ],
)
def test_every_transaction_is_there_wholly_once_or_not_at_all(seed, old):
    chaos = Chaos(seed, old=old)
    for _ in range(300):
        chaos.step()
    chaos.settle()
    found = chaos.readable()
    assert len(found) == len(set(found)), "nothing is there twice"
    there = set(found)
    count = 0
    for producer in chaos.producers:
        for values in producer.committed:
            assert values <= there
            count += len(values)
        for values in producer.aborted:
            assert not values & there
        for values in producer.unknown:
            assert values <= there or not values & there
    assert count or seed >= ORDINARY, "something was committed at all"
    assert not chaos.world.faults
    for transaction_states in (
        chaos.world.client(node).ask(m.ListTransactionsRequest(), 2).transaction_states
        for node in chaos.world.nodes
    ):
        for one in transaction_states:
            assert one.transaction_state in {"Empty", "CompleteCommit", "CompleteAbort"}
