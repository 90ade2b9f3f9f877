"""`read_until` in a group: what goes to others is not waited for."""

import threading
import time
from collections import Counter
from itertools import islice
from types import SimpleNamespace

import pytest

from kcore import Consumer, TopicPartition
from kcore.broker.config import BrokerConfig
from kcore.clients.consumer.bounded import Ends
from kcore.clients.remade import Remade
from kcore.coordinator.config import CoordinatorConfig
from kcore.embedded import EmbeddedBroker
from kcore.errors import IllegalStateError, KafkaTimeoutError, WakeupError

LIMIT_S = 10


class Listener:
    """Tells the test, and asks for a record where that is refused."""

    def __init__(self):
        self.told = []
        self.read = None

    def on_partitions_revoked(self, revoked):
        self.told.append(("revoked", len(revoked)))
        if self.read is not None:
            with pytest.raises(IllegalStateError):
                next(self.read)

    def on_partitions_assigned(self, assigned):
        self.told.append(("assigned", len(assigned)))


PROTOCOLS = {
    "eager": {"partition_assignment_strategy": "range"},
    "cooperative": {"partition_assignment_strategy": "cooperative-sticky"},
    "consumer": {"group_protocol": "consumer"},
}


def grouped(broker, kind, **options):
    options |= PROTOCOLS[kind] | {"auto_offset_reset": "earliest", "fetch_max_wait_ms": 20}
    if kind != "consumer":
        options["heartbeat_interval_ms"] = 50
    return Consumer(bootstrap_servers=broker.bootstrap, group_id=kind, **options)


@pytest.mark.parametrize("kind", PROTOCOLS)
def test_a_rebalance_takes_a_partition(kind):
    quick = CoordinatorConfig(
        group_initial_rebalance_delay_ms=0,
        group_consumer_assignment_interval_ms=0,
        group_consumer_heartbeat_interval_ms=50,
    )
    with EmbeddedBroker(config=BrokerConfig(coordinator=quick)) as broker:
        broker.create_topic("t", 2)
        partitions = [TopicPartition("t", number) for number in range(2)]
        for number in range(2):
            broker.produce("t", [(None, b"%d" % one) for one in range(5)], partition=number)
        listener = Listener()
        with grouped(broker, kind) as consumer, grouped(broker, kind) as other:
            consumer.subscribe(["t"], listener=listener)
            until = time.monotonic() + LIMIT_S
            while not consumer.assignment():
                assert time.monotonic() < until
                consumer.poll(timeout_ms=20, max_records=1)
            consumer.seek_to_beginning()
            read = listener.read = consumer.read_until(dict.fromkeys(partitions, 6))
            counts = Counter(record.partition for record in islice(read, 10))
            assert counts == {0: 5, 1: 5}
            done = threading.Event()

            def join():
                other.subscribe(["t"])
                while not done.is_set():
                    other.poll(timeout_ms=20)
                    if len(other.assignment()) == 1 and len(consumer.assignment()) == 1:
                        for number in range(2):
                            broker.produce("t", [(None, b"5")], partition=number)
                        break
                done.wait(LIMIT_S)

            thread = threading.Thread(target=join)
            thread.start()
            try:
                seen = list(read)  # the other one's is waited for by nobody
            finally:
                listener.read = None
                done.set()
                thread.join()
            (mine,) = consumer.assignment()
            assert consumer.position(mine) == 6
            assert seen[-1].offset == 5
            assert {record.partition for record in seen} == {mine.partition}
            assert any(what == "revoked" for what, _ in listener.told)


@pytest.mark.parametrize("kind", PROTOCOLS)
def test_what_is_subscribed_to_is_waited_for(kind):
    """All that a topic has, then stop: nobody needs a poll before."""
    with EmbeddedBroker() as broker:
        broker.create_topic("orders", 3)
        broker.produce("orders", [(None, b"%d" % number) for number in range(30)])
        with grouped(broker, kind) as consumer:
            consumer.subscribe(["orders"])
            assert len(list(consumer.read_until())) == 30
            consumer.commit()
            assert consumer.committed(TopicPartition("orders", 0)) == 10
        with grouped(broker, kind) as consumer:
            consumer.subscribe(["orders"])
            ends = {TopicPartition("orders", number): 10 for number in range(3)}
            assert list(consumer.read_until(ends)) == []
        assert not broker.faults


def test_nobody_has_to_be_in_a_group_for_that():
    with EmbeddedBroker() as broker:
        broker.create_topic("orders", 3)
        broker.produce("orders", [(None, b"%d" % number) for number in range(30)])
        options = {"bootstrap_servers": broker.bootstrap, "auto_offset_reset": "earliest"}
        with Consumer("orders", **options) as consumer:
            assert len(list(consumer.read_until())) == 30
        with Consumer("orders", "trains", allow_auto_create_topics=False, **options) as consumer:
            assert len(list(consumer.read_until())) == 30


def test_a_wait_for_an_assignment_ends():
    with EmbeddedBroker(config=BrokerConfig(auto_create_topics=False)) as broker:
        for options in ({}, {"group_id": "g"}):
            with Consumer("trains", bootstrap_servers=broker.bootstrap, **options) as consumer:
                with pytest.raises(KafkaTimeoutError, match=r"nothing of trains was assigned"):
                    consumer.read_until(timeout_ms=100)
                consumer.wakeup()
                with pytest.raises(WakeupError):
                    consumer.read_until(timeout_ms=5_000)


def test_what_goes_in_a_rebalance_is_waited_for_until_the_next_assignment_each_time():
    at, there = TopicPartition("t", 0), [True]
    core = SimpleNamespace(positions=lambda _ends: {at: 3} if there[0] else {})
    engine = SimpleNamespace(assignments=1, remade=Remade(), core=core)
    ends = Ends(engine, {at: 5}, lambda: True)
    for _ in range(3):
        there[0] = False
        assert ends.look() == 1  # an eager member has given up everything
        there[0], engine.assignments = True, engine.assignments + 1
        assert ends.look() == 1
    there[0] = False
    assert ends.look() == 1
    engine.assignments += 1
    assert ends.look() == 0  # somebody else has it
    there[0] = True
    assert ends.look() == 0
