"""Topics that are found by patterns: they come, and stay away once they are deleted."""

import time

import pytest

from kcore import Consumer, SubscriptionPattern
from kcore.broker import BrokerConfig
from kcore.coordinator import CoordinatorConfig
from kcore.embedded import EmbeddedBroker


@pytest.mark.parametrize("pattern", ["t[ab]", SubscriptionPattern("t[ab]")], ids=["ours", "theirs"])
def test_what_is_deleted_is_not_made_again(pattern):
    """Brokers make topics that are asked for by name (auto.create.topics.enable): nobody did."""
    quick = CoordinatorConfig(group_consumer_heartbeat_interval_ms=50)
    with EmbeddedBroker(config=BrokerConfig(coordinator=quick), in_memory=True) as broker:
        for topic in ("ta", "tb"):
            broker.create_topic(topic)
        with Consumer(
            transport=broker.transport(),
            bootstrap_servers=broker.bootstrap,
            group_id="g",
            group_protocol="consumer",
            metadata_max_age_ms=50,
        ) as consumer:
            consumer.subscribe(pattern=pattern)
            while len(consumer.assignment()) < 2:
                consumer.poll(timeout_ms=20)
            broker.delete_topic("ta")
            end = time.monotonic() + 10
            while len(consumer.assignment()) == 2 and time.monotonic() < end:
                consumer.poll(timeout_ms=20)
            assert {tp.topic for tp in consumer.assignment()} == {"tb"}
            assert set(broker.topics()) == {"tb"}
