"""Share sessions: opened, lost, refused; every code of ShareFetch."""

import pytest
from scripted import CUT, SILENT, World
from scripted_share import ShareClient, ShareCluster, asked, raised, values

from kcore import errors
from kcore.events import Closed, RecordsAcknowledged
from kcore.share.stock import ACQUIRED_MAX
from kcore.structs import AcknowledgeType, TopicPartition
from kcore.wire import messages as m
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode

T0 = TopicPartition("t", 0)
EXPLICIT = {"share_acknowledgement_mode": "explicit"}


def test_a_session_says_only_what_changes(cluster, world):
    client = ShareClient(world, {"max_poll_records": 3}).subscribe("t")
    for _ in range(4):
        client.polled()
    fetches = asked(cluster, ApiKey.SHARE_FETCH)
    assert [one.share_session_epoch for one in fetches[:4]] == [0, 1, 2, 3]
    assert {one.max_records for one in fetches} == {3}
    assert {one.member_id for one in fetches} == {client.core.member_id}
    assert not fetches[0].topics[0].partitions[0].acknowledgement_batches
    (batch,) = fetches[1].topics[0].partitions[0].acknowledgement_batches
    assert (batch.first_offset, batch.last_offset, batch.acknowledge_types) == (0, 2, [1])
    assert cluster.count(ApiKey.SHARE_ACKNOWLEDGE) == 0  # all of it rode along


def test_topics_that_go_are_forgotten_and_their_session_ends(cluster, world):
    cluster.topics["u"] = 1
    cluster.topic_ids["u"] = b"u" * 16
    client = ShareClient(world, {}).subscribe("t", "u")
    client.polled()
    client.polled(100)
    client.subscribe("t")
    client.polled(1_000)
    (gone,) = [one for one in asked(cluster, ApiKey.SHARE_FETCH) if one.forgotten_topics_data]
    assert gone.forgotten_topics_data[0].topic_id == b"u" * 16
    client.core.unsubscribe(world.now)
    world.run(2_000)
    assert [one.share_session_epoch for one in asked(cluster, ApiKey.SHARE_ACKNOWLEDGE)] == [-1]
    assert cluster.sessions == {}


def test_who_is_told_of_records_of_a_partition_that_has_gone_is_not_asked_for_more(cluster, world):
    """To a broker whatever a ShareFetch names is in the session, were it for an acknowledgement."""
    U0 = TopicPartition("u", 0)
    cluster.topics["u"] = 1
    cluster.topic_ids["u"] = b"u" * 16
    cluster.fill(2, "u")
    client = ShareClient(world, EXPLICIT).subscribe("t", "u")
    assert {record.topic for record in client.polled()} == {"t", "u"}
    client.core.acknowledge(U0, 0, AcknowledgeType.ACCEPT)
    R = m.ShareAcknowledgeResponse
    failed = R.PartitionData(partition_index=0, error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE)
    topics = [R.ShareAcknowledgeTopicResponse(topic_id=b"u" * 16, partitions=[failed])]

    def later(node, request):
        cluster.sessions[node, request.message.member_id] += 1
        return R(responses=topics)

    cluster.script[ApiKey.SHARE_ACKNOWLEDGE] = later
    client.core.commit(world.now, 20_000)  # it will be said again
    del cluster.topics["u"]
    cluster.members.clear()  # its coordinator has it join again, and gives it "t" alone
    world.run(6_000)
    assert client.core.assignment() == {T0}
    for offset in range(10):
        client.core.acknowledge(T0, offset, AcknowledgeType.ACCEPT)
    client.core.acknowledge(U0, 1, AcknowledgeType.ACCEPT)  # in another request than the first
    for offset in range(20, 23):
        assert client.polled(1_000) == []
        cluster.fill(1, "u", base=offset)
        cluster.fill(1, base=offset)
        assert values(client.polled()) == [offset]
        client.core.acknowledge(T0, offset, AcknowledgeType.ACCEPT)
    assert cluster.done("u") == [0, 1]
    assert cluster.held("u") == []
    assert not [event for event in client.of(RecordsAcknowledged) if event.error]


