"""Followers that serve consumers (KIP-392): the same requests to the nodes of a real Kafka and of
the embedded broker, whose racks are named alike, and the same answers, field by field.
"""

import time

import pytest
from differences import compare
from raw_client import Peer
from scenarios_data import batch, fetch, produce

import kcore
from kcore.broker import BrokerConfig
from kcore.cli.demo.kafka_cluster import KafkaCluster
from kcore.embedded import EmbeddedBroker
from kcore.events import RecordsFetched
from kcore.wire import messages as m

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

RACKS = ["a", "b", "c"]
SELECTOR = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
DEADLINE_S = 60


class RackedKafka(KafkaCluster):
    """Each node in a rack of its own."""

    def broker_settings(self, index):
        settings = {"broker.rack": RACKS[index], "replica.selector.class": SELECTOR}
        # Nobody is taken for dead, and leads no more, because the machine is busy.
        settings["broker.session.timeout.ms"] = "15000"
        return super().broker_settings(index) | settings


@pytest.fixture(scope="module")
def kafka():
    with RackedKafka(3) as kafka:
        yield kafka


@pytest.fixture
def embedded():
    config = BrokerConfig(replica_selector_class=SELECTOR, auto_create_topics=False)
    with EmbeddedBroker(3, racks=RACKS, config=config) as broker:
        yield broker
        assert not broker.faults


class Nodes:
    """A peer for each node; what they say is one transcript."""

    def __init__(self, addresses, tag):
        self.said = []
        self.tag = tag
        self._peers = {number: Peer(at, tag) for number, at in enumerate(addresses, 1)}
        for peer in self._peers.values():
            peer.said = self.said

    def __getitem__(self, number):
        return self._peers[number]

    def topic(self, base, nodes):
        """Its replicas, the leader first; its name."""
        name = f"{self.tag}-{base}"
        Create = m.CreateTopicsRequest
        wanted = Create.CreatableTopic(name=name, num_partitions=-1, replication_factor=-1)
        wanted.assignments = [
            Create.CreatableReplicaAssignment(partition_index=0, broker_ids=nodes)
        ]
        answer = self[1].link().ask(Create(topics=[wanted], timeout_ms=10_000), 7)
        assert answer.topics[0].error_code == 0, answer
        self.settle(name, nodes, 0)
        return name

    def settle(self, name, nodes, end, known=(1, 2, 3)):
        """Wait until all know of the topic, and the replicas have so much of it and no more."""
        for number in known:
            until(lambda number=number: not self[number]._metadata(name).error_code)
        for number in nodes:
            until(lambda number=number: self.watermark(number, name) == end)

    def watermark(self, number, name):
        return only(self[number].link().ask(fetch(name), 12)).high_watermark

    def in_sync(self, name):
        found = self[1]._metadata(name).partitions[0]
        return sorted(found.isr_nodes)

    def close(self):
        for peer in self._peers.values():
            peer.close()


def until(done, step=lambda: time.sleep(0.02)):
    end = time.monotonic() + DEADLINE_S
    while not done():
        assert time.monotonic() < end
        step()


def only(answer):
    return answer.responses[0].partitions[0]


def at(offset, **more):
    return {"part": {"fetch_offset": offset} | more}


def every_version(nodes):
    name = nodes.topic("versions", [1, 2, 3])
    nodes[1].link().ask(produce(name, batch(b"x", b"y", b"z")), 9)
    nodes.settle(name, [1, 2, 3], 3)
    topic_id = nodes[1].id_of(name)
    for version in range(4, 19):
        named = {"topic_id": topic_id} if version >= 13 else {}
        for number in (1, 2, 3):
            for rack in ("", "a", "b", "zz"):
                asked = fetch(name if version < 13 else "", rack_id=rack, **named)
                nodes[number].ask(asked, version, note=f"v{version} at {number} from {rack!r}")


def offsets(nodes):
    name = nodes.topic("offsets", [1, 2, 3])
    nodes[1].link().ask(produce(name, batch(b"x", b"y", b"z")), 9)
    nodes.settle(name, [1, 2, 3], 3)
    for number in (1, 2):
        for offset in (-1, 0, 1, 3, 4, 100):
            for committed in (0, 1):
                asked = fetch(name, rack_id="b", isolation_level=committed, **at(offset))
                nodes[number].ask(asked, 12, note=f"{offset} at {number}, {committed}")
        for epoch in (0, 1, 5):
            for last in (-1, 0, 1):
                about = at(1, current_leader_epoch=epoch, last_fetched_epoch=last)
                asked = fetch(name, rack_id="b", **about)
                nodes[number].ask(asked, 16, note=f"epochs {epoch} {last} at {number}")
        nodes[number].ask(fetch(name, rack_id="b", min_bytes=100_000, max_wait_ms=300), 12)
        nodes[number].ask(fetch(name, rack_id="b", max_bytes=1), 12)


