"""Client telemetry (KIP-714) with a real Kafka that has a plug-in (tests/java/TelemetryFile.java):
what our clients push beside what Java's do under the same subscription.
"""

from __future__ import annotations

import asyncio
import base64
import subprocess
import time
from pathlib import Path
from typing import NamedTuple

import pytest
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData
from plugged_kafka import plugged_installation, telemetry_settings
from pushed_metrics import OF_ADMINS, OF_CONSUMERS, OF_PRODUCERS, OF_SHARERS

import kcore
from kcore.cli.demo.java import KafkaInstallation
from kcore.cli.demo.kafka_cluster import KafkaCluster
from kcore.errors import IllegalStateError, UnsupportedVersionError
from kcore.events import MetricsPushed

pytestmark = pytest.mark.slow
INTERVAL_MS = 500

# What ours push, and Java's do not: sizes by group that are per topic there.
OURS_ALONE = {
    "org.apache.kafka.producer.byte.rate",
    "org.apache.kafka.producer.byte.total",
}


class Number(NamedTuple):
    kind: str
    value: float
    temporality: int


class Push:
    """A line of the plug-in's file."""

    def __init__(self, line: str) -> None:
        self.client, self.id, last, self.content_type, data = line.split("\t")
        self.last = last == "true"
        self.labels = {}
        self.numbers = {}
        for resource in MetricsData.FromString(base64.b64decode(data)).resource_metrics:
            for one in resource.resource.attributes:
                self.labels[one.key] = one.value.string_value
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    self._add(metric)

    def _add(self, metric) -> None:
        kind = metric.WhichOneof("data")
        data = getattr(metric, kind)
        for point in data.data_points:
            tags = tuple(sorted((one.key, one.value.string_value) for one in point.attributes))
            assert point.time_unix_nano > 1e18
            if kind == "sum":
                assert data.is_monotonic
                assert point.start_time_unix_nano > 1e18
            temporality = data.aggregation_temporality if kind == "sum" else 0
            value = getattr(point, point.WhichOneof("value"))
            self.numbers[metric.name, tags] = Number(kind, value, temporality)

    def shape(self):
        """name -> (kind, temporality, names of attributes)."""
        return {
            (name, tuple(key for key, _ in tags)): (number.kind, number.temporality)
            for (name, tags), number in self.numbers.items()
        }


class Plugged(NamedTuple):
    kafka: KafkaCluster
    java: KafkaInstallation
    file: Path

    def pushes(self, client):
        lines = self.file.read_text().splitlines() if self.file.exists() else []
        return [push for push in map(Push, lines) if push.client == client]

    def subscribe(self, name, metrics, match=""):
        more = ("--match", match) if match else ()
        self.kafka.tool(
            "kafka-client-metrics", "--alter", "--name", name, "--metrics", metrics,
            "--interval", str(INTERVAL_MS), *more,
        )  # fmt: skip


@pytest.fixture(scope="module")
def plugged(installation, tmp_path_factory):
    """A real Kafka with a plug-in for telemetry, and a Java with the program that pushes."""
    folder = tmp_path_factory.mktemp("telemetry")
    java = plugged_installation(installation, folder)
    file = folder / "pushed"
    with KafkaCluster(installation=java, settings=telemetry_settings(file)) as kafka:
        yield Plugged(kafka, java, file)


KINDS = {
    "producer": OF_PRODUCERS,
    "consumer": OF_CONSUMERS,
    "sharer": OF_SHARERS,
    "admin": OF_ADMINS,
}


def ours(plugged, topic, group, seconds):
    """Our clients for a while: their ids, and how many records went through."""
    count = 0
    observed = []
    with (
        kcore.Producer(
            bootstrap_servers=plugged.kafka.bootstrap, client_id="our-producer"
        ) as producer,
        kcore.Consumer(
            topic, bootstrap_servers=plugged.kafka.bootstrap, client_id="our-consumer",
            group_id=group, client_rack="r1", auto_offset_reset="earliest",
            auto_commit_interval_ms=200,
        ) as consumer,
        kcore.ShareConsumer(
            topic, bootstrap_servers=plugged.kafka.bootstrap, client_id="our-sharer",
            group_id=f"{group}-share", client_rack="r1",
        ) as sharer,
        kcore.Admin(
            bootstrap_servers=plugged.kafka.bootstrap, client_id="our-admin",
            enable_metrics_push=True,
        ) as admin,
    ):  # fmt: skip
        consumer.observe(observed.append)
        consumer.register_metric_for_subscription(
            "shop", "orders-open", lambda: 7, {"shop-id": "3"}
        )
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            producer.send(topic, b"value", b"key")
            count += sum(map(len, consumer.poll(timeout_ms=50).values()))
            sharer.poll(timeout_ms=50)
            sharer.commit()
            admin.describe_topics([topic])
        clients = (producer, consumer, sharer, admin)
        ids = {kind: one.client_instance_id() for kind, one in zip(KINDS, clients, strict=True)}
    refused = [one for one in observed if isinstance(one, MetricsPushed) and one.error]
    assert not refused
    return ids, count