@pytest.mark.parametrize("lost", ["forgotten", "behind"])
def test_a_session_that_is_lost_is_opened_again(cluster, world, lost):
    client = ShareClient(world, {"max_poll_records": 2, **EXPLICIT}).subscribe("t")
    records = client.polled()
    if lost == "forgotten":
        cluster.forget_sessions()
        kind = errors.ShareSessionNotFoundError
    else:
        cluster.sessions = dict.fromkeys(cluster.sessions, 77)
        kind = errors.InvalidShareSessionEpochError
    for record in records:
        client.core.acknowledge(T0, record.offset, AcknowledgeType.ACCEPT)
    (error,) = client.commit().values()
    assert isinstance(error, kind)
    if lost == "behind":
        cluster.forget_sessions()
    assert [(one.offset, one.delivery_count) for one in client.polled()] == [(0, 2), (1, 2)]


def test_what_waits_when_the_link_goes_is_given_up_and_fetched_again(cluster, world):
    client = ShareClient(world, {}).subscribe("t")
    assert values(client.polled(max_records=4)) == [0, 1, 2, 3]
    for link in [link for link, node in client.links.items() if node == 1]:
        world.cut(client, link)
    cluster.forget_sessions()
    again = client.polled()
    assert values(again) == list(range(10))
    assert {record.delivery_count for record in again} == {2}
    (lost,) = [event for event in client.of(RecordsAcknowledged) if event.error]
    assert lost.ranges == ((0, 3),)
    assert isinstance(lost.error, errors.ShareSessionNotFoundError)
    assert client.polled(500) == []
    client.core.unsubscribe(world.now)  # nothing is held any more, so its session ends
    client.drain()
    world.run(1_000)
    assert cluster.sessions == {}
    assert cluster.done() == list(range(10))


def test_a_topic_made_anew_is_not_told_what_became_of_the_old_ones_records(cluster, world):
    client = ShareClient(world, {}).subscribe("t")
    client.polled()
    old, new = cluster.topic_ids["t"], b"n" * 16
    cluster.topic_ids["t"] = new
    cluster.topic_ids["gone"] = old
    cluster.partitions.clear()
    cluster.fill(3, base=20)
    cluster.members.clear()  # its coordinator has it join again
    world.run(6_000)
    assert client.core.assignment() == {T0}
    found = client.polled(5_000)
    assert [record.offset for record in found] == [20, 21, 22]
    (riding,) = [
        [(topic.topic_id, part.acknowledgement_batches) for part in topic.partitions]
        for one in asked(cluster, ApiKey.SHARE_FETCH)
        for topic in one.topics
        if any(part.acknowledgement_batches for part in topic.partitions)
    ]
    assert [topic_id for topic_id, _ in riding] == [old]
    (event,) = client.of(RecordsAcknowledged)
    assert (event.ranges, type(event.error)) == (((0, 9),), errors.InvalidRecordStateError)
    assert event.topic_id == old


def test_what_was_not_handed_over_of_a_topic_that_was_made_anew_goes(cluster, world):
    client = ShareClient(world, {"metadata_max_age_ms": 1_000, **EXPLICIT}).subscribe("t")
    old = client.polled(max_records=4)
    cluster.topic_ids["gone"], cluster.topic_ids["t"] = cluster.topic_ids["t"], b"n" * 16
    cluster.partitions.clear()
    cluster.fill(3, base=20)
    world.run(3_000)
    assert client.core.has_records  # nobody has looked since it has heard of the new one
    for record in old:
        client.core.acknowledge(T0, record.offset, AcknowledgeType.ACCEPT)
    cluster.members.clear()
    assert [record.offset for record in client.polled(8_000)] == [20, 21, 22]
    assert client.core.buffered_bytes == 0


TOP_LEVEL = [
    ErrorCode.SHARE_SESSION_LIMIT_REACHED,
    ErrorCode.GROUP_AUTHORIZATION_FAILED,
    ErrorCode.INVALID_REQUEST,
    ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.SHARE_SESSION_NOT_FOUND,
    ErrorCode.INVALID_SHARE_SESSION_EPOCH,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
]


