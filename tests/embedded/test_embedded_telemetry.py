"""The embedded broker asks clients for their metrics (KIP-714), and has what they pushed."""

from __future__ import annotations

import asyncio
import subprocess
import time

import pytest
from plugged_kafka import plugged_installation, telemetry_settings
from pushed_metrics import OF_ADMINS, OF_CONSUMERS, OF_PRODUCERS, OF_SHARERS
from telemetry_scenarios import everything

import kcore
from kcore.broker import BrokerConfig
from kcore.broker.telemetry.pushed import PUSHED_BYTES_MAX, Pushes
from kcore.cli.demo.kafka_cluster import KafkaCluster
from kcore.embedded import EmbeddedBroker
from kcore.errors import UnsupportedVersionError, UsageError

QUICK_MS = 100


def address(bootstrap):
    host, _, port = bootstrap.rpartition(":")
    return host, int(port)


def use(broker, topic, enough, **options):
    """A producer and a consumer, until `enough()`."""
    where = {"bootstrap_servers": broker.bootstrap, **options}
    with (
        kcore.Producer(client_id="billing", **where) as producer,
        kcore.Consumer(
            topic, client_id="shipping", group_id="g", auto_offset_reset="earliest", **where
        ) as consumer,
    ):
        end = time.monotonic() + 20
        while not enough():
            assert time.monotonic() < end
            producer.send(topic, b"v")
            consumer.poll(timeout_ms=20)
        return producer.client_instance_id(), consumer.client_instance_id()


def test_what_clients_have_pushed_is_there():
    with EmbeddedBroker(2, telemetry=True) as broker:
        broker.create_topic("t", 2)
        broker.subscribe_metrics("all", interval_ms=QUICK_MS)

        def enough():
            return all(broker.pushed_metrics(client_id=one) for one in ("billing", "shipping"))

        producer_id, consumer_id = use(broker, "t", enough)
        rows = broker.pushed_metrics()
        for client, client_id, wanted in (
            ("billing", producer_id, OF_PRODUCERS),
            ("shipping", consumer_id, OF_CONSUMERS),
        ):
            mine = broker.pushed_metrics(client_id=client)
            assert {row.client_instance_id for row in mine} == {client_id}
            assert {row.name for row in mine} >= wanted
            assert mine[-1].terminating
            assert not mine[0].terminating
        totals = broker.pushed_metrics("producer.record.send.total")
        assert all(row.delta and row.kind == "sum" for row in totals)
        assert sum(row.value for row in totals) == sum(broker.end_offsets("t"))
        assert any(row.attributes == {"node_id": "node-1"} for row in rows)
        assert any(row.labels.get("group_id") == "g" for row in rows)
        assert not broker.faults


def test_share_consumers_and_admin_clients_push_too():
    with EmbeddedBroker(telemetry=True) as broker:
        broker.create_topic("t")
        broker.subscribe_metrics("all", interval_ms=QUICK_MS)
        where = {"bootstrap_servers": broker.bootstrap}
        with (
            kcore.ShareConsumer("t", client_id="sharing", group_id="g", **where) as sharer,
            kcore.Admin(client_id="seeing-to-it", enable_metrics_push=True, **where) as admin,
        ):
            ids = {
                "sharing": sharer.client_instance_id(),
                "seeing-to-it": admin.client_instance_id(),
            }
            end = time.monotonic() + 20
            while not all(broker.pushed_metrics(client_id=one) for one in ids):
                assert time.monotonic() < end
                sharer.poll(20)
                admin.list_topics()
        for client, wanted in (("sharing", OF_SHARERS), ("seeing-to-it", OF_ADMINS)):
            mine = broker.pushed_metrics(client_id=client)
            assert {row.client_instance_id for row in mine} == {ids[client]}
            assert {row.name for row in mine} >= wanted
            assert mine[-1].terminating
        assert not broker.faults


def test_those_on_a_loop_push_too():
    async def use(broker):
        where = {"bootstrap_servers": broker.bootstrap}
        async with (
            kcore.AsyncShareConsumer("t", client_id="sharing", group_id="g", **where) as sharer,
            kcore.AsyncAdmin(client_id="seeing-to-it", enable_metrics_push=True, **where) as admin,
        ):
            assert len(await sharer.client_instance_id()) == 22
            assert len(await admin.client_instance_id()) == 22
            end = time.monotonic() + 20
            # Nobody calls the admin client: the loop drives it.
            while not all(
                broker.pushed_metrics(client_id=one) for one in ("sharing", "seeing-to-it")
            ):
                assert time.monotonic() < end
                await sharer.getmany(timeout_ms=20)
            return kcore.metrics_text(sharer, admin)

    with EmbeddedBroker(telemetry=True) as broker:
        broker.create_topic("t")
        broker.subscribe_metrics("all", interval_ms=QUICK_MS)
        text = asyncio.run(use(broker))
        for client in ("sharing", "seeing-to-it"):
            assert broker.pushed_metrics(client_id=client)[-1].terminating
    assert 'kafka_consumer_share_poll_idle_ratio_avg{client_id="sharing"}' in text
    assert 'kafka_admin_client_request_total{client_id="seeing-to-it"}' in text


def test_whom_a_subscription_means():
    with EmbeddedBroker(telemetry=True) as broker:
        broker.create_topic("t")
        broker.subscribe_metrics(
            "sends", "org.apache.kafka.producer.record.send", interval_ms=QUICK_MS,
            match={"client_software_name": "kcore", "client_id": "bill.*"},
        )  # fmt: skip
        use(broker, "t", broker.pushed_metrics)
        assert not broker.pushed_metrics(client_id="shipping")
        assert {row.name.rpartition(".")[0] for row in broker.pushed_metrics()} == {
            "org.apache.kafka.producer.record.send"
        }
        broker.unsubscribe_metrics("sends")
        before = len(broker.pushed_metrics())
        use(broker, "t", lambda: True)
        assert len(broker.pushed_metrics()) == before


