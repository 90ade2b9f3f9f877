"""The whole core against a scripted cluster: bytes both ways on a virtual clock."""

import pytest
from scripted import CUT, SILENT, World
from scripted_share import ShareClient, ShareCluster

from kcore import errors
from kcore.errors import IllegalStateError
from kcore.events import (
    Closed,
    ErrorRaised,
    GroupJoined,
    GroupLeft,
    PartitionsAssigned,
    RecordsAcknowledged,
    RecordsFetched,
)
from kcore.structs import AcknowledgeType, TopicPartition
from kcore.wire import messages as m
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode

T0 = TopicPartition("t", 0)
EXPLICIT = {"share_acknowledgement_mode": "explicit"}


@pytest.fixture
def cluster():
    found = ShareCluster({"t": 1})
    found.fill(10)
    return found


@pytest.fixture
def world(cluster):
    return World(cluster)


def values(records):
    return [int(record.value) for record in records]


def asked(cluster, api):
    return [body for _, one, body in cluster.asked if one == api]


def raised(client):
    return [event.error for event in client.of(ErrorRaised)]


# Membership ---------------------------------------------------------------------------------------


def test_it_joins_reads_accepts_and_leaves(cluster, world):
    client = ShareClient(world, {}).subscribe("t")
    assert values(client.polled()) == list(range(10))
    assert client.polled(1_000) == []
    assert cluster.done() == list(range(10))
    (joined,) = client.of(GroupJoined)
    assert joined.member_id == client.core.member_id
    client.close()
    assert cluster.members == {}
    assert cluster.sessions == {}
    assert [event.reason for event in client.of(GroupLeft)] == ["the consumer was closed"]
    assert client.of(Closed)


def test_heartbeats_say_what_is_new(cluster, world):
    client = ShareClient(world, {"client_rack": "r"}).subscribe("t")
    world.run(12_000, polls_ms=500)
    first, *rest = asked(cluster, ApiKey.SHARE_GROUP_HEARTBEAT)
    assert (first.group_id, first.member_epoch, first.rack_id) == ("g", 0, "r")
    assert first.subscribed_topic_names == ["t"]
    assert {(one.member_epoch, one.rack_id, one.subscribed_topic_names) for one in rest} == {
        (cluster.epoch, None, None)
    }
    cluster.topics["u"] = 1
    cluster.topic_ids["u"] = b"u" * 16
    client.subscribe("t", "u")
    world.run(100)
    last = asked(cluster, ApiKey.SHARE_GROUP_HEARTBEAT)[-1]
    assert (last.rack_id, last.subscribed_topic_names) == (None, ["t", "u"])
    world.run(1_000)
    assert client.core.assignment() == {T0, TopicPartition("u", 0)}


@pytest.mark.parametrize(
    "code", [ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH], ids=lambda one: one.name
)
def test_who_is_not_known_any_more_joins_anew_under_its_id(cluster, world, code):
    client = ShareClient(world, {}).subscribe("t")
    client.polled()
    answers = iter([m.ShareGroupHeartbeatResponse(error_code=code)])
    cluster.script[ApiKey.SHARE_GROUP_HEARTBEAT] = lambda *_: next(answers, None)
    world.run(6_000, polls_ms=500)
    assert len(client.of(GroupJoined)) == 2
    assert len({event.member_id for event in client.of(GroupJoined)}) == 1
    assert [len(event.partitions) for event in client.of(PartitionsAssigned)] == [1, 0, 1]


