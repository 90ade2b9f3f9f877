"""throttle_cb: what a program hears of brokers' quotas, over both libraries."""

import time
import types

import confluent_kafka
import pytest

from kcore.clients.stand_in.confluent.names import MODULES
from kcore.embedded import EmbeddedBroker

OURS = types.SimpleNamespace(**MODULES["confluent_kafka"])
BOTH = pytest.mark.parametrize("library", [OURS, confluent_kafka], ids=["ours", "theirs"])


@pytest.fixture
def broker():
    with EmbeddedBroker() as one:
        one.create_topic("t", 1)
        yield one


def check(told, broker):
    assert told
    for event in told:
        assert event.broker_name == broker.bootstrap
        assert event.broker_id in {-1, 0, 1}  # -1: of the first connection, there
    assert 0 < told[0].throttle_time < 60
    assert f"{told[0].broker_name}/{told[0].broker_id} throttled for" in str(told[0])


@BOTH
def test_a_producer_hears_that_it_is_throttled_and_when_that_is_over(library, broker):
    told = []
    producer = library.Producer(
        {"bootstrap.servers": broker.bootstrap, "client.id": "p", "throttle_cb": told.append}
    )
    producer.produce("t", bytes(1_000))
    assert producer.flush(20) == 0
    assert told == []
    broker.throttle(client_id="p", producer_byte_rate=10_000)
    for _ in range(2):
        producer.produce("t", bytes(60_000))
        assert producer.flush(20) == 0
    until = time.monotonic() + 20
    while not told and time.monotonic() < until:
        producer.poll(0.1)
    check(told, broker)
    broker.unthrottle(client_id="p")
    while told[-1].throttle_time and time.monotonic() < until:
        producer.produce("t", b"x")
        producer.flush(5)
    assert told[-1].throttle_time == 0
    count = len(told)
    producer.produce("t", b"x")
    assert producer.flush(20) == 0
    assert len(told) == count


@BOTH
def test_a_consumer_hears_it_too(library, broker):
    producer = library.Producer({"bootstrap.servers": broker.bootstrap})
    for _ in range(20):
        producer.produce("t", bytes(20_000))
    assert producer.flush(20) == 0
    broker.throttle(client_id="c", consumer_byte_rate=10_000)
    told = []
    consumer = library.Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": "g",
            "client.id": "c",
            "auto.offset.reset": "earliest",
            "throttle_cb": told.append,
        }
    )
    consumer.assign([library.TopicPartition("t", 0, 0)])
    until = time.monotonic() + 20
    while not told and time.monotonic() < until:
        consumer.poll(0.1)
    consumer.close()
    check(told, broker)
