"""`Producer` on embedded brokers: what users call, threads, callbacks, forks, mishaps."""

import asyncio
import os
import pickle
import signal
import threading
import time
from enum import Enum
from itertools import pairwise

import numpy as np
import pytest
from confluent_kafka.admin import AdminClient, NewPartitions
from kafka.partitioner import DefaultPartitioner

from kcore import Consumer, Producer, TopicPartition
from kcore.embedded import EmbeddedBroker
from kcore.errors import (
    IllegalArgumentError,
    InvalidTopicError,
    KafkaConfigurationError,
    KafkaError,
    KafkaTimeoutError,
    NoBrokersAvailable,
    ProducerClosed,
    RecordTooLargeError,
    TopicAuthorizationFailedError,
)


@pytest.fixture(scope="module")
def broker():
    with EmbeddedBroker(in_memory=True) as broker:
        broker.create_topic("t", 1)
        broker.create_topic("many", 3)
        yield broker
        assert broker.faults == []


@pytest.fixture
def make(broker):
    made = []

    def make(**options):
        options = {"transport": broker.transport(), "bootstrap_servers": broker.bootstrap} | options
        made.append(Producer(**options))
        return made[-1]

    yield make
    for producer in made:
        producer.close(0)


def read(broker, topic="t", **options):
    """Every record of a topic, by partition."""
    found = {}
    with Consumer(
        bootstrap_servers=broker.bootstrap, transport=broker.transport(), **options
    ) as consumer:
        parts = [TopicPartition(topic, n) for n in sorted(consumer.partitions_for_topic(topic))]
        consumer.assign(parts)
        consumer.seek_to_beginning(*parts)
        ends = consumer.end_offsets(parts)
        found = {tp.partition: [] for tp in parts}
        while any(consumer.position(tp) < ends[tp] for tp in parts):
            for tp, records in consumer.poll(100).items():
                found[tp.partition] += records
    return found


# Calls --------------------------------------------------------------------------------------------


def test_a_record_is_sent_and_read(broker, make):
    producer = make()
    future = producer.send("t", b"v", key=b"k", headers=[("h", b"1")], timestamp_ms=1234)
    found = future.get(10)
    assert (found.topic, found.partition, found.topic_partition) == ("t", 0, TopicPartition("t", 0))
    assert (found.timestamp, found.checksum) == (1234, None)
    sizes = found.serialized_key_size, found.serialized_value_size, found.serialized_header_size
    assert sizes == (1, 1, 2)
    assert future.is_done
    assert future.succeeded()
    assert not future.failed()
    assert future.value == found
    assert future.exception is None
    record = read(broker)[0][found.offset]
    assert (record.key, record.value, record.timestamp) == (b"k", b"v", 1234)
    assert [*record.headers] == [("h", b"1")]


def test_headers_may_be_any_iterable(broker, make):
    producer = make()
    offset = producer.send("t", b"v", headers=iter([("a", b"1"), ("b", None)])).get(10).offset
    assert [*read(broker)[0][offset].headers] == [("a", b"1"), ("b", None)]


def test_bytes_like_objects_are_bytes(broker, make):
    found = make().send("t", bytearray(b"v"), key=memoryview(b"k")).get(10)
    record = read(broker)[0][found.offset]
    assert (record.key, record.value) == (b"k", b"v")


@pytest.mark.parametrize("given", [{"value": "text"}, {"value": 5}, {"key": "text", "value": b""}])
def test_what_is_not_bytes_needs_a_serializer(make, given):
    with pytest.raises(TypeError, match="serializer"):
        make().send("t", **given)


class Topics(str, Enum):  # noqa: UP042 - as many write it
    FACE = "kinds"


def test_a_topic_of_some_kind_of_text_is_told_as_text(broker, make):
    broker.create_topic("kinds", 1)
    producer = make()
    for topic in (Topics.FACE, np.str_("kinds"), "kinds"):
        found = producer.send(topic, b"v").get(10)
        assert (type(found.topic), found.topic) == (str, "kinds")
        assert type(found.topic_partition.topic) is str


@pytest.mark.parametrize(
    ("topic", "kind"),
    [(None, TypeError), (5, TypeError), (b"t", TypeError), ("a/b", InvalidTopicError)],
)
def test_what_is_no_topic(make, topic, kind):
    producer = make(max_block_ms=500)
    with pytest.raises(kind):
        producer.send(topic, b"v")
    producer.send("t", b"v").get(10)  # and nothing is spoilt