def test_who_is_never_taken_back_does_not_spin(cluster, world):
    code = ErrorCode.UNKNOWN_MEMBER_ID
    cluster.script[ApiKey.SHARE_GROUP_HEARTBEAT] = lambda *_: m.ShareGroupHeartbeatResponse(
        error_code=code
    )
    ShareClient(world, {}).subscribe("t")
    world.run(10_000, polls_ms=500)
    assert 8 <= cluster.count(ApiKey.SHARE_GROUP_HEARTBEAT) <= 25


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        ErrorCode.GROUP_MAX_SIZE_REACHED,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.GROUP_ID_NOT_FOUND,
        ErrorCode.INVALID_GROUP_ID,
        ErrorCode.UNSUPPORTED_VERSION,
    ],
    ids=lambda one: one.name,
)
def test_what_only_others_can_mend_is_raised_by_every_poll(cluster, world, code):
    cluster.script[ApiKey.SHARE_GROUP_HEARTBEAT] = lambda *_: m.ShareGroupHeartbeatResponse(
        error_code=code, error_message="why not"
    )
    client = ShareClient(world, {}).subscribe("t")
    world.run(3_000)
    (error,) = raised(client)
    assert type(error) is errors.for_code(code)
    assert "why not" in str(error)
    client.poll()
    assert len(raised(client)) == 2
    world.run(60_000)
    assert cluster.count(ApiKey.SHARE_GROUP_HEARTBEAT) == 1
    cluster.script.clear()
    client.core.unsubscribe(world.now)
    client.subscribe("t")
    assert values(client.polled()) == list(range(10))


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.REQUEST_TIMED_OUT,
    ],
    ids=lambda one: one.name,
)
def test_what_passes_is_tried_again(cluster, world, code):
    left = [3]

    def refuse(*_):
        left[0] -= 1
        return m.ShareGroupHeartbeatResponse(error_code=code) if left[0] >= 0 else None

    cluster.script[ApiKey.SHARE_GROUP_HEARTBEAT] = refuse
    client = ShareClient(world, {}).subscribe("t")
    assert values(client.polled(10_000)) == list(range(10))
    said = [errors.TopicAuthorizationFailedError] * 3
    wanted = said if code == ErrorCode.TOPIC_AUTHORIZATION_FAILED else []
    assert [type(error) for error in raised(client)] == wanted
    moved = code in (ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR)
    assert cluster.count(ApiKey.FIND_COORDINATOR) == (4 if moved else 1)


def test_brokers_without_share_groups_are_named(cluster, world):
    del cluster.apis[ApiKey.SHARE_GROUP_HEARTBEAT]
    client = ShareClient(world, {}).subscribe("t")
    world.run(2_000)
    (error,) = raised(client)
    assert isinstance(error, errors.UnsupportedVersionError)
    assert "Apache Kafka 4.1" in str(error)


def test_an_answer_that_cannot_be_meant_is_as_none(cluster, world):
    answers = iter([m.ShareGroupHeartbeatResponse(member_epoch=0, heartbeat_interval_ms=0)] * 2)
    cluster.script[ApiKey.SHARE_GROUP_HEARTBEAT] = lambda *_: next(answers, None)
    client = ShareClient(world, {}).subscribe("t")
    assert values(client.polled(10_000)) == list(range(10))


def test_who_does_not_poll_leaves_and_comes_back_with_the_next_poll(cluster, world):
    client = ShareClient(world, {"max_poll_interval_ms": 3_000}).subscribe("t")
    client.polled(max_records=4)
    world.run(4_000)
    assert cluster.members == {}
    assert "max_poll_interval_ms=3000" in client.of(GroupLeft)[0].reason
    assert client.core.assignment() == set()
    assert values(client.polled()) == list(range(4, 10))  # which it had, and has still
    world.run(100)
    assert len(cluster.members) == 1


def test_a_group_that_begins_to_exist_is_asked_again_soon(cluster, world):
    nothing = m.ShareGroupHeartbeatResponse.Assignment(topic_partitions=[])
    answers = iter(
        [
            m.ShareGroupHeartbeatResponse(
                member_epoch=1, heartbeat_interval_ms=5_000, assignment=nothing
            )
        ]
    )

    def late(_node, request):
        if (first := next(answers, None)) is not None:
            cluster.members[request.message.member_id] = ["t"]
            cluster.epoch = 1
            return first
        request.message.subscribed_topic_names = ["t"]
        return None

    cluster.script[ApiKey.SHARE_GROUP_HEARTBEAT] = late
    client = ShareClient(world, {}).subscribe("t")
    started = world.now
    assert client.polled(5_000)
    assert world.now - started < 1_000


