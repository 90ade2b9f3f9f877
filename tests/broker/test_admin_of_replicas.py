"""Leaders elected on demand, replicas moved, logs measured, options replaced."""

import pytest
from broker_world import World, batch, fetch, only, produce

from kcore.wire import messages as m
from kcore.wire.codes import ErrorCode

PREFERRED, UNCLEAN = 0, 1


@pytest.fixture
def world():
    made = World(nodes=4)
    yield made
    assert not made.faults


@pytest.fixture
def partition(world):
    return world.topic("t", assignments=[[1, 2]]).partitions[0]


def put(world, partition, acks=-1):
    client = world.client(partition.leader)
    return only(client.ask(produce(batch(b"a"), acks=acks), 9)).error_code


# ElectLeaders ------------------------------------------------------------------------------------


def elect(client, kind, *numbers, version=2):
    cls = m.ElectLeadersRequest
    wanted = [cls.TopicPartitions(topic="t", partitions=list(numbers))] if numbers else None
    answer = client.ask(cls(election_type=kind, topic_partitions=wanted), version)
    assert answer.error_code == 0
    return {
        result.partition_id: result.error_code
        for topic in answer.replica_election_results
        for result in topic.partition_result
    }


def test_the_preferred_leader_is_elected_when_asked_for(world, partition):
    client = world.client(3)
    assert elect(client, PREFERRED, 0) == {0: ErrorCode.ELECTION_NOT_NEEDED}
    world.cluster.stop_node(1, world.now_ms)
    assert elect(client, PREFERRED, 0) == {0: ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE}
    world.cluster.start_node(1, world.now_ms)
    assert elect(client, PREFERRED, 0) == {0: 0}
    assert (partition.leader, partition.leader_epoch) == (1, 2)
    assert elect(client, PREFERRED, 7) == {7: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}


def test_who_is_not_in_sync_is_not_elected(world, partition):
    client = world.client(3)
    world.cluster.replication.set_lag(1, 5_000, world.now_ms)
    world.cluster.stop_node(1, world.now_ms)
    put(world, partition)
    world.cluster.start_node(1, world.now_ms)
    assert (partition.leader, partition.isr) == (2, [2])
    assert elect(client, PREFERRED, 0) == {0: ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE}
    assert partition.leader == 2


def test_who_was_the_last_in_sync_is_not_elected_while_it_is_down(world, partition):
    client = world.client(3)
    world.cluster.stop_node(2, world.now_ms)
    world.cluster.stop_node(1, world.now_ms)
    assert (partition.leader, partition.isr) == (-1, [1])
    assert elect(client, PREFERRED, 0) == {0: ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE}


def test_of_all_partitions_those_that_need_no_election_are_not_spoken_of(world, partition):
    client = world.client(3)
    assert elect(client, PREFERRED) == {}
    answer = client.ask(m.ElectLeadersRequest(election_type=PREFERRED, topic_partitions=None), 2)
    assert [one.topic for one in answer.replica_election_results] == ["t"]  # but it is named
    world.cluster.move_leader_of(partition, 2, world.now_ms)
    assert elect(client, PREFERRED) == {0: 0}


def test_any_replica_is_elected_when_asked_for(world, partition):
    client = world.client(3)
    assert elect(client, UNCLEAN, 0) == {0: ErrorCode.ELECTION_NOT_NEEDED}
    world.cluster.stop_node(2, world.now_ms)
    put(world, partition)
    world.cluster.stop_node(1, world.now_ms)
    assert elect(client, UNCLEAN, 0) == {0: ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE}
    world.cluster.start_node(2, world.now_ms)
    assert partition.leader == -1
    assert elect(client, UNCLEAN, 0) == {0: 0}
    assert (partition.leader, partition.log.end_offset) == (2, 0)


def test_an_election_of_an_unknown_kind_is_refused(world):
    answer = world.client().ask(m.ElectLeadersRequest(election_type=9, topic_partitions=None))
    assert answer.error_code == ErrorCode.INVALID_REQUEST


# Reassignments -----------------------------------------------------------------------------------


