"""A node: versions, turns, hostile clients, what is parked."""

import random
import struct

import pytest
from broker_world import World, batch, fetch, only, produce
from samples import sample

from kcore.broker import BrokerConfig
from kcore.wire import frames
from kcore.wire import messages as m
from kcore.wire.apis import API_TABLE, ApiKey
from kcore.wire.codes import ErrorCode

RELEASES = [(2, 1), (2, 4), (2, 8), (3, 0), (3, 5), (3, 7), (3, 9), (4, 0), (4, 3), (4, 4)]


def served(release=(4, 4)):
    world = World(config=BrokerConfig(release=release))
    return world.nodes[1].versions


@pytest.mark.parametrize("release", RELEASES, ids=str)
def test_api_versions_offer_what_the_release_has(release):
    world = World(config=BrokerConfig(release=release))
    answer = world.client().ask(m.ApiVersionsRequest(), 0)
    offered = {ApiKey(e.api_key): (e.min_version, e.max_version) for e in answer.api_keys}
    assert offered[ApiKey.PRODUCE][0] == 0
    assert (ApiKey.OFFSET_DELETE in offered) == (release >= (2, 4))
    assert (ApiKey.DESCRIBE_CLUSTER in offered) == (release >= (2, 8))
    assert all(low <= high <= API_TABLE[key].max_version for key, (low, high) in offered.items())
    assert offered[ApiKey.FETCH][1] == {(2, 1): 10, (4, 4): 18}.get(
        release, offered[ApiKey.FETCH][1]
    )


def test_api_versions_of_an_unknown_version_are_answered_in_v0(world, client):
    data = frames.encode_request(m.ApiVersionsRequest(), 4, 77, "test")
    client.raw(data[:6] + struct.pack(">h", 99) + data[8:])
    frame = memoryview(client.frames.popleft())[4:]
    answer = frames.decode_response(m.ApiVersionsResponse, 0, frame)
    assert frames.correlation_id(frame) == 77
    assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert answer.api_keys
    assert not client.closed


def test_another_api_in_an_unknown_version_ends_the_connection():
    world = World(config=BrokerConfig(release=(2, 1)))
    client = world.client()
    client.send(m.MetadataRequest(topics=None), 8)
    assert client.closed
    assert client.answer() is None


@pytest.mark.parametrize(
    ("key", "version"),
    [(key, version) for key, (low, high) in served().items() for version in range(low, high + 1)],
    ids=lambda value: getattr(value, "stem", str(value)),
)
def test_every_api_answers_in_every_version(world, client, key, version):
    """An empty request, and one that has something in every field."""
    topic_id = world.cluster.topics.get("t").topic_id
    for request in (API_TABLE[key].request(), sample(API_TABLE[key].request, version, topic_id)):
        if isinstance(request, m.FetchRequest):
            request.max_wait_ms = request.session_id = 0
        if isinstance(request, m.ProduceRequest):
            request.acks = 1
        answer = client.ask(request, version)
        world.run(400_000)  # a join may have been parked
        answer = answer or client.answer()
        assert answer is not None
        assert not world.faults
        assert not client.closed


def test_requests_of_a_connection_are_answered_in_their_order(client):
    first = frames.encode_request(fetch(max_wait_ms=500), 12, 1, "test")
    second = frames.encode_request(m.ApiVersionsRequest(), 2, 2, "test")
    client.raw(first + second)
    assert not client.frames
    client.world.run(500)
    answers = [frames.correlation_id(memoryview(frame)[4:]) for frame in client.frames]
    assert answers == [1, 2]


def test_who_does_not_read_gets_one_answer_at_a_time(world, client):
    client.reads = False
    for _ in range(3):
        client.send(m.MetadataRequest(topics=None))
    assert client.unread == 1
    client.read_on()
    assert len(client.frames) == 3


def test_what_waits_behind_a_parked_request_is_bounded(world, client):
    client.send(fetch(max_wait_ms=10_000), 12)
    number = 0
    while world.nodes[1].reads(client.number):
        number += 1
        client.raw(bytes(4))
        assert number < 10_000
    world.run(10_000)
    assert client.closed  # they were no requests