# Sessions -----------------------------------------------------------------------------------------


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
    assert asked(cluster, ApiKey.SHARE_ACKNOWLEDGE)[-1].share_session_epoch == -1
    assert cluster.sessions == {}


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
    kinds = {type(error) for error in raised(client)}
    told = code in (ErrorCode.GROUP_AUTHORIZATION_FAILED, ErrorCode.INVALID_REQUEST)
    told = told or not errors.for_code(code).retriable
    assert kinds == ({errors.for_code(code)} if told else set())
    cluster.script.clear()
    assert values(client.polled()) == list(range(10))


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


@pytest.mark.parametrize("end", [CUT, SILENT], ids=["cut", "silent"])
def test_a_fetch_without_an_answer_begins_anew(cluster, world, end):
    answers = iter([end])
    cluster.script[ApiKey.SHARE_FETCH] = lambda *_: next(answers, None)
    options = {"request_timeout_ms": 2_000, "fetch_max_wait_ms": 100}
    client = ShareClient(world, options).subscribe("t")
    assert values(client.polled(8_000)) == list(range(10))


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


@pytest.mark.parametrize("ranges", [[(5, 3)], [(-1, 3)], [(0, 5), (3, 9)], [(0, 1 << 40)]], ids=str)
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


# Acknowledging ------------------------------------------------------------------------------------


def test_explicitly_each_record_has_its_own_end(cluster, world):
    client = ShareClient(world, EXPLICIT).subscribe("t")
    records = client.polled()
    kinds = [AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.REJECT]
    for record in records:
        client.core.acknowledge(T0, record.offset, kinds[record.offset % 3])
    again = client.polled()
    assert [(one.offset, one.delivery_count) for one in again] == [(1, 2), (4, 2), (7, 2)]
    with pytest.raises(IllegalStateError, match="3 records of the last poll"):
        client.core.poll(world.now)
    for record in again:
        client.core.acknowledge(T0, record.offset, AcknowledgeType.ACCEPT)
    assert client.commit() == {T0: None}
    assert cluster.done() == list(range(10))
    with pytest.raises(IllegalStateError, match="cannot be acknowledged"):
        client.core.acknowledge(T0, 1, AcknowledgeType.ACCEPT)


def test_the_last_word_counts_until_it_is_told(cluster, world):
    client = ShareClient(world, EXPLICIT).subscribe("t")
    for record in client.polled():
        client.core.acknowledge(T0, record.offset, AcknowledgeType.REJECT)
        client.core.acknowledge(T0, record.offset, AcknowledgeType.ACCEPT)
    client.commit()
    assert cluster.told == [(1, 0, 9, [1])]


def test_implicitly_nobody_acknowledges_one_by_one(world):
    client = ShareClient(world, {}).subscribe("t")
    (first, *_) = client.polled()
    with pytest.raises(IllegalStateError, match="share_acknowledgement_mode='explicit'"):
        client.core.acknowledge(T0, first.offset, AcknowledgeType.ACCEPT)


def test_a_renewed_record_comes_again_from_here(cluster, world):
    client = ShareClient(world, EXPLICIT).subscribe("t")
    records = client.polled()
    for record in records:
        renew = record.offset in (2, 5)
        kind = AcknowledgeType.RENEW if renew else AcknowledgeType.ACCEPT
        client.core.acknowledge(T0, record.offset, kind)
    again = client.polled()
    assert [one.offset for one in again] == [2, 5]
    assert {one.delivery_count for one in again} == {1}
    (said,) = asked(cluster, ApiKey.SHARE_ACKNOWLEDGE)
    assert said.is_renew_ack
    for record in again:
        client.core.acknowledge(T0, record.offset, AcknowledgeType.ACCEPT)
    client.commit()
    assert cluster.done() == list(range(10))


