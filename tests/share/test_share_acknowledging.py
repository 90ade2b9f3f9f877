"""What becomes of records, and every code of ShareAcknowledge."""

import gc
import weakref

import pytest
from scripted import CUT, SILENT, World
from scripted_share import ShareClient, ShareCluster, asked, values

from kcore import errors
from kcore.errors import IllegalStateError
from kcore.events import (
    Closed,
    RecordsAcknowledged,
)
from kcore.structs import AcknowledgeType, TopicPartition
from kcore.wire import messages as m
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode

T0 = TopicPartition("t", 0)
EXPLICIT = {"share_acknowledgement_mode": "explicit"}


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
    kinds = [AcknowledgeType(number) for number in (1, 2, 3, 4)]
    for record in client.polled():
        for kind in (*kinds[record.offset % 4 :], AcknowledgeType.ACCEPT, AcknowledgeType.REJECT):
            client.core.acknowledge(T0, record.offset, kind)
        client.core.acknowledge(T0, record.offset, kinds[record.offset % 3])
    client.commit()
    assert cluster.told == [(1, 0, 9, [1, 2, 3] * 3 + [1])]


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


def test_what_is_renewed_in_several_partitions_comes_again_once():
    cluster = ShareCluster({"t": 3})
    for number in range(3):
        cluster.fill(2, partition=number)
    client = ShareClient(World(cluster), EXPLICIT).subscribe("t")
    for record in client.polled():
        tp = TopicPartition("t", record.partition)
        client.core.acknowledge(tp, record.offset, AcknowledgeType.RENEW)
    again = client.polled()
    assert sorted((one.partition, one.offset) for one in again) == [
        (number, offset) for number in range(3) for offset in range(2)
    ]
    for record in again:
        tp = TopicPartition("t", record.partition)
        client.core.acknowledge(tp, record.offset, AcknowledgeType.ACCEPT)
    assert client.polled(1_000) == []
    assert [cluster.done("t", number) for number in range(3)] == [[0, 1]] * 3


def test_who_cannot_renew_is_told_so(cluster, world):
    cluster.apis[ApiKey.SHARE_ACKNOWLEDGE] = (1, 1)
    client = ShareClient(world, EXPLICIT).subscribe("t")
    for record in client.polled():
        client.core.acknowledge(T0, record.offset, AcknowledgeType.RENEW)
    (error,) = client.commit().values()
    assert isinstance(error, errors.UnsupportedVersionError)
    assert "4.2" in str(error)


def test_what_could_not_be_said_ends_no_session(cluster, world):
    """Nothing of it was written: what waits in a buffer is still this member's."""
    cluster.apis[ApiKey.SHARE_ACKNOWLEDGE] = (1, 1)
    client = ShareClient(world, EXPLICIT).subscribe("t")
    for record in client.polled(max_records=4):
        client.core.acknowledge(T0, record.offset, AcknowledgeType.RENEW)
    client.commit()
    assert [(one.offset, one.delivery_count) for one in client.polled(max_records=6)] == [
        (offset, 1) for offset in range(4, 10)
    ]
    for offset in range(4, 10):
        client.core.acknowledge(T0, offset, AcknowledgeType.ACCEPT)
    assert list(client.commit().values()) == [None]
    assert cluster.done() == list(range(4, 10))
    epochs = [one.share_session_epoch for one in asked(cluster, ApiKey.SHARE_FETCH)]
    assert epochs.count(0) == 1


def test_a_poll_returns_whole_batches_unless_told_how_many(cluster, world):
    def aligned(node, request):
        request.message.max_records = 10

    cluster.script[ApiKey.SHARE_FETCH] = aligned
    client = ShareClient(world, {"max_poll_records": 4}).subscribe("t")
    assert values(client.polled()) == list(range(10))
    cluster.fill(10, base=10)
    limited = ShareClient(world, {"max_poll_records": 4, "share_acquire_mode": "record_limit"})
    assert values(limited.subscribe("t").polled()) == [10, 11, 12, 13]


def test_what_was_not_handed_over_is_handed_over_later_without_asking(cluster, world):
    client = ShareClient(world, {}).subscribe("t")
    assert values(client.polled(max_records=4)) == [0, 1, 2, 3]
    assert values(client.polled(max_records=4)) == [4, 5, 6, 7]
    assert cluster.count(ApiKey.SHARE_FETCH) == 1
    world.run(50)
    assert cluster.done() == [0, 1, 2, 3]


def test_what_was_not_handed_over_of_another_topic_is_released(cluster, world):
    cluster.topics["u"] = 1
    cluster.topic_ids["u"] = b"u" * 16
    client = ShareClient(world, {}).subscribe("t")
    client.polled(max_records=4)
    assert cluster.held() == list(range(10))
    client.core.subscribe(["u"], world.now)
    client.drain()
    world.run(500)
    assert cluster.held() == [0, 1, 2, 3]
    assert not client.core.has_records
    assert client.core.buffered_bytes == 0