@pytest.mark.parametrize("headers", [[(5, b"x")], [("a", "text")], [("a",)], ["ab"], [None]])
def test_bad_headers_are_refused_and_leave_nothing(broker, make, headers):
    producer = make()
    before = broker.end_offsets("t")
    with pytest.raises((TypeError, ValueError)):
        producer.send("t", b"v", headers=headers)
    producer.flush(10)
    assert broker.end_offsets("t") == before


@pytest.mark.parametrize(
    ("given", "kind", "why"),
    [
        (-1, IllegalArgumentError, "must not be negative"),
        (1 << 63, IllegalArgumentError, "must be at most 9223372036854775807"),
        ("1", TypeError, "a whole number of ms"),
        (1.5, TypeError, "a whole number of ms"),
    ],
)
def test_a_timestamp_is_ms_since_1970(make, given, kind, why):
    with pytest.raises(kind, match=f"timestamp_ms.*{why}"):
        make().send("t", b"v", timestamp_ms=given)


def test_sizes_of_headers_are_of_their_bytes(make):
    headers = [("schlüssel-日本", b"1"), ("none", None)]
    plain = make()
    plain.send("t", b"v").get(10)  # from here on records may go the quick way
    for producer in (plain, make(value_serializer=lambda value: value)):
        for future in [producer.send("t", b"v", headers=headers) for _ in range(3)]:
            assert future.get(10).serialized_header_size == 17 + 1 + 4


@pytest.mark.parametrize("partition", [3, -1])
def test_a_partition_has_to_exist(make, partition):
    with pytest.raises(ValueError, match="it has 3"):
        make().send("many", b"v", partition=partition)


@pytest.mark.parametrize("partition", ["1", 1.0, b"1"])
def test_a_partition_is_a_number(make, partition):
    with pytest.raises(TypeError, match="partition"):
        make().send("many", b"v", partition=partition)


def test_a_partition_that_is_new_is_sent_to():
    with EmbeddedBroker() as broker:
        broker.create_topic("t", 1)
        with Producer(bootstrap_servers=broker.bootstrap) as producer:
            producer.send("t", b"v").get(10)
            admin = AdminClient({"bootstrap.servers": broker.bootstrap})
            admin.create_partitions([NewPartitions("t", 4)])["t"].result(10)
            assert producer.send("t", b"v", partition=3).get(10).partition == 3


def test_nobody_can_say_whether_a_partition_is_new():
    with EmbeddedBroker() as broker:
        broker.create_topic("t", 1)
        with Producer(bootstrap_servers=broker.bootstrap, max_block_ms=300) as producer:
            producer.send("t", b"v").get(10)
            broker.kill(1)
            with pytest.raises(KafkaTimeoutError, match="partition 3 of topic t is not known"):
                producer.send("t", b"v", partition=3)
            broker.revive(1)


def test_a_topic_that_is_not_there_is_waited_for(make):
    producer = make(max_block_ms=300, allow_auto_create_topics=False)
    with pytest.raises(KafkaTimeoutError, match="nowhere"):
        producer.send("nowhere", b"v")
    with pytest.raises(KafkaTimeoutError, match="nowhere"):
        producer.partitions_for("nowhere")


def test_what_was_refused_to_others_before_is_not_told_to_who_comes_later(make):
    producer = make(max_block_ms=5_000)
    courier = producer._courier
    with courier.lock:
        courier.errors_seen += 1
        courier._errors.append((courier.errors_seen, TopicAuthorizationFailedError("of others")))
    assert producer.partitions_for("many") == {0, 1, 2}
    assert producer.send("many", b"v").get(10).offset >= 0


def test_a_record_has_to_fit(make):
    producer = make(max_request_size=1000)
    with pytest.raises(RecordTooLargeError, match="max_request_size=1000"):
        producer.send("t", bytes(1000))


@pytest.mark.parametrize("kind", ["function", "object"])
def test_serializers(broker, make, kind):
    class Shout:
        closed = 0

        def serialize(self, topic, headers, data):
            return f"{topic}:{data}".upper().encode()

        def close(self):
            self.closed += 1

    shout = Shout()
    serializer = shout if kind == "object" else (lambda data: f"t:{data}".upper().encode())
    producer = make(key_serializer=serializer, value_serializer=serializer)
    offset = producer.send("t", "v", key="k").get(10).offset
    record = read(broker)[0][offset]
    assert (record.key, record.value) == (b"T:K", b"T:V")
    producer.close()
    assert shout.closed == (2 if kind == "object" else 0)


