"""Ctrl-C at every place of a transaction's verbs (tests/support/strikes.py): the producer goes on,
its transaction can be aborted or its commit asked after, and what is said of it is so.
"""

from __future__ import annotations

import random
from collections import Counter

import pytest
from leftovers import STRUCK
from strikes import Strike

from kcore import Consumer, Producer, TopicPartition, errors
from kcore.broker import BrokerConfig
from kcore.embedded import EmbeddedBroker
from kcore.produce.transaction_states import TxnState

pytestmark = STRUCK
T0 = TopicPartition("t", 0)


@pytest.fixture(params=[(4, 4), (3, 5)], ids=lambda release: "{}.{}".format(*release))
def broker(request):
    with EmbeddedBroker(in_memory=True, config=BrokerConfig(release=request.param)) as running:
        running.create_topic("t", 2)
        yield running
        assert running.faults == []


def make(broker):
    return Producer(
        transport=broker.transport(),
        bootstrap_servers=broker.bootstrap,
        transactional_id="x",
        linger_ms=0,
        **dict.fromkeys(("reconnect_backoff_ms", "reconnect_backoff_max_ms"), 1),
        **dict.fromkeys(("retry_backoff_ms", "retry_backoff_max_ms"), 2),
    )


def read(broker):
    with Consumer(
        transport=broker.transport(),
        bootstrap_servers=broker.bootstrap,
        isolation_level="read_committed",
    ) as consumer:
        tps = [T0, TopicPartition("t", 1)]
        consumer.assign(tps)
        consumer.seek_to_beginning(*tps)
        return Counter(record.value for record in consumer.read_until())


def committed(producer, value):
    producer.begin_transaction()
    producer.send("t", value, partition=0)
    producer.send("t", value, partition=1)
    producer.send_offsets_to_transaction({T0: 1}, "g", 10)
    producer.commit_transaction(10)


def aborted(producer, value):
    producer.begin_transaction()
    producer.send("t", value, partition=0).get(10)
    producer.abort_transaction(10)


def in_a_block(producer, value):
    with producer.transaction(10):
        producer.send("t", value, partition=0)
        producer.send("t", value, partition=1)


VERBS = [committed, aborted, in_a_block]


def settle(producer):
    """Bring the producer to where a transaction can begin; whether the last one is committed, None:
    nobody can say.
    """
    state = producer._core.transaction_state
    if state is TxnState.READY:
        try:
            producer.begin_transaction()
        except errors.IllegalStateError:
            producer.commit_transaction(10)
            return True
        producer.abort_transaction(10)
        return None
    try:
        producer.abort_transaction(10)
    except errors.IllegalStateError:
        producer.commit_transaction(10)
        return True
    return False


def strike_at_all(broker, verb, places):
    struck, said = 0, {}
    with make(broker) as producer:
        producer.init_transactions(10)
        committed(producer, b"first")
        said[b"first"] = True
        for number, at in enumerate(places):
            value = b"%06d" % number
            try:
                with Strike(at):
                    verb(producer, value)
                said[value] = verb is not aborted
            except KeyboardInterrupt:
                struck += 1
                said[value] = settle(producer)
                if verb is aborted:
                    assert said[value] is not True, at
            value = b"after %06d" % number
            committed(producer, value)
            said[value] = True
    found = read(broker)
    for value, was_committed in said.items():
        copies = 2
        if was_committed is None:
            assert found[value] in ((0,) if verb is aborted else (0, copies)), value
        else:
            assert found[value] == (copies if was_committed else 0), value
    return struck


@pytest.mark.parametrize("verb", VERBS)
def test_a_transaction_that_is_struck(broker, verb):
    rng = random.Random(verb.__name__)
    places = [*range(1, 60, 3), *[rng.randrange(60, 700) for _ in range(25)]]
    assert strike_at_all(broker, verb, places) >= 25


@pytest.mark.slow
@pytest.mark.parametrize("verb", VERBS)
def test_every_place_of_a_transaction(broker, verb):
    assert strike_at_all(broker, verb, range(1, 900)) >= 300


@pytest.mark.slow
def test_every_place_of_the_beginning(broker):
    struck = 0
    for at in range(1, 300):
        with make(broker) as producer:
            try:
                with Strike(at):
                    producer.init_transactions(10)
            except KeyboardInterrupt:
                struck += 1
                if producer._core.transaction_state is not TxnState.READY:
                    producer.init_transactions(10)
            committed(producer, b"%06d" % at)
    assert struck >= 50
    assert read(broker) == {b"%06d" % at: 2 for at in range(1, 300)}