@pytest.mark.parametrize("code", TOP_LEVEL, ids=lambda one: one.name)
def test_a_fetch_that_is_refused_is_tried_again_with_backoff(cluster, world, code):
    cluster.script[ApiKey.SHARE_FETCH] = lambda *_: m.ShareFetchResponse(error_code=code)
    client = ShareClient(world, {}).subscribe("t")
    assert client.polled(10_000) == []
    assert 5 <= cluster.count(ApiKey.SHARE_FETCH) <= 25
    assert errors.for_code(code).name in client.core.health()[TopicPartition("t", 0)]
    kinds = {type(error) for error in raised(client)}
    told = code in (ErrorCode.GROUP_AUTHORIZATION_FAILED, ErrorCode.INVALID_REQUEST)
    # A Kafka 4.3 says that once where a topic was made anew.
    told = told or (not errors.for_code(code).retriable and code != ErrorCode.UNKNOWN_SERVER_ERROR)
    assert kinds == ({errors.for_code(code)} if told else set())
    cluster.script.clear()
    assert values(client.polled()) == list(range(10))


@pytest.mark.parametrize("code", TOP_LEVEL, ids=lambda one: one.name)
def test_who_leads_is_asked_of_what_may_be_led_elsewhere(cluster, world, code):
    client = ShareClient(world, {}).subscribe("t")
    client.polled()
    cluster.script[ApiKey.SHARE_FETCH] = lambda *_: m.ShareFetchResponse(error_code=code)
    before = cluster.count(ApiKey.METADATA)
    client.polled(5_000)
    elsewhere = {
        ErrorCode.UNKNOWN_SERVER_ERROR,  # a Kafka 4.3 says it where a topic was made anew
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
    }
    assert (cluster.count(ApiKey.METADATA) > before) is (code in elsewhere)


PARTITION = [
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.INCONSISTENT_TOPIC_ID,
    ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.UNKNOWN_LEADER_EPOCH,
    ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ErrorCode.CORRUPT_MESSAGE,
    ErrorCode.GROUP_AUTHORIZATION_FAILED,
    ErrorCode.INVALID_REQUEST,
]
SAID = {
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ErrorCode.GROUP_AUTHORIZATION_FAILED,
    ErrorCode.INVALID_REQUEST,
}


def fetch_error(cluster, code):
    R = m.ShareFetchResponse
    part = R.PartitionData(partition_index=0, error_code=code, records=b"")
    topic = R.ShareFetchableTopicResponse(topic_id=cluster.topic_ids["t"], partitions=[part])
    return R(responses=[topic])


@pytest.mark.parametrize("code", PARTITION, ids=lambda one: one.name)
def test_a_partition_that_cannot_be_fetched_is_tried_again_with_backoff(cluster, world, code):
    cluster.script[ApiKey.SHARE_FETCH] = lambda *_: fetch_error(cluster, code)
    client = ShareClient(world, {}).subscribe("t")
    assert client.polled(10_000) == []
    assert 5 <= cluster.count(ApiKey.SHARE_FETCH) <= 25
    kinds = {type(error) for error in raised(client)}
    assert kinds == ({errors.for_code(code)} if code in SAID else set())


@pytest.mark.parametrize("code", PARTITION, ids=lambda one: one.name)
def test_who_leads_is_asked_where_a_partition_may_be_led_elsewhere(cluster, world, code):
    client = ShareClient(world, {}).subscribe("t")
    client.polled()
    cluster.script[ApiKey.SHARE_FETCH] = lambda *_: fetch_error(cluster, code)
    before = cluster.count(ApiKey.METADATA)
    client.polled(5_000)
    elsewhere = {
        ErrorCode.UNKNOWN_SERVER_ERROR,  # a Kafka 4.4 says it where a topic was made anew
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.INCONSISTENT_TOPIC_ID,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.LEADER_NOT_AVAILABLE,
    }
    assert (cluster.count(ApiKey.METADATA) > before) is (code in elsewhere)


@pytest.mark.parametrize("end", [CUT, SILENT], ids=["cut", "silent"])
def test_a_fetch_without_an_answer_begins_anew(cluster, world, end):
    answers = iter([end])
    cluster.script[ApiKey.SHARE_FETCH] = lambda *_: next(answers, None)
    options = {"request_timeout_ms": 2_000, "fetch_max_wait_ms": 100}
    client = ShareClient(world, options).subscribe("t")
    assert values(client.polled(8_000)) == list(range(10))


