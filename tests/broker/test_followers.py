"""Where consumers read (KIP-392): at the leader, or at a follower in their rack."""

import random

import pytest
from broker_world import WALL_MS, World, batch, fetch, only, produce

from kcore.broker import BrokerConfig, Cluster, Node
from kcore.structs import Node as Address
from kcore.wire import messages as m
from kcore.wire.codes import ErrorCode

RACKS = {1: "a", 2: "b", 3: "b"}
RACK_AWARE = "org.apache.kafka.common.replica.RackAwareReplicaSelector"


class RackedWorld(World):
    def __init__(self, selector):
        super().__init__(nodes=1)
        addresses = [Address(node, f"node{node}", 9000 + node, RACKS[node]) for node in RACKS]
        config = BrokerConfig(replica_selector_class=selector, replica_lag_time_max_ms=5_000)
        self.cluster = Cluster(config, addresses, random.Random(7), wall_offset_ms=WALL_MS)
        self.nodes = {node: Node(self.cluster, node, self.now_ms) for node in RACKS}


@pytest.fixture
def world():
    made = RackedWorld(RACK_AWARE)
    made.cluster.topics.create("t", 1, assignments=[[1, 2, 3]])
    yield made
    assert not made.faults


def put(world, *values, acks=1):
    answer = only(world.client(1).ask(produce(batch(*values), acks=acks), 9))
    assert answer.error_code == 0


def read(world, node, offset=0, rack="b", version=12, **more):
    return only(world.client(node).ask(fetch(offset, rack_id=rack, **more), version))


def sent_to(world, offset=0, rack="b", version=12):
    answer = read(world, 1, offset, rack, version)
    assert answer.error_code == 0
    assert answer.preferred_read_replica < 0 or not answer.records
    return answer.preferred_read_replica


def test_the_rack_says_who_is_asked(world):
    put(world, b"x")
    assert sent_to(world, rack="a") == sent_to(world, rack="") == sent_to(world, rack="z") == -1
    # Of those that have the same, for as long, the last one.
    assert sent_to(world, rack="b") == 3
    assert sent_to(world, rack="b", version=10) == -1  # which has no place for racks


def test_who_is_sent_elsewhere_is_told_so_at_once_and_nothing_else(world):
    put(world, b"x")
    asked = {"rack_id": "b", "max_wait_ms": 60_000, "min_bytes": 1_000_000, "isolation_level": 1}
    for last in (-1, 0):  # whether logs part is for the one to say who is asked then
        client = world.client(1)
        client.send(fetch(0, last_epoch=last, **asked), 12)
        told = only(client.answer())
        assert told.preferred_read_replica == 3
        assert (told.aborted_transactions, told.diverging_epoch.epoch) == (None, -1)


def test_followers_serve_since_requests_have_racks(world):
    put(world, b"x")
    assert read(world, 2, version=11).records
    assert read(world, 2, version=10).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


@pytest.mark.parametrize("selector", [None, "LeaderSelector"])
def test_without_racks_in_mind_the_leader_serves_all(selector):
    world = RackedWorld(selector)
    world.cluster.topics.create("t", 1, assignments=[[1, 2, 3]])
    put(world, b"x")
    assert read(world, 1).records
    assert read(world, 2).records  # whoever asks a follower is served nevertheless


def test_who_lacks_less_is_better(world):
    world.cluster.replication.set_lag(3, 1_000, world.now_ms)
    put(world, b"x")
    assert sent_to(world) == 2
    assert sent_to(world, offset=1) == 2
    world.run(1_000)
    assert sent_to(world) == 3


def test_who_does_not_have_the_offset_is_not_asked(world):
    for node in (2, 3):
        world.cluster.replication.set_lag(node, 1_000, world.now_ms)
    put(world, b"x")
    assert sent_to(world, offset=0) == 3
    assert sent_to(world, offset=1) == -1


def test_who_is_out_of_sync_or_down_is_not_asked(world):
    put(world, b"x")
    world.cluster.replication.cut(1, 3, world.now_ms)
    put(world, b"y")
    assert sent_to(world) == 2
    world.run(5_000)
    world.cluster.stop_node(2, world.now_ms)
    world.drain()
    assert world.cluster.topics.get("t").partitions[0].isr == [1]
    assert sent_to(world) == -1
    # Who asks a follower that is out of sync gets what that has.
    assert read(world, 3).high_watermark == 1
    assert read(world, 3, offset=2).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    world.cluster.replication.heal(1, 3, world.now_ms)
    assert sent_to(world) == 3