def elsewhere(nodes):
    """A node that has no replica, and what is not there at all."""
    name = nodes.topic("elsewhere", [1, 2])
    nodes[1].link().ask(produce(name, batch(b"x")), 9)
    nodes.settle(name, [1, 2], 1)
    for number in (1, 2, 3):
        for epoch in (-1, 0, 7):
            asked = fetch(name, rack_id="c", **at(0, current_leader_epoch=epoch))
            for version in (10, 12, 16):
                if version == 16:
                    asked.topics[0].topic_id = nodes[1].id_of(name)
                nodes[number].ask(asked, version, note=f"v{version} at {number}, epoch {epoch}")
        nodes[number].ask(fetch(f"{name}-none", rack_id="c"), 12)
        nodes[number].ask(fetch(name, partition=3, rack_id="c"), 12)


def sessions(nodes):
    name = nodes.topic("sessions", [1, 2, 3])
    nodes[1].link().ask(produce(name, batch(b"x", b"y")), 9)
    nodes.settle(name, [1, 2, 3], 2)
    for number in (1, 2):
        full = nodes[number].ask(fetch(name, rack_id="b", session_epoch=0), 12)
        for epoch, offset in ((1, 0), (2, 2), (3, 2)):
            asked = fetch(name, rack_id="b", **at(offset))
            asked.session_id, asked.session_epoch = full.session_id, epoch
            if epoch == 3:
                asked.topics = []
            nodes[number].ask(asked, 12, note=f"{epoch} of a session at {number}")


def waiting(nodes):
    """Who waits at a follower is served; who waits at the leader is sent away at once."""
    name = nodes.topic("waiting", [1, 2, 3])
    asked = fetch(name, rack_id="b")  # a leader has to hear of a follower before it believes in it
    until(lambda: only(nodes[1].link().ask(asked, 12)).preferred_read_replica == 2)
    nodes[2].send(fetch(name, rack_id="b", max_wait_ms=20_000), 12, link="w")
    nodes[1].ask(fetch(name, rack_id="b", max_wait_ms=20_000), 12)
    nodes[1].link().ask(produce(name, batch(b"x")), 9)
    nodes[2].receive("w", "waited at a follower")


def questions(nodes):
    """ListOffsets and OffsetForLeaderEpoch are the leader's, unless a debugger asks."""
    name = nodes.topic("questions", [1, 2])
    nodes[1].link().ask(produce(name, batch(b"x", b"y")), 9)
    nodes.settle(name, [1, 2], 2)
    Ends, Offsets = m.OffsetForLeaderEpochRequest, m.ListOffsetsRequest
    for number in (1, 2, 3):
        for replica in (-1, -2):
            for version in (3, 5, 10):
                for timestamp in (-1, -2, 0):
                    wanted = Offsets.ListOffsetsPartition(partition_index=0, timestamp=timestamp)
                    entry = Offsets.ListOffsetsTopic(name=name, partitions=[wanted])
                    asked = Offsets(replica_id=replica, topics=[entry])
                    note = f"v{version} {timestamp} as {replica} at {number}"
                    nodes[number].ask(asked, version, note=note)
            wanted = Ends.OffsetForLeaderPartition(partition=0, leader_epoch=0)
            entry = Ends.OffsetForLeaderTopic(topic=name, partitions=[wanted])
            nodes[number].ask(Ends(replica_id=replica, topics=[entry]), 4, note=f"end at {number}")


def options(nodes):
    Describe = m.DescribeConfigsRequest
    for number in (1, 2, 3):
        asked = Describe.DescribeConfigsResource(
            resource_type=4,
            resource_name=str(number),
            configuration_keys=["broker.rack", "replica.selector.class"],
        )
        nodes[number].ask(Describe(resources=[asked], include_synonyms=True), 4)
        answer = nodes[number].link().ask(m.MetadataRequest(topics=[]), 12)
        nodes.said.append(("racks", sorted((one.node_id, one.rack) for one in answer.brokers)))


SCENARIOS = [every_version, offsets, elsewhere, sessions, waiting, questions, options]


def told(scenario, addresses, tag):
    nodes = Nodes(addresses, tag)
    try:
        scenario(nodes)
    finally:
        nodes.close()
    return nodes.said


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_nodes_say_the_same(scenario, kafka, embedded):
    theirs = told(scenario, [node.address for node in kafka.nodes], scenario.__name__)
    ours = told(scenario, embedded.addresses, scenario.__name__)
    found = compare(ours, theirs)
    assert not found, "\n".join(found)


