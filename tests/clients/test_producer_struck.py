"""Ctrl-C, or a signal handler that raises, at every place of a producer's call (tests/support/
strikes.py): it goes on, and what it had taken before is delivered once.
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from contextlib import suppress

import gevent
import pyarrow
import pytest
from leftovers import STRUCK
from strikes import Strike

from kcore import Consumer, Producer, TopicPartition, errors
from kcore.embedded import EmbeddedBroker

pytestmark = STRUCK


@pytest.fixture
def broker():
    with EmbeddedBroker(in_memory=True) as running:
        running.create_topic("t", 2)
        yield running


def producer_of(broker, **options):
    options = {
        "batch_size": 200,
        "reconnect_backoff_ms": 1,
        "reconnect_backoff_max_ms": 1,
    } | options
    options |= {"retry_backoff_ms": 1, "retry_backoff_max_ms": 2}
    return Producer(transport=broker.transport(), bootstrap_servers=broker.bootstrap, **options)


def written_to(broker):
    """The values of every record of the topic."""
    tps = [TopicPartition("t", 0), TopicPartition("t", 1)]
    options = {"bootstrap_servers": broker.bootstrap, "auto_offset_reset": "earliest"}
    with suppress(errors.UsageError):  # if it is in memory
        options["transport"] = broker.transport()
    with Consumer(**options) as consumer:
        consumer.assign(tps)
        left, values = sum(broker.end_offsets("t")), []
        while len(values) < left:
            for records in consumer.poll(timeout_ms=5_000).values():
                values += [record.value for record in records]
    return values


class Ledger:
    """What was taken, and what was perhaps, against what the broker has."""

    def __init__(self, broker, producer):
        self.broker = broker
        self.producer = producer
        self.taken = []
        self.struck = []
        self.count = 0

    def value(self):
        self.count += 1
        return b"%060d" % self.count

    def send(self, partition=None):
        value = self.value()
        self.struck.append(value)
        future = self.producer.send("t", value, partition=partition)
        self.taken.append(value)
        return future

    def judge(self):
        written = written_to(self.broker)
        found = Counter(written)
        assert [one for one in self.taken if found[one] != 1] == []
        assert [one for one, times in found.items() if times > 1] == []
        assert set(written) <= {*self.taken, *self.struck}


def send_some(ledger):
    """Enough to close batches and begin others."""
    for number in range(6):
        ledger.send(number % 2)


def send_and_wait(ledger):
    future = ledger.send()
    future.add_callback(lambda _: None)
    future.get(10)


def send_table(ledger):
    values = [ledger.value() for _ in range(12)]
    ledger.struck += values
    ledger.producer.send_arrow(pyarrow.table({"value": values}), "t")
    ledger.taken += values


def flush(ledger):
    ledger.send(0)
    ledger.send(1)
    ledger.producer.flush(10)


def look(ledger):
    ledger.producer.partitions_for("t")
    ledger.producer.metrics()


VERBS = [send_some, send_and_wait, send_table, flush, look]


def strike(verb, ledger, at, error=KeyboardInterrupt):
    """Whether it was struck."""
    try:
        with Strike(at, error):
            verb(ledger)
    except error:
        return True
    return False


def check_goes_on(ledger, at):
    """Nothing is locked, nothing is under way for ever, no memory is lost."""
    producer = ledger.producer
    first, second = ledger.send(0), ledger.send(1)
    producer.flush(10)
    assert first.get(10).partition == 0, at
    assert second.get(10).partition == 1, at
    until = time.monotonic() + 10
    while producer._core.held_bytes and time.monotonic() < until:
        time.sleep(0.001)
    assert producer._core.held_bytes == 0, at
    assert not producer._courier._bells, at
    assert threading.active_count() == ledger.threads, at


def strike_at_all(broker, verb, places, error=KeyboardInterrupt, **options):
    with producer_of(broker, **options) as producer:
        ledger = Ledger(broker, producer)
        ledger.threads = threading.active_count()
        ledger.send(0).get(10)
        struck = 0
        for at in places:
            struck += strike(verb, ledger, at, error)
            check_goes_on(ledger, at)
    ledger.judge()
    return struck


@pytest.mark.parametrize("linger_ms", [0, 5])
@pytest.mark.parametrize("verb", VERBS)
def test_a_producer_goes_on_wherever_it_is_struck(broker, verb, linger_ms):
    rng = random.Random(f"{verb.__name__} {linger_ms}")
    places = [*range(1, 40), *[rng.randrange(40, 400) for _ in range(40)]]
    assert strike_at_all(broker, verb, places, linger_ms=linger_ms) >= 30


class StruckError(Exception):
    """Of a signal handler of the user's."""


