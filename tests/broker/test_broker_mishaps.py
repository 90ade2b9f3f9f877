"""Mishaps on purpose, and leaders that move."""

import pytest
from broker_world import World, batch, fetch, only, produce
from samples import sample

from kcore.broker import Kind, Mishap
from kcore.errors import UsageError
from kcore.wire import messages as m
from kcore.wire.apis import API_TABLE, ApiKey
from kcore.wire.codes import ErrorCode

ERROR = ErrorCode.UNKNOWN_SERVER_ERROR
VERSIONS = [
    (key, version)
    for key, (low, high) in World().nodes[1].versions.items()
    for version in range(low, high + 1)
]


def codes(message):
    """Every error code in a message."""
    found = []
    for name, *_ in message.FIELDS:
        value = getattr(message, name)
        found += [value] if name in {"error_code", "partition_error_code"} else []
        if isinstance(value, list):
            found += [code for one in value if hasattr(one, "FIELDS") for code in codes(one)]
    return found


@pytest.mark.parametrize(
    ("key", "version"), VERSIONS, ids=lambda value: getattr(value, "stem", str(value))
)
def test_every_api_can_be_refused_in_every_version(world, client, key, version):
    world.cluster.mishaps.add(Mishap(key, Kind.REFUSED, error=ERROR))
    topic_id = world.cluster.topics.get("t").topic_id
    request = sample(API_TABLE[key].request, version, topic_id)
    if isinstance(request, m.ProduceRequest):
        request.acks = 1
    answer = client.ask(request, version)
    assert ERROR in codes(answer)
    assert len(world.cluster.mishaps) == 0
    assert world.cluster.topics.get("t").partitions[0].log.end_offset == 0


def test_a_refused_fetch_says_it_of_the_partition(world, client):
    refused = Mishap(ApiKey.FETCH, Kind.REFUSED, 2, error=ErrorCode.NOT_LEADER_OR_FOLLOWER)
    world.cluster.mishaps.add(refused)
    for _ in range(2):
        answer = client.ask(fetch(), 12)
        assert (answer.error_code, answer.responses[0].topic) == (0, "t")
        assert only(answer).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert not only(client.ask(fetch(), 12)).error_code


@pytest.mark.parametrize("epoch", [0, 1])
def test_a_share_session_that_was_refused_has_not_begun(world, client, epoch):
    """Who is told of partitions only goes on in it."""
    error = ErrorCode.NOT_LEADER_OR_FOLLOWER
    world.cluster.mishaps.add(Mishap(ApiKey.SHARE_FETCH, Kind.REFUSED, error=error))
    topic = m.ShareFetchRequest.FetchTopic(
        topic_id=world.cluster.topics.get("t").topic_id,
        partitions=[m.ShareFetchRequest.FetchPartition(partition_index=0)],
    )
    request = m.ShareFetchRequest(
        group_id="g", member_id="m" * 22, share_session_epoch=epoch, topics=[topic]
    )
    answer = client.ask(request, 1)
    assert only(answer).error_code == error
    assert answer.error_code == (ErrorCode.NONE if epoch else error)


def test_a_cut_request_is_not_served(world, client):
    world.cluster.mishaps.add(Mishap(ApiKey.PRODUCE, Kind.CUT))
    client.send(produce(batch(b"a")), 9)
    assert client.closed
    assert world.cluster.topics.get("t").partitions[0].log.end_offset == 0


@pytest.mark.parametrize("acks", [-1, 1, 0])
def test_an_answer_that_is_lost_was_meant(world, client, acks):
    world.cluster.mishaps.add(Mishap(ApiKey.PRODUCE, Kind.LOST))
    client.send(produce(batch(b"a"), acks=acks), 9)
    client.send(m.MetadataRequest(topics=None))
    world.run(0)
    assert client.closed
    assert not client.frames
    assert world.cluster.topics.get("t").partitions[0].log.end_offset == 1
    assert len(world.cluster.mishaps) == 0
    assert world.client().ask(produce(batch(b"a")), 9).responses


