"""Requests of who may not, at a real Kafka with StandardAuthorizer and at the embedded broker: the
same answers, field by field. What is meant to differ stands in MEANT.
"""

import itertools

import pytest
import scenarios_access_groups  # noqa: F401 - it adds its scenarios
from access_sides import AlicesPeer, GuardedKafka, SaslPeer, Side
from differences import compare
from raw_client import Peer
from scenarios_access import ACCESS
from scenarios_groups import ready
from scenarios_transactions import served

from kcore.broker import AuthorizerConfig, BrokerConfig
from kcore.coordinator import CoordinatorConfig, partition_for
from kcore.embedded import EmbeddedBroker

pytestmark = [pytest.mark.kafka, pytest.mark.slow]

PARTITIONS = 4  # of both journals, at both
_tags = itertools.count(1)

# Scenario -> what may differ in it (a part of the line that says so), and why.
MEANT = {}


@pytest.fixture(scope="module")
def embedded():
    config = BrokerConfig(
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


@pytest.mark.parametrize("scenario", ACCESS, ids=lambda scenario: scenario.__name__)
def test_the_same_is_said_to_who_may_not(scenario, serving, embedded):
    tag = f"a{next(_tags)}"
    theirs = Side(Peer(serving.bootstrap, tag), SaslPeer(serving.address, tag))
    (address,) = embedded.addresses
    ours = Side(Peer(address, tag), AlicesPeer(address, tag))
    meant = MEANT.get(scenario.__name__, {})
    lines = compare(told(scenario, ours), told(scenario, theirs))
    found = [line for line in lines if not any(known in line for known in meant)]
    assert not found, "\n".join(found)
