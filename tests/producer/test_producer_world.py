"""`ProducerCore` against scripted leaders that judge sequences as Kafka's do."""

import random

import pytest
from scripted import CUT
from scripted_producer import (
    CUT_AFTER,
    CUT_BEFORE,
    INVALID_EPOCH,
    LATE,
    NO_ANSWER,
    NOT_LEADER,
    OUT_OF_ORDER,
    produce_world,
)

from kcore import errors
from kcore.errors import (
    DisconnectedError,
    IllegalArgumentError,
    KafkaError,
    KafkaTimeoutError,
    ProducerClosed,
    RecordTooLargeError,
    UnsupportedVersionError,
)
from kcore.events import Closed, ErrorRaised
from kcore.records import RecordReader
from kcore.records.batches import describe_batches
from kcore.wire import messages as m
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode

R = m.ProduceResponse
IDEMPOTENT, PLAIN = {"enable_idempotence": True}, {"enable_idempotence": False}


def values(count, start=0):
    return [b"%06d" % number for number in range(start, start + count)]


def send_all(client, wanted, **given):
    for value in wanted:
        client.send_soon(value, **given)


def first_times(count, what):
    """A fault of the first `count` batches."""
    left = [count]

    def fault(*_):
        if left[0]:
            left[0] -= 1
            return what
        return None

    return fault


def small_batches(**options):
    """Each record is a batch."""
    return produce_world(batch_size=0, linger_ms=0, **options)


# The plain road -----------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [IDEMPOTENT, PLAIN, {"acks": 1}, {"compression_type": "gzip"}])
def test_what_is_sent_arrives_in_order(options):
    _, cluster, client = produce_world(**options)
    send_all(client, values(2000))
    client.flush()
    assert cluster.log().values == values(2000)
    client.check_offsets()
    asked = 0 if "acks" in options or options is PLAIN else 1
    assert cluster.count(ApiKey.INIT_PRODUCER_ID) == asked


def test_acks_0_is_over_when_written():
    _, cluster, client = produce_world(acks=0)
    send_all(client, values(100))
    client.flush()
    assert client.outcomes() == [(-1, -1, None)] * 100
    client.world.run(10)
    assert cluster.log().values == values(100)


def test_a_batch_lingers_and_waits_for_nobody_longer():
    world, cluster, client = produce_world(linger_ms=50)
    send_all(client, values(1))
    world.run(500)
    assert cluster.log().values == values(1)
    asked = len(cluster.asked)
    send_all(client, values(2, 1))
    world.run(45)
    assert len(cluster.asked) == asked
    world.run(10)
    assert len(cluster.asked) == asked + 1
    assert [info.record_count for info in cluster.log().batches] == [1, 2]


def test_a_batch_that_lingers_long_does_not_make_the_core_spin():
    world, _, client = produce_world(linger_ms=60_000)
    send_all(client, values(1))
    before = world.inputs
    world.run(5_000)
    assert world.inputs - before < 20


def test_what_is_full_goes_at_once():
    world, cluster, client = produce_world(
        linger_ms=600_000, batch_size=1000, delivery_timeout_ms=900_000
    )
    send_all(client, values(100))
    world.run(100)
    assert len(cluster.log().values) >= 60  # all but the open batch
    assert all(info.size_bytes <= 1000 for info in cluster.log().batches)
    client.flush()
    assert cluster.log().values == values(100)


def test_a_record_larger_than_a_batch_is_a_batch():
    _, cluster, client = produce_world(batch_size=100)
    send_all(client, [b"a", bytes(5000), b"b"])
    client.flush()
    assert cluster.log().values == [b"a", bytes(5000), b"b"]
    assert [info.record_count for info in cluster.log().batches] == [1, 1, 1]


def test_headers_keys_and_nulls_arrive():
    world, cluster, client = produce_world()
    kept = []
    cluster.fault = lambda node, topic, number, data: kept.append(data)
    client.send_soon(None, key=b"k", headers=[("a", b"1"), ("b", None)])
    client.flush()
    (record,) = RecordReader("t", 0, kept[0], 0).take(5)
    assert (record.key, record.value, record.timestamp) == (b"k", None, 5)
    assert [*record.headers] == [("a", b"1"), ("b", None)]


