"""A node of three dies in the middle of a rebalance, a transaction, a share group, and topics are
made while it is down: a real Kafka's next coordinators and leaders, and ours, say the same.

What a Kafka said is kept in vectors/nodes_said.json (tests/support/said.py).
"""

import time
from contextlib import suppress
from pathlib import Path

import pytest
from differences import compare
from raw_client import Peer
from said import hold, kept
from scenarios_nodes import DEAD, PATIENCE_S, SCENARIOS, Nodes

from kcore.broker import BrokerConfig
from kcore.coordinator import CoordinatorConfig
from kcore.embedded import EmbeddedBroker
from kcore.wire import messages as m

SAID = Path(__file__).parent / "vectors" / "nodes_said.json"

each_scenario = pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda one: one.__name__)


def told(scenario, addresses, kill, revive):
    nodes = Nodes(addresses, scenario.__name__, kill, revive)
    try:
        scenario(nodes)
    finally:
        revive()
        nodes.close()
    return nodes.told()


@each_scenario
def test_what_nodes_of_a_kafka_said_is_said(scenario):
    config = BrokerConfig(
        auto_create_topics=False,
        coordinator=CoordinatorConfig(
            group_initial_rebalance_delay_ms=0,
            group_consumer_assignment_interval_ms=0,
            offsets_topic_num_partitions=4,
        ),
    )
    with EmbeddedBroker(3, config=config) as broker:

        def revive():
            with suppress(LookupError):  # it is back already
                broker.revive(DEAD)

        found = told(scenario, broker.addresses, lambda: broker.kill(DEAD), revive)
        assert not broker.faults
    differences = compare(found, kept(SAID, scenario.__name__))
    assert not differences, "\n".join(differences)


@pytest.mark.kafka
@pytest.mark.slow
@pytest.mark.timeout(300)
@each_scenario
def test_nodes_of_a_kafka_say_the_same(scenario, kafka3):
    balance(kafka3.nodes[0].address)
    addresses = [node.address for node in kafka3.nodes]
    found = told(scenario, addresses, lambda: kafka3.kill(DEAD - 1), kafka3.start)
    hold(SAID, scenario.__name__, found, theirs=True)


def balance(address):
    """The first of their replicas lead the coordinators' topics again, whoever was down before."""
    peer = Peer(address, "balance")
    end = time.monotonic() + PATIENCE_S

    def is_whole():
        answer = peer.link().ask(m.MetadataRequest(topics=None), 12)
        parts = [part for topic in answer.topics for part in topic.partitions]
        return len(answer.brokers) == 3 and all(
            len(part.isr_nodes) == len(part.replica_nodes) for part in parts
        )

    while not is_whole():
        assert time.monotonic() < end
        time.sleep(0.1)
    Elect = m.ElectLeadersRequest
    peer.link().ask(Elect(election_type=0, topic_partitions=None, timeout_ms=10_000), 2)
    peer.close()