def test_a_parked_request_of_a_closed_connection_is_forgotten(world, client):
    node = world.nodes[1]
    client.send(fetch(max_wait_ms=10_000), 12)
    assert len(node.fetches) == 1
    client.close()
    assert (len(node.fetches), node.link_count) == (0, 0)
    other = world.client()
    other.ask(produce(batch(b"a")), 12)
    world.run(20_000)


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        struct.pack(">i", -1),
        struct.pack(">i", 0),
        struct.pack(">ihhi", 8, 9999, 0, 1),
        struct.pack(">ihhih", 10, 3, 0, 1, 5),
        struct.pack(">ihhihi", 14, 3, 1, 1, -1, 0x7FFFFFFF),
        struct.pack(">i", 0x7FFFFFFF),
    ],
    ids=["http", "negative", "empty", "api", "client id", "array", "endless"],
)
def test_a_frame_that_cannot_be_read_ends_its_connection_only(world, client, data):
    other = world.client()
    client.raw(data)
    assert client.closed
    assert other.ask(m.MetadataRequest(topics=None)).topics


def test_random_bytes_never_take_the_node_down(world):
    rng = random.Random(3)
    good = [
        frames.encode_request(produce(batch(b"a")), 9, 1, "c"),
        frames.encode_request(fetch(), 12, 1, "c"),
        frames.encode_request(sample(m.JoinGroupRequest, 9), 9, 1, "c"),
        frames.encode_request(sample(m.CreateTopicsRequest, 7), 7, 1, "c"),
    ]
    for _ in range(2_000):
        data = bytearray(rng.choice(good))
        for _ in range(rng.randrange(1, 6)):
            data[rng.randrange(4, len(data))] = rng.randrange(256)
        client = world.client()
        client.raw(
            bytes(data[: rng.randrange(len(data) + 1)]) if rng.random() < 0.2 else bytes(data)
        )
        client.close()
    assert not world.faults
    assert world.client().ask(m.MetadataRequest(topics=[])).brokers


def test_metadata_by_name_and_id(world, client):
    topic = world.topic("u", 3)
    answer = client.ask(m.MetadataRequest(topics=None))
    assert [(t.name, len(t.partitions)) for t in answer.topics] == [("t", 1), ("u", 3)]
    asked = m.MetadataRequest.MetadataRequestTopic
    by_id = client.ask(m.MetadataRequest(topics=[asked(topic_id=topic.topic_id, name=None)]), 12)
    assert by_id.topics[0].name == "u"
    unknown = client.ask(m.MetadataRequest(topics=[asked(topic_id=b"x" * 16, name=None)]), 12)
    assert (unknown.topics[0].name, unknown.topics[0].error_code) == (
        None, ErrorCode.UNKNOWN_TOPIC_ID)  # fmt: skip


def test_metadata_makes_topics_only_if_that_is_allowed(world, client):
    asked = [m.MetadataRequest.MetadataRequestTopic(name="new")]
    refused = client.ask(m.MetadataRequest(topics=asked, allow_auto_topic_creation=False), 9)
    assert refused.topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert not client.ask(m.MetadataRequest(topics=asked), 9).topics[0].error_code
    bad = [m.MetadataRequest.MetadataRequestTopic(name="a/b")]
    answer = client.ask(m.MetadataRequest(topics=bad), 9)
    assert answer.topics[0].error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    closed = World(config=BrokerConfig(auto_create_topics=False)).client()
    assert closed.ask(m.MetadataRequest(topics=asked), 9).topics[0].error_code


