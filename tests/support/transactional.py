"""What tests of transactions have in common."""

from __future__ import annotations

import time
from contextlib import contextmanager

import pytest

from kcore import Consumer, OffsetAndMetadata, Producer, TopicPartition, errors
from kcore.broker import BrokerConfig
from kcore.embedded import EmbeddedBroker

T0 = TopicPartition("t", 0)
# With `transaction.version` 2; without, before and behind KIP-890; before KIP-360 and KIP-447.
OLDER = [pytest.param(one, marks=pytest.mark.slow) for one in [(3, 9), (2, 1)]]
RELEASES = [(4, 4), (3, 5), *OLDER]


@contextmanager
def one_broker(release=RELEASES[0]):
    """A node with a topic "t" of two partitions, that makes no mistake."""
    with EmbeddedBroker(config=BrokerConfig(release=release)) as running:
        running.create_topic("t", 2)
        yield running
        assert running.faults == []


def read(bootstrap, topic, *, level="read_committed", **options):
    """Values of each partition that are there now, in their order."""
    with Consumer(bootstrap_servers=bootstrap, isolation_level=level, **options) as consumer:
        numbers = sorted(consumer.partitions_for_topic(topic))
        tps = [TopicPartition(topic, number) for number in numbers]
        consumer.assign(tps)
        consumer.seek_to_beginning(*tps)
        found = {number: [] for number in numbers}
        for record in consumer.read_until():
            found[record.partition].append(record.value)
        return found


def ends(bootstrap, topic, level):
    """Where each partition ends, for who reads at that level."""
    with Consumer(bootstrap_servers=bootstrap, isolation_level=level) as consumer:
        numbers = consumer.partitions_for_topic(topic)
        return consumer.end_offsets([TopicPartition(topic, number) for number in numbers])


def wait_for_markers(bootstrap, topic, limit_s=30):
    """A Kafka answers who commits or aborts before the markers are in every partition."""
    until = time.monotonic() + limit_s
    while ends(bootstrap, topic, "read_committed") != ends(bootstrap, topic, "read_uncommitted"):
        assert time.monotonic() < until
        time.sleep(0.02)


def everything(bootstrap, topic, **options):
    """The same of all partitions, sorted."""
    found = read(bootstrap, topic, **options)
    return sorted(value for values in found.values() for value in values)


def committed(bootstrap, group, topic, count):
    """The group's offsets."""
    with Consumer(bootstrap_servers=bootstrap, group_id=group) as consumer:
        return [consumer.committed(TopicPartition(topic, number)) for number in range(count)]


def positions_behind(batches):
    """The offsets to commit for what `poll` has given."""
    return {tp: OffsetAndMetadata(records[-1].offset + 1, "") for tp, records in batches.items()}


def make(broker, name="x", *, init=True, **options):
    options = {"retry_backoff_ms": 20, "reconnect_backoff_ms": 10} | options
    producer = Producer(bootstrap_servers=broker.bootstrap, transactional_id=name, **options)
    if init:
        producer.init_transactions(20)
    return producer


def state(producer):
    return producer._core.transaction_state


def verbs(producer):
    return {
        "init_transactions": producer.init_transactions,
        "begin_transaction": producer.begin_transaction,
        "send": lambda: producer.send("t", b"v"),
        "send_offsets_to_transaction": lambda: producer.send_offsets_to_transaction({T0: 1}, "g"),
        "commit_transaction": producer.commit_transaction,
        "abort_transaction": producer.abort_transaction,
    }


def refused(producer, *names):
    for name in names:
        with pytest.raises(errors.IllegalStateError, match=name):
            verbs(producer)[name]()


def times_out(verb, *args):
    began = time.monotonic()
    with pytest.raises(errors.KafkaTimeoutError, match="called again"):
        verb(*args, timeout=0.2)
    assert time.monotonic() - began < 5