def reassign(client, nodes, number=0, *, may_resize=True):
    cls = m.AlterPartitionReassignmentsRequest
    wanted = cls.ReassignablePartition(partition_index=number, replicas=nodes)
    entry = cls.ReassignableTopic(name="t", partitions=[wanted])
    answer = client.ask(cls(topics=[entry], allow_replication_factor_change=may_resize))
    return answer.responses[0].partitions[0].error_code


def under_way(client):
    answer = client.ask(m.ListPartitionReassignmentsRequest())
    return [
        (one.partition_index, one.replicas, one.adding_replicas, one.removing_replicas)
        for topic in answer.topics
        for one in topic.partitions
    ]


def test_replicas_move_to_other_nodes(world, partition):
    put(world, partition)
    assert reassign(world.client(1), [3, 4]) == 0
    assert (partition.replicas, sorted(partition.logs), partition.leader) == ([3, 4], [3, 4], 3)
    assert sorted(partition.isr) == [3, 4]
    assert [log.end_offset for log in partition.logs.values()] == [1, 1]
    assert put(world, partition) == 0
    assert under_way(world.client(1)) == []


def test_a_leader_that_stays_goes_on(world, partition):
    assert reassign(world.client(1), [3, 1, 4]) == 0
    told = partition.leader, partition.leader_epoch, sorted(partition.isr)
    assert told == (1, 0, [1, 3, 4])


def test_the_old_replicas_stay_until_the_new_ones_have_everything(world, partition):
    world.cluster.replication.set_lag(3, 100, world.now_ms)
    put(world, partition)
    client = world.client(1)
    assert reassign(client, [3]) == 0
    assert under_way(client) == [(0, [3, 1, 2], [3], [1, 2])]
    assert partition.leader == 1
    assert put(world, partition) == 0
    world.run(100)
    assert (partition.leader, partition.replicas, partition.log.end_offset) == (3, [3], 2)
    assert under_way(client) == []


def test_a_reassignment_can_be_called_off(world, partition):
    world.cluster.replication.set_lag(3, 100, world.now_ms)
    client = world.client(1)
    assert reassign(client, None) == ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
    reassign(client, [3])
    assert reassign(client, None) == 0
    world.run(1_000)
    assert (partition.replicas, sorted(partition.logs), partition.leader) == ([1, 2], [1, 2], 1)


def test_those_that_stay_are_neither_added_nor_removed(world, partition):
    world.cluster.replication.set_lag(3, 100, world.now_ms)
    put(world, partition)
    client = world.client(1)
    assert reassign(client, [1, 3]) == 0
    assert under_way(client) == [(0, [1, 3, 2], [3], [2])]
    world.run(100)
    assert (partition.replicas, sorted(partition.logs)) == ([1, 3], [1, 3])


def test_one_old_replica_in_sync_is_enough_to_go_back_to(world, partition):
    world.cluster.replication.set_lag(4, 5_000, world.now_ms)
    client = world.client(3)
    reassign(client, [3, 4])
    put(world, partition)
    for node_id in (1, 2):
        world.cluster.stop_node(node_id, world.now_ms)
    assert partition.leader == 3
    world.cluster.start_node(2, world.now_ms)
    world.run(1_000)
    assert sorted(partition.isr) == [2, 3]
    assert reassign(client, None) == 0
    assert (partition.replicas, partition.leader, partition.isr) == ([1, 2], 2, [2])
    assert put(world, partition) == 0


def test_a_new_replica_that_alone_has_everything_stays(world, partition):
    world.cluster.replication.set_lag(4, 5_000, world.now_ms)
    client = world.client(3)
    reassign(client, [3, 4])
    for node_id in (1, 2):
        world.cluster.stop_node(node_id, world.now_ms)
    put(world, partition)
    assert (partition.leader, partition.isr) == (3, [3])
    assert reassign(client, None) == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert partition.leader == 3