def test_brokers_do_not_ask_unless_they_are_told_to():
    with EmbeddedBroker() as broker:
        with (
            kcore.Producer(bootstrap_servers=broker.bootstrap) as producer,
            pytest.raises(UnsupportedVersionError),
        ):
            producer.client_instance_id()
        with pytest.raises(UsageError, match="telemetry=True"):
            broker.subscribe_metrics("all")
        assert broker.pushed_metrics() == []


def test_an_old_kafka_has_no_telemetry():
    config = BrokerConfig(release=(3, 6), client_telemetry=True)
    with (
        EmbeddedBroker(config=config) as broker,
        kcore.Producer(bootstrap_servers=broker.bootstrap) as producer,
        pytest.raises(UnsupportedVersionError),
    ):
        producer.client_instance_id()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"name": ""}, "empty"),
        ({"interval_ms": 99}, "between 100 and 3600000"),
        ({"match": {"colour": "red"}}, "colour=red"),
        ({"match": {"client_id": "["}}, "client_id"),
    ],
)
def test_a_subscription_that_cannot_be_is_refused(given, said):
    with (
        EmbeddedBroker(telemetry=True, in_memory=True) as broker,
        pytest.raises(UsageError, match=said),
    ):
        broker.subscribe_metrics(**{"name": "all", **given})


def test_a_directory_keeps_subscriptions(tmp_path):
    with EmbeddedBroker(telemetry=True, directory=tmp_path) as broker:
        broker.subscribe_metrics("all", interval_ms=QUICK_MS)
        broker.subscribe_metrics("gone")
        broker.unsubscribe_metrics("gone")
    for _ in range(2):  # the second start reads what the first has written anew
        with (
            EmbeddedBroker(telemetry=True, directory=tmp_path) as broker,
            kcore.Admin(bootstrap_servers=broker.bootstrap) as admin,
        ):
            assert admin.list_config_resources()["client_metrics"] == ["all"]


def test_what_is_kept_is_bounded():
    pushes = Pushes()
    for number in range(100):
        pushes.add(bytes(16), str(number), bytes(1 << 20), last=False)
    kept = pushes.kept()
    assert sum(len(push.data) for push in kept._kept) <= PUSHED_BYTES_MAX
    assert kept._kept[-1].client_id == "99"
    for number in range(100_000):
        pushes.add(bytes(16), str(number), b"", last=False)
    assert len(pushes.kept()._kept) <= PUSHED_BYTES_MAX // 1_000


def test_every_answer_is_one():
    """What they are is compared with a Kafka's below."""
    with EmbeddedBroker(telemetry=True) as broker:
        said = dict(everything(address(broker.bootstrap), 0))
        assert said["pushed"] == (0, 0)
        assert said["after that"] == (42, 0)
        assert said["too large"] == (118, 0)
        assert said["all"][3] == 120
        assert not broker.faults


# -- other people's --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def java(installation, tmp_path_factory):
    return plugged_installation(installation, tmp_path_factory.mktemp("plugged"))


@pytest.mark.slow
def test_every_answer_is_a_kafkas(java, tmp_path):
    settings = telemetry_settings(tmp_path / "pushed")
    with KafkaCluster(installation=java, settings=settings) as kafka:
        theirs = everything(address(kafka.bootstrap), 0.5)
    with EmbeddedBroker(telemetry=True) as broker:
        ours = everything(address(broker.bootstrap), 0)
        assert not broker.faults
    assert len(theirs) > 60
    assert ours == theirs


@pytest.mark.slow
def test_javas_clients_push_and_its_tool_subscribes(java):
    tool = "org.apache.kafka.tools.ClientMetricsCommand"

    def run(main, *args):
        command = java.command(main, *args)
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    with EmbeddedBroker(telemetry=True) as broker:
        broker.create_topic("t", 2)
        where = ("--bootstrap-server", broker.bootstrap)
        run(tool, *where, "--alter", "--name", "all", "--metrics", "*", "--interval", "500")
        said = run(tool, *where, "--describe", "--name", "all")
        assert "interval.ms=500" in said
        assert "metrics=*" in said
        assert run(tool, *where, "--list").split() == ["all"]
        ids = run("PushMetrics", broker.bootstrap, "t", "g", "8000").split()
        for kind, wanted in (("producer", OF_PRODUCERS), ("consumer", OF_CONSUMERS)):
            rows = broker.pushed_metrics(client_id=f"java-{kind}")
            assert {row.name for row in rows} >= wanted
            assert {row.client_instance_id for row in rows} == {ids[ids.index(kind) + 1]}
        run(tool, *where, "--delete", "--name", "all")
        assert not run(tool, *where, "--list").split()
        assert not broker.faults


@pytest.mark.slow
def test_librdkafkas_clients_push():
    confluent_kafka = pytest.importorskip("confluent_kafka")
    with EmbeddedBroker(telemetry=True) as broker:
        broker.create_topic("t")
        broker.subscribe_metrics(
            "rd", interval_ms=500, match={"client_software_name": ".*librdkafka.*|confluent.*"}
        )
        producer = confluent_kafka.Producer(
            {"bootstrap.servers": broker.bootstrap, "client.id": "rd"}
        )
        end = time.monotonic() + 30
        while not broker.pushed_metrics(client_id="rd"):
            assert time.monotonic() < end
            producer.produce("t", b"v")
            producer.poll(0.1)
        names = {row.name for row in broker.pushed_metrics(client_id="rd")}
        assert "org.apache.kafka.producer.connection.creation.total" in names
        assert not broker.faults
