"""Deserializers through a whole consumer: the raw record in the error, the position after it."""

from itertools import chain

import pytest

import kcore
from kcore.embedded import EmbeddedBroker
from kcore.errors import DeserializationError

TP = kcore.TopicPartition("t", 0)
FIELDS = [b"0", b"1", b"two", b"3", b"4"]
BAD = 2


@pytest.fixture(scope="module")
def broker():
    with EmbeddedBroker(in_memory=True) as running:
        running.create_topic("t")
        running.produce("t", [(field, field) for field in FIELDS])
        yield running


class Reader:
    """A consumer of TP that reads one part of its records as numbers."""

    def __init__(self, broker, part):
        self.broker = broker
        self.part = part
        self.made = []

    def consumer(self, **options):
        made = kcore.Consumer(
            transport=self.broker.transport(),
            bootstrap_servers=self.broker.bootstrap,
            auto_offset_reset="earliest",
            group_id=f"reads-{self.part}",
            enable_auto_commit=False,
            consumer_timeout_ms=5_000,
            **{f"{self.part}_deserializer": lambda data: int(data.decode())},
            **options,
        )
        self.made.append(made)
        made.assign([TP])
        made.seek(TP, 0)
        return made

    def numbers(self, records):
        """What has become of them; the other part is as it was fetched."""
        assert {type(record.key) for record in records} | {
            type(record.value) for record in records
        } <= {int, bytes}
        return [getattr(record, self.part) for record in records]

    def check(self, error):
        assert (error.partition, error.offset, error.part) == (TP, BAD, self.part)
        assert (error.record.key, error.record.value) == (FIELDS[BAD], FIELDS[BAD])
        assert isinstance(error.__cause__, ValueError)


@pytest.fixture(params=["key", "value"])
def reader(broker, request):
    made = Reader(broker, request.param)
    yield made
    for consumer in made.made:
        consumer.close()


def polled(consumer, count):
    found = []
    while len(found) < count:
        found += chain.from_iterable(consumer.poll(timeout_ms=500).values())
    return found


@pytest.mark.parametrize("at_a_time", [1, 500])
def test_poll(reader, at_a_time):
    consumer = reader.consumer(max_poll_records=at_a_time)
    assert reader.numbers(polled(consumer, BAD)) == [0, 1]
    for _ in range(3):
        with pytest.raises(DeserializationError) as caught:
            consumer.poll(timeout_ms=5_000)
        reader.check(caught.value)
        assert consumer.position(TP) == BAD
    consumer.commit()
    assert consumer.committed(TP) == BAD
    consumer.seek(TP, caught.value.offset + 1)
    assert reader.numbers(polled(consumer, 2)) == [3, 4]
    assert consumer.position(TP) == len(FIELDS)


def test_iteration(reader):
    consumer = reader.consumer()
    seen = []
    for _ in range(2):
        with pytest.raises(DeserializationError) as caught:
            seen.extend(consumer)
        reader.check(caught.value)
        assert consumer.position(TP) == BAD
    assert reader.numbers(seen) == [0, 1]
    consumer.commit()
    assert consumer.committed(TP) == BAD
    consumer.seek(TP, BAD + 1)
    assert reader.numbers([next(consumer), next(consumer)]) == [3, 4]


def test_batches_and_columns(reader):
    consumer = reader.consumer()
    batches = []
    while not batches:
        batches = consumer.poll_batches(timeout_ms=500)
    (batch,) = batches
    assert batch.keys.tolist() == batch.values.tolist() == FIELDS
    assert consumer.position(TP) == len(FIELDS), "all of it was handed over"
    for take in (list, lambda batch: batch[BAD], lambda batch: batch.tolist()):
        with pytest.raises(DeserializationError) as caught:
            take(batch)
        reader.check(caught.value)
    assert reader.numbers([*batch[:BAD], *batch[BAD + 1 :]]) == [0, 1, 3, 4]
    consumer.seek(TP, 0)
    found = 0
    while not found:
        found = len(consumer.poll_arrow(timeout_ms=500))
    assert found == len(FIELDS), "nobody is asked"
