"""Topics made, extended, described; codes and words are those a Kafka 4.3.1 gave."""

import pytest
from broker_world import World

from kcore.broker import BrokerConfig, topics
from kcore.broker.config import PARTITIONS_MAX, PARTITIONS_TOTAL_MAX
from kcore.wire import messages as m
from kcore.wire.codes import ErrorCode

Create = m.CreateTopicsRequest
Extend = m.CreatePartitionsRequest


def create(client, name, partitions=1, factor=1, *, assignments=(), settings=(), dry_run=False):
    entry = Create.CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=factor,
        assignments=[
            Create.CreatableReplicaAssignment(partition_index=number, broker_ids=nodes)
            for number, nodes in assignments
        ],
        configs=[Create.CreatableTopicConfig(name=n, value=v) for n, v in settings],
    )
    return client.ask(Create(topics=[entry], validate_only=dry_run)).topics[0]


def extend(client, name, count, assignments=None):
    given = assignments and [Extend.CreatePartitionsAssignment(broker_ids=a) for a in assignments]
    entry = Extend.CreatePartitionsTopic(name=name, count=count, assignments=given)
    result = client.ask(Extend(topics=[entry], timeout_ms=1_000)).results[0]
    return result.error_code, result.error_message


@pytest.mark.parametrize(
    ("options", "code", "why"),
    [
        ({"name": "a b"}, ErrorCode.INVALID_TOPIC_EXCEPTION,
         ("Topic name is invalid: 'a b' contains one or more characters other than ASCII"
         " alphanumerics, '.', '_' and '-'")),
        ({"name": ".."}, ErrorCode.INVALID_TOPIC_EXCEPTION,
         "Topic name is invalid: '..' is not allowed"),
        ({"name": ""}, ErrorCode.INVALID_TOPIC_EXCEPTION,
         "Topic name is invalid: the empty string is not allowed"),
        ({"name": "x" * 250}, ErrorCode.INVALID_TOPIC_EXCEPTION, "Topic name is invalid: it is"),
        ({"name": "t"}, ErrorCode.TOPIC_ALREADY_EXISTS, "Topic 't' already exists."),
        ({"name": "b", "partitions": 0}, ErrorCode.INVALID_PARTITIONS,
         "Number of partitions was set to an invalid non-positive value."),
        ({"name": "b", "partitions": -2}, ErrorCode.INVALID_PARTITIONS, "Number of partitions was"),
        ({"name": "b", "factor": 0}, ErrorCode.INVALID_REPLICATION_FACTOR,
         "Replication factor must be larger than 0, or -1 to use the default value."),
        ({"name": "b", "factor": 3}, ErrorCode.INVALID_REPLICATION_FACTOR,
         "The target replication factor of 3 cannot be reached because only 1 broker(s)"),
        ({"name": "b", "settings": [("nope", "1")]}, ErrorCode.INVALID_CONFIG,
         "Unknown topic config name: nope"),
        ({"name": "b", "settings": [("retention.ms", None)]}, ErrorCode.INVALID_CONFIG,
         "Null value not supported for topic configs: retention.ms"),
        ({"name": "b", "assignments": [(0, [1])]}, ErrorCode.INVALID_REQUEST,
         "A manual partition assignment was specified, but replication factor was not set to -1."),
        ({"name": "b", "partitions": -1, "factor": -1, "assignments": [(1, [1])]},
         ErrorCode.INVALID_REPLICA_ASSIGNMENT,
         "partitions should be a consecutive 0-based integer sequence"),
        ({"name": "b", "partitions": -1, "factor": -1, "assignments": [(0, [9])]},
         ErrorCode.INVALID_REPLICA_ASSIGNMENT,
         "The manual partition assignment includes broker 9, but no such broker is registered."),
        ({"name": "b", "partitions": -1, "factor": -1, "assignments": [(0, [1, 1])]},
         ErrorCode.INVALID_REPLICA_ASSIGNMENT,
         "The manual partition assignment includes the broker 1 more than once."),
        ({"name": "b", "partitions": -1, "factor": -1, "assignments": [(0, [])]},
         ErrorCode.INVALID_REPLICA_ASSIGNMENT,
         "The manual partition assignment includes an empty replica list."),
    ],
    ids=lambda value: str(value)[:40],
)  # fmt: skip
def test_topics_that_cannot_be(world, client, options, code, why):
    result = create(client, **options)
    assert result.error_code == code
    assert result.error_message.startswith(why)
    assert len(world.cluster.topics.topics()) == 1