@pytest.mark.parametrize("headers", [[(5, b"x")], [("a", 5)], [("\ud800", b"x")], [("a",)], [None]])
def test_a_record_that_cannot_be_encoded_leaves_nothing_behind(headers):
    _, cluster, client = produce_world(topics={"t": 1})
    client.send_soon(b"first")
    client.flush()
    with pytest.raises((TypeError, ValueError)):
        client.send(b"x", headers=headers)
    assert client.core.held_bytes == 0
    client.flush()
    client.send_soon(b"second")
    client.flush()
    assert cluster.log().values == [b"first", b"second"]


# Every error code ---------------------------------------------------------------------------------

SPLITS = {ErrorCode.MESSAGE_TOO_LARGE}
NEW_EPOCH = {
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
    ErrorCode.UNKNOWN_PRODUCER_ID,
    ErrorCode.INVALID_PRODUCER_EPOCH,
}
CODES = [code for code in ErrorCode if code != ErrorCode.NONE]


@pytest.mark.parametrize("options", [IDEMPOTENT, PLAIN], ids=["idempotent", "plain"])
@pytest.mark.parametrize("code", CODES, ids=[code.name for code in CODES])
def test_each_code_is_retried_or_fails_and_the_rest_goes_on(code, options):
    world, cluster, client = produce_world(**options)
    send_all(client, values(1))
    client.flush()
    cluster.fault = first_times(1, int(code))
    send_all(client, values(2, 1))
    client.flush()
    send_all(client, values(1, 3))
    client.flush()
    client.check_offsets()
    kind = errors.for_code(code)
    again = kind.retriable or code in SPLITS or (code in NEW_EPOCH and options is IDEMPOTENT)
    if code == ErrorCode.DUPLICATE_SEQUENCE_NUMBER:
        assert client.errors() == []
        assert cluster.log().values == [b"000000", b"000003"]
    elif again:
        assert client.errors() == []
        assert cluster.log().values == values(4)
    else:
        assert [type(error) for error in client.errors()] == [kind, kind]
        assert cluster.log().values == [b"000000", b"000003"]
    epochs = {info.producer_epoch for info in cluster.log().batches}
    if options is IDEMPOTENT:
        gap = NEW_EPOCH | {ErrorCode.DUPLICATE_SEQUENCE_NUMBER}  # which was a lie here
        assert epochs == ({0, 1} if code in gap else {0})


@pytest.mark.parametrize("code", CODES, ids=[code.name for code in CODES])
def test_each_code_in_the_middle_of_five_under_way_keeps_the_rest_once_and_in_order(code):
    world, cluster, client = small_batches()
    send_all(client, values(2))
    client.flush()
    cluster.fault = first_times(1, int(code))
    send_all(client, values(12, 2))
    client.flush()
    client.check_offsets()
    log = cluster.log().values
    assert log == sorted(set(log))
    assert log == client.delivered() or code == ErrorCode.DUPLICATE_SEQUENCE_NUMBER


def test_a_code_that_always_comes_ends_with_the_delivery_timeout():
    world, cluster, client = produce_world(delivery_timeout_ms=40_000, retry_backoff_max_ms=5000)
    cluster.fault = lambda *_: NOT_LEADER
    send_all(client, values(3))
    began = world.now
    client.flush()
    assert 39_000 < world.now - began < 41_000
    assert {type(error) for error in client.errors()} == {KafkaTimeoutError}
    cluster.fault = lambda *_: None
    send_all(client, values(3, 3))
    client.flush()
    assert cluster.log().values == values(3, 3)


def test_retries_are_counted():
    _, cluster, client = produce_world(retries=2)
    tries = []
    cluster.fault = lambda *_: tries.append(1) or NOT_LEADER
    send_all(client, values(1))
    client.flush()
    assert len(tries) == 3
    assert type(client.errors()[0]).__name__ == "NotLeaderForPartitionError"
    cluster.fault = lambda *_: None
    send_all(client, values(2, 1))
    client.flush()
    assert cluster.log().values == values(2, 1)


def test_a_partition_left_out_of_the_answer_is_sent_again_and_taken_once():
    world, cluster, client = produce_world()
    left = [1]

    def answer(node, request):
        if left[0]:
            left[0] -= 1
            cluster._produce(node, request, lambda _: None)
            return R(responses=[])
        return None

    cluster.script[ApiKey.PRODUCE] = answer
    send_all(client, values(3))
    client.flush()
    assert cluster.log().values == values(3)
    assert client.errors() == []


