"""Several leaders, and answers in pieces: the whole core against a scripted cluster."""

import pytest
from scripted import SILENT, World
from scripted_share import ShareClient, ShareCluster, SharePartition, asked, raised, values

from kcore import errors
from kcore.events import (
    RecordsFetched,
)
from kcore.records import encode_batch
from kcore.structs import TopicPartition
from kcore.wire import messages as m
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode

T0 = TopicPartition("t", 0)


def test_each_leader_is_asked_and_told_for_itself():
    cluster = ShareCluster({"t": 3}, nodes=3)
    for number in range(3):
        cluster.fill(4, partition=number)
    world = World(cluster)
    client = ShareClient(world, {}).subscribe("t")
    found = []
    while len(found) < 12:
        found += client.polled()
    assert set(client.commit().values()) == {None}
    for number in range(3):
        assert cluster.done(partition=number) == list(range(4))
    assert {node for node, *_ in cluster.told} == {1, 2, 3}
    client.close()
    assert cluster.sessions == {}


def test_records_that_are_refused_are_told_one_by_one_between_the_others():
    cluster = ShareCluster({"t": 4})
    for number in range(4):
        cluster.fill(2, partition=number, base=10 * number)

    def deserialize(value):
        if value in {b"10", b"20"}:
            raise ValueError(value)
        return value

    client = ShareClient(World(cluster), {"value_deserializer": deserialize}).subscribe("t")
    found, refused = [], []
    while len(found) < 6:
        try:
            found += values(client.polled(200))
        except errors.DeserializationError as error:
            refused.append((error.partition.partition, error.offset))
    assert refused == [(1, 10), (2, 20)]  # they are released, and come again later
    assert found == [0, 1, 11, 21, 30, 31]


def test_what_the_last_record_is_refused_for_is_told_by_the_next_poll():
    cluster = ShareCluster({"t": 1})
    cluster.fill(3)

    def deserialize(value):
        if value == b"2":
            raise ValueError(value)
        return value

    client = ShareClient(World(cluster), {"value_deserializer": deserialize}).subscribe("t")
    assert values(client.polled()) == [0, 1]
    assert client.core.has_records
    with pytest.raises(errors.DeserializationError) as caught:
        client.polled()
    assert caught.value.offset == 2


def test_a_poll_gives_no_more_once_it_makes_a_mib():
    cluster = ShareCluster({"t": 4})
    for number in range(4):
        rows = [(1, b"", b"v" * 700_000)]
        cluster.append("t", number, encode_batch(rows), 0, 1)
        cluster.partitions["t", number] = SharePartition()
        cluster.partitions["t", number].records[0] = [None, 0, False]
    client = ShareClient(World(cluster), {}).subscribe("t")
    assert [len(client.polled()) for _ in range(2)] == [2, 2]
    assert len(client.of(RecordsFetched)) == 1  # they were there all the time


def test_no_more_than_asked_for_means_one_broker_at_a_time():
    cluster = ShareCluster({"t": 3}, nodes=3)
    for number in range(3):
        cluster.fill(4, partition=number)
    world = World(cluster)
    options = {"share_acquire_mode": "record_limit", "max_poll_records": 4}
    client = ShareClient(world, options).subscribe("t")
    for polls in range(1, 4):
        assert len(client.polled()) == 4
        assert len(client.of(RecordsFetched)) == polls
    assert {one.share_acquire_mode for one in asked(cluster, ApiKey.SHARE_FETCH)} == {1}
    assert client.polled(3_000) == []


def test_brokers_that_cannot_count_records_are_told_of(cluster, world):
    """A Kafka 4.1 knows no record_limit: nobody waits for records that it does not give."""
    cluster.apis[ApiKey.SHARE_FETCH] = (1, 1)
    client = ShareClient(world, {"share_acquire_mode": "record_limit"}).subscribe("t")
    assert client.polled(5_000) == []
    assert cluster.count(ApiKey.SHARE_FETCH) == 0
    refusals = raised(client)
    assert {type(error) for error in refusals} == {errors.UnsupportedVersionError}
    assert 2 <= len(refusals) <= 20  # with a backoff: brokers may be replaced


def test_a_leader_that_an_answer_names_is_asked_at_once():
    """KIP-951: nobody waits for metadata."""
    cluster = ShareCluster({"t": 1}, nodes=2)
    cluster.fill(4)
    world = World(cluster)
    client = ShareClient(world, {}).subscribe("t")
    assert values(client.polled()) == [0, 1, 2, 3]
    cluster.fill(4, base=10)
    R = m.ShareFetchResponse
    moved = R.PartitionData(
        partition_index=0,
        error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER,
        current_leader=R.LeaderIdAndEpoch(leader_id=2, leader_epoch=5),
        records=b"",
    )
    topic = R.ShareFetchableTopicResponse(topic_id=cluster.topic_ids["t"], partitions=[moved])
    cluster.leader_of = lambda _: 2
    cluster.leader_epoch = 5
    cluster.script[ApiKey.SHARE_FETCH] = lambda node, _: R(responses=[topic]) if node == 1 else None
    cluster.script[ApiKey.METADATA] = lambda *_: SILENT
    assert values(client.polled(5_000)) == [10, 11, 12, 13]