def test_produce_without_acks_has_no_answer_and_an_error_ends_the_connection(world, client):
    client.send(produce(batch(b"a"), acks=0), 9)
    assert client.ask(m.MetadataRequest(topics=None)) is not None
    client.send(produce(batch(b"a"), "missing", acks=0), 9)
    assert client.closed


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (produce(batch(b"a"), "nope"), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (produce(batch(b"a"), partition=1), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (produce(batch(b"a"), partition=-1), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (produce(batch(b"a"), acks=2), ErrorCode.INVALID_REQUIRED_ACKS),
        (produce(None), ErrorCode.INVALID_RECORD),
    ],
    ids=["topic", "partition", "negative", "acks", "null"],
)
def test_produce_is_refused(client, request_, code):
    assert only(client.ask(request_, 9)).error_code == code


def test_a_fetch_waits_for_min_bytes(world, client):
    writer = world.client()
    size = len(batch(b"a"))
    client.send(fetch(max_wait_ms=500, min_bytes=2 * size), 12)
    writer.ask(produce(batch(b"a")), 9)
    assert client.answer() is None
    writer.ask(produce(batch(b"a")), 9)
    answer = only(client.answer())
    assert (len(answer.records), answer.high_watermark) == (2 * size, 2)


def test_what_a_partition_gives_counts_up_to_what_is_asked_of_it(world, client):
    size = len(batch(b"x" * 1_000))
    for _ in range(3):
        client.ask(produce(batch(b"x" * 1_000)), 9)
    assert client.ask(fetch(limit=size, max_wait_ms=500, min_bytes=2 * size), 12) is None
    world.run(500)
    assert len(only(client.answer()).records) == size


def test_a_first_batch_that_is_too_large_counts_as_it_is_given(world, client):
    """Once somebody waits it counts as far as it was asked for."""
    size = len(batch(b"x" * 1_000))
    asked = {"limit": 100, "max_wait_ms": 500}
    client.send(fetch(min_bytes=size, **asked), 12)
    world.client().ask(produce(batch(b"x" * 1_000)), 9)
    assert client.answer() is None
    world.run(500)
    assert len(only(client.answer()).records) == size
    assert len(only(client.ask(fetch(min_bytes=size, **asked), 12)).records) == size
    assert client.ask(fetch(min_bytes=size + 1, **asked), 12) is None


def test_an_answer_that_lets_its_client_go_on_answers_nobody_twice(world, client):
    """Behind the one who waits stands a request that serves all who wait beside him."""
    other = world.client()
    client.send(fetch(max_wait_ms=10_000), 12)
    client.send(produce(batch(b"a")), 9)
    other.send(fetch(max_wait_ms=10_000), 12)
    world.client().ask(produce(batch(b"b")), 9)
    assert only(client.answer()).records
    assert only(client.answer()).base_offset == 1
    assert only(other.answer()).records
    assert not other.frames


def test_fetches_that_were_answered_leave_nothing(world, client):
    """Whatever their time would have been."""
    fetches = world.nodes[1].fetches
    writer = world.client()
    for number in range(1_000):
        client.send(fetch(number, max_wait_ms=10_000), 12)
        assert len(fetches) == 1
        writer.ask(produce(batch(b"a")), 9)
        assert only(client.answer()).records
        assert len(fetches._heap) <= 100
    client.send(fetch(1_000, max_wait_ms=20_000), 12)
    assert fetches.deadline() == world.now_ms + 20_000
    client.close()
    assert not len(fetches)
    assert not fetches._by_place


def test_a_fetch_is_answered_with_what_there_is_when_its_time_is_over(world, client):
    world.client().ask(produce(batch(b"a")), 9)
    client.send(fetch(max_wait_ms=500, min_bytes=10_000), 12)
    world.run(499)
    assert client.answer() is None
    world.run(1)
    assert only(client.answer()).records


def test_a_waiting_fetch_hears_of_a_deleted_topic(world, client):
    client.send(fetch(max_wait_ms=500), 12)
    world.client().ask(m.DeleteTopicsRequest(topic_names=["t"], timeout_ms=1_000), 5)
    told = only(client.answer())
    assert told.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert told.aborted_transactions is None  # it was there
    assert only(client.ask(fetch(), 12)).aborted_transactions == []


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (fetch(1), ErrorCode.OFFSET_OUT_OF_RANGE),
        (fetch(epoch=1), ErrorCode.UNKNOWN_LEADER_EPOCH),
        (fetch(topic="nope"), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (fetch(last_epoch=4), ErrorCode.OFFSET_OUT_OF_RANGE),
    ],
    ids=["offset", "epoch", "topic", "future epoch"],
)
def test_fetch_is_refused_at_once(client, request_, code):
    request_.max_wait_ms = 500
    assert only(client.ask(request_, 12)).error_code == code


def test_fetch_by_topic_id(world, client):
    topic = world.cluster.topics.get("t")
    world.client().ask(produce(batch(b"a")), 9)
    request = fetch()
    request.topics[0].topic_id = topic.topic_id
    assert only(client.ask(request, 13)).records
    request.topics[0].topic_id = b"x" * 16
    assert only(client.ask(request, 13)).error_code == ErrorCode.UNKNOWN_TOPIC_ID


def test_the_first_batch_is_given_whatever_its_size(world, client):
    client.ask(produce(batch(b"a" * 1_000)), 9)
    assert only(client.ask(fetch(limit=10), 12)).records


def test_only_the_leader_serves_a_partition():
    world = World(nodes=2)
    world.topic("t", 2)
    leaders = [partition.leader for partition in world.cluster.topics.get("t").partitions]
    assert leaders == [1, 2]
    client = world.client(1)
    assert not only(client.ask(produce(batch(b"a")), 9)).error_code
    wrong = only(client.ask(produce(batch(b"a"), partition=1), 9))
    assert wrong.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert only(client.ask(fetch(partition=1), 12)).error_code == wrong.error_code


