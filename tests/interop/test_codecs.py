"""Every codec through a real Kafka: written by librdkafka, read here."""

import itertools

import confluent_kafka
import pytest

import kcore
from kcore import TopicPartition
from kcore.records.codecs import NAMES

pytestmark = pytest.mark.kafka
COUNT = 3_000
PARTITION = 0


def produce(kafka, topic, codec, rows):
    """Write with librdkafka, in batches of some size."""
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": kafka.bootstrap, "compression.type": codec, "linger.ms": 50}
    )
    for key, value, headers in rows:
        producer.produce(topic, value, key, partition=PARTITION, headers=headers)
        producer.poll(0)
    assert producer.flush(30) == 0


def row(number):
    value = None if number % 11 == 0 else b"%d value, " % number * (number % 40)
    key = None if number % 7 == 0 else b"k%d" % number
    headers = [("trace", b"%d" % number), ("none", None)] if number % 5 == 0 else None
    return key, value, headers


def consume(kafka, topic, count, **options):
    consumer = kcore.Consumer(
        bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest", **options
    )
    with consumer:
        consumer.assign([TopicPartition(topic, PARTITION)])
        taken = []
        for _ in range(100):
            taken += itertools.chain(*consumer.poll(timeout_ms=500).values())
            if len(taken) >= count:
                return taken
    raise AssertionError(f"{len(taken)} records of {count}")


@pytest.mark.parametrize("codec", NAMES)
def test_written_by_librdkafka(kafka, names, codec):
    kafka.create_topic(names.topic, 1)
    rows = [row(number) for number in range(COUNT)]
    produce(kafka, names.topic, codec, rows)
    records = consume(kafka, names.topic, COUNT)
    assert [(one.key, one.value) for one in records] == [one[:2] for one in rows]
    assert [one.headers for one in records] == [one[2] or [] for one in rows]
    assert [one.offset for one in records] == list(range(COUNT))


def test_all_codecs_in_one_partition(kafka, names):
    kafka.create_topic(names.topic, 1)
    rows = [row(number) for number in range(200)]
    for codec in NAMES:
        produce(kafka, names.topic, codec, rows)
    records = consume(kafka, names.topic, 1_000, max_poll_records=37)
    assert [(one.key, one.value) for one in records] == [one[:2] for one in rows] * 5


def test_a_batch_above_the_users_bound(kafka, names):
    kafka.create_topic(names.topic, 1)
    produce(kafka, names.topic, "none", [(None, b"first", None)])
    produce(kafka, names.topic, "zstd", [(None, b"x" * 500_000, None)])
    produce(kafka, names.topic, "none", [(None, b"last", None)])
    assert len(consume(kafka, names.topic, 3)) == 3
    tp = TopicPartition(names.topic, PARTITION)
    with kcore.Consumer(
        bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest", max_batch_bytes=100_000
    ) as consumer:
        consumer.assign([tp])
        taken = []
        while not taken:
            taken += itertools.chain(*consumer.poll(timeout_ms=500).values())
        for _ in range(2):
            with pytest.raises(kcore.errors.CorruptRecordError, match="more than 100000") as caught:
                consumer.poll(timeout_ms=5_000)
        assert [one.value for one in taken] == [b"first"]
        assert (caught.value.partition, caught.value.first_offset) == (tp, 1)
        consumer.seek(tp, caught.value.last_offset + 1)
        for _ in range(50):
            taken += itertools.chain(*consumer.poll(timeout_ms=500).values())
            if len(taken) == 2:
                break
        assert taken[1].value == b"last"