def test_a_follower_shows_what_it_knows_to_be_replicated(world):
    world.cluster.replication.set_lag(2, 100, world.now_ms)
    world.cluster.replication.set_lag(3, 200, world.now_ms)
    put(world, b"x")
    waiting = world.client(2)
    waiting.send(fetch(max_wait_ms=60_000, rack_id="b"), 12)
    world.run(100)
    assert world.cluster.topics.get("t").partitions[0].logs[2].end_offset == 1
    assert read(world, 2).high_watermark == 0
    world.run(100)  # by now the slower one has it, and the leader says so
    assert read(world, 1, rack="").high_watermark == 1
    assert read(world, 2).high_watermark == 0
    assert waiting.answer() is None
    world.run(100)
    answer = only(waiting.answer())
    assert (answer.high_watermark, bool(answer.records)) == (1, True)


def test_who_waits_at_a_follower_is_told_of_another_epoch(world):
    waiting = world.client(2)
    waiting.send(fetch(max_wait_ms=60_000, epoch=0, rack_id="b"), 12)
    assert waiting.answer() is None
    topic = world.cluster.topics.get("t")
    world.cluster.move_leader(topic, 0, 3, world.now_ms)
    world.drain()
    assert only(waiting.answer()).error_code == ErrorCode.FENCED_LEADER_EPOCH


def test_who_waits_at_a_replica_that_goes_is_told(world):
    waiting = world.client(3)
    waiting.send(fetch(max_wait_ms=60_000, rack_id="b"), 12)
    topic = m.AlterPartitionReassignmentsRequest.ReassignableTopic(
        name="t",
        partitions=[
            m.AlterPartitionReassignmentsRequest.ReassignablePartition(
                partition_index=0, replicas=[1, 2]
            )
        ],
    )
    request = m.AlterPartitionReassignmentsRequest(topics=[topic])
    assert not world.client(1).ask(request, 0).error_code
    assert only(waiting.answer()).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


@pytest.mark.parametrize("epoch", [-1, 0, 9])
def test_who_has_no_replica_says_so_whatever_the_epoch(world, epoch):
    world.cluster.topics.create("u", 1, assignments=[[1, 2]])
    answer = read(world, 3, topic="u", epoch=epoch)
    assert answer.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_who_leads_is_told_of_with_its_rack(world):
    topic = world.cluster.topics.create("u", 1, assignments=[[1, 2]])
    asked = fetch()
    asked.topics[0].topic_id = topic.topic_id
    answer = world.client(3).ask(asked, 16)
    assert only(answer).current_leader.leader_id == 1
    assert [(one.node_id, one.rack) for one in answer.node_endpoints] == [(1, "a")]
    asked.topics[0].partitions[0].fetch_offset = 7  # which is no matter of leaders
    answer = world.client(1).ask(asked, 16)
    assert only(answer).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert (only(answer).current_leader.leader_id, answer.node_endpoints) == (-1, [])


def test_who_reads_in_a_session_is_sent_elsewhere_each_time(world):
    put(world, b"x")
    client = world.client(1)
    session = client.ask(fetch(rack_id="b", session_epoch=0), 12).session_id
    again = m.FetchRequest(session_id=session, session_epoch=1, rack_id="b", max_wait_ms=0)
    assert only(client.ask(again, 12)).preferred_read_replica == 3


def test_only_debuggers_list_offsets_of_followers(world):
    world.cluster.replication.set_lag(3, 1_000, world.now_ms)
    put(world, b"x")
    Offsets = m.ListOffsetsRequest

    def latest(node, replica):
        wanted = Offsets.ListOffsetsPartition(partition_index=0, timestamp=-1)
        entry = Offsets.ListOffsetsTopic(name="t", partitions=[wanted])
        answer = only(world.client(node).ask(Offsets(replica_id=replica, topics=[entry]), 6))
        return answer.error_code, answer.offset

    assert latest(1, -1) == (0, 0)
    assert latest(1, -2) == latest(1, 3) == (0, 1)  # also what not all have
    for replica in (-1, 3):
        assert latest(2, replica) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)
    assert latest(2, -2) == (0, 1)
    assert latest(3, -2) == (0, 0)


def test_replicas_are_in_racks_of_their_own_and_who_is_down_leads_none(world):
    def placed(name, partitions, factor):
        topic = world.cluster.topics.create(name, partitions, replication_factor=factor)
        return [(part.replicas, part.isr, part.leader) for part in topic.partitions]

    assert [row[0] for row in placed("up", 3, 2)] == [[2, 1], [3, 1], [1, 2]]
    world.cluster.stop_node(1, world.now_ms)
    assert placed("a", 2, 2) == [([2, 1], [2], 2), ([3, 1], [3], 3)]
    world.cluster.start_node(1, world.now_ms)
    world.cluster.stop_node(2, world.now_ms)
    assert placed("b", 3, 2) == [
        ([1, 3], [1, 3], 1), ([3, 1], [3, 1], 3), ([3, 1], [3, 1], 3),
    ]  # fmt: skip
    assert placed("c", 1, 3) == [([1, 3, 2], [1, 3], 1)]
    assert placed("d", 1, 1) == [([3], [3], 3)]
