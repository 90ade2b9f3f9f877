"""What `send` gives back, beside kafka-python's futures; and what is left of a producer in the
child of a fork.
"""

import os
import queue
import time
import traceback

import pytest
from kafka import KafkaProducer
from kafka.producer.future import FutureRecordMetadata

from kcore import Producer
from kcore.embedded import EmbeddedBroker
from kcore.errors import KafkaTimeoutError, ProducerClosed
from kcore.producer import config

pa = pytest.importorskip("pyarrow")

RECORDS = [
    {"value": b"v"},
    {"value": None, "key": b"key"},
    {"value": b"v", "headers": [("schlüssel-日本", b"1"), ("a", b"")]},
    {"value": b"v", "headers": []},
    {"value": b"v", "timestamp_ms": 1234},
]
# What kafka-python calls itself.
INTERNAL = {"args", "chain", "error_on_callbacks", "failure", "rebind", "success"}


@pytest.fixture(scope="module")
def broker():
    with EmbeddedBroker() as broker:
        broker.create_topic("t", 1)
        broker.create_topic("u", 1)
        yield broker


@pytest.fixture
def producer(broker):
    with Producer(bootstrap_servers=broker.bootstrap) as producer:
        yield producer


def test_futures_have_what_users_take_of_kafka_pythons(producer):
    theirs = {name for name in dir(FutureRecordMetadata) if not name.startswith("_")}
    ours = {name for name in dir(producer.send("t", b"v")) if not name.startswith("_")}
    assert theirs - ours == INTERNAL


def test_an_error_that_records_share_does_not_grow_with_each_that_is_asked(broker):
    """Raised once for each of 100,000 records that were given up together, it would hold as many
    frames, and name them all when it is shown.
    """
    producer = Producer(bootstrap_servers=broker.bootstrap, linger_ms=60_000)
    futures = [producer.send("t", b"v") for _ in range(5)]
    producer.close(timeout=0)
    depths = set()
    for future in futures:
        with pytest.raises(ProducerClosed) as caught:
            future.get()
        depths.add(len(traceback.extract_tb(caught.value.__traceback__)))
    assert len(depths) == 1


@pytest.fixture
def long_linger(monkeypatch):
    """As the default, so that whoever waits for it fails."""
    monkeypatch.setattr(config, "LINGER_MS", 60_000)


@pytest.mark.usefixtures("long_linger")
@pytest.mark.parametrize("kind", ["record", "table"])
def test_what_is_waited_for_does_not_linger(broker, kind):
    with Producer(bootstrap_servers=broker.bootstrap, delivery_timeout_ms=120_000) as producer:
        for _ in range(2):
            if kind == "record":
                assert producer.send("t", b"v").get(10).offset >= 0
            else:
                assert producer.send_arrow(pa.table({"value": [b"v"]}), "t").get(10)


@pytest.mark.usefixtures("long_linger")
def test_nor_does_it_where_a_callback_waits(broker):
    with Producer(bootstrap_servers=broker.bootstrap, delivery_timeout_ms=120_000) as producer:
        offsets = queue.SimpleQueue()
        first = producer.send("t", b"v")
        first.add_callback(lambda _: offsets.put(producer.send("t", b"w").get(10).offset))
        assert first.get(10).offset < offsets.get(timeout=10)


@pytest.mark.usefixtures("long_linger")
def test_what_others_wait_for_makes_nothing_else_leave(broker):
    with Producer(bootstrap_servers=broker.bootstrap, delivery_timeout_ms=120_000) as producer:
        other = producer.send("u", b"v")
        for _ in range(3):
            producer.send("t", b"v").get(10)
        assert not other.is_done
        assert other.get(10).offset >= 0


def test_waits_that_are_repeated_leave_nothing_behind(broker):
    """Who looks every few ms for hours is none the heavier for it."""
    with Producer(bootstrap_servers=broker.bootstrap, linger_ms=60_000) as producer:
        record = producer.send("t", b"v").add_callback(lambda _: None)
        rows = producer.send_arrow(pa.table({"value": [b"v"]}), "t")
        for _ in range(5):
            for future in (record, rows):
                with pytest.raises(KafkaTimeoutError):
                    future.get(0.001)
        assert len(record.calls) == 1
        assert rows._delivery.calls == []
        producer.flush(10)
        assert record.get(10).offset >= 0
        assert rows.get(10)