def test_ours_push_what_javas_push(plugged, names):
    kafka = plugged.kafka
    kafka.create_topic(names.topic, 2)
    plugged.subscribe("everything", "*")
    said = subprocess.run(
        plugged.java.command("PushMetrics", kafka.bootstrap, names.topic, "java-group", "6000"),
        check=True, capture_output=True, text=True,
    ).stdout.split()  # fmt: skip
    ids, count = ours(plugged, names.topic, names.group, 5)
    for kind, javas_id in zip(said[::2], said[1::2], strict=True):
        assert {push.id for push in plugged.pushes(f"java-{kind}")} == {javas_id}
    for kind, wanted in KINDS.items():
        own_id = ids[kind]
        pushes = plugged.pushes(f"our-{kind}")
        assert len(pushes) >= 4
        assert {push.id for push in pushes} == {own_id}
        assert {push.content_type for push in pushes} == {"OTLP"}
        assert [push.last for push in pushes] == [False] * (len(pushes) - 1) + [True]
        javas = plugged.pushes(f"java-{kind}")[-1].shape()
        # Java's has averages by node of what it has not asked in a minute; ours begin with a use.
        mine = pushes[-1].shape()
        assert {name for name, _ in mine} >= wanted
        assert {name for name, _ in javas} >= wanted
        more = {key: value for key, value in mine.items() if javas.get(key) != value}
        own = {"org.apache.kafka.shop.orders.open"} if kind == "consumer" else set()
        assert {name for name, _ in more} == own | (OURS_ALONE if kind == "producer" else set()), (
            more
        )
    for kind in KINDS:
        java, mine = (plugged.pushes(f"{whose}-{kind}")[-1] for whose in ("java", "our"))
        assert java.labels.keys() == mine.labels.keys()
    mine = plugged.pushes("our-consumer")[-1]
    assert mine.labels["group_id"] == names.group
    assert mine.labels["client_rack"] == "r1"
    shop = ("org.apache.kafka.shop.orders.open", (("shop_id", "3"),))
    assert mine.numbers[shop] == Number("gauge", 7, 0)
    consumed = ("org.apache.kafka.consumer.fetch.manager.records.consumed.total", ())
    deltas = [push.numbers[consumed].value for push in plugged.pushes("our-consumer")]
    assert sum(deltas) == count


def test_others_are_asked_for_what_they_are_subscribed_to(plugged, names):
    kafka = plugged.kafka
    kafka.create_topic(names.topic, 1)
    prefix = "org.apache.kafka.producer.record."
    kafka.tool("kafka-client-metrics", "--delete", "--name", "everything")
    plugged.subscribe("records", prefix, "client_id=some.*,client_software_name=kcore")

    async def some():
        async with (
            kcore.AsyncProducer(
                bootstrap_servers=kafka.bootstrap, client_id="some-producer"
            ) as producer,
            kcore.AsyncConsumer(
                names.topic, bootstrap_servers=kafka.bootstrap, client_id="other",
                auto_offset_reset="earliest",
            ) as consumer,
        ):  # fmt: skip
            found = await producer.client_instance_id(), await consumer.client_instance_id()
            end = time.monotonic() + 3
            while time.monotonic() < end:
                await producer.send_and_wait(names.topic, b"value")
                await consumer.getmany(timeout_ms=100)
            return found

    producer_id, consumer_id = asyncio.run(some())
    pushes = plugged.pushes("some-producer")
    assert {push.id for push in pushes} == {producer_id}
    assert len(consumer_id) == len(producer_id) == 22
    assert not plugged.pushes("other")
    assert all(name.startswith(prefix) for push in pushes for name, _ in push.numbers)
    assert (f"{prefix}send.total", ()) in pushes[-1].numbers


def test_a_kafka_without_a_plug_in_gives_no_ids(kafka, names):
    with kcore.Consumer(bootstrap_servers=kafka.bootstrap, group_id=names.group) as consumer:
        with pytest.raises(UnsupportedVersionError, match="plug-in"):
            consumer.client_instance_id()
        assert consumer.metrics()["consumer-metrics"]["connection-count"] >= 1
    with (
        kcore.Producer(bootstrap_servers=kafka.bootstrap, enable_metrics_push=False) as producer,
        pytest.raises(IllegalStateError, match="enable_metrics_push"),
    ):
        producer.client_instance_id()
