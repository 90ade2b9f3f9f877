"""KIP-227 from the broker's side, as Java's FetchSessionTest has it; hints of KIP-951."""

import random

import pytest
from broker_world import WALL_MS, World, batch, fetch, only, produce

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


def by_id(topic_id, *numbers, **more):
    """A request by topic id, from the beginning."""
    parts = [Part(partition=number, partition_max_bytes=1 << 20) for number in numbers]
    entry = m.FetchRequest.FetchTopic(topic_id=topic_id, partitions=parts)
    return m.FetchRequest(
        **{"topics": [entry] if parts else [], "session_epoch": 0, "min_bytes": 1} | more
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
    session = client.ask(by_id(topic_id, 0), 16).session_id
    answer = client.ask(asking({}, session, 1), 12)
    assert answer.error_code == ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR


def test_partitions_come_and_go_by_id(world, client):
    topic_id = world.cluster.topics.get("t").topic_id
    session = client.ask(by_id(topic_id, 0), 16).session_id
    more = client.ask(by_id(topic_id, 3, session_id=session, session_epoch=1), 16)
    assert (numbers(more), only(more).error_code) == ([3], 0)
    for number in (0, 3):
        client.ask(produce(batch(b"a"), partition=number), 9)
    forgotten = m.FetchRequest.ForgottenTopic(topic_id=topic_id, partitions=[0])
    less = by_id(topic_id, session_id=session, session_epoch=2, forgotten_topics_data=[forgotten])
    assert numbers(client.ask(less, 16)) == [3]


def test_what_is_asked_for_as_the_last_is_forgotten_is_answered(world, client):
    session = client.ask(asking({0: 0}), 12).session_id
    answer = client.ask(asking({1: 0}, session, 1, forget=[0, 1]), 12)
    assert (numbers(answer), answer.session_id) == ([1], 0)
    assert not len(world.nodes[1].sessions)


def test_a_full_request_that_names_a_session_ends_it(world, client):
    first = client.ask(asking({0: 0}), 12).session_id
    second = client.ask(asking({0: 0}, first, 0), 12).session_id
    assert second not in {0, first}
    assert len(world.nodes[1].sessions) == 1
    assert client.ask(asking({0: 0}, second, -1), 12).session_id == 0
    assert len(world.nodes[1].sessions) == world.nodes[1].sessions.partition_count == 0


def test_a_node_that_was_down_knows_no_sessions(world, client):
    session = client.ask(asking({0: 0, 1: 0}), 12).session_id
    world.cluster.stop_node(1, world.now_ms)
    world.cluster.start_node(1, world.now_ms)
    assert world.nodes[1].sessions.partition_count == 0
    answer = world.client().ask(asking({}, session, 1), 12)
    assert answer.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


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


@pytest.mark.parametrize("level", [0, 1])
def test_a_topic_made_anew_is_not_taken_for_the_old_one(world, client, level):
    topic, other = world.cluster.topics.get("t"), world.topic("u")
    asked = by_id(topic.topic_id, 0, 1, isolation_level=level)
    asked.topics += by_id(other.topic_id, 0).topics
    session = client.ask(asked, 16).session_id
    world.cluster.delete(topic, world.now_ms)
    unknown, old = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.INCONSISTENT_TOPIC_ID

    def ask(epoch):
        more = {"isolation_level": level, "max_wait_ms": 500}
        return client.ask(asking({}, session, epoch, **more), 16)

    def codes(answer):
        (entry,) = answer.responses
        return [(part.error_code, part.aborted_transactions) for part in entry.partitions]

    assert ask(1) is None  # what is not there hurries nobody
    world.run(500)
    assert codes(client.answer()) == [(unknown, [])] * 2
    world.topic()
    # Told at once. The new one has no second partition: it is not there, whatever its id.
    assert codes(ask(2)) == [(old, None), (unknown, [])]
    again = by_id(topic.topic_id, 0, session_epoch=-1)
    assert only(client.ask(again, 16)).error_code == ErrorCode.UNKNOWN_TOPIC_ID


def test_a_waiting_request_that_is_overtaken_is_told(world, client):
    session = client.ask(asking({0: 0}), 12).session_id
    client.send(asking({}, session, 1, max_wait_ms=500), 12)
    assert client.answer() is None
    other = world.client()
    assert not other.ask(asking({}, session, 2), 12).error_code
    world.run(500)
    answer = client.answer()
    assert answer.error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert answer.session_id == session


@pytest.mark.parametrize("epoch", [0, -1])
def test_who_waits_in_a_session_that_is_ended_is_served(world, client, epoch):
    session = client.ask(asking({0: 0}), 12).session_id
    client.send(asking({}, session, 1, max_wait_ms=500), 12)
    other = world.client()
    assert not other.ask(asking({0: 0}, session, epoch), 12).error_code
    assert client.answer() is None
    other.ask(produce(batch(b"a")), 9)
    answer = client.answer()
    assert (answer.error_code, answer.session_id, numbers(answer)) == (0, session, [0])
    gone = client.ask(asking({}, session, 2), 12)
    assert gone.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_what_is_not_there_comes_last_and_each_row_of_partitions_has_an_entry(world, client):
    world.topic("u", 2)

    def told(answer):
        return [
            (entry.topic, [part.partition_index for part in entry.partitions])
            for entry in answer.responses
        ]

    asked = asking({0: 0, 9: 0, 1: 0})
    asked.topics += [fetch(topic="u").topics[0], *asking({2: 0}).topics]
    assert told(client.ask(asked, 12)) == [("t", [0, 1]), ("u", [0]), ("t", [2, 9])]
    asked.session_epoch = 0
    session = client.ask(asked, 12).session_id
    for topic, number in (("t", 0), ("u", 0), ("t", 2)):
        client.ask(produce(batch(b"a"), topic, number), 9)
    answer = client.ask(asking({}, session, 1), 12)
    assert told(answer) == [("t", [0]), ("u", [0]), ("t", [2, 9])]
    client.ask(produce(batch(b"a"), "t", 1), 9)
    answer = client.ask(asking({}, session, 2), 12)
    assert told(answer) == [("t", [1, 0]), ("u", [0]), ("t", [2, 9])]


def apart(session, epoch, *, offset=9, last=0, **more):
    request = asking({0: offset}, session, epoch, **more)
    request.topics[0].partitions[0].last_fetched_epoch = last
    return request


def test_logs_that_part_are_told_of_each_time_and_their_end_is_no_news(world, client):
    client.ask(produce(batch(b"a")), 9)
    first = client.ask(apart(0, 0, isolation_level=1), 12)
    assert only(first).aborted_transactions is None
    session = first.session_id
    client.send(asking({}, session, 1, max_wait_ms=500), 12)  # and is not waited for
    end = only(client.answer()).diverging_epoch
    assert (end.epoch, end.end_offset) == (0, 1)
    assert numbers(client.ask(apart(session, 2, offset=1), 12)) == []
    assert numbers(client.ask(apart(session, 3), 12)) == [0]
    assert numbers(client.ask(apart(session, 4, offset=1), 12)) == []


def test_logs_part_where_an_epoch_ends(world, client):
    log = world.cluster.topics.get("t").partitions[0].log
    for epoch in (0, 0, 2):
        log.append(memoryview(batch(b"a")), epoch, WALL_MS)
    log.high_watermark = log.end_offset

    def told(last, offset):
        found = only(client.ask(apart(0, -1, offset=offset, last=last), 12))
        end = found.diverging_epoch
        return found.error_code or (end.epoch, end.end_offset)

    agreed = (-1, -1)
    assert [told(0, at) for at in (0, 1, 2)] == [agreed] * 3
    assert told(0, 3) == (0, 2)
    assert [told(1, at) for at in (0, 2)] == [(0, 2)] * 2  # nobody here knows that epoch
    assert [told(2, at) for at in (0, 3)] == [agreed] * 2
    assert told(3, 0) == ErrorCode.OFFSET_OUT_OF_RANGE
    log.delete_before(1)
    assert told(1, 0) == ErrorCode.OFFSET_OUT_OF_RANGE  # whatever else is wrong
    assert told(1, 1) == (0, 2)


def test_what_moves_is_news_though_there_is_nothing_to_read(world, client):
    for number in (0, 1):
        client.ask(produce(batch(b"a"), partition=number), 9)
    session = client.ask(asking({0: 1, 1: 1}), 12).session_id
    world.cluster.topics.get("t").partitions[1].delete_before(1, world.now_ms)
    moved = client.ask(asking({}, session, 1), 12)
    assert (numbers(moved), only(moved).log_start_offset) == ([1], 1)
    for number in (0, 1):
        client.ask(produce(batch(b"a"), partition=number), 9)
    ends = client.ask(asking({}, session, 2, max_bytes=1), 12)
    (entry,) = ends.responses
    # There is room for one batch; the other one's end is told, and its turn comes next.
    assert [(part.high_watermark, bool(part.records)) for part in entry.partitions] == [
        (2, True), (2, False)]  # fmt: skip
    assert numbers(client.ask(asking({}, session, 3, max_bytes=1), 12)) == [1]


def test_a_first_batch_is_given_whole_behind_what_is_refused(client):
    client.ask(produce(batch(b"x" * 1_000), partition=1), 9)
    answer = client.ask(asking({0: 7, 1: 0}, epoch=-1, max_bytes=100), 12)
    (entry,) = answer.responses
    assert [(part.error_code, bool(part.records)) for part in entry.partitions] == [
        (ErrorCode.OFFSET_OUT_OF_RANGE, False), (0, True)]  # fmt: skip


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


def test_who_was_used_longest_ago_goes_first_and_not_too_soon():
    sessions = Sessions(random.Random(1), SessionLimits(slots=2, eviction_ms=1_000, partitions=10))

    def create(size, now_ms):
        parts = {("t", number): Wanted("t", b"", Part()) for number in range(size)}
        return sessions.create(parts, now_ms, by_id=False)

    def use(number, epoch, now_ms):
        sessions.open(asking({}, number, epoch), 12, now_ms, lambda _id: None)

    first, second = create(1, 5_000), create(1, 5_000)
    use(first, 1, 6_000)  # as old as it is safe: larger ones do not put it out
    assert not create(2, 6_000)
    assert create(1, 6_001)  # the second was not used for longer than that
    use(first, 2, 6_001)
    with pytest.raises(RefusedError):
        use(second, 1, 6_001)
    assert create(8, 6_001)  # and now it is smaller than who comes: all there is room for
    with pytest.raises(RefusedError):
        use(first, 3, 6_001)
    assert sessions.partition_count == 9
    assert not create(2, 99_000)


def test_sessions_have_numbers_of_their_own():
    class Numbers:
        """In place of a generator of random ones."""

        def __init__(self, *drawn):
            self.drawn = list(drawn)

        def getrandbits(self, count):
            assert count == 31  # none is negative
            return self.drawn.pop(0)

    sessions = Sessions(Numbers(0, 5, 5, 0, 5, 6), SessionLimits())
    assert [sessions.create({}, 0, by_id=False) for _ in range(2)] == [5, 6]


def test_a_session_that_grows_too_large_ends():
    world = World(config=BrokerConfig(sessions=SessionLimits(partitions=2)))
    world.topic(partitions=4)
    client = world.client()
    session = client.ask(asking({0: 0}), 12).session_id
    assert not client.ask(asking({1: 0}, session, 1), 12).error_code
    answer = client.ask(asking({2: 0}, session, 2), 12)
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
