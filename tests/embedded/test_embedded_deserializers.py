"""Deserializers through a whole consumer: the raw record in the error, the position after it."""

from itertools import chain

import pytest

import kcore
from kcore.embedded import EmbeddedBroker
from kcore.errors import DeserializationError

TP = kcore.TopicPartition("t", 0)
VALUES = [b"0", b"1", b"two", b"3", b"4"]
BAD = 2


@pytest.fixture(scope="module")
def broker():
    with EmbeddedBroker() as running:
        running.create_topic("t")
        running.produce("t", [(b"k", value) for value in VALUES])
        yield running


@pytest.fixture
def consumer(broker):
    with kcore.Consumer(
        bootstrap_servers=broker.bootstrap,
        auto_offset_reset="earliest",
        value_deserializer=lambda data: int(data.decode()),
        consumer_timeout_ms=5_000,
    ) as made:
        made.assign([TP])
        yield made


def check(error):
    assert (error.partition, error.offset, error.part) == (TP, BAD, "value")
    assert (error.record.key, error.record.value) == (b"k", VALUES[BAD])
    assert isinstance(error.__cause__, ValueError)


def polled(consumer, count):
    found = []
    while len(found) < count:
        found += chain.from_iterable(consumer.poll(timeout_ms=500).values())
    return [record.value for record in found]


def test_poll(consumer):
    assert polled(consumer, BAD) == [0, 1]
    for _ in range(3):
        with pytest.raises(DeserializationError) as caught:
            consumer.poll(timeout_ms=5_000)
        check(caught.value)
        assert consumer.position(TP) == BAD
    consumer.seek(TP, caught.value.offset + 1)
    assert polled(consumer, 2) == [3, 4]
    assert consumer.position(TP) == len(VALUES)


def test_iteration(consumer):
    seen = []
    for _ in range(2):
        with pytest.raises(DeserializationError) as caught:
            seen.extend(record.value for record in consumer)
        check(caught.value)
        assert consumer.position(TP) == BAD
    assert seen == [0, 1]
    consumer.seek(TP, BAD + 1)
    assert [next(consumer).value, next(consumer).value] == [3, 4]


def test_batches_and_columns(consumer):
    batches = []
    while not batches:
        batches = consumer.poll_batches(timeout_ms=500)
    (batch,) = batches
    assert batch.values.tolist() == VALUES
    assert consumer.position(TP) == len(VALUES), "all of it was handed over"
    with pytest.raises(DeserializationError) as caught:
        list(batch)
    check(caught.value)
    assert [record.value for record in chain(batch[:BAD], batch[BAD + 1 :])] == [0, 1, 3, 4]
    consumer.seek(TP, 0)
    found = 0
    while not found:
        found = len(consumer.poll_arrow(timeout_ms=500))
    assert found == len(VALUES), "nobody is asked"