def test_a_new_topic_is_described(world, client):
    result = create(client, "a", 2, settings=[("retention.ms", "5")])
    assert (result.error_code, result.num_partitions, result.replication_factor) == (0, 2, 1)
    assert result.topic_id == world.cluster.topics.get("a").topic_id
    assert len(result.configs) == 37
    assert [(c.value, c.config_source) for c in result.configs if c.name == "retention.ms"] == [
        ("5", 1)]  # fmt: skip


def test_trying_makes_nothing(world, client):
    result = create(client, "a", 2, dry_run=True)
    assert (result.error_code, result.num_partitions, len(result.configs)) == (0, 2, 37)
    assert world.cluster.topics.get("a") is None


def test_names_that_differ_in_dots_only_collide(world, client):
    assert not create(client, "g.x").error_code
    result = create(client, "g_x")
    assert result.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert result.error_message == "Topic 'g_x' collides with existing topic: g.x"
    world.cluster.delete(world.cluster.topics.get("g.x"), world.now_ms)
    assert not create(client, "g_x").error_code


def test_names_that_collide_in_one_request_are_both_made_as_kafka_does(world, client):
    entries = [
        Create.CreatableTopic(name=name, num_partitions=1, replication_factor=1)
        for name in ("h.x", "h_x")
    ]
    answer = client.ask(Create(topics=entries))
    assert [result.error_code for result in answer.topics] == [0, 0]
    world.cluster.delete(world.cluster.topics.get("h.x"), world.now_ms)
    result = create(client, "h.x")
    assert result.error_message == "Topic 'h.x' collides with existing topic: h_x"
    world.cluster.delete(world.cluster.topics.get("h_x"), world.now_ms)
    assert not create(client, "h.x").error_code


def test_replicas_go_where_they_are_put():
    world = World(nodes=3)
    result = create(world.client(), "a", -1, -1, assignments=[(0, [3, 1]), (1, [2, 3])])
    assert (result.num_partitions, result.replication_factor) == (2, 2)
    partitions = world.cluster.topics.get("a").partitions
    assert [(one.leader, one.replicas, sorted(one.logs)) for one in partitions] == [
        (3, [3, 1], [1, 3]), (2, [2, 3], [2, 3])]  # fmt: skip


def test_all_partitions_have_the_same_number_of_replicas():
    world = World(nodes=3)
    result = create(world.client(), "a", -1, -1, assignments=[(0, [1, 2]), (1, [3])])
    assert result.error_code == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert result.error_message == (
        "The manual partition assignment includes a partition with 1 replica(s), but this is not"
        " consistent with previous partitions, which have 2 replica(s)."
    )
    create(world.client(), "a", -1, -1, assignments=[(0, [1, 2]), (1, [3, 1])])
    assert extend(world.client(), "a", 3, [[3]])[0] == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert extend(world.client(), "a", 3, [[3, 2]]) == (0, None)


def test_defaults_are_the_clusters():
    world = World(nodes=3, config=BrokerConfig(num_partitions=2, default_replication_factor=3))
    result = create(world.client(), "a", -1, -1)
    assert (result.num_partitions, result.replication_factor) == (2, 3)
    world.client().ask(
        m.MetadataRequest(topics=[m.MetadataRequest.MetadataRequestTopic(name="b")]), 8
    )
    assert [sorted(one.replicas) for one in world.cluster.topics.get("b").partitions] == [
        [1, 2, 3], [1, 2, 3]]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "count", "assignments", "code", "why"),
    [
        ("t", 1, None, ErrorCode.INVALID_PARTITIONS, "Topic already has 1 partition(s)."),
        ("t", 0, None, ErrorCode.INVALID_PARTITIONS,
         "The topic t currently has 1 partition(s); 0 would not be an increase."),
        ("nope", 2, None, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, None),
        ("t", 3, [[1]], ErrorCode.INVALID_REPLICA_ASSIGNMENT,
         "Attempted to add 2 additional partition(s), but only 1 assignment(s) were specified."),
        ("t", 2, [[9]], ErrorCode.INVALID_REPLICA_ASSIGNMENT,
         "The manual partition assignment includes broker 9, but no such broker is registered."),
        ("t", 20_000, None, ErrorCode.POLICY_VIOLATION,
         "Excessively large number of additional partitions per request."),
        ("t", 10_001, None, ErrorCode.POLICY_VIOLATION, "10001 partitions are more than 10000"),
    ],
)  # fmt: skip
def test_partitions_that_cannot_be(world, client, name, count, assignments, code, why):
    assert extend(client, name, count, assignments) == (code, why)
    assert len(world.cluster.topics.get("t").partitions) == 1