def whom_to_ask(addresses, kill, revive):
    """Where the leader sends a consumer in rack b while node 2 goes and comes back."""
    nodes = Nodes(addresses, "gone")
    try:
        name = nodes.topic("gone", [1, 2, 3])
        nodes[1].link().ask(produce(name, batch(b"x")), 9)
        nodes.settle(name, [1, 2, 3], 1)

        def sent_to():
            answer = nodes[1].link().ask(fetch(name, rack_id="b"), 12)
            return only(answer).preferred_read_replica

        until(lambda: sent_to() == 2)
        kill()
        until(lambda: nodes.in_sync(name) == [1, 3])
        gone = sent_to()
        revive()
        until(lambda: nodes.in_sync(name) == [1, 2, 3])
        until(lambda: sent_to() == 2)
        return gone
    finally:
        nodes.close()


@pytest.mark.timeout(300)
def test_nobody_is_sent_to_a_node_that_is_down(kafka, embedded):
    theirs = whom_to_ask(
        [node.address for node in kafka.nodes], lambda: kafka.stop(1), lambda: kafka.restart(1)
    )
    ours = whom_to_ask(embedded.addresses, lambda: embedded.kill(2), lambda: embedded.revive(2))
    assert theirs == ours == -1


PLANS = [
    [3, 2, 1], None, [2, 3], None, [3], [1, 2], None, [1, 2, 3], [3, 1, 2], [3], [2, 3], [2], None,
    [2, 1, 3], [1, 2], None,
]  # fmt: skip


def plans_told(addresses, kill, revive):
    """Plans one after the other, while node 3 is down: what is said of each, and what is then."""
    nodes = Nodes(addresses, "plans")
    Alter, List = m.AlterPartitionReassignmentsRequest, m.ListPartitionReassignmentsRequest
    name = nodes.topic("plans", [1, 2, 3])
    try:
        kill()
        until(lambda: nodes.in_sync(name) == [1, 2])
        for plan in PLANS:
            part = Alter.ReassignablePartition(partition_index=0, replicas=plan)
            entry = Alter.ReassignableTopic(name=name, partitions=[part])
            nodes[1].ask(Alter(topics=[entry], timeout_ms=10_000), 1, note=f"{plan}")
            time.sleep(0.3)  # a leader hears of it, and says who is in sync
            told = nodes[1].link().ask(List(), 0)
            rows = [
                (one.replicas, one.adding_replicas, one.removing_replicas)
                for topic in told.topics
                for one in topic.partitions
            ]
            there = nodes[1]._metadata(name).partitions[0]
            nodes.said.append((f"after {plan}", [rows, there.leader_id, there.replica_nodes]))
        return nodes.said
    finally:
        revive()
        nodes.close()


@pytest.mark.timeout(300)
def test_plans_in_the_place_of_others_are_told_of_alike(kafka, embedded):
    theirs = plans_told(
        [node.address for node in kafka.nodes], lambda: kafka.stop(2), lambda: kafka.restart(2)
    )
    ours = plans_told(embedded.addresses, lambda: embedded.kill(3), lambda: embedded.revive(3))
    assert ours == theirs


@pytest.mark.timeout(300)
def test_our_consumer_reads_in_its_rack_of_a_kafka(kafka):
    nodes = Nodes([node.address for node in kafka.nodes], "ours")
    name = nodes.topic("t", [1, 2, 3])
    seen, taken = [], []
    options = {"client_rack": "b", "auto_offset_reset": "earliest", "metadata_max_age_ms": 2_000}
    with kcore.Consumer(name, bootstrap_servers=kafka.bootstrap, **options) as consumer:
        consumer._engine.observer = seen.append

        def read(count):
            """Records one at a time, so that each is in an answer of its own."""
            for _ in range(count):
                had = len(taken)
                kafka.produce(name, [(None, b"x")], 0)
                until(lambda had=had: len(taken) > had, step)

        def step():
            for batch in consumer.poll(timeout_ms=50).values():
                taken.extend(batch)

        def source():
            return next(one.node_id for one in reversed(seen) if isinstance(one, RecordsFetched))

        def read_until_from(node):
            until(lambda: source() == node, lambda: read(1))

        read(1)
        read_until_from(2)
        read(3)
        assert source() == 2
        kafka.kill(1)
        read(3)
        assert source() == 1
        kafka.restart(1)
        until(lambda: nodes.in_sync(name) == [1, 2, 3])
        # The leader says so with each answer; nothing had to be waited for.
        read_until_from(2)
        # By then the replica has been believed for as long as metadata is, once at least.
        read(10)
        until(lambda: nodes.in_sync(name) == [1, 2, 3])
    nodes.close()
    assert [record.offset for record in taken] == list(range(len(taken)))