def test_a_fetch_that_is_kept_and_comes_late_is_waited_for(cluster, world):
    """What rides on it would be lost: who has said it is told that it is in doubt."""
    answers = iter([SILENT])
    cluster.script[ApiKey.SHARE_FETCH] = lambda *_: next(answers, None)
    options = {"request_timeout_ms": 500, "fetch_max_wait_ms": 400}
    client = ShareClient(world, options).subscribe("t")
    assert client.polled(5_000) == []
    assert cluster.count(ApiKey.SHARE_FETCH) == 1
    assert values(client.polled(3_000)) == list(range(10))


def test_a_fetch_that_failed_is_tried_again_though_nobody_polls_again(cluster, world):
    """Whoever waits in a poll makes no other one meanwhile."""
    refused = m.ShareFetchResponse(error_code=ErrorCode.SHARE_SESSION_LIMIT_REACHED)
    answers = iter([refused, refused])
    cluster.script[ApiKey.SHARE_FETCH] = lambda *_: next(answers, None)
    client = ShareClient(world, {}).subscribe("t")
    client.poll()
    world.run(3_000)
    assert client.core.has_records


def closed_within(client, world):
    """How long a close takes, in ms."""
    began_at = world.now
    client.core.close(began_at, 5_000)
    client.drain()
    while not client.of(Closed):
        world.run(10)
    return world.now - began_at


def test_a_session_that_is_to_wait_is_ended_nevertheless(cluster, world):
    client = ShareClient(world, {}).subscribe("t")
    assert client.polled()
    refused = m.ShareFetchResponse(error_code=ErrorCode.UNKNOWN_SERVER_ERROR)
    cluster.script[ApiKey.SHARE_FETCH] = lambda *_: refused
    assert client.polled(1_000) == []
    (key,) = cluster.sessions
    cluster.sessions[key] += cluster.count(ApiKey.SHARE_FETCH) - 1  # those that were refused
    assert closed_within(client, world) < 2_000
    assert cluster.sessions == {}
    assert cluster.held() == []


def test_a_session_that_is_being_opened_is_ended_as_well():
    cluster = ShareCluster({"t": 1})
    world = World(cluster)
    client = ShareClient(world, {}).subscribe("t")
    while not cluster.count(ApiKey.SHARE_FETCH):
        client.poll()
        world.run(10)
    assert cluster.sessions
    assert closed_within(client, world) < 2_000
    assert cluster.sessions == {}


def test_early_answers_without_records_are_not_asked_for_without_end(cluster, world):
    cluster.script[ApiKey.SHARE_FETCH] = lambda *_: m.ShareFetchResponse()
    client = ShareClient(world, {}).subscribe("t")
    assert client.polled(10_000) == []
    assert 5 <= cluster.count(ApiKey.SHARE_FETCH) <= 30
    assert "an early answer" in client.core.health()[T0]


def test_an_early_answer_to_an_acknowledgement_is_none_to_wait_for(cluster, world):
    client = ShareClient(world, {}).subscribe("t")
    client.polled()
    assert client.polled(50) == []
    first, second, *_ = asked(cluster, ApiKey.SHARE_FETCH)[1:]
    assert first.topics[0].partitions[0].acknowledgement_batches
    assert not second.topics
    assert "failed" not in client.core.health()[T0]


def test_what_an_answer_says_nothing_of_was_taken_in(cluster, world):
    client = ShareClient(world, {}).subscribe("t")
    client.polled()
    cluster.script[ApiKey.SHARE_FETCH] = lambda *_: m.ShareFetchResponse()
    client.polled(50)
    (event,) = client.of(RecordsAcknowledged)
    assert (event.ranges, event.error) == (((0, 9),), None)


def test_a_leader_that_works_again_is_asked_again_soon_when_it_fails(cluster, world):
    refused = m.ShareFetchResponse(error_code=ErrorCode.SHARE_SESSION_LIMIT_REACHED)
    script = cluster.script
    script[ApiKey.SHARE_FETCH] = lambda *_: refused
    client = ShareClient(world, {}).subscribe("t")
    assert client.polled(5_000) == []
    script.clear()
    assert client.polled()
    answers = iter([refused])
    script[ApiKey.SHARE_FETCH] = lambda *_: next(answers, None)
    cluster.forget_sessions()
    began_at = world.now
    client.core.poll(world.now)
    assert client.polled()
    assert world.now - began_at < 400


