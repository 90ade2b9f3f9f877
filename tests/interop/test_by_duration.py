"""Resets by duration (KIP-1106) on a real Kafka, beside Java's own consumer."""

import time

import pytest

import kcore
from kcore import TopicPartition

HOUR = "by_duration:PT1H"
AGES = (180, 90, 30, 10)  # of the records, in minutes

pytestmark = pytest.mark.kafka


@pytest.fixture
def topic(kafka, names):
    """Partition 0 has records of all ages, 1 old ones alone, 2 none."""
    kafka.create_topic(names.topic, 3)
    now_ms = time.time_ns() // 1_000_000
    with kcore.Producer(bootstrap_servers=kafka.bootstrap) as producer:
        for partition, ages in enumerate((AGES, AGES[:2])):
            for age in ages:
                producer.send(
                    names.topic,
                    b"%d" % age,
                    partition=partition,
                    timestamp_ms=now_ms - age * 60_000,
                )
    return names.topic


@pytest.mark.parametrize("isolation_level", ["read_uncommitted", "read_committed"])
def test_it_begins_with_the_first_record_of_that_time_or_at_the_end(kafka, topic, isolation_level):
    parts = [TopicPartition(topic, number) for number in range(3)]
    with kcore.Consumer(
        bootstrap_servers=kafka.bootstrap,
        auto_offset_reset=HOUR,
        isolation_level=isolation_level,
        consumer_timeout_ms=2_000,
    ) as reader:
        reader.assign(parts)
        assert [reader.position(part) for part in parts] == [2, 2, 0]
        assert [next(reader).value for _ in range(2)] == [b"30", b"10"]


@pytest.mark.slow
def test_java_s_consumer_reads_the_same(kafka, topic):
    """It waits where we begin at the end: it asks again after request.timeout.ms."""
    property_ = ("--command-property", f"auto.offset.reset={HOUR}")
    read = kafka.tool("kafka-console-consumer", "--topic", topic, "--max-messages", "2", *property_)
    assert read.split() == ["30", "10"]
