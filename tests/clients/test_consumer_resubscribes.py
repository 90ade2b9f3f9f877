"""A subscription that changes before its first assignment is acknowledged."""

import time

import pytest

from kcore import Consumer, ConsumerRebalanceListener, TopicPartition
from kcore.broker import BrokerConfig
from kcore.coordinator import CoordinatorConfig
from kcore.embedded import EmbeddedBroker

U = {TopicPartition("u", number) for number in range(4)}


@pytest.fixture(scope="module")
def broker():
    quick = CoordinatorConfig(
        group_initial_rebalance_delay_ms=0, group_consumer_heartbeat_interval_ms=100
    )
    with EmbeddedBroker(config=BrokerConfig(coordinator=quick), in_memory=True) as broker:
        for topic in ("t", "u"):
            broker.create_topic(topic, 4)
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