def test_refused_records_are_named_and_the_others_can_be_sent_again():
    _, cluster, client = produce_world()
    send_all(client, values(1))
    client.flush()
    refusal = R.PartitionProduceResponse(
        index=0,
        error_code=int(ErrorCode.INVALID_RECORD),
        record_errors=[
            R.BatchIndexAndErrorMessage(batch_index=1, batch_index_error_message="no key")
        ],
    )
    cluster.fault = first_times(1, refusal)
    send_all(client, values(3, 1))
    client.flush()
    texts = [str(error) for error in client.errors()]
    assert "no key" in texts[1]
    assert "no key" not in texts[0] + texts[2]
    send_all(client, values(1, 9))
    client.flush()
    assert cluster.log().values == [b"000000", b"000009"]


def test_a_hint_of_a_refused_write_is_not_believed_for_ever():
    """A leader hint beside an error that it does not explain changes nothing."""
    _, cluster, client = produce_world()
    epoch = [10]

    def fault(*_):
        epoch[0] += 1
        return R.PartitionProduceResponse(
            index=0,
            error_code=int(ErrorCode.TOPIC_AUTHORIZATION_FAILED),
            current_leader=R.LeaderIdAndEpoch(leader_id=1, leader_epoch=epoch[0]),
        )

    cluster.fault = fault
    send_all(client, values(1))
    client.flush()
    assert isinstance(client.errors()[0], errors.TopicAuthorizationFailedError)
    assert epoch[0] == 11


# Too large ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [IDEMPOTENT, PLAIN, {"compression_type": "lz4"}])
def test_a_batch_that_is_too_large_is_split_until_it_fits(options):
    _, cluster, client = produce_world(batch_size=20_000, linger_ms=100, **options)
    send_all(client, values(1))
    client.flush()
    cluster.max_batch = 300
    send_all(client, values(400, 1))
    waiting = client.core.flush(client.world.now)
    client.result(waiting)
    assert all(outcome is not None for outcome in client.outcomes())
    arrived = cluster.log().values
    assert (sorted(arrived) if options is PLAIN else arrived) == values(401)
    client.check_offsets()
    assert client.core.held_bytes == 0


@pytest.mark.parametrize("sizes", [[10, 900], [900, 10], [10, 10, 900], [1, 1, 1, 1, 900, 1]])
def test_a_record_that_fits_nowhere_fails_alone(sizes):
    world, cluster, client = produce_world(linger_ms=50)
    send_all(client, values(1))
    client.flush()
    cluster.max_batch = 500
    send_all(client, [bytes(size) for size in sizes])
    client.flush(5_000)
    assert cluster.log().values == [b"000000"] + [bytes(size) for size in sizes if size < 900]
    assert [type(error).__name__ for error in client.errors()] == ["MessageSizeTooLargeError"]
    send_all(client, [b"after"])
    client.flush(5_000)
    assert cluster.log().values[-1] == b"after"
    client.check_offsets()


# Links --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("what", [CUT_BEFORE, CUT_AFTER, NO_ANSWER, LATE])
@pytest.mark.parametrize("nth", range(6))
def test_one_mishap_among_many_batches_loses_and_doubles_nothing(what, nth):
    world, cluster, client = small_batches(request_timeout_ms=1000, delivery_timeout_ms=20_000)
    seen = []

    def fault(*_):
        seen.append(1)
        return what if len(seen) == nth + 1 else None

    cluster.fault = fault
    send_all(client, values(15))
    client.flush()
    world.run(2_000)
    assert client.errors() == []
    assert cluster.log().values == values(15)
    client.check_offsets()


def test_without_idempotence_a_cut_may_double_and_never_loses():
    _, cluster, client = small_batches(enable_idempotence=False)
    cluster.fault = first_times(1, CUT_AFTER)
    send_all(client, values(10))
    client.flush()
    assert client.errors() == []
    assert set(cluster.log().values) == set(values(10))
    assert len(cluster.log().values) > 10


