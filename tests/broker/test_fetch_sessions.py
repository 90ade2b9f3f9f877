"""KIP-227 from the broker's side, as Java's FetchSessionTest has it; hints of KIP-951."""

import random

import pytest
from broker_world import World, batch, only, produce

from kcore.broker import BrokerConfig
from kcore.broker.batches import RefusedError
from kcore.broker.sessions import SessionLimits, Sessions, Wanted
from kcore.wire import messages as m
from kcore.wire.codes import ErrorCode

Part = m.FetchRequest.FetchPartition


def asking(offsets, session=0, epoch=0, forget=(), **more):
    """A request of topic `t`: {partition: offset}."""
    parts = [Part(partition=n, fetch_offset=at, partition_max_bytes=1 << 20)
             for n, at in offsets.items()]  # fmt: skip
    gone = [m.FetchRequest.ForgottenTopic(topic="t", partitions=list(forget))] if forget else []
    return m.FetchRequest(
        topics=[m.FetchRequest.FetchTopic(topic="t", partitions=parts)] if parts else [],
        session_id=session,
        session_epoch=epoch,
        forgotten_topics_data=gone,
        **{"max_wait_ms": 0, "min_bytes": 1} | more,
    )


def numbers(answer):
    return [part.partition_index for entry in answer.responses for part in entry.partitions]


@pytest.fixture
def world():
    made = World(nodes=2)
    made.topic(partitions=4, assignments=[[1], [1], [1], [1]])
    yield made
    assert not made.faults


def test_a_session_answers_changes_only(world, client):
    first = client.ask(asking(dict.fromkeys(range(4), 0)), 12)
    assert numbers(first) == [0, 1, 2, 3]
    session = first.session_id
    assert session > 0
    assert numbers(client.ask(asking({}, session, 1), 12)) == []
    client.ask(produce(batch(b"a"), partition=2), 9)
    news = client.ask(asking({}, session, 2), 12)
    assert (numbers(news), news.session_id) == ([2], session)
    assert numbers(client.ask(asking({2: 1}, session, 3), 12)) == []


def test_partitions_come_and_go(client):
    session = client.ask(asking({0: 0}), 12).session_id
    assert numbers(client.ask(asking({3: 0}, session, 1), 12)) == [3]
    client.ask(produce(batch(b"a"), partition=0), 9)
    assert numbers(client.ask(asking({}, session, 2, forget=[0]), 12)) == []
    # Nothing is left of it: it ends, and the answer says so.
    assert client.ask(asking({}, session, 3, forget=[3]), 12).session_id == 0
    answer = client.ask(asking({}, session, 4), 12)
    assert answer.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


@pytest.mark.parametrize(
    ("epoch", "version", "code"),
    [
        (2, 12, ErrorCode.INVALID_FETCH_SESSION_EPOCH),
        (1, 13, ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR),
        (1, 12, ErrorCode.NONE),
    ],
)
def test_what_is_out_of_step_is_refused(client, epoch, version, code):
    session = client.ask(asking({0: 0}), 12).session_id
    answer = client.ask(asking({}, session, epoch), version)
    assert answer.error_code == code
    if code:  # and the session is still there
        assert not client.ask(asking({}, session, 1), 12).error_code


def test_a_session_of_ids_is_not_used_by_name(world, client):
    topic_id = world.cluster.topics.get("t").topic_id
    entry = m.FetchRequest.FetchTopic(topic_id=topic_id, partitions=[Part(partition=0)])
    asked = m.FetchRequest(topics=[entry], session_epoch=0)
    session = client.ask(asked, 16).session_id
    answer = client.ask(asking({}, session, 1), 12)
    assert answer.error_code == ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR


def test_a_full_request_that_names_a_session_ends_it(world, client):
    first = client.ask(asking({0: 0}), 12).session_id
    second = client.ask(asking({0: 0}, first, 0), 12).session_id
    assert second not in {0, first}
    assert len(world.nodes[1].sessions) == 1
    assert client.ask(asking({0: 0}, second, -1), 12).session_id == 0
    assert len(world.nodes[1].sessions) == world.nodes[1].sessions.partition_count == 0


def test_epochs_go_round(world, client):
    session = client.ask(asking({0: 0}), 12).session_id
    world.nodes[1].sessions._sessions[session].epoch = 0x7FFFFFFF
    assert not client.ask(asking({}, session, 0x7FFFFFFF), 12).error_code
    assert not client.ask(asking({}, session, 1), 12).error_code


def test_who_got_records_is_served_last_the_next_time(client):
    """With room for one batch an answer, all four partitions get their turn."""
    for number in range(4):
        for _ in range(3):
            client.ask(produce(batch(b"x" * 1000), partition=number), 9)
    room = len(batch(b"x" * 1000)) + 10
    answer = client.ask(asking(dict.fromkeys(range(4), 0), max_bytes=room), 12)
    session, served, at = answer.session_id, [], dict.fromkeys(range(4), 0)
    for epoch in range(1, 10):
        for entry in answer.responses:
            for part in entry.partitions:
                if part.records:
                    served.append(part.partition_index)
                    at[part.partition_index] += 1
        answer = client.ask(asking(at, session, epoch, max_bytes=room), 12)
    # A full request begins with the first; turns are taken from then on.
    assert served[:9] == [0, 0, 1, 2, 3, 0, 1, 2, 3]


