"""`ProducerCore` against scripted leaders that judge sequences as Kafka's do."""

import pytest
from scripted import CUT, SILENT
from scripted_producer import (
    NOT_LEADER,
    OUT_OF_ORDER,
    behind_a_dead_leader,
    first_times,
    produce_world,
    send_all,
    small_batches,
    values,
)

from kcore import errors
from kcore.errors import (
    KafkaTimeoutError,
    ProducerClosed,
)
from kcore.events import Closed
from kcore.records import RecordReader
from kcore.records.batches import describe_batches
from kcore.structs import TopicPartition
from kcore.wire import messages as m
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode

R = m.ProduceResponse
T0 = TopicPartition("t", 0)
IDEMPOTENT, PLAIN = {"enable_idempotence": True}, {"enable_idempotence": False}


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
    assert client.outcomes() == [(-1, -1, None, -1)] * 100
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


def test_what_somebody_waits_for_lingers_no_longer():
    world, cluster, client = produce_world(topics={"t": 2}, linger_ms=None)
    for number in range(2):
        client.send_soon(b"v", partition=number)
    client.flush()
    asked = len(cluster.asked)
    for number in range(2):
        assert client.send(b"w", partition=number)
    (second,) = (batch for batch, _, value in client.taken if value == b"w" and batch.tp.partition)
    client.core.hurry([second], world.now)
    client.drain()
    world.run(3)
    assert len(cluster.asked) == asked + 1  # the other one lingers
    assert cluster.log(1).values == [b"v", b"w"]
    assert cluster.log(0).values == [b"v"]
    world.run(10)
    assert cluster.log(0).values == [b"v", b"w"]


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
    assert 60 <= len(cluster.log().values) < 100  # all but the open batch
    assert all(info.size_bytes <= 1000 for info in cluster.log().batches)
    client.flush()
    assert cluster.log().values == values(100)


def test_a_request_has_batches_of_as_many_partitions_as_fit_into_it():
    _, cluster, client = produce_world(
        topics={"t": 10}, batch_size=4_000, linger_ms=1_000, max_request_size=10_000
    )
    for number in range(10):
        client.send_soon(bytes(3_000), partition=number)
    client.flush()
    sizes = [
        sum(len(part.records) for topic in message.topic_data for part in topic.partition_data)
        for _, api, message in cluster.asked
        if api is ApiKey.PRODUCE
    ]
    assert [size // 3_000 for size in sizes] == [3, 3, 3, 1]
    assert max(sizes) <= 10_000
    assert cluster.values() == [bytes(3_000)] * 10


@pytest.mark.parametrize("options", [IDEMPOTENT, PLAIN], ids=["idempotent", "plain"])
def test_a_leader_has_no_more_requests_than_allowed(options):
    world, cluster, client = produce_world(
        topics={"t": 10},
        batch_size=2_000,
        linger_ms=0,
        max_request_size=2_000,
        max_in_flight_requests_per_connection=3,
        **options,
    )
    cluster.script[ApiKey.PRODUCE] = lambda *_: SILENT
    for number in range(10):
        client.send_soon(bytes(1_500), partition=number)
    world.run(1_000)
    assert cluster.count(ApiKey.PRODUCE) == 3
    cluster.script.clear()
    client.flush()
    assert cluster.values() == [bytes(1_500)] * 10


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
    passes = kind.retriable or issubclass(kind, errors.AuthenticationFailedError)
    again = passes or code in SPLITS or (code in NEW_EPOCH and options is IDEMPOTENT)
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


@pytest.mark.parametrize("code", [NOT_LEADER, OUT_OF_ORDER])
def test_retries_are_counted(code):
    _, cluster, client = produce_world(retries=2)
    tries = []
    cluster.fault = lambda *_: tries.append(1) or code
    send_all(client, values(1))
    client.flush()
    assert len(tries) == 3
    assert type(client.errors()[0]) is errors.for_code(code)
    cluster.fault = lambda *_: None
    send_all(client, values(2, 1))
    client.flush()
    assert cluster.log().values == values(2, 1)


def test_a_leader_that_is_named_costs_no_attempt():
    _, cluster, client = produce_world(nodes=2, retries=1)
    send_all(client, values(1))
    client.flush()
    cluster.hints = True
    cluster.move(0, 2)
    left = [1]

    def fault(node, *_):
        if node == 2 and left[0]:
            left[0] -= 1
            return int(ErrorCode.NOT_ENOUGH_REPLICAS)
        return None

    cluster.fault = fault
    send_all(client, values(1, 1))
    client.flush()
    assert client.errors() == []
    assert cluster.log().values == values(2)


def test_a_split_counts_as_no_attempt():
    _, cluster, client = produce_world(retries=1)
    cluster.max_batch = 1_000
    refused = set()

    def fault(node, topic, number, data):
        (info,) = describe_batches(data)
        if len(data) > cluster.max_batch or info.base_sequence in refused:
            return None
        refused.add(info.base_sequence)
        return NOT_LEADER

    cluster.fault = fault
    send_all(client, [bytes(600), bytes(600)])
    client.flush()
    assert client.errors() == []  # each part was sent again, once
    assert refused == {0, 1}
    assert cluster.log().values == [bytes(600)] * 2


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
    assert all("(number 1): these can be sent again" in text for text in texts[0::2])
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


def test_parts_do_not_get_before_a_batch_that_is_back_already():
    _, cluster, client = produce_world(linger_ms=50, batch_size=400)
    send_all(client, values(1))
    client.flush()
    errors_of = iter([int(ErrorCode.NOT_ENOUGH_REPLICAS), int(ErrorCode.MESSAGE_TOO_LARGE)])
    cluster.fault = lambda *_: next(errors_of, None)
    send_all(client, values(60, 1))
    client.flush(10_000)
    assert cluster.log().values == values(61)
    assert client.errors() == []


def test_parts_have_the_time_of_the_whole():
    world, cluster, client = produce_world(delivery_timeout_ms=31_000)
    cluster.max_batch = 1_000
    cluster.fault = lambda node, topic, number, data: NOT_LEADER if len(data) < 1_000 else None
    began_at = world.now
    send_all(client, [bytes(600), bytes(600)])
    client.flush()
    assert 31_000 <= world.now - began_at < 32_000
    assert [type(error) for error in client.errors()] == [KafkaTimeoutError] * 2
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


# Memory -------------------------------------------------------------------------------------------


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


# Flush and close ----------------------------------------------------------------------------------


@pytest.mark.parametrize("first_ms", [1_000, 60_000])
def test_of_two_closes_the_one_that_has_less_time_counts(first_ms):
    world, _, client = behind_a_dead_leader(1)
    client.core.close(world.now, first_ms)
    client.core.close(world.now, 61_000 - first_ms)
    client.drain()
    world.run(900)
    assert not client.of(Closed)
    world.run(200)
    assert client.of(Closed)
    assert [type(error) for error in client.errors()] == [ProducerClosed]


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
    _, _, client = behind_a_dead_leader(2, delivery_timeout_ms=35_000)
    began = client.world.now
    client.flush()
    assert [type(error) for error in client.errors()] == [KafkaTimeoutError] * 2
    assert 35_000 <= client.world.now - began < 40_000
