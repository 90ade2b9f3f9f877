"""A subscription that changes before its first assignment is acknowledged."""

import time

import pytest

from kcore import Consumer, ConsumerRebalanceListener, TopicPartition
from kcore.broker import BrokerConfig
from kcore.coordinator import CoordinatorConfig
from kcore.embedded import EmbeddedBroker

U = {TopicPartition("u", number) for number in range(4)}
READ = 10


@pytest.fixture(scope="module")
def broker():
    quick = CoordinatorConfig(
        group_initial_rebalance_delay_ms=0, group_consumer_heartbeat_interval_ms=100
    )
    with EmbeddedBroker(config=BrokerConfig(coordinator=quick), in_memory=True) as broker:
        for topic in ("t", "u"):
            broker.create_topic(topic, 4)
        broker.produce("t", [(None, b"v")] * READ, partition=0)
        yield broker


class ChangesItsMind(ConsumerRebalanceListener):
    """Subscribes to another topic as soon as it is told of partitions."""

    def __init__(self, consumer):
        self.consumer = consumer
        self.done = False

    def on_partitions_assigned(self, assigned):
        if assigned and not self.done:
            self.done = True
            self.consumer.subscribe(["u"], listener=self)

    def on_partitions_revoked(self, revoked):
        """Nothing is to be done."""


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
def test_in_a_listener(broker, protocol, strategy):
    with Consumer(
        transport=broker.transport(),
        bootstrap_servers=broker.bootstrap,
        group_id=f"{protocol}-{strategy}",
        group_protocol=protocol,
        **({} if protocol == "consumer" else {"partition_assignment_strategy": strategy}),
    ) as consumer:
        consumer.subscribe(["t"], listener=ChangesItsMind(consumer))
        end = time.monotonic() + 20
        while consumer.assignment() != U and time.monotonic() < end:
            consumer.poll(timeout_ms=50)
        assert consumer.assignment() == U


class Leaves(ConsumerRebalanceListener):
    """Unsubscribes as soon as it is told of topic u; commits whatever it gives up."""

    def __init__(self, consumer):
        self.consumer = consumer
        self.given_up = set()

    def on_partitions_assigned(self, assigned):
        if assigned & U:
            self.consumer.unsubscribe()

    def on_partitions_revoked(self, revoked):
        self.consumer.commit()
        self.given_up = revoked


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_unsubscribing_in_a_listener_it_commits_what_goes(broker, protocol):
    """Reading went on while the group rebalanced: nothing of it is read twice."""
    first = TopicPartition("t", 0)
    with Consumer(
        transport=broker.transport(),
        bootstrap_servers=broker.bootstrap,
        group_id=f"leaves-{protocol}",
        group_protocol=protocol,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        **(
            {}
            if protocol == "consumer"
            else {"partition_assignment_strategy": "cooperative-sticky"}
        ),
    ) as consumer:
        listener = Leaves(consumer)
        consumer.subscribe(["t"], listener=listener)
        while not (consumer.assignment() and consumer.position(first) == READ):
            consumer.poll(timeout_ms=50)
        consumer.subscribe(["t", "u"], listener=listener)
        while not listener.given_up:
            consumer.poll(timeout_ms=50)
        assert listener.given_up == U | {TopicPartition("t", number) for number in range(4)}
        assert consumer.committed(first) == READ
        assert consumer.assignment() == set()