def test_an_error_is_said_again_and_so_is_its_end(world, client):
    session = client.ask(asking({0: 0}), 12).session_id
    topic = world.cluster.topics.get("t")
    world.cluster.move_leader(topic, 0, 2, world.now_ms)
    for epoch in (1, 2):
        refused = only(client.ask(asking({}, session, epoch), 12))
        assert refused.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    world.cluster.move_leader(topic, 0, 1, world.now_ms)
    assert only(client.ask(asking({}, session, 3), 12)).error_code == ErrorCode.NONE


def test_a_topic_made_anew_is_not_taken_for_the_old_one(world, client):
    topic = world.cluster.topics.get("t")
    entry = m.FetchRequest.FetchTopic(topic_id=topic.topic_id, partitions=[Part(partition=0)])
    session = client.ask(m.FetchRequest(topics=[entry], session_epoch=0), 16).session_id
    world.cluster.delete(topic, world.now_ms)
    gone = client.ask(m.FetchRequest(session_id=session, session_epoch=1), 16)
    assert only(gone).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    world.topic()
    anew = client.ask(m.FetchRequest(session_id=session, session_epoch=2), 16)
    assert only(anew).error_code == ErrorCode.INCONSISTENT_TOPIC_ID
    other = m.FetchRequest(topics=[entry], session_epoch=-1)
    assert only(client.ask(other, 16)).error_code == ErrorCode.UNKNOWN_TOPIC_ID


def test_a_waiting_request_that_is_overtaken_is_told(world, client):
    session = client.ask(asking({0: 0}), 12).session_id
    client.send(asking({}, session, 1, max_wait_ms=500), 12)
    assert client.answer() is None
    other = world.client()
    assert not other.ask(asking({}, session, 2), 12).error_code
    world.run(500)
    assert client.answer().error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH


def test_a_missing_partition_hurries_nobody(world, client):
    client.send(asking({0: 0, 9: 0}, epoch=-1, max_wait_ms=500), 12)
    assert client.answer() is None
    world.run(500)
    answer = client.answer()
    assert [part.error_code for part in answer.responses[0].partitions] == [
        0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]  # fmt: skip
    alone = client.ask(asking({9: 0}, epoch=-1, max_wait_ms=500), 12)
    assert only(alone).error_code


def test_the_cache_is_bounded(world):
    limits = SessionLimits(slots=2, eviction_ms=1_000, partitions=100)
    sessions = Sessions(random.Random(1), limits)

    def create(size, now_ms):
        parts = {("t", number): Wanted("t", b"", Part()) for number in range(size)}
        return sessions.create(parts, now_ms, by_id=False)

    def use(number, now_ms):
        epoch = sessions._sessions[number].epoch
        sessions.open(asking({}, number, epoch), 12, now_ms, lambda _id: None)

    first, second = create(3, 0), create(1, 10)
    assert not create(5, 1_000)  # both are young
    use(first, 1_001)
    use(second, 1_011)  # old now, and in use
    assert not create(1, 1_020)  # not larger than the smallest
    assert create(2, 1_020)
    with pytest.raises(RefusedError):
        sessions.open(asking({}, second, 2), 12, 1_030, lambda _id: None)
    assert create(1, 3_000)  # nobody used the first for that long
    assert len(sessions) == 2
    assert not create(101, 10_000)  # whatever the slots
    assert sessions.partition_count == 3


def test_a_session_that_grows_too_large_ends():
    world = World(config=BrokerConfig(sessions=SessionLimits(partitions=2)))
    world.topic(partitions=4)
    client = world.client()
    session = client.ask(asking({0: 0, 1: 0}), 12).session_id
    answer = client.ask(asking({2: 0}, session, 1), 12)
    assert answer.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert world.nodes[1].sessions.partition_count == 0
    assert client.ask(asking({0: 0, 1: 0, 2: 0}), 12).session_id == 0


def test_who_asks_the_wrong_node_is_told_the_right_one(world):
    topic = world.cluster.topics.get("t")
    wrong = world.client(2)
    entry = m.FetchRequest.FetchTopic(
        topic_id=topic.topic_id, partitions=[Part(partition=0, current_leader_epoch=-1)]
    )
    asked = m.FetchRequest(topics=[entry], session_epoch=-1)
    for version, known in ((16, True), (15, False)):
        answer = wrong.ask(asked, version)
        found = only(answer)
        assert found.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        hint = found.current_leader.leader_id, found.current_leader.leader_epoch
        assert hint == ((1, topic.partitions[0].leader_epoch) if known else (-1, -1))
        nodes = [(one.node_id, one.host, one.port) for one in answer.node_endpoints]
        assert nodes == ([(1, "node1", 9001)] if known else [])
    for version, known in ((10, True), (9, False)):
        answer = wrong.ask(produce(batch(b"a")), version)
        assert only(answer).current_leader.leader_id == (1 if known else -1)
        assert [one.port for one in answer.node_endpoints] == ([9001] if known else [])