def test_who_cannot_renew_is_told_so(cluster, world):
    cluster.apis[ApiKey.SHARE_ACKNOWLEDGE] = (1, 1)
    client = ShareClient(world, EXPLICIT).subscribe("t")
    for record in client.polled():
        client.core.acknowledge(T0, record.offset, AcknowledgeType.RENEW)
    (error,) = client.commit().values()
    assert isinstance(error, errors.UnsupportedVersionError)
    assert "4.2" in str(error)


def test_what_was_not_handed_over_is_handed_over_later_without_asking(cluster, world):
    client = ShareClient(world, {}).subscribe("t")
    assert values(client.polled(max_records=4)) == [0, 1, 2, 3]
    assert values(client.polled(max_records=4)) == [4, 5, 6, 7]
    assert cluster.count(ApiKey.SHARE_FETCH) == 1
    world.run(50)
    assert cluster.done() == [0, 1, 2, 3]


def test_what_waits_longer_than_its_lock_is_let_go(cluster, world):
    cluster.lock_ms = 1_000
    client = ShareClient(world, {}).subscribe("t")
    assert values(client.polled(max_records=4)) == [0, 1, 2, 3]
    world.run(1_500)
    cluster.partitions["t", 0].release(client.core.member_id)
    again = client.polled()
    assert [(one.offset, one.delivery_count) for one in again] == [(at, 2) for at in range(10)]


def test_what_did_not_arrive_is_handed_over_again(cluster, world):
    client = ShareClient(world, {}).subscribe("t")
    client.polled(max_records=2)
    client.core.poll(world.now)
    client.core.hand_over()
    assert values(client.take(3)[T0]) == [2, 3, 4]
    client.core.take_back(world.now)
    client.poll()
    assert values(client.take(4)[T0]) == [2, 3, 4, 5]
    assert values(client.take(9)[T0]) == [6, 7, 8, 9]
    world.run(50)
    assert cluster.done() == [0, 1]


def acknowledge_error(cluster, code):
    R = m.ShareAcknowledgeResponse
    part = R.PartitionData(partition_index=0, error_code=code)
    topic = R.ShareAcknowledgeTopicResponse(topic_id=cluster.topic_ids["t"], partitions=[part])
    return R(responses=[topic])


GIVEN_UP = [
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.INVALID_RECORD_STATE,
    ErrorCode.INVALID_REQUEST,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ErrorCode.GROUP_AUTHORIZATION_FAILED,
    ErrorCode.UNKNOWN_SERVER_ERROR,
]


@pytest.mark.parametrize("code", GIVEN_UP, ids=lambda one: one.name)
def test_what_cannot_be_told_any_more_is_said(cluster, world, code):
    cluster.script[ApiKey.SHARE_ACKNOWLEDGE] = lambda *_: acknowledge_error(cluster, code)
    client = ShareClient(world, {}).subscribe("t")
    client.polled()
    (error,) = client.commit().values()
    assert type(error) is errors.for_code(code)
    (event,) = client.of(RecordsAcknowledged)
    assert (event.partition, event.ranges, event.error) == (T0, ((0, 9),), error)
    assert cluster.count(ApiKey.SHARE_ACKNOWLEDGE) == 1


PASSING = [
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
]


@pytest.mark.parametrize("code", PASSING, ids=lambda one: one.name)
def test_what_passes_is_told_again(cluster, world, code):
    answers = iter([acknowledge_error(cluster, code)] * 3)

    def refuse(node, request):
        answer = next(answers, None)
        if answer is not None:
            assert not cluster._session(node, request.message)
        return answer

    cluster.script[ApiKey.SHARE_ACKNOWLEDGE] = refuse
    client = ShareClient(world, {}).subscribe("t")
    client.polled()
    assert client.commit() == {T0: None}
    assert cluster.count(ApiKey.SHARE_ACKNOWLEDGE) == 4
    assert cluster.done() == list(range(10))


