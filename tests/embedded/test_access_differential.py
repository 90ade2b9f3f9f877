"""Requests of who may not, at a real Kafka with StandardAuthorizer and at the embedded broker: the
same answers, field by field. What a Kafka 4.4.0 answered is kept in vectors/access_said.json
(tests/support/said.py).
"""

from pathlib import Path

import pytest
import scenarios_access_groups  # noqa: F401 - it adds its scenarios
from access_sides import AlicesPeer, GuardedKafka, SaslPeer, Side
from raw_client import Peer
from said import hold
from scenarios_access import ACCESS
from scenarios_groups import ready
from scenarios_transactions import served

from kcore.broker import AuthorizerConfig, BrokerConfig
from kcore.coordinator import CoordinatorConfig, partition_for
from kcore.embedded import EmbeddedBroker

SAID = Path(__file__).with_name("vectors") / "access_said.json"
PARTITIONS = 4  # of both journals, at both


@pytest.fixture(scope="module")
def embedded():
    config = BrokerConfig(
        release=(4, 4),
        auto_create_topics=False,
        coordinator=CoordinatorConfig(
            group_initial_rebalance_delay_ms=0,
            group_min_session_timeout_ms=1_000,
            group_consumer_assignment_interval_ms=0,
            offsets_topic_num_partitions=PARTITIONS,
        ),
        authorizer=AuthorizerConfig(
            super_users=("User:ANONYMOUS",), principals={"alice": "User:alice"}
        ),
    )
    with EmbeddedBroker(config=config) as broker:
        yield broker
        assert not broker.faults


@pytest.fixture(scope="module")
def serving():
    with GuardedKafka() as kafka:
        peer = Peer(kafka.bootstrap, "ready")
        names = {partition_for(str(number), PARTITIONS): str(number) for number in range(100)}
        for name in names.values():
            ready(peer, name)
            served(peer, name)
        peer.close()
        yield kafka


def told(scenario, side):
    try:
        side.nothing_allowed()
        scenario(side)
    finally:
        side.close()
    return side.root.said + side.alice.said


each_scenario = pytest.mark.parametrize(
    ("number", "scenario"),
    list(enumerate(ACCESS, 1)),
    ids=[scenario.__name__ for scenario in ACCESS],
)


@each_scenario
def test_who_may_not_is_told_what_a_kafka_told(number, scenario, embedded):
    (address,) = embedded.addresses
    tag = f"a{number}"
    side = Side(Peer(address, tag), AlicesPeer(address, tag))
    hold(SAID, scenario.__name__, told(scenario, side))


@pytest.mark.kafka
@pytest.mark.slow
@each_scenario
def test_a_kafka_tells_the_same(number, scenario, serving):
    tag = f"a{number}"
    side = Side(Peer(serving.bootstrap, tag), SaslPeer(serving.address, tag))
    hold(SAID, scenario.__name__, told(scenario, side), theirs=True)