def test_an_error_of_a_table_does_not_grow_each_time_it_is_asked(broker):
    producer = Producer(bootstrap_servers=broker.bootstrap, linger_ms=60_000)
    future = producer.send_arrow(pa.table({"value": [b"v"]}), "t")
    producer.close(timeout=0)
    depths = set()
    for _ in range(3):
        with pytest.raises(ProducerClosed) as caught:
            future.get()
        depths.add(len(traceback.extract_tb(caught.value.__traceback__)))
    assert len(depths) == 1


def become(kind, broker, acks, given):
    """What a future says of a record that is the first of its topic."""
    told = []

    def tell(*args, **kwargs):
        told.append((args[:-1], kwargs, args[-1] == future.value))

    topic = f"of-{kind.__name__}-{acks}-{time.monotonic_ns()}"
    broker.create_topic(topic, 1)
    producer = kind(bootstrap_servers=broker.bootstrap, acks=acks)
    try:
        future = producer.send(topic, **given)
        future.add_callback(tell, "a", b=1).add_errback(tell, "error")
        found = future.get(timeout=10)
        producer.flush()
    finally:
        producer.close()
    future.add_both(tell)  # it is over: at once
    states = future.is_done, future.succeeded(), future.failed(), future.retriable()
    return states, future.exception, found == future.value, sorted(told), found


@pytest.mark.parametrize("given", RECORDS)
@pytest.mark.parametrize("acks", [0, 1])
def test_futures_say_what_kafka_pythons_say(broker, given, acks):
    *theirs, one = become(KafkaProducer, broker, acks, given)
    *ours, other = become(Producer, broker, acks, given)
    assert theirs == ours
    assert one._fields == other._fields
    for name in {*one._fields} - {"topic", "topic_partition", "offset", "timestamp"}:
        assert getattr(one, name) == getattr(other, name), name
    if "timestamp_ms" in given:
        assert one.timestamp == other.timestamp
    # Without an answer there is no offset; kafka-python names one nevertheless.
    assert other.offset == (-1 if acks == 0 else one.offset)


# Forks --------------------------------------------------------------------------------------------


def in_a_child(*calls):
    """What each call came to in the child of a fork, a word each."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        for call in calls:
            try:
                told = str(call())
            except Exception as error:  # noqa: BLE001 - the child must end here
                told = type(error).__name__
            os.write(writer, told.encode() + b" ")
        os._exit(0)
    os.waitpid(child, 0)
    os.close(writer)
    with open(reader) as told:
        return told.read().split()


def test_after_a_fork_every_call_is_refused(broker):
    producer = Producer(bootstrap_servers=broker.bootstrap, linger_ms=60_000)
    over, table = producer.send("t", b"v"), producer.send_arrow(pa.table({"value": [b"v"]}), "t")
    producer.flush(10)
    future = producer.send("t", b"v")
    told = in_a_child(
        lambda: producer.send("t", b"v"),
        lambda: producer.send_arrow(pa.table({"value": [b"v"]}), "t"),
        producer.flush,
        lambda: producer.partitions_for("t"),
        producer.metrics,
        producer.bootstrap_connected,
        future.get,
        lambda: future.add_callback(print),
        over.get,
        table.get,
        producer.close,
    )
    assert told == ["ForkedError"] * 11
    assert in_a_child(over.succeeded, lambda: future.is_done) == ["True", "False"]
    producer.flush(10)
    assert future.succeeded()
    producer.close()


def test_a_child_may_leave_the_block_of_a_producer(producer):
    def leave():
        with producer:
            return "left"

    assert in_a_child(leave) == ["left"]
    producer.send("t", b"v").get(10)


def test_what_was_closed_before_a_fork_is_so_in_the_child(producer):
    future = producer.send("t", b"v")
    producer.close()
    told = in_a_child(producer.close, lambda: future.get().topic, lambda: producer.send("t", b"v"))
    assert told == ["None", "t", "ProducerClosed"]
