"""Kafka's own consumer and ours in one group that shares cooperatively, on the embedded broker."""

import pytest
from foreign_members import KcoreInAThread, until
from verifiable import running

pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(400)]

PARTITIONS = 6
OURS = {"partition_assignment_strategy": "cooperative-sticky"}
THEIRS = (
    *("--topic", "t", "--group-id", "g", "--reset-policy", "earliest"),
    "--assignment-strategy",
    "org.apache.kafka.clients.consumer.CooperativeStickyAssignor",
)


def numbers(events):
    return sorted(part["partition"] for event in events for part in event["partitions"])


def given(java, wanted):
    """Wait until it was given these, one after the other; some of the calls are of nothing."""
    count = 1
    while len(numbers(java.wait("partitions_assigned", count))) < len(wanted):
        count += 1
    assert numbers(java.named("partitions_assigned")) == sorted(wanted)


def test_java_leads(installation, kcore_broker):
    """It is asked for half, goes on with the rest, and gets the half back when we leave."""
    kcore_broker.create_topic("t", PARTITIONS)
    with running(installation, kcore_broker, "Consumer", *THEIRS) as java:
        given(java, range(PARTITIONS))
        ours = KcoreInAThread(kcore_broker, "g", **OURS)
        until(lambda: len(ours.owned()) == PARTITIONS // 2, ours.step)
        given_up = ours.owned()
        assert set(numbers(java.wait("partitions_revoked"))) == given_up
        kcore_broker.produce("t", [(None, b"v%d" % number) for number in range(60)])
        until(lambda: len(ours.values) == 30, ours.step)
        ours.close()
        given(java, [*range(PARTITIONS), *given_up])
        assert set(numbers(java.named("partitions_revoked"))) == given_up
    assert not kcore_broker.faults


def test_we_lead(installation, kcore_broker):
    kcore_broker.create_topic("t", PARTITIONS)
    ours = KcoreInAThread(kcore_broker, "g", **OURS)
    until(lambda: len(ours.owned()) == PARTITIONS, ours.step)
    with running(installation, kcore_broker, "Consumer", *THEIRS) as java:
        until(lambda: len(ours.owned()) == PARTITIONS // 2, ours.step)
        given(java, set(range(PARTITIONS)) - ours.owned())
    until(lambda: len(ours.owned()) == PARTITIONS, ours.step)
    ours.close()
    assert not kcore_broker.faults