def test_groups_are_kept_by_the_node_that_find_coordinator_names():
    world = World(nodes=3)
    for group in ("a", "b", "c", "d"):
        found = world.client(1).ask(m.FindCoordinatorRequest(coordinator_keys=[group]), 4)
        keeper = found.coordinators[0].node_id
        for node_id in world.nodes:
            asked = m.HeartbeatRequest(group_id=group, member_id="x")
            code = world.client(node_id).ask(asked, 4).error_code
            here = node_id == keeper
            assert code == (ErrorCode.UNKNOWN_MEMBER_ID if here else ErrorCode.NOT_COORDINATOR)


def test_a_parked_join_does_not_stop_others(world, client):
    join = sample(m.JoinGroupRequest, 3)
    join.group_id, join.member_id, join.session_timeout_ms = "g", "", 10_000
    client.send(join, 3)
    other = world.client()
    assert other.ask(m.MetadataRequest(topics=None)) is not None


def test_create_and_delete_topics(world, client):
    entry = m.CreateTopicsRequest.CreatableTopic
    config = m.CreateTopicsRequest.CreatableTopicConfig
    wanted = [
        entry(name="a", num_partitions=2, replication_factor=1),
        entry(name="t", num_partitions=1, replication_factor=1),
        entry(name="b", num_partitions=0, replication_factor=1),
        entry(name="c", num_partitions=1, replication_factor=3),
        entry(name="", num_partitions=1, replication_factor=1),
        entry(name="d", num_partitions=1, replication_factor=1,
              configs=[config(name="cleanup.policy", value="compress")]),
        entry(name="e", num_partitions=-1, replication_factor=-1,
              configs=[config(name="retention.ms", value="1000")]),
    ]  # fmt: skip
    answer = client.ask(m.CreateTopicsRequest(topics=wanted))
    assert {result.name: ErrorCode(result.error_code) for result in answer.topics} == {
        "a": ErrorCode.NONE,
        "t": ErrorCode.TOPIC_ALREADY_EXISTS,
        "b": ErrorCode.INVALID_PARTITIONS,
        "c": ErrorCode.INVALID_REPLICATION_FACTOR,
        "": ErrorCode.INVALID_TOPIC_EXCEPTION,
        "d": ErrorCode.INVALID_CONFIG,
        "e": ErrorCode.NONE,
    }
    resource = m.DescribeConfigsRequest.DescribeConfigsResource(
        resource_type=2, resource_name="e", configuration_keys=["retention.ms"]
    )
    shown = client.ask(m.DescribeConfigsRequest(resources=[resource])).results[0].configs
    assert [(option.name, option.value, option.config_source) for option in shown] == [
        ("retention.ms", "1000", 1)
    ]
    gone = client.ask(m.DeleteTopicsRequest(topic_names=["a", "nope"], timeout_ms=1_000), 5)
    assert [result.error_code for result in gone.responses] == [
        0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]  # fmt: skip
    assert [topic.name for topic in world.cluster.topics.topics()] == ["e", "t"]


def test_validate_only_changes_nothing(world, client):
    entry = m.CreateTopicsRequest.CreatableTopic(name="a", num_partitions=2, replication_factor=1)
    answer = client.ask(m.CreateTopicsRequest(topics=[entry], validate_only=True))
    assert not answer.topics[0].error_code
    more = m.CreatePartitionsRequest.CreatePartitionsTopic(name="t", count=5, assignments=None)
    answer = client.ask(
        m.CreatePartitionsRequest(topics=[more], timeout_ms=1_000, validate_only=True)
    )
    assert not answer.results[0].error_code
    assert [(t.name, len(t.partitions)) for t in world.cluster.topics.topics()] == [("t", 1)]
    assert (
        not client.ask(m.CreatePartitionsRequest(topics=[more], timeout_ms=1_000))
        .results[0]
        .error_code
    )
    assert len(world.cluster.topics.get("t").partitions) == 5


def test_old_records_go_when_their_time_is_over(world, client):
    world.topic("short", settings={"retention.ms": "1000"})
    client.ask(produce(batch(b"a"), "short"), 9)
    world.run(300_000)
    assert only(client.ask(fetch(0, "short"), 12)).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert only(client.ask(fetch(1, "short"), 12)).log_start_offset == 1


def test_producer_ids_are_never_given_twice(client):
    ids = {client.ask(m.InitProducerIdRequest(transactional_id=None)).producer_id for _ in "abc"}
    assert len(ids) == 3
    # Without a transactional id nobody goes on with what it had: that is the producer's business.
    known = m.InitProducerIdRequest(transactional_id=None, producer_id=1, producer_epoch=4)
    answer = client.ask(known)
    assert answer.producer_id not in ids
    assert answer.producer_epoch == 0
