"""What clients measure as Prometheus reads it: by its own parser."""

from __future__ import annotations

import asyncio
import threading

import pytest
from prometheus_client.parser import text_string_to_metric_families

import kcore
from kcore.embedded import EmbeddedBroker


@pytest.fixture
def broker():
    with EmbeddedBroker(in_memory=True) as running:
        running.create_topic("orders", 2)
        yield running


def parsed(text):
    """name -> [(labels, value)], and the types of the families."""
    samples, kinds = {}, {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            samples.setdefault(sample.name, []).append((sample.labels, sample.value))
            kinds[sample.name] = family.type
    return samples, kinds


def test_prometheus_reads_what_is_measured(broker):
    def where(client_id):
        return {
            "transport": broker.transport(),
            "bootstrap_servers": broker.bootstrap,
            "client_id": client_id,
        }

    with (
        kcore.Producer(**where("out")) as producer,
        kcore.Consumer("orders", **where("in"), auto_offset_reset="earliest") as consumer,
        kcore.Consumer(**where('odd "\\\n')) as odd,
    ):
        for _ in range(5):
            producer.send("orders", b"v", partition=1).get(timeout=10)
        seen = 0
        while seen < 5:
            seen += sum(map(len, consumer.poll(timeout_ms=1_000).values()))
        samples, kinds = parsed(kcore.metrics_text(producer, consumer, odd))
        raw = consumer.metrics(raw=True)
    consumed = "kafka_consumer_fetch_manager_records_consumed_total"
    assert ({"client_id": "in"}, 5.0) in samples[consumed]
    assert ({"client_id": "in", "topic": "orders"}, 5.0) in samples[consumed]
    assert kinds[consumed] == "counter"
    lag = "kafka_consumer_fetch_manager_records_lag"
    assert ({"client_id": "in", "topic": "orders", "partition": "1"}, 0.0) in samples[lag]
    assert kinds[lag] == "gauge"
    assert ({"client_id": "out"}, 5.0) in samples["kafka_producer_record_send_total"]
    nodes = samples["kafka_producer_node_request_latency_max"]
    assert {labels["node_id"] for labels, _ in nodes} == {"node-1"}
    odds = {labels["client_id"] for labels, _ in samples["kafka_consumer_connection_count"]}
    assert odds == {"in", 'odd "\\\n'}
    assert sum(len(reading.values) for reading in raw) == sum(
        labels["client_id"] == "in" for rows in samples.values() for labels, _ in rows
    )


def test_of_share_consumers_and_admin_clients(broker):
    def where():
        return {"transport": broker.transport(), "bootstrap_servers": broker.bootstrap}

    with (
        kcore.ShareConsumer("orders", group_id="g", client_id="in", **where()) as sharer,
        kcore.Admin(client_id="it", **where()) as admin,
    ):
        sharer.poll(20)
        admin.list_topics()
        admin.describe_cluster()
        samples, kinds = parsed(kcore.metrics_text(sharer, admin))
        assert admin.metrics()["admin-client-metrics"]["response-total"] >= 2
        assert "admin-client-node-metrics.node-1" in admin.metrics()
        with pytest.raises(kcore.errors.IllegalStateError, match="enable_metrics_push"):
            admin.client_instance_id()
    sent = "kafka_consumer_share_fetch_manager_acknowledgements_send_total"
    assert (samples[sent], kinds[sent]) == ([({"client_id": "in"}, 0.0)], "counter")
    assert samples["kafka_admin_client_connection_count"][0][1] >= 1


def test_in_the_child_of_a_fork_nothing_is_told():
    where = {"bootstrap_servers": "127.0.0.1:1", "api_version": (4, 2)}
    with kcore.ShareConsumer(group_id="g", **where) as sharer, kcore.Admin(**where) as admin:
        for client in (sharer, admin):
            client.forked()
            for call in (client.metrics, client.client_instance_id):
                with pytest.raises(kcore.errors.ForkedError):
                    call()


def test_clients_that_share_a_client_id_have_a_number():
    where = {"bootstrap_servers": "127.0.0.1:1", "api_version": (4, 0), "client_id": "same"}
    with (
        kcore.Producer(**where) as out,
        kcore.Consumer(**where) as one,
        kcore.Consumer(**where) as two,
    ):
        samples, _ = parsed(kcore.metrics_text(out, one, two, out))
    for kind in ("consumer", "producer"):
        labels = [labels for labels, _ in samples[f"kafka_{kind}_connection_count"]]
        assert labels == [{"client_id": "same"}, {"client_id": "same", "nth": "2"}]


@pytest.mark.parametrize("bad", ["", "\ud800", 5, None], ids=["empty", "half", "5", "None"])
def test_an_applications_metric_has_names_that_can_be_pushed(bad):
    with kcore.Consumer(bootstrap_servers="127.0.0.1:1", api_version=(4, 0)) as consumer:
        for group, name, tags in ((bad, "n", None), ("g", bad, None), ("g", "n", {"shop": bad})):
            if tags is not None and bad == "":
                continue  # a value may be empty
            with pytest.raises(kcore.errors.IllegalArgumentError):
                consumer.register_metric_for_subscription(group, name, lambda: 1.0, tags)


def test_of_clients_on_a_loop():
    async def main(broker):
        async with (
            kcore.AsyncProducer(bootstrap_servers=broker.bootstrap, client_id="out") as producer,
            kcore.AsyncConsumer(
                "orders", bootstrap_servers=broker.bootstrap, client_id="in"
            ) as consumer,
        ):
            await producer.send_and_wait("orders", b"v")
            here = kcore.metrics_text(producer, consumer)
            elsewhere = await asyncio.to_thread(kcore.metrics_text, producer, consumer)
            assert parsed(elsewhere)[0].keys() == parsed(here)[0].keys()
            return here

    with EmbeddedBroker() as running:
        samples, _ = parsed(asyncio.run(main(running)))
    assert samples["kafka_producer_record_send_total"] == [({"client_id": "out"}, 1.0)]


def test_a_consumer_is_asked_while_another_thread_polls(broker):
    said = []
    with kcore.Consumer(
        "orders", transport=broker.transport(), bootstrap_servers=broker.bootstrap
    ) as consumer:
        over = threading.Event()

        def scrape():
            while not over.is_set():
                said.append(kcore.metrics_text(consumer))

        thread = threading.Thread(target=scrape)
        thread.start()
        for number in range(20):
            broker.produce("orders", [(None, b"v")] * 10, partition=number % 2)
            consumer.poll(timeout_ms=5)
        over.set()
        thread.join()
    assert said
    for text in said[:: max(len(said) // 20, 1)]:
        assert parsed(text)[0]["kafka_consumer_connection_count"]
