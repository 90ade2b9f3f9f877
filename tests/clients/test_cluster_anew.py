"""A cluster for development that is made anew at its address, under another id: clients go on."""

import time

import pytest

from kcore import Admin, Consumer, Producer, ShareConsumer
from kcore.broker.config import BrokerConfig
from kcore.embedded import EmbeddedBroker

SOON_S = 15  # about two are needed; without a bound it was up to a minute and more


def serve(name, port=0):
    return EmbeddedBroker(port=port, config=BrokerConfig(cluster_id=name))


def reading(kind, place):
    if kind == "share":
        return ShareConsumer("t", **place, group_id="g")
    return Consumer("t", **place, group_id="g", group_protocol=kind)


def awaited(client, broker, value):
    """It is written again and again, as who has joined reads what is written from then on."""
    until = time.monotonic() + SOON_S
    with Producer(bootstrap_servers=broker.bootstrap) as producer:
        while time.monotonic() < until:
            producer.send("t", value).get(10)
            polled = client.poll(timeout_ms=100)
            batches = polled.values() if isinstance(polled, dict) else [polled]
            if value in [record.value for batch in batches for record in batch]:
                return
    pytest.fail(f"{value!r} was not read")


@pytest.mark.parametrize("kind", ["classic", "consumer", "share"])
def test_consumers(kind):
    with serve("one") as broker:
        port = int(broker.bootstrap.rpartition(":")[2])
        client = reading(kind, {"bootstrap_servers": broker.bootstrap})
        awaited(client, broker, b"first")
    with serve("another", port) as broker, client:
        awaited(client, broker, b"second")


def test_producers_and_admins():
    with serve("one") as broker:
        broker.create_topic("t", 1)
        port = int(broker.bootstrap.rpartition(":")[2])
        admin = Admin(bootstrap_servers=broker.bootstrap)
        producer = Producer(bootstrap_servers=broker.bootstrap)
        producer.send("t", b"first").get(10)
        assert "t" in admin.list_topics()
    with serve("another", port) as broker, admin, producer:
        broker.create_topic("u", 1)
        assert "u" in admin.list_topics(SOON_S * 1_000)
        producer.send("t", b"second").get(SOON_S)