def test_how_long_locks_last_is_what_brokers_said_last(cluster, world):
    client = ShareClient(world, {}).subscribe("t")
    assert client.core.acquisition_lock_timeout_ms is None
    for lock_ms in (1_234, 43_210):
        cluster.lock_ms = lock_ms
        client.polled()
        assert client.core.acquisition_lock_timeout_ms == lock_ms
        cluster.fill(1, base=10)


def test_what_is_acquired_without_a_record_is_told_to_be_a_gap(cluster, world):
    """Compaction may leave nothing at all."""
    R = m.ShareFetchResponse
    acquired = [R.AcquiredRecords(first_offset=0, last_offset=9, delivery_count=1)]
    part = R.PartitionData(partition_index=0, records=b"", acquired_records=acquired)
    topic = R.ShareFetchableTopicResponse(topic_id=cluster.topic_ids["t"], partitions=[part])
    answers = iter([R(responses=[topic])])

    def answer(node, request):
        found, member_id = next(answers, None), request.message.member_id
        if found is not None:
            cluster.sessions[node, member_id] = 1
            cluster.in_session[node, member_id] = {("t", 0)}
            cluster.partitions["t", 0].acquire(member_id, list(range(10)))
        return found

    cluster.script[ApiKey.SHARE_FETCH] = answer
    client = ShareClient(world, {}).subscribe("t")
    assert client.polled(1_000) == []
    assert cluster.told == [(1, 0, 9, [0])]
    assert client.of(RecordsAcknowledged) == []


def test_answers_that_make_no_sense_are_not_asked_for_without_end(cluster, world):
    client = ShareClient(world, {}).subscribe("t")
    client.polled()
    R = m.ShareFetchResponse
    strange = R.ShareFetchableTopicResponse(
        topic_id=b"x" * 16, partitions=[R.PartitionData(partition_index=0, records=b"")]
    )
    before = cluster.count(ApiKey.SHARE_FETCH)
    cluster.script[ApiKey.SHARE_FETCH] = lambda *_: R(responses=[strange])
    assert client.polled(10_000) == []
    assert 5 <= cluster.count(ApiKey.SHARE_FETCH) - before <= 30
    (event,) = client.of(RecordsAcknowledged)  # what was on its way with the first of them
    assert event.ranges == ((0, 9),)
    assert isinstance(event.error, errors.Unexpected)


def test_partitions_nobody_asked_for_end_the_session(cluster, world):
    R = m.ShareFetchResponse
    strange = R.ShareFetchableTopicResponse(
        topic_id=b"x" * 16, partitions=[R.PartitionData(partition_index=0, records=b"")]
    )
    answers = iter([R(responses=[strange])])
    cluster.script[ApiKey.SHARE_FETCH] = lambda *_: next(answers, None)
    client = ShareClient(world, {}).subscribe("t")
    assert values(client.polled(5_000)) == list(range(10))
    assert [one.share_session_epoch for one in asked(cluster, ApiKey.SHARE_FETCH)[:2]] == [0, 0]


TOO_MANY = [(0, ACQUIRED_MAX // 2), (ACQUIRED_MAX, ACQUIRED_MAX + ACQUIRED_MAX // 2)]
NONSENSE = [[(5, 3)], [(-1, 3)], [(0, 5), (3, 9)], [(0, 5), (5, 9)], [(0, 1 << 40)], TOO_MANY]


@pytest.mark.parametrize("ranges", NONSENSE, ids=str)
def test_acquired_offsets_that_cannot_be_meant_end_the_session(cluster, world, ranges):
    R = m.ShareFetchResponse
    acquired = [
        R.AcquiredRecords(first_offset=first, last_offset=last, delivery_count=1)
        for first, last in ranges
    ]
    part = R.PartitionData(partition_index=0, records=b"", acquired_records=acquired)
    topic = R.ShareFetchableTopicResponse(topic_id=cluster.topic_ids["t"], partitions=[part])
    answers = iter([R(responses=[topic])])
    cluster.script[ApiKey.SHARE_FETCH] = lambda *_: next(answers, None)
    client = ShareClient(world, {}).subscribe("t")
    assert values(client.polled(5_000)) == list(range(10))
    assert [one.share_session_epoch for one in asked(cluster, ApiKey.SHARE_FETCH)[:2]] == [0, 0]