def test_what_does_not_pass_in_time_is_a_timeout(cluster, world):
    code = ErrorCode.KAFKA_STORAGE_ERROR

    def refuse(node, request):
        assert not cluster._session(node, request.message)
        return acknowledge_error(cluster, code)

    cluster.script[ApiKey.SHARE_ACKNOWLEDGE] = refuse
    client = ShareClient(world, {}).subscribe("t")
    client.polled()
    (error,) = client.commit(timeout_ms=3_000).values()
    assert isinstance(error, errors.KafkaTimeoutError)
    assert cluster.count(ApiKey.SHARE_ACKNOWLEDGE) < 10


@pytest.mark.parametrize(
    "code", [ErrorCode.INVALID_RECORD_STATE, ErrorCode.NOT_LEADER_OR_FOLLOWER], ids=str
)
def test_what_rides_along_in_vain_is_said(cluster, world, code):
    client = ShareClient(world, {"max_poll_records": 5}).subscribe("t")
    client.polled()

    def refuse(node, request):
        cluster._acknowledge = lambda *_: code

    cluster.script[ApiKey.SHARE_FETCH] = refuse
    client.polled()
    (event,) = client.of(RecordsAcknowledged)
    assert type(event.error) is errors.for_code(code)


def test_a_commit_of_nothing_is_answered_at_once(cluster, world):
    client = ShareClient(world, {}).subscribe("t")
    assert client.commit() == {}


def test_closing_tells_what_is_said_and_releases_the_rest(cluster, world):
    client = ShareClient(world, EXPLICIT).subscribe("t")
    for record in client.polled()[:3]:
        client.core.acknowledge(T0, record.offset, AcknowledgeType.ACCEPT)
    client.close()
    assert cluster.done() == [0, 1, 2]
    assert cluster.held() == []
    (last,) = asked(cluster, ApiKey.SHARE_ACKNOWLEDGE)
    assert last.share_session_epoch == -1


def test_a_close_that_nobody_answers_ends_in_time(cluster, world):
    client = ShareClient(world, {}).subscribe("t")
    client.polled()
    cluster.script[ApiKey.SHARE_ACKNOWLEDGE] = lambda *_: SILENT
    cluster.script[ApiKey.SHARE_GROUP_HEARTBEAT] = lambda *_: SILENT
    started = world.now
    client.core.close(world.now, 700)
    client.drain()
    while not client.of(Closed):
        world.run(10)
    assert 690 <= world.now - started <= 720


# Several nodes ------------------------------------------------------------------------------------


def test_each_leader_is_asked_and_told_for_itself():
    cluster = ShareCluster({"t": 3}, nodes=3)
    for number in range(3):
        cluster.fill(4, partition=number)
    world = World(cluster)
    client = ShareClient(world, {}).subscribe("t")
    found = []
    while len(found) < 12:
        found += client.polled()
    assert (
        set(client.commit())
        == {TopicPartition("t", number) for number in range(3)}
        - {event.partition for event in client.of(RecordsAcknowledged)}
        or cluster.told
    )
    for number in range(3):
        assert cluster.done(partition=number) == list(range(4))
    assert {node for node, *_ in cluster.told} == {1, 2, 3}
    client.close()
    assert cluster.sessions == {}


def test_no_more_than_asked_for_means_one_broker_at_a_time():
    cluster = ShareCluster({"t": 3}, nodes=3)
    for number in range(3):
        cluster.fill(4, partition=number)
    world = World(cluster)
    options = {"share_acquire_mode": "record_limit", "max_poll_records": 4}
    client = ShareClient(world, options).subscribe("t")
    for _ in range(3):
        assert len(client.polled()) == 4
    assert len(client.of(RecordsFetched)) == 3
    assert {one.share_acquire_mode for one in asked(cluster, ApiKey.SHARE_FETCH)} == {1}
    assert client.polled(3_000) == []


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


# Bytes --------------------------------------------------------------------------------------------


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