def test_partitioners_of_both_kinds(make):
    seen = []

    def by_function(key, partitions, available):
        seen.append((key, partitions, sorted(available)))
        return 2

    assert make(partitioner=by_function).send("many", b"v", key=b"k").get(10).partition == 2
    assert seen == [(b"k", [0, 1, 2], [0, 1, 2])]
    theirs, ours = make(partitioner=DefaultPartitioner()), make()
    for number in range(20):
        key = b"%d" % number
        pair = [p.send("many", b"v", key=key).get(10).partition for p in (theirs, ours)]
        assert pair[0] == pair[1]
    with pytest.raises(ValueError, match="the partitioner chose 9"):
        make(partitioner=lambda *_: 9).send("many", b"v")
    with pytest.raises(KafkaConfigurationError):
        make(partitioner=5)


def test_records_without_a_key_stay_together_and_move_on(broker, make):
    producer = make(linger_ms=100, batch_size=1000)
    futures = [producer.send("many", bytes(50)) for _ in range(300)]
    producer.flush(10)
    numbers = [future.value.partition for future in futures]
    moves = sum(one != other for one, other in pairwise(numbers))
    assert 5 < moves < 40
    assert set(numbers) == {0, 1, 2}


def test_ignored_keys_are_as_none(make):
    producer = make(partitioner_ignore_keys=True, batch_size=500)
    futures = [producer.send("many", bytes(50), key=b"same") for _ in range(300)]
    producer.flush(10)
    assert {future.value.partition for future in futures} == {0, 1, 2}


# Callbacks ----------------------------------------------------------------------------------------


def test_callbacks_get_what_kafka_pythons_get(make):
    producer = make(linger_ms=50)
    told = []
    future = producer.send("t", b"v")
    chained = future.add_callback(lambda *a, **k: told.append((a, k)), 1, x=2)
    assert chained is future
    future.add_errback(lambda *a: told.append("error"))
    future.add_both(told.append)
    found = future.get(10)
    producer.flush(10)
    wait_for(lambda: len(told) == 2)
    assert told == [((1, found), {"x": 2}), found]
    future.add_callback(told.append)  # it is over: at once
    assert told[2:] == [found]
    future.add_callback(lambda _: 1 / 0)  # is logged, and no more


def test_errbacks(broker, make):
    producer = make(retries=0)
    producer.send("t", b"v").get(10)
    broker.refuse("Produce", "TOPIC_AUTHORIZATION_FAILED")
    told = []
    future = producer.send("t", b"v").add_callback(lambda _: told.append("no"))
    future.add_errback(lambda *a: told.append(a), 1)
    with pytest.raises(TopicAuthorizationFailedError):
        future.get(10)
    wait_for(lambda: told)
    assert told == [(1, future.exception)]
    assert future.exception.topics == {"t"}
    assert future.failed()
    assert not future.retriable()
    assert future.value is None


@pytest.mark.parametrize("how", [ValueError, SystemExit, asyncio.CancelledError])
def test_a_callback_that_fails_harms_nobody(make, how):
    producer = make()

    def fail(_):
        raise how("of the callback")

    producer.send("t", b"v").add_callback(fail)
    producer.flush(10)
    for _ in range(3):
        producer.send("t", b"v").get(10)


def test_callbacks_may_send_flush_and_get(make):
    producer = make(linger_ms=20)
    done = threading.Event()
    found = []

    def more(_):
        future = producer.send("t", b"from a callback")
        found.append(future.get(5))
        producer.send("t", b"another")
        producer.flush(5)
        done.set()

    producer.send("t", b"v").add_callback(more)
    assert done.wait(10)
    assert found[0].offset > 0


def test_a_callback_may_close(make):
    producer = make()
    over = threading.Event()
    told = []

    def close(_):
        producer.close()
        for call in (lambda: producer.send("t", b"v"), lambda: producer.flush(1)):
            try:
                call()
            except ProducerClosed:
                told.append("closed")
        over.set()

    producer.send("t", b"v").add_callback(close)
    assert over.wait(10)
    assert set(told) == {"closed"}
    wait_for(lambda: producer._courier.over)
    producer.close()


# Waiting and the end ------------------------------------------------------------------------------