@pytest.mark.parametrize("back", [True, False])
def test_what_only_a_new_replica_has_is_given_up_where_that_may_be(world, back):
    settings = {"unclean.leader.election.enable": "true"}
    (partition,) = world.topic("t", assignments=[[1, 2]], settings=settings).partitions
    world.cluster.replication.set_lag(4, 5_000, world.now_ms)
    client = world.client(3)
    reassign(client, [3, 4])
    for node_id in (1, 2):
        world.cluster.stop_node(node_id, world.now_ms)
    put(world, partition)
    if back:
        world.cluster.replication.cut(2, 3, world.now_ms)
        world.cluster.start_node(2, world.now_ms)
    assert (partition.leader, partition.isr) == (3, [3])
    assert reassign(client, None) == 0
    assert (partition.leader, partition.isr) == ((2, [2]) if back else (-1, [1]))
    assert sorted(partition.logs) == ([1, 2] if back else [1, 2, 3])
    if not back:
        world.cluster.start_node(2, world.now_ms)
        assert (partition.leader, partition.isr) == (2, [2])
    assert put(world, partition) == 0
    assert (partition.replicas, under_way(client)) == ([1, 2], [])


def test_another_order_is_nothing_that_takes_time(world, partition):
    """Though one of them has not everything."""
    world.cluster.replication.cut(1, 2, world.now_ms)
    put(world, partition, acks=1)
    world.run(60_000)
    assert partition.isr == [1]
    client = world.client(1)
    assert reassign(client, [2, 1]) == 0
    assert (partition.replicas, partition.leader, under_way(client)) == ([2, 1], 1, [])
    assert reassign(client, None) == ErrorCode.NO_REASSIGNMENT_IN_PROGRESS


def test_who_is_to_come_is_enough_unless_more_go(world):
    """Then all that stay have to be in sync."""
    replication = world.cluster.replication
    (partition,) = world.topic("t", assignments=[[1, 2, 3]]).partitions
    replication.set_lag(4, 100, world.now_ms)
    replication.cut(1, 3, world.now_ms)
    put(world, partition, acks=1)
    world.run(60_000)
    assert sorted(partition.isr) == [1, 2]
    client = world.client(1)
    assert reassign(client, [1, 3]) == 0
    world.run(10_000)
    assert under_way(client) == [(0, [1, 3, 2], [], [2])]
    assert reassign(client, None) == 0
    put(world, partition)
    assert reassign(client, [1, 3, 4]) == 0
    assert under_way(client) == [(0, [1, 3, 4, 2], [4], [2])]
    world.run(100)
    assert under_way(client) == []
    assert (partition.replicas, sorted(partition.isr)) == ([1, 3, 4], [1, 4])


def test_a_plan_in_the_place_of_another_goes_on_from_there(world, partition):
    """As at a Kafka 4.3.1: who was to come or to go is so still, where nobody else is."""
    world.cluster.replication.set_lag(3, 5_000, world.now_ms)
    put(world, partition)
    client = world.client(1)
    assert reassign(client, [1, 2, 3]) == 0
    assert under_way(client) == [(0, [1, 2, 3], [3], [])]
    assert reassign(client, [1, 2], may_resize=False) == ErrorCode.INVALID_REPLICATION_FACTOR
    for nodes, told in (
        ([3], [3, 1, 2]), ([2, 3], [2, 3, 1]), ([2], [2, 1, 3]),
    ):  # fmt: skip
        assert reassign(client, nodes) == 0
        going = sorted(set(told) - set(nodes))
        assert under_way(client) == [(0, told, [3], going)]
    assert reassign(client, [2], may_resize=False) == 0
    assert reassign(client, [2, 1, 3]) == 0
    assert under_way(client) == [(0, [2, 1, 3], [3], [1, 3])]
    assert reassign(client, None) == 0
    assert (partition.replicas, under_way(client)) == ([2, 1], [])
    assert sorted(partition.logs) == [1, 2]