def test_what_waits_longer_than_its_lock_is_let_go(cluster, world):
    cluster.lock_ms = 1_000
    client = ShareClient(world, {}).subscribe("t")
    assert values(client.polled(max_records=4)) == [0, 1, 2, 3]
    world.run(1_500)
    cluster.partitions["t", 0].release(client.core.member_id)
    again = client.polled()
    assert [(one.offset, one.delivery_count) for one in again] == [(at, 2) for at in range(10)]


@pytest.mark.parametrize("lock_ms", [0, -5])
def test_a_lock_that_is_not_told_lasts_as_long_as_usual(cluster, world, lock_ms):
    cluster.lock_ms = lock_ms
    client = ShareClient(world, {}).subscribe("t")
    assert values(client.polled(max_records=4)) == [0, 1, 2, 3]
    world.run(20_000)
    assert values(client.polled()) == [4, 5, 6, 7, 8, 9]
    assert client.core.acquisition_lock_timeout_ms is None


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


def test_what_arrived_in_an_earlier_call_is_not_handed_over_again(cluster, world):
    client = ShareClient(world, {}).subscribe("t")
    client.polled(max_records=2)
    client.core.poll(world.now)
    client.core.hand_over()
    assert values(client.take(1)[T0]) == [2]
    client.core.hand_over()  # a loop that goes on with what there is, without a poll
    assert values(client.take(2)[T0]) == [3, 4]
    client.core.take_back(world.now)
    assert values(client.take(9)[T0]) == list(range(3, 10))


def test_what_was_handed_over_is_not_kept_for_who_takes_nothing_back(cluster, world):
    """Nobody says where a call begins (`hand_over`): a poll does."""

    class Value:
        pass

    def make(_data):
        value = Value()
        made.append(weakref.ref(value))
        return value

    made = []
    client = ShareClient(world, {"value_deserializer": make}).subscribe("t")
    for base in range(10, 60, 10):
        assert len(client.polled()) == 10
        cluster.fill(10, base=base)
    gc.collect()
    assert sum(one() is not None for one in made) <= 10


def acknowledge_error(cluster, code):
    R = m.ShareAcknowledgeResponse
    part = R.PartitionData(partition_index=0, error_code=code)
    topic = R.ShareAcknowledgeTopicResponse(topic_id=cluster.topic_ids["t"], partitions=[part])
    return R(responses=[topic])


