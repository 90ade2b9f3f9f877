"""Nodes that go and come back: leaders, groups, what clients are told."""

import pytest
from broker_world import World, batch, fetch, only, produce
from samples import sample

from kcore.coordinator import partition_for
from kcore.wire import messages as m
from kcore.wire.codes import ErrorCode


@pytest.fixture
def world():
    made = World(nodes=3)
    yield made
    assert not made.faults


def commit(world, node_id, group, offset):
    request = sample(m.OffsetCommitRequest, 8)
    request.group_id, request.member_id, request.group_instance_id = group, "", None
    request.generation_id_or_member_epoch = -1
    request.topics[0].partitions[0].committed_offset = offset
    return only(world.client(node_id).ask(request, 8)).error_code


def committed(world, node_id, group):
    topic = m.OffsetFetchRequest.OffsetFetchRequestTopic(name="t", partition_indexes=[0])
    answer = world.client(node_id).ask(m.OffsetFetchRequest(group_id=group, topics=[topic]), 7)
    return answer.error_code or only(answer).committed_offset


def test_groups_go_on_elsewhere_and_come_back(world):
    world.topic()
    keeper = world.cluster.coordinator_of("g")
    assert commit(world, keeper, "g", 5) == 0
    world.cluster.stop_node(keeper, world.now_ms)
    other = world.cluster.coordinator_of("g")
    assert other != keeper
    assert committed(world, other, "g") == 5
    assert commit(world, other, "g", 6) == 0
    world.cluster.start_node(keeper, world.now_ms)
    assert world.cluster.coordinator_of("g") == other
    assert committed(world, other, "g") == 6
    world.cluster.elect_preferred(world.now_ms)
    assert world.cluster.coordinator_of("g") == keeper
    assert committed(world, keeper, "g") == 6
    assert committed(world, other, "g") == ErrorCode.NOT_COORDINATOR


def test_a_coordinator_is_moved_and_goes_home_when_its_node_dies(world):
    world.topic()
    home = world.cluster.coordinator_of("g")
    other = home % 3 + 1
    assert commit(world, home, "g", 5) == 0
    partition = partition_for("g", 50)
    world.cluster.move_coordinator(partition, other, world.now_ms)
    assert world.cluster.coordinator_of("g") == other
    assert committed(world, home, "g") == ErrorCode.NOT_COORDINATOR
    assert committed(world, other, "g") == 5
    assert commit(world, other, "g", 6) == 0
    world.cluster.stop_node(other, world.now_ms)
    assert committed(world, home, "g") == 6


def test_a_parked_join_is_answered_when_its_coordinator_goes_home(world):
    keeper = world.cluster.coordinator_of("g")
    world.cluster.stop_node(keeper, world.now_ms)
    client = world.client(world.cluster.coordinator_of("g"))
    # A second member's join waits for the first one to join again.
    join = sample(m.JoinGroupRequest, 3)
    join.group_id, join.member_id = "g", ""
    join.session_timeout_ms = join.rebalance_timeout_ms = 10_000
    first = client.ask(join, 3)
    world.run(1)
    first = first or client.answer()
    assert not first.error_code
    client.send(join, 3)
    assert client.answer() is None
    world.cluster.start_node(keeper, world.now_ms)
    assert client.answer() is None
    world.cluster.elect_preferred(world.now_ms)
    world.drain()
    assert client.answer().error_code == ErrorCode.NOT_COORDINATOR


def test_a_dead_nodes_partitions_are_led_by_live_replicas(world):
    topic = world.topic("t", 3, replication_factor=2)
    before = [partition.leader for partition in topic.partitions]
    client = world.client(1)
    world.cluster.stop_node(1, world.now_ms)
    world.drain()
    assert client.closed
    after = [partition.leader for partition in topic.partitions]
    assert [new for old, new in zip(before, after, strict=True) if old != 1] == [
        old for old in before if old != 1
    ]
    assert 1 not in after
    answer = world.client(2).ask(m.MetadataRequest(topics=None), 9)
    assert [node.node_id for node in answer.brokers] == [2, 3]
    moved = answer.topics[0].partitions[before.index(1)]
    assert (moved.leader_epoch, moved.isr_nodes, moved.offline_replicas) == (
        1, [moved.leader_id], [1])  # fmt: skip
    assert answer.controller_id == 2


def test_without_live_replicas_nobody_leads_until_one_is_back(world):
    topic = world.topic("t")
    leader = topic.partitions[0].leader
    world.client(leader).ask(produce(batch(b"a")), 9)
    world.cluster.stop_node(leader, world.now_ms)
    other = world.client(world.cluster.live[0])
    told = other.ask(m.MetadataRequest(topics=None), 9).topics[0].partitions[0]
    assert (told.error_code, told.leader_id) == (ErrorCode.LEADER_NOT_AVAILABLE, -1)
    refused = only(other.ask(produce(batch(b"a")), 9))
    assert refused.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    world.cluster.start_node(leader, world.now_ms)
    back = only(world.client(leader).ask(fetch(), 12))
    assert (back.high_watermark, back.error_code) == (1, 0)


def test_all_nodes_may_go(world):
    world.topic("t", 3)
    for node_id in (1, 2, 3):
        world.cluster.stop_node(node_id, world.now_ms)
    world.drain()
    world.cluster.start_node(3, world.now_ms)
    answer = world.client(3).ask(m.MetadataRequest(topics=None), 9)
    assert [node.node_id for node in answer.brokers] == [3]
    assert world.cluster.coordinator_of("g") == 3


def test_every_replica_says_who_writes(world):
    """A Kafka's tools may ask any of them (KIP-664), to find out where they differ."""
    world.topic("t", assignments=[[1, 2]])
    data = batch(b"v", producer_id=5, producer_epoch=0, base_sequence=0)
    world.client(1).ask(produce(data), 9)
    Topic = m.DescribeProducersRequest.TopicRequest
    asked = m.DescribeProducersRequest(topics=[Topic(name="t", partition_indexes=[0])])
    found = [only(world.client(node).ask(asked, 0)) for node in (1, 2, 3)]
    assert [[one.producer_id for one in part.active_producers] for part in found] == [[5], [5], []]
    assert [part.error_code for part in found] == [0, 0, ErrorCode.NOT_LEADER_OR_FOLLOWER]