def test_a_leader_that_moves_takes_no_acknowledgements_from_before():
    cluster = ShareCluster({"t": 1}, nodes=2)
    cluster.fill(4)
    world = World(cluster)
    client = ShareClient(world, {"max_poll_records": 2}).subscribe("t")
    assert values(client.polled()) == [0, 1]
    cluster.leader_of = lambda _: 2
    cluster.partitions["t", 0].release(client.core.member_id)
    R = m.ShareAcknowledgeResponse
    part = R.PartitionData(
        partition_index=0,
        error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER,
        current_leader=R.LeaderIdAndEpoch(leader_id=2, leader_epoch=5),
    )
    topic = R.ShareAcknowledgeTopicResponse(topic_id=cluster.topic_ids["t"], partitions=[part])
    cluster.script[ApiKey.SHARE_ACKNOWLEDGE] = lambda *_: R(responses=[topic])
    cluster.leader_epoch = 5
    (error,) = client.commit().values()
    assert isinstance(error, errors.NotLeaderOrFollowerError)
    cluster.script.clear()
    again = client.polled(5_000)
    assert [(one.offset, one.delivery_count) for one in again] == [(0, 2), (1, 2)]
    assert asked(cluster, ApiKey.SHARE_FETCH)[-1].share_session_epoch == 0


def test_a_late_answer_of_a_former_leader_is_let_go():
    """What it gave out is the new leader's to give out, who may have done so already."""
    cluster = ShareCluster({"t": 2}, nodes=2)
    cluster.fill(4)
    world = World(cluster)
    answer, late = cluster._share_fetch, []

    def hold_back_the_first(node, request, reply):
        if node == 2:
            answer(node, request, reply)
        else:
            answer(node, request, lambda body, **options: late.append((reply, body, options)))

    cluster._share_fetch = hold_back_the_first
    client = ShareClient(world, {"metadata_max_age_ms": 500}).subscribe("t")
    assert client.polled(1_000) == []
    assert late
    cluster.leader_of = lambda _: 2
    cluster.leader_epoch = 5
    cluster.partitions["t", 0].release(client.core.member_id)
    assert values(client.polled(3_000)) == [0, 1, 2, 3]
    for reply, body, options in late:
        reply(body, **options)
    world.run(100)
    assert client.polled(1_000) == []
    client.commit()
    assert {node for node, *_ in cluster.told} == {2}
    assert cluster.done() == [0, 1, 2, 3]


def test_a_partition_in_trouble_does_not_hold_up_its_neighbours(world_of_two):
    cluster, world = world_of_two
    client = ShareClient(world, {"max_poll_records": 5}).subscribe("t")
    started = world.now
    found = []
    while len(found) < 50:
        found += client.polled()
    assert {record.partition for record in found} == {0}
    assert world.now - started < 1_000
    asked_before = cluster.count(ApiKey.SHARE_FETCH)
    assert client.polled(10_000) == []
    assert cluster.count(ApiKey.SHARE_FETCH) - asked_before <= 20


@pytest.fixture
def world_of_two():
    """Of a node's two partitions one has records, and the other cannot be read."""
    cluster = ShareCluster({"t": 2})
    for base in range(0, 50, 5):
        cluster.fill(5, base=base)
    answer = cluster._share_fetch

    def trouble(node, request, reply):
        def add(body, **options):
            R = m.ShareFetchResponse
            part = R.PartitionData(
                partition_index=1, error_code=ErrorCode.KAFKA_STORAGE_ERROR, records=b""
            )
            body.responses.append(
                R.ShareFetchableTopicResponse(topic_id=cluster.topic_ids["t"], partitions=[part])
            )
            reply(body)

        answer(node, request, add)

    cluster._share_fetch = trouble
    return cluster, World(cluster)


@pytest.mark.parametrize("size", [1, 7, 64])
def test_answers_in_small_pieces(cluster, world, size):
    client = ShareClient(world, {}).subscribe("t")
    whole = client.core.handle_data

    def in_pieces(link, data, now_ms):
        for at in range(0, len(data), size):
            if link in client.links:
                whole(link, data[at : at + size], now_ms)

    client.core.handle_data = in_pieces
    assert values(client.polled()) == list(range(10))
    assert client.commit() == {T0: None}
    client.close()
    assert cluster.members == {}


@pytest.mark.parametrize("api", [ApiKey.SHARE_FETCH, ApiKey.SHARE_ACKNOWLEDGE], ids=str)
def test_answers_cut_short_begin_anew(cluster, world, api):
    """At every length: nothing is believed, nothing breaks, and records come in the end."""
    client = ShareClient(world, {}).subscribe("t")
    cuts = iter(range(0, 120, 5))

    def garble(request, answer):
        if request.api_key != api:
            return answer
        at = next(cuts, None)
        if at is None or at >= len(answer) - 4:
            return answer
        body = answer[4 : 4 + at]
        return len(body).to_bytes(4, "big") + body

    world.garble = garble
    for _ in range(60):
        cluster.partitions["t", 0].release(client.core.member_id)
        client.polled(3_000)
        if cluster.done() == list(range(10)):
            break
        client.core.commit(world.now, 1_000)
        client.drain()
        world.run(1_500)
    assert cluster.done() == list(range(10))


@pytest.mark.parametrize("at", range(1, 12))
def test_an_interruption_anywhere_loses_nothing(cluster, world, at):
    """Ctrl-C while a poll is under way: whatever was asked is asked again."""
    client = ShareClient(world, {"max_poll_records": 4}).subscribe("t")
    for _ in range(at):
        client.poll()
        world.run(7)
    client.core.handle_interrupted(world.now)
    cluster.forget_sessions()
    client.links.clear()
    client.drain()
    for _ in range(12):
        client.polled(1_000)
    assert cluster.done() == list(range(10))