GIVEN_UP = [
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,  # by whom it was given out: it is gone
    ErrorCode.UNKNOWN_TOPIC_ID,
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


def test_closing_tells_all_that_was_said_meanwhile(cluster, world):
    """In several goes, while the first of them was on its way."""
    client = ShareClient(world, EXPLICIT).subscribe("t")
    for record in client.polled()[:5]:
        client.core.acknowledge(T0, record.offset, AcknowledgeType.ACCEPT)
        client.core.commit(world.now, 5_000)
    client.close()
    assert cluster.done() == [0, 1, 2, 3, 4]
    assert cluster.held() == []
    assert cluster.sessions == {}


@pytest.mark.parametrize("api", [ApiKey.SHARE_ACKNOWLEDGE, ApiKey.SHARE_FETCH], ids=str)
def test_a_commit_ends_in_its_time_also_where_no_answer_comes(cluster, world, api):
    client = ShareClient(world, {}).subscribe("t")
    client.polled()
    cluster.script[api] = lambda *_: SILENT
    if api is ApiKey.SHARE_FETCH:
        client.poll()  # what is accepted rides along
    started = world.now
    (error,) = client.commit(timeout_ms=1_000).values()
    assert isinstance(error, errors.KafkaTimeoutError)
    assert world.now - started <= 1_050  # `result` looks every 50 ms


def test_who_waits_behind_a_link_that_ends_is_told_at_once(cluster, world):
    """Of what was on its way, and of what waited for its turn."""
    client = ShareClient(world, EXPLICIT).subscribe("t")
    client.polled()
    cluster.script[ApiKey.SHARE_ACKNOWLEDGE] = lambda *_: CUT
    client.core.acknowledge(T0, 0, AcknowledgeType.ACCEPT)
    client.core.commit(world.now, 60_000)
    client.core.acknowledge(T0, 1, AcknowledgeType.ACCEPT)
    began_at = world.now
    (error,) = client.commit(timeout_ms=60_000).values()
    assert isinstance(error, errors.DisconnectedError)
    assert world.now - began_at < 1_000
    told = client.of(RecordsAcknowledged)
    assert [event.ranges for event in told] == [((0, 0),), ((1, 1),)]
    assert {type(event.error) for event in told} == {errors.DisconnectedError}


def test_an_acknowledgement_that_is_told_again_and_again_is_given_up_in_its_time(cluster, world):
    """Whoever has not waited for it hears so, too."""
    R = m.ShareAcknowledgeResponse
    part = R.PartitionData(partition_index=0, error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE)
    topic = R.ShareAcknowledgeTopicResponse(topic_id=cluster.topic_ids["t"], partitions=[part])
    cluster.script[ApiKey.SHARE_ACKNOWLEDGE] = lambda *_: R(responses=[topic])
    client = ShareClient(world, EXPLICIT).subscribe("t")
    client.polled()
    client.core.acknowledge(T0, 0, AcknowledgeType.ACCEPT)
    client.core.commit(world.now, 2_000)
    client.drain()
    world.run(3_000)
    assert 3 <= cluster.count(ApiKey.SHARE_ACKNOWLEDGE) <= 20
    (event,) = client.of(RecordsAcknowledged)
    assert isinstance(event.error, errors.KafkaTimeoutError)


def test_a_commit_that_nobody_waits_for_is_told_at_once(cluster, world):
    client = ShareClient(world, {}).subscribe("t")
    client.polled()
    world.run(100)  # nothing else is due for a while
    client.core.commit(world.now, 60_000)
    client.drain()
    world.run(20)
    assert cluster.done() == list(range(10))
    (event,) = client.of(RecordsAcknowledged)
    assert event.error is None


def test_a_subscription_to_nothing_leaves_the_group_at_once(cluster, world):
    client = ShareClient(world, {}).subscribe("t")
    client.polled(max_records=4)
    world.run(100)
    client.core.subscribe([], world.now)
    client.drain()
    world.run(20)
    assert cluster.members == {}
    assert client.core.subscription() == set()
    assert cluster.held() == [0, 1, 2, 3]  # what the application has is its own still
    assert client.commit() == {T0: None}
    assert cluster.done() == [0, 1, 2, 3]


def test_what_is_told_again_takes_nobodys_place(cluster, world):
    R = m.ShareAcknowledgeResponse
    part = R.PartitionData(partition_index=0, error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE)
    topic = R.ShareAcknowledgeTopicResponse(topic_id=cluster.topic_ids["t"], partitions=[part])
    refused = iter([R(responses=[topic])])

    def refuse_once(node, request):
        answer = next(refused, None)
        if answer is not None:
            cluster.sessions[node, request.message.member_id] += 1
        return answer

    cluster.script[ApiKey.SHARE_ACKNOWLEDGE] = refuse_once
    client = ShareClient(world, EXPLICIT).subscribe("t")
    client.polled()
    for offset in range(3):
        client.core.acknowledge(T0, offset, AcknowledgeType.ACCEPT)
        operation = client.core.commit(world.now, 10_000)
    assert client.result(operation) == {T0: None}
    assert cluster.done() == [0, 1, 2]
    assert [event.ranges for event in client.of(RecordsAcknowledged)] == [
        ((offset, offset),) for offset in range(3)
    ]


def test_an_answer_that_leaves_out_what_it_was_told_is_none(cluster, world):
    cluster.script[ApiKey.SHARE_ACKNOWLEDGE] = lambda *_: m.ShareAcknowledgeResponse()
    client = ShareClient(world, {}).subscribe("t")
    client.polled()
    (error,) = client.commit().values()
    assert isinstance(error, errors.Unexpected)
    assert "without t-0" in str(error)


def test_a_lock_that_was_renewed_lasts_from_then_on(cluster, world):
    cluster.lock_ms = 1_000
    client = ShareClient(world, EXPLICIT).subscribe("t")
    records = client.polled()
    world.run(800)
    for record in records:
        kind = AcknowledgeType.RENEW if record.offset == 3 else AcknowledgeType.ACCEPT
        client.core.acknowledge(T0, record.offset, kind)
    assert client.commit() == {T0: None}
    world.run(500)
    assert [one.offset for one in client.polled(50)] == [3]


def test_a_commit_behind_a_question_without_an_answer_ends_in_its_time(cluster, world):
    client = ShareClient(world, EXPLICIT).subscribe("t")
    records = client.polled()
    cluster.script[ApiKey.SHARE_ACKNOWLEDGE] = lambda *_: SILENT
    for record in records[:2]:
        client.core.acknowledge(T0, record.offset, AcknowledgeType.ACCEPT)
        client.core.commit(world.now, 60_000)
    client.core.acknowledge(T0, 2, AcknowledgeType.ACCEPT)
    started = world.now
    (error,) = client.commit(timeout_ms=1_000).values()
    assert isinstance(error, errors.KafkaTimeoutError)
    assert world.now - started <= 1_050


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