def describe(client, *names, limit=2_000, cursor=None):
    cls = m.DescribeTopicPartitionsRequest
    at = cursor and cls.Cursor(topic_name=cursor[0], partition_index=cursor[1])
    request = cls(
        topics=[cls.TopicRequest(name=name) for name in names],
        response_partition_limit=limit,
        cursor=at,
    )
    answer = client.ask(request)
    after = answer.next_cursor
    found = [
        (topic.name, topic.error_code, [part.partition_index for part in topic.partitions])
        for topic in answer.topics
    ]
    return found, after and (after.topic_name, after.partition_index)


def test_topics_are_described_in_pieces(world, client):
    for name, partitions in (("a", 3), ("b", 2), ("c", 1)):
        world.topic(name, partitions)
    first = describe(client, "b", "a", "c", "nope", limit=4)
    assert first == ([("a", 0, [0, 1, 2]), ("b", 0, [0])], ("b", 1))
    assert describe(client, "a", "b", "c", "nope", limit=4, cursor=first[1]) == (
        [("b", 0, [1]), ("c", 0, [0]), ("nope", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, [])], None
    )  # fmt: skip
    assert describe(client, limit=3) == ([("a", 0, [0, 1, 2])], ("b", 0))
    assert [topic for topic, *_ in describe(client)[0]] == ["a", "b", "c", "t"]


def test_a_piece_says_who_leads():
    world = World(nodes=2)
    world.topic("a", assignments=[[1, 2]])
    world.cluster.stop_node(1, world.now_ms)
    request = m.DescribeTopicPartitionsRequest(
        topics=[m.DescribeTopicPartitionsRequest.TopicRequest(name="a")]
    )
    (part,) = world.client(2).ask(request).topics[0].partitions
    assert (part.leader_id, part.leader_epoch, part.isr_nodes, part.offline_replicas) == (
        2, 1, [2], [1])  # fmt: skip


def test_a_topic_that_does_not_exist_waits_for_its_turn(client):
    """As in a Kafka: who has got as much as he wants asks for it next."""
    assert describe(client, "t", "u", limit=1) == ([("t", 0, [0])], ("u", 0))
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert describe(client, "t", "u", limit=1, cursor=("u", 0)) == ([("u", unknown, [])], None)


def test_a_cursor_before_the_first_partition_is_refused(client):
    assert describe(client, "t", cursor=("t", -1)) == (
        [("t", ErrorCode.INVALID_REQUEST, [])], None
    )  # fmt: skip


def test_what_is_only_tried_takes_no_room():
    world = World(nodes=3)
    client = world.client()
    for number in range(PARTITIONS_TOTAL_MAX // PARTITIONS_MAX + 1):
        assert create(client, f"t{number}", PARTITIONS_MAX, dry_run=True).error_code == 0
    assert create(client, "t", PARTITIONS_MAX + 1, dry_run=True).error_code
    assert world.cluster.topics.version == 0
    assert create(client, "first").error_code == create(client, "t", 2).error_code == 0
    placed = [part.replicas for part in world.cluster.topics.get("t").partitions]
    assert placed == [[2], [3]]  # going round from where the first one is
    assert world.cluster.topics.version == 2


def test_there_are_no_more_topics_than_may_be(monkeypatch):
    monkeypatch.setattr(topics, "TOPICS_MAX", 2)
    client = World().client()
    codes = [create(client, name).error_code for name in "abc"]
    assert codes == [0, 0, ErrorCode.POLICY_VIOLATION]


def test_there_are_no_more_partitions_than_may_be(monkeypatch):
    monkeypatch.setattr(topics, "PARTITIONS_TOTAL_MAX", 5)
    world = World()
    client = world.client()
    assert create(client, "t", 3).error_code == 0
    assert create(client, "u", 3).error_code == ErrorCode.POLICY_VIOLATION
    assert create(client, "u", 2).error_code == 0
    assert extend(client, "t", 4)[0] == ErrorCode.POLICY_VIOLATION
    client.ask(m.DeleteTopicsRequest(topic_names=["u"], timeout_ms=1_000), 5)
    assert extend(client, "t", 5)[0] == 0


def test_the_longest_name_that_may_be():
    assert create(World().client(), "x" * 249).error_code == 0
