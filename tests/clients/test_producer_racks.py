"""Producers that keep to leaders in their rack (KIP-1123), on nodes in three racks."""

import time

import pytest

import kcore
from kcore.embedded import EmbeddedBroker

RACKS = ("a", "b", "c")


def written(producer, count=30):
    """The partitions of so many records without a key, each a batch of its own."""
    partitions = set()
    for _ in range(count):
        future = producer.send("orders", b"value")
        producer.flush()
        partitions.add(future.get(10).partition)
    return partitions


def led_by(broker, node):
    with kcore.Admin(bootstrap_servers=broker.bootstrap) as admin:
        (topic,) = admin.describe_topics(["orders"])
    return {one["partition_index"] for one in topic["partitions"] if one["leader_id"] == node}


@pytest.fixture
def broker():
    with EmbeddedBroker(3, racks=RACKS) as broker:
        broker.create_topic("orders", 6, replication_factor=3)
        yield broker


def producer_of(broker, **options):
    return kcore.Producer(
        bootstrap_servers=broker.bootstrap, batch_size=1, metadata_max_age_ms=300, **options
    )


def test_records_without_a_key_go_to_leaders_in_the_rack(broker):
    near = led_by(broker, 2)
    assert 0 < len(near) < 6
    with producer_of(broker, client_rack="b", partitioner_rack_aware=True) as producer:
        assert written(producer) == near
        table = pytest.importorskip("pyarrow").table({"value": [b"v"] * 500})
        assert {tp.partition for tp in producer.send_arrow(table, "orders").get()} <= near
        keyed = [producer.send("orders", b"v", key=b"%d" % n).get(10) for n in range(40)]
        assert {one.partition for one in keyed} > near


@pytest.mark.parametrize(
    "options",
    [
        {"client_rack": "b"},
        {"partitioner_rack_aware": True},
        {"client_rack": "elsewhere", "partitioner_rack_aware": True},
    ],
    ids=str,
)
def test_otherwise_they_go_anywhere(broker, options):
    with producer_of(broker, **options) as producer:
        assert len(written(producer, 60)) > len(led_by(broker, 2))


def test_where_nobody_leads_in_the_rack_any_more_others_get_them(broker):
    with producer_of(broker, client_rack="b", partitioner_rack_aware=True) as producer:
        assert written(producer) == led_by(broker, 2)
        broker.kill(2)
        assert written(producer)
        broker.revive(2)
        broker.move_leader("orders", 4, 2)
        deadline_s = time.monotonic() + 20
        while written(producer, 1) != {4}:
            assert time.monotonic() < deadline_s
        assert written(producer) == {4}