def test_the_answer_that_somebody_waits_for_is_lost_too(world, client):
    world.cluster.mishaps.add(Mishap(ApiKey.FETCH, Kind.LOST))
    client.send(fetch(max_wait_ms=500), 12)
    world.run(100)
    assert not client.closed
    other = world.client()
    other.send(fetch(max_wait_ms=500), 12)
    other.send(produce(batch(b"a"), acks=0), 9)
    world.client().ask(produce(batch(b"a")), 9)
    world.run(0)
    assert client.closed
    assert not client.frames
    assert only(other.answer()).records
    assert not world.faults


def test_a_delayed_request_is_served_later_and_holds_back_the_next(world, client):
    world.cluster.mishaps.add(Mishap(ApiKey.METADATA, Kind.DELAYED, delay_ms=100))
    client.send(m.MetadataRequest(topics=None))
    client.send(m.DescribeClusterRequest())
    world.run(99)
    assert client.answer() is None
    world.run(1)
    assert isinstance(client.answer(), m.MetadataResponse)
    assert isinstance(client.answer(), m.DescribeClusterResponse)


def test_a_delayed_request_of_a_closed_connection_is_forgotten(world, client):
    world.cluster.mishaps.add(Mishap(ApiKey.PRODUCE, Kind.DELAYED, delay_ms=100))
    client.send(produce(batch(b"a"), acks=0), 9)
    client.close()
    world.run(200)
    assert world.cluster.topics.get("t").partitions[0].log.end_offset == 0


def test_a_delayed_request_without_answer_lets_the_next_one_begin(world, client):
    world.cluster.mishaps.add(Mishap(ApiKey.PRODUCE, Kind.DELAYED, delay_ms=100))
    client.send(produce(batch(b"a"), acks=0), 9)
    client.send(m.MetadataRequest(topics=None))
    world.run(100)
    assert client.answer() is not None


def test_a_mishap_of_one_node_leaves_the_others_alone():
    world = World(nodes=2)
    world.cluster.mishaps.add(Mishap(ApiKey.METADATA, Kind.CUT, node_id=2))
    assert world.client(1).ask(m.MetadataRequest(topics=None)) is not None
    other = world.client(2)
    other.send(m.MetadataRequest(topics=None))
    assert other.closed


def test_mishaps_that_mean_nothing_are_refused():
    with pytest.raises(UsageError):
        Mishap(ApiKey.FETCH, Kind.CUT, 0)
    with pytest.raises(UsageError):
        Mishap(ApiKey.FETCH, Kind.DELAYED, delay_ms=-1)


def test_a_moved_leader_has_a_new_epoch_and_waiting_fetches_hear_of_it():
    world = World(nodes=2)
    topic = world.topic("t")
    old, new = world.client(1), world.client(2)
    old.ask(produce(batch(b"a")), 9)
    old.send(fetch(1, max_wait_ms=10_000), 12)
    world.cluster.move_leader(topic, 0, 2, world.now_ms)
    world.drain()
    assert only(old.answer()).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert only(new.ask(fetch(epoch=0), 12)).error_code == ErrorCode.FENCED_LEADER_EPOCH
    assert only(new.ask(produce(batch(b"b")), 9)).base_offset == 1
    wanted = m.OffsetForLeaderEpochRequest.OffsetForLeaderPartition(partition=0, leader_epoch=0)
    asked = m.OffsetForLeaderEpochRequest.OffsetForLeaderTopic(topic="t", partitions=[wanted])
    end = only(new.ask(m.OffsetForLeaderEpochRequest(topics=[asked])))
    assert (end.leader_epoch, end.end_offset) == (0, 1)
    told = new.ask(m.MetadataRequest(topics=None)).topics[0].partitions[0]
    assert (told.leader_id, told.leader_epoch) == (2, 1)
    assert not world.faults