@pytest.mark.slow
@pytest.mark.parametrize("error", [KeyboardInterrupt, StruckError])
@pytest.mark.parametrize(("linger_ms", "codec"), [(0, None), (5, "gzip")])
@pytest.mark.parametrize("verb", VERBS)
def test_every_place_of_a_call(broker, verb, linger_ms, codec, error):
    options = {"linger_ms": linger_ms, "compression_type": codec}
    assert strike_at_all(broker, verb, [*range(1, 700)] * 2, error, **options) >= 150


def close(ledger):
    ledger.producer.close(10)


def close_at_all(broker, places):
    ledger, struck = Ledger(broker, None), 0
    for at in places:
        ledger.producer = producer = producer_of(broker, linger_ms=60_000)
        for number in range(4):
            ledger.send(number % 2)
        struck += strike(close, ledger, at)
        begun = time.monotonic()
        producer.close(10)
        assert time.monotonic() - begun < 5, at  # of the 10 it would take
        assert producer._courier.over, at
        with pytest.raises(errors.ProducerClosed):
            producer.send("t", b"v")
    ledger.judge()
    return struck


def test_a_close_that_is_struck_is_called_again(broker):
    assert close_at_all(broker, range(1, 60)) >= 30


@pytest.mark.slow
def test_every_place_of_a_close(broker):
    assert close_at_all(broker, range(60, 700)) >= 50


# In the middle of a call ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "verb",
    [
        lambda producer: producer.send("t", b"v"),
        lambda producer: producer.flush(5),
        lambda producer: producer.close(5),
        lambda producer: producer.metrics(),
    ],
    ids=["send", "flush", "close", "metrics"],
)
def test_a_handler_in_the_middle_of_a_call_is_refused(broker, verb):
    with producer_of(broker) as producer:
        producer.send("t", b"v").get(10)
        with producer._courier.lock, pytest.raises(errors.ConcurrentUseError, match="in the mid"):
            verb(producer)
        assert producer.send("t", b"v").get(10).offset >= 0


@pytest.mark.parametrize("headers", [[("\ud800", b"")], [("a", "b")], [b"abc"], [("a", 1)]])
def test_what_cannot_be_sent_is_no_strike(broker, headers):
    with producer_of(broker) as producer:
        lock, mended = producer._courier.lock, []
        producer._core.handle_interrupted = mended.append
        for begun in (False, True):
            with pytest.raises((TypeError, ValueError)):
                producer.send("t", b"v", headers=headers, partition=0)
            assert not lock.struck
            assert producer.send("t", b"v", partition=0).get(10).offset == begun
        assert mended == []


def test_who_reads_the_log_may_send(broker):
    with producer_of(broker) as producer:
        futures, reported = [], []
        reporter = producer._courier._reporter

        def report(*_):
            if not reported:
                reported.append(True)
                futures.append(producer.send("t", b"told", partition=1))

        reporter.report = report
        broker.create_topic("another", 1)
        producer.partitions_for("another")
        producer.send("another", b"v").get(10)
        assert futures[0].get(10).partition == 1


# Greenlets -----------------------------------------------------------------------------------


def strike_the_courier(broker, places, error):
    """In a greenlet, where handlers run as everywhere in the main thread."""
    options = {"batch_size": 200, "retry_backoff_ms": 1, "retry_backoff_max_ms": 2}
    options |= {"reconnect_backoff_ms": 1, "reconnect_backoff_max_ms": 1}
    with Producer(transport="gevent", bootstrap_servers=broker.bootstrap, **options) as producer:
        ledger = Ledger(broker, producer)
        ledger.threads = threading.active_count()
        turn, armed = producer._courier._turn, []

        def struck_turn(*given):
            if not armed:
                return turn(*given)
            here = gevent.getcurrent()
            with Strike(armed.pop(), error, lambda: gevent.getcurrent() is here) as strike:
                try:
                    return turn(*given)
                finally:
                    ledger.hits += strike.left <= 0

        producer._courier._turn = struck_turn
        ledger.hits = 0
        for at in places:
            armed[:] = [at]
            with suppress(error):
                send_some(ledger)
                ledger.producer.flush(10)
            armed.clear()
            check_goes_on(ledger, at)
    ledger.judge()
    return ledger.hits


@pytest.mark.parametrize("error", [KeyboardInterrupt, StruckError])
def test_a_courier_that_is_a_greenlet_goes_on_wherever_it_is_struck(error):
    with EmbeddedBroker() as broker:
        broker.create_topic("t", 2)
        assert strike_the_courier(broker, range(1, 300, 3), error) >= 40