def test_one_request_at_a_time_keeps_the_order_without_idempotence():
    for seed in range(10):
        world, cluster, client = small_batches(
            nodes=2, seed=seed, enable_idempotence=False, max_in_flight_requests_per_connection=1
        )
        rng = random.Random(seed)
        cluster.fault = lambda *_, rng=rng: NOT_LEADER if rng.random() < 0.3 else None
        for index, value in enumerate(values(60)):
            client.send_soon(value)
            if index % 10 == 5:
                cluster.move(0, 1 + index // 10 % 2)
            world.run(rng.randrange(20))
        client.flush()
        assert cluster.log().values == values(60), seed


@pytest.mark.parametrize("hints", [False, True])
def test_leaders_that_move_are_followed(hints):
    world, cluster, client = small_batches(nodes=3, topics={"t": 2})
    cluster.hints = hints
    send_all(client, values(4), partition=0)
    client.flush()
    asked = cluster.count(ApiKey.METADATA)
    cluster.move(0, 3)
    send_all(client, values(8, 4), partition=0)
    client.flush()
    assert cluster.log().values == values(12)
    assert client.errors() == []
    assert (cluster.count(ApiKey.METADATA) == asked) is hints
    assert any(node == 3 and api == ApiKey.PRODUCE for node, api, _ in cluster.asked)


def test_a_leader_that_is_down_is_waited_for():
    world, cluster, client = small_batches(nodes=2, topics={"t": 2})
    send_all(client, values(2), partition=1)
    client.flush()
    world.kill_node(2)
    send_all(client, values(4, 2), partition=1)
    world.run(3_000)
    world.revive_node(2)
    client.flush()
    assert cluster.log(1).values == values(6)
    assert client.errors() == []


def test_a_producer_goes_on_after_a_batch_that_nobody_answered_in_time():
    """Whether it was written is not known: what comes behind must neither fail nor be doubled."""
    for what in (CUT_BEFORE, CUT_AFTER, NO_ANSWER):
        world, cluster, client = small_batches(request_timeout_ms=1000, delivery_timeout_ms=3000)
        send_all(client, values(2))
        client.flush()
        cluster.fault = lambda *_, what=what: what
        send_all(client, values(3, 2))
        world.run(4_000)
        cluster.fault = lambda *_: None
        assert {type(error) for error in client.errors()} == {KafkaTimeoutError}
        send_all(client, values(5, 10))
        client.flush()
        log = cluster.log().values
        assert log == sorted(set(log))
        assert log[:2] == values(2)
        assert log[-5:] == values(5, 10)
        assert set(client.delivered()) <= set(log)


@pytest.mark.parametrize("seed", range(30))
def test_random_mishaps_lose_nothing_double_nothing_and_keep_the_order(seed):
    rng = random.Random(seed)
    world, cluster, client = produce_world(
        nodes=3,
        topics={"t": 4},
        seed=seed,
        batch_size=rng.choice([0, 60, 200]),
        linger_ms=rng.choice([0, 5]),
        request_timeout_ms=1_500,
        delivery_timeout_ms=rng.choice([2_000, 120_000]),
        compression_type=rng.choice(["none", "gzip"]),
        buffer_memory=rng.choice([2_000, 1 << 20]),
    )
    cluster.hints = seed % 2 == 0
    faults = [CUT_BEFORE, CUT_AFTER, NO_ANSWER, LATE, NOT_LEADER, 7, 19, 20, 10, 2, 87]
    sick = [True]

    def fault(*_):
        return rng.choice(faults) if sick[0] and rng.random() < 0.15 else None

    cluster.fault = fault
    sent = {number: [] for number in range(4)}
    for number in range(240):
        partition = rng.randrange(4)
        value = b"%d-%06d" % (partition, number)
        client.send_soon(value, partition=partition)
        sent[partition].append(value)
        if rng.random() < 0.03:
            cluster.move(rng.randrange(4), rng.randrange(1, 4))
        if rng.random() < 0.02:
            world.kill_node(3)
            world.later(rng.randrange(2_000), lambda: world.revive_node(3))
        if rng.random() < 0.1:
            world.run(rng.randrange(200))
    sick[0] = False
    world.revive_node(3)
    client.flush()
    world.run(3_000)
    client.check_offsets()
    delivered = client.delivered()
    for partition in range(4):
        log = cluster.log(partition).values
        assert len(set(log)) == len(log), "doubled"
        assert log == sorted(log), "out of order"
        assert set(log) <= set(sent[partition])
        assert {value for value in delivered if value[:1] == b"%d" % partition} <= set(log)
    assert client.core.held_bytes == 0
    for error in client.errors():
        assert isinstance(error, KafkaError)


def test_a_silent_leader_of_old_is_not_outrun():
    """What it may have written is to be told apart from new batches at the leader that follows."""
    world, cluster, client = small_batches(
        nodes=2, request_timeout_ms=2_000, delivery_timeout_ms=30_000
    )
    send_all(client, values(2))
    client.flush()
    cluster.fault = first_times(3, NO_ANSWER)
    send_all(client, values(3, 2))
    world.run(50)
    cluster.move(0, 2)
    client.send(b"", topic="unknown")  # asks for metadata
    world.run(200)
    send_all(client, values(20, 5))
    client.flush()
    assert cluster.log().values == values(25)
    assert client.errors() == []
    client.check_offsets()


# Sequences ----------------------------------------------------------------------------------------


def test_a_refused_first_batch_does_not_make_the_second_the_beginning():
    """A leader that knows nothing of a producer takes any sequence for the first."""
    _, cluster, client = small_batches()
    cluster.fault = first_times(1, 7)  # REQUEST_TIMED_OUT: again
    send_all(client, values(6))
    client.flush()
    assert cluster.log().values == values(6)
    _, cluster, client = small_batches()
    cluster.fault = first_times(1, int(ErrorCode.INVALID_RECORD))
    send_all(client, values(6))
    client.flush()
    assert cluster.log().values == values(5, 1)
    client.check_offsets()
    assert len(client.errors()) == 1


def test_the_last_epoch_is_followed_by_a_new_id():
    _, cluster, client = small_batches()
    cluster.first_epoch = 32_767
    send_all(client, values(3))
    client.flush()
    cluster.fault = first_times(1, OUT_OF_ORDER)
    send_all(client, values(6, 3))
    client.flush()
    assert cluster.log().values == values(9)
    assert {(i.producer_id, i.producer_epoch) for i in cluster.log().batches} == {
        (1001, 32_767),
        (1002, 0),
    }


def test_another_partition_goes_on_in_the_new_epoch_once_it_is_through():
    _, cluster, client = small_batches(topics={"t": 2})
    for number in (0, 1):
        send_all(client, values(2), partition=number)
    client.flush()
    cluster.fault = first_times(1, INVALID_EPOCH)
    send_all(client, values(3, 2), partition=0)
    send_all(client, values(3, 2), partition=1)
    client.flush()
    send_all(client, values(3, 5), partition=1)
    client.flush()
    assert cluster.log(0).values == values(5)
    assert cluster.log(1).values == values(8)


def test_records_that_retention_took_are_no_obstacle():
    _, cluster, client = small_batches()
    send_all(client, values(3))
    client.flush()
    cluster.log().producers.clear()
    cluster.fault = lambda node, topic, number, data: (
        int(ErrorCode.UNKNOWN_PRODUCER_ID)
        if next(describe_batches(data)).producer_epoch == 0
        else None
    )
    send_all(client, values(6, 3))
    client.flush()
    assert cluster.log().values == values(9)


def test_brokers_without_producer_ids_are_named():
    _, cluster, client = produce_world()
    del cluster.apis[ApiKey.INIT_PRODUCER_ID]
    send_all(client, values(1))
    client.flush()
    assert isinstance(client.errors()[0], UnsupportedVersionError)
    assert "enable_idempotence=False" in str(client.errors()[0])


def test_an_id_that_is_refused_fails_what_waits_and_is_asked_for_again():
    _, cluster, client = produce_world()
    left = [2]

    def refuse(node, request):
        if left[0]:
            left[0] -= 1
            code = 14 if left[0] else int(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
            return m.InitProducerIdResponse(error_code=code, producer_id=-1, producer_epoch=-1)
        return None

    cluster.script[ApiKey.INIT_PRODUCER_ID] = refuse
    send_all(client, values(2))
    client.flush()
    assert {type(e) for e in client.errors()} == {errors.ClusterAuthorizationFailedError}
    send_all(client, values(2, 2))
    client.flush()
    assert cluster.log().values == values(2, 2)


# Memory, unknown topics, timeouts -----------------------------------------------------------------


def test_memory_is_bounded_and_comes_back():
    world, cluster, client = produce_world(buffer_memory=3_000, batch_size=500, linger_ms=10_000)
    send_all(client, values(1))
    client.flush()
    cluster.script[ApiKey.PRODUCE] = lambda *_: CUT
    taken = 0
    while client.send(bytes(100)):
        taken += 1
        assert client.core.held_bytes <= 3_000
    assert 10 < taken < 30
    assert client.core.held_up == "memory"
    del cluster.script[ApiKey.PRODUCE]
    world.run(3_000)
    assert client.core.held_bytes == 0  # though they had not lingered: room was wanted
    assert client.send(b"x")
    assert client.errors() == []


@pytest.mark.parametrize("limit", ["max_request_size", "buffer_memory"])
def test_a_record_that_can_never_be_sent_is_refused_at_once(limit):
    _, _, client = produce_world(**{limit: 1000})
    with pytest.raises(RecordTooLargeError, match=f"{limit}=1000"):
        client.send(bytes(1000))
    client.send_soon(bytes(800))
    client.flush()


def test_a_topic_that_is_made_later_is_found():
    world, cluster, client = produce_world()
    assert not client.send(b"x", topic="new")
    assert client.core.held_up == "metadata"
    world.run(3_000)
    cluster.topics["new"] = 2
    client.send_soon(b"x", 3_000, topic="new")
    client.flush()
    assert cluster.values("new") == [b"x"]


def test_a_topic_that_is_refused_is_told_each_time_it_is_asked_for():
    world, cluster, client = produce_world()

    def refuse(node, request):
        answer = []
        cluster._metadata(node, request, answer.append)
        for topic in answer[0].topics:
            topic.error_code = int(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        return answer[0]

    cluster.script[ApiKey.METADATA] = refuse
    for _ in range(2):
        client.events.clear()
        assert not client.send(b"x")
        world.run(2_000)
        kinds = {type(event.error) for event in client.of(ErrorRaised)}
        assert kinds == {errors.TopicAuthorizationFailedError}


@pytest.mark.parametrize("number", [-1, 3])
def test_a_partition_that_does_not_exist_is_refused(number):
    _, _, client = produce_world(topics={"t": 3})
    client.send_soon(b"x")
    with pytest.raises(IllegalArgumentError, match="it has 3"):
        client.send(b"x", partition=number)


def test_a_topic_with_records_under_way_is_not_forgotten():
    world, cluster, client = produce_world(
        nodes=2, topics={"t": 2}, metadata_max_idle_ms=5_000, delivery_timeout_ms=60_000
    )
    client.send_soon(b"first", partition=1)
    client.flush()
    world.kill_node(2)
    client.send_soon(b"x", partition=1)
    world.run(20_000)
    world.revive_node(2)
    client.flush()
    assert client.errors() == []
    assert cluster.log(1).values == [b"first", b"x"]


def test_without_a_leader_the_timeout_says_so():
    world, cluster, client = produce_world(nodes=2, topics={"t": 2}, delivery_timeout_ms=31_000)
    client.send_soon(b"first", partition=1)
    client.flush()
    world.kill_node(2)
    client.send_soon(b"x", partition=1)
    client.flush()
    assert isinstance(client.errors()[0], KafkaTimeoutError)
    assert "connection refused" in str(client.errors()[0])
    assert client.core.held_bytes == 0


# Flush and close ----------------------------------------------------------------------------------


def test_a_flush_waits_for_what_was_taken_before_it_only():
    world, cluster, client = produce_world(linger_ms=10_000, batch_size=0)
    send_all(client, values(3))
    operation = client.core.flush(world.now)
    send_all(client, values(1, 3))
    client.result(operation)
    assert cluster.log().values[:3] == values(3)
    client.result(client.core.flush(world.now))
    client.result(client.core.flush(world.now))  # nothing is left: at once


def test_a_close_delivers_what_it_can():
    world, cluster, client = produce_world(linger_ms=10_000)
    send_all(client, values(5))
    client.core.close(world.now, 5_000)
    client.drain()
    with pytest.raises(ProducerClosed):
        client.send(b"x")
    world.run(1_000)
    assert cluster.log().values == values(5)
    assert len(client.of(Closed)) == 1


@pytest.mark.parametrize("shorten", [False, True])
def test_a_close_gives_up_when_its_time_is_over(shorten):
    world, cluster, client = produce_world(linger_ms=0)
    send_all(client, values(1))
    client.flush()
    cluster.script[ApiKey.PRODUCE] = lambda *_: CUT
    send_all(client, values(3, 1))
    operation = client.core.flush(world.now)
    client.core.close(world.now, 100_000 if shorten else 2_000)
    world.run(1_000)
    assert not client.of(Closed)
    if shorten:
        client.core.close(world.now, 0)
    world.run(1_100)
    client.drain()
    assert len(client.of(Closed)) == 1
    assert {type(error) for error in client.errors()} == {ProducerClosed}
    client.result(operation)
    assert client.core.held_bytes == 0


def test_brokers_that_cannot_be_reached_cost_the_delivery_timeout():
    world, cluster, client = produce_world(delivery_timeout_ms=35_000)
    send_all(client, values(1))
    client.flush()
    world.kill_node(1)
    send_all(client, values(2, 1))
    client.flush()
    assert {type(error) for error in client.errors()} <= {KafkaTimeoutError, DisconnectedError}
