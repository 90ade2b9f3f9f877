"""The same requests against a real Kafka and the embedded broker: the same answers, field by field.

What a Kafka answered is kept in vectors/broker_said.json: the broker is held to it without a Kafka,
and a Kafka, where there is one, to what it said before (tests/support/said.py has how it is kept).
Ids that brokers draw are numbered as they come up, and texts for people count as text; all else is
compared as it is. What is meant to differ stands in MEANT, and in docs/SKIPPED.md.
"""

from pathlib import Path

import pytest
import scenarios_admin  # noqa: F401 - it adds its scenarios
import scenarios_consumer_groups  # noqa: F401 - so does this
import scenarios_edges  # noqa: F401 - and this
import scenarios_features  # noqa: F401 - and this
import scenarios_fetch  # noqa: F401 - and this
import scenarios_internal  # noqa: F401 - and this
import scenarios_lingering_transactions  # noqa: F401 - and this
import scenarios_resumed_transactions  # noqa: F401 - and this
import scenarios_share  # noqa: F401 - and this
import scenarios_transaction_ids  # noqa: F401 - and this
from differences import compare
from raw_client import Peer
from said import hold, kept, plain
from scenarios_data import SCENARIOS
from scenarios_groups import ready
from scenarios_transactions import made, served

from kcore.broker import BrokerConfig
from kcore.coordinator import CoordinatorConfig, partition_for
from kcore.embedded import EmbeddedBroker

SAID = Path(__file__).parent / "vectors" / "broker_said.json"
PARTITIONS = 4  # of both journals, at both

# Scenario -> what may differ in it (a part of the line that says so), and why.
MEANT = {
    "produce_refused": {
        "short length.responses[0].partition_responses[0].error_message": "no text is given",
        "magic 3.responses[0].partition_responses[0].error_message": "no text is given",
        "another codec.responses[0].partition_responses[0].error_code": "UNKNOWN_SERVER_ERROR",
    }
}


SLOW = {"consumer_session_options"}


@pytest.fixture(scope="module")
def embedded():
    """Told the same as tests/support/real_kafka.py tells a Kafka."""
    config = BrokerConfig(
        auto_create_topics=False,
        coordinator=CoordinatorConfig(
            group_initial_rebalance_delay_ms=0,
            group_min_session_timeout_ms=1_000,
            group_consumer_assignment_interval_ms=0,
            group_consumer_min_session_timeout_ms=1_000,
            group_consumer_min_heartbeat_interval_ms=100,
            offsets_topic_num_partitions=PARTITIONS,
        ),
    )
    with EmbeddedBroker(config=config) as broker:
        peer = Peer(broker.addresses[0], "ready")
        made(peer, "first")  # has the id 0, which stands for no producer as well
        peer.close()
        yield broker
        assert not broker.faults


@pytest.fixture(scope="module")
def serving(kafka):
    """A Kafka whose coordinators have loaded all that they lead. Scenarios name groups and ids that
    nobody has waited for: what is said of those must not depend on which test was the first.
    """
    peer = Peer(kafka.bootstrap, "ready")
    names = {partition_for(str(number), PARTITIONS): str(number) for number in range(100)}
    assert len(names) == PARTITIONS
    for name in names.values():
        ready(peer, name)
        served(peer, name)
    made(peer, "first")
    peer.close()
    return kafka


def told(scenario, address):
    """Its names begin with the scenario's own: no other one, here or there, has them."""
    peer = Peer(address, f"{scenario.__name__}.")
    try:
        scenario(peer)
    finally:
        peer.close()
    return peer.said


each_scenario = pytest.mark.parametrize(
    "scenario",
    [
        pytest.param(one, marks=pytest.mark.slow) if one.__name__ in SLOW else one
        for one in SCENARIOS
    ],
    ids=lambda scenario: scenario.__name__,
)


@each_scenario
def test_what_a_kafka_said_is_said(scenario, embedded):
    name = scenario.__name__
    theirs = kept(SAID, name)
    ours = plain(told(scenario, embedded.addresses[0]))
    meant = MEANT.get(name, {})
    found = [line for line in compare(ours, theirs) if not any(known in line for known in meant)]
    assert not found, "\n".join(found)


@pytest.mark.kafka
@each_scenario
def test_a_kafka_says_the_same(scenario, serving):
    hold(SAID, scenario.__name__, told(scenario, serving.bootstrap), theirs=True)