def test_who_is_to_come_and_to_go_at_once_never_has(world, partition):
    """As at a Kafka 4.3.1, until it is called off."""
    world.cluster.replication.set_lag(3, 100, world.now_ms)
    put(world, partition)
    client = world.client(1)
    assert reassign(client, [1, 2, 3]) == reassign(client, [1, 2]) == 0
    world.run(10_000)
    assert sorted(partition.isr) == [1, 2, 3]
    assert under_way(client) == [(0, [1, 2, 3], [3], [3])]
    assert reassign(client, None) == 0
    assert (under_way(client), partition.replicas, partition.isr) == ([], [1, 2], [1, 2])


def test_who_goes_stands_last_and_all_in_order(world):
    (partition,) = world.topic("t", assignments=[[2, 1]]).partitions
    for node_id in (3, 4):
        world.cluster.replication.set_lag(node_id, 100, world.now_ms)
    put(world, partition)
    client = world.client(1)
    assert reassign(client, [4, 3]) == 0
    assert under_way(client) == [(0, [4, 3, 1, 2], [3, 4], [1, 2])]


def test_who_waits_hears_of_a_leader_that_came_with_its_replicas(world, partition):
    waiting = world.client(1)
    asked = fetch(max_wait_ms=10_000, min_bytes=1)
    waiting.send(asked, 12)
    assert waiting.answer() is None
    assert reassign(world.client(2), [3, 4]) == 0
    assert only(waiting.answer()).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_a_dead_node_is_waited_for(world, partition):
    world.cluster.stop_node(3, world.now_ms)
    assert reassign(world.client(1), [3]) == 0
    world.run(60_000)
    assert partition.leader == 1
    world.cluster.start_node(3, world.now_ms)
    assert (partition.leader, partition.replicas) == (3, [3])


@pytest.mark.parametrize(
    ("nodes", "number", "code"),
    [
        ([], 0, ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ([1, 1], 0, ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ([9], 0, ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ([1], 5, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ],
)
def test_reassignments_that_cannot_be(world, partition, nodes, number, code):
    client = world.client(1)
    assert reassign(client, nodes, number) == code
    assert under_way(client) == []


def test_the_number_of_replicas_stays_if_so_told(world, partition):
    client = world.client(1)
    code = reassign(client, [3], may_resize=False)
    assert code == ErrorCode.INVALID_REPLICATION_FACTOR
    assert reassign(client, [3, 4], may_resize=False) == 0
    assert partition.replicas == [3, 4]


# DescribeLogDirs ---------------------------------------------------------------------------------


def test_logs_are_measured(world, partition):
    put(world, partition)
    world.cluster.replication.cut(1, 2, world.now_ms)
    world.run(30_000)
    put(world, partition, acks=1)
    world.run(30_000)
    size = len(batch(b"a"))
    for node_id, expected in ((1, (2 * size, 0)), (2, (size, 1)), (3, None)):
        (place,) = world.client(node_id).ask(m.DescribeLogDirsRequest(topics=None)).results
        found = [
            (one.partition_size, one.offset_lag)
            for topic in place.topics
            for one in topic.partitions
        ]
        assert found == ([] if expected is None else [expected])
    cls = m.DescribeLogDirsRequest
    wanted = cls.DescribableLogDirTopic(topic="t", partitions=[5])
    assert world.client(1).ask(cls(topics=[wanted])).results[0].topics == []


# AlterConfigs ------------------------------------------------------------------------------------


def test_options_are_replaced_as_a_whole(world):
    topic = world.topic("c", settings={"retention.ms": "5", "segment.ms": "7"})
    cls = m.AlterConfigsRequest

    def alter(name, value):
        wanted = cls.AlterConfigsResource(
            resource_type=2,
            resource_name="c",
            configs=[cls.AlterableConfig(name=name, value=value)],
        )
        return world.client().ask(cls(resources=[wanted])).responses[0].error_code

    assert alter("retention.ms", "6") == 0
    assert topic.settings == {"retention.ms": "6"}
    assert (topic.config.retention_ms, topic.config.segment_ms) == (6, 604_800_000)
    assert alter("retention.ms", "x") == ErrorCode.INVALID_CONFIG
    assert alter("retention.ms", None) == ErrorCode.INVALID_REQUEST
    assert topic.settings == {"retention.ms": "6"}