def test_time_is_over_although_others_are_busy(broker, make):
    producer = make(linger_ms=0)
    broker.delay("Produce", 3_000)
    future = producer.send("t", b"slow")
    stop = threading.Event()

    def busy():
        while not stop.wait(0.001):
            producer.send("t", b"more")

    thread = threading.Thread(target=busy)
    thread.start()
    began = time.monotonic()
    try:
        with pytest.raises(KafkaTimeoutError):
            future.get(0.2)
        with pytest.raises(KafkaTimeoutError):
            producer.flush(0.2)
        assert time.monotonic() - began < 2.5
    finally:
        stop.set()
        thread.join()
    future.get(10)


def test_a_full_buffer_holds_up_and_times_out(broker, make):
    producer = make(buffer_memory=2_000, max_block_ms=300, linger_ms=0)
    producer.send("t", b"first").get(10)
    broker.delay("Produce", 1_500, times=1)
    with pytest.raises(KafkaTimeoutError, match="buffer_memory=2000"):
        fill(producer)
    producer.flush(10)
    producer.send("t", bytes(100)).get(10)


def test_close_delivers(broker, make):
    producer = make(linger_ms=5_000)
    before = broker.end_offsets("t")[0]
    futures = [producer.send("t", b"v") for _ in range(10)]
    with producer:
        pass
    assert broker.end_offsets("t")[0] == before + 10
    assert all(future.succeeded() for future in futures)
    producer.close()
    for call in (
        lambda: producer.send("t", b"v"),
        producer.flush,
        lambda: producer.partitions_for("t"),
    ):
        with pytest.raises(ProducerClosed):
            call()


def test_close_without_time_fails_what_is_left(broker, make):
    producer = make(linger_ms=0)
    producer.send("t", b"v").get(10)
    broker.delay("Produce", 1_000)
    future = producer.send("t", b"v")
    producer.close(0)
    with pytest.raises(ProducerClosed):
        future.get()
    assert isinstance(future.exception, ProducerClosed)


def test_nobody_waits_for_a_thread_that_failed(make):
    producer = make(linger_ms=60_000)
    future = producer.send("t", b"v")
    told = []

    def wait():
        try:
            future.get()
        except KafkaError as error:
            told.append(str(error))

    thread = threading.Thread(target=wait)
    thread.start()
    time.sleep(0.05)
    courier = producer._courier
    with courier.lock:
        courier._pump.step = lambda *_: 1 / 0
        courier._pump.wakeup()
    thread.join(5)
    assert not thread.is_alive()
    assert "the producer's thread failed" in told[0]
    with pytest.raises(Exception, match="the producer's thread failed"):
        producer.send("t", b"v")
    with pytest.raises(KafkaError, match="1 records were not delivered"):
        producer.close()


def test_ctrl_c_ends_a_wait_and_the_producer_goes_on(broker, make):
    producer = make(linger_ms=0)
    producer.send("t", b"v").get(10)
    broker.delay("Produce", 1_000)
    future = producer.send("t", b"v")

    def interrupted():  # the signal may come before the wait, but not outside of this
        threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        future.get(5)

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert future.get(5).offset > 0


def test_nobody_is_there():
    with pytest.raises(NoBrokersAvailable, match="no broker answered"):
        Producer(bootstrap_servers="127.0.0.1:1", bootstrap_timeout_ms=200)


def test_with_a_stated_version_nobody_is_asked():
    producer = Producer(bootstrap_servers="127.0.0.1:1", api_version=(3, 9), max_block_ms=100)
    with pytest.raises(KafkaTimeoutError, match="no broker can be reached"):
        producer.send("t", b"v")
    producer.close(0)


def test_a_producer_cannot_be_pickled(make):
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(make())


def test_secrets_are_not_in_the_config(make):
    producer = make()
    assert producer.config["acks"] == -1
    assert producer.config["api_version"] >= (4, 0)
    assert producer.bootstrap_connected()


def test_many_producers_at_once(broker, make):
    before = broker.end_offsets("t")[0]
    producers = [make() for _ in range(20)]
    futures = [producer.send("t", b"v") for producer in producers for _ in range(20)]
    assert len({future.get(20).offset for future in futures}) == 400
    assert broker.end_offsets("t")[0] == before + 400


def fill(producer):
    for _ in range(100):
        producer.send("t", bytes(100))


def wait_for(done, seconds=10):
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end
        time.sleep(0.005)
