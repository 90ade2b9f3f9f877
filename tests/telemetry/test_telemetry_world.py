"""Whole cores beside brokers with telemetry and without: bytes both ways, a virtual clock."""

from __future__ import annotations

import pytest
from pushed_metrics import (
    ID,
    ID_TEXT,
    OF_ADMINS,
    OF_CONSUMERS,
    OF_PRODUCERS,
    OF_SHARERS,
    PREFIX,
    pushed,
    subscription,
)
from scripted import CUT, SILENT, ScriptedCluster, World
from scripted_admin import admin_world
from scripted_producer import produce_world, send_all, values
from scripted_share import ShareClient, ShareCluster

from kcore.admin.topics import list_topics
from kcore.errors import IllegalStateError, UnsupportedVersionError, UsageError
from kcore.events import Closed, MetricsPushed
from kcore.records import encode_batch
from kcore.structs import TopicPartition
from kcore.telemetry.payload import OwnMetrics
from kcore.wire import messages as m
from kcore.wire.apis import ApiKey

GET, PUSH = ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, ApiKey.PUSH_TELEMETRY


def with_telemetry(cluster, **fields):
    """Brokers that subscribe so."""
    cluster.apis |= {GET: (0, 0), PUSH: (0, 0)}
    cluster.script[GET] = lambda _node, _request: subscription(**fields)
    cluster.script[PUSH] = lambda _node, _request: m.PushTelemetryResponse()
    return cluster


def consuming(cluster=None, **options):
    cluster = ScriptedCluster({"t": 2}) if cluster is None else cluster
    for partition in range(2):
        data = encode_batch([(1, b"k", b"v")] * 3, base_offset=0)
        cluster.append("t", partition, data, 0, 3)
    world = World(cluster)
    options = {"group_id": "g", "auto_offset_reset": "earliest", **options}
    client = world.client(**options)
    client.core.subscribe(["t"], world.now)
    client.drain()
    return world, cluster, client


def read_on(world, client, for_ms):
    found = 0
    end = world.now + for_ms
    while world.now < end:
        client.poll()
        found += sum(map(len, client.take().values()))
        world.run(100)
    return found


def pushes(cluster):
    return [message for _, api, message in cluster.asked if api is PUSH]


def told(message):
    """(name, attributes) -> value of a push."""
    found = pushed(message)
    return {(one.name, tuple(one.attributes.items())): one.value for one in found}


def test_a_consumer_pushes_all_that_a_consumer_has_to():
    world, cluster, client = consuming(with_telemetry(ScriptedCluster({"t": 2})))
    assert read_on(world, client, 40_000) == 6
    first, *others = map(told, pushes(cluster))
    assert 2 <= len(others) <= 4
    assert {name for name, _ in first} >= OF_CONSUMERS
    last = others[-1]
    consumed = f"{PREFIX}consumer.fetch.manager.records.consumed.total"
    assert last[consumed, ()] == last[consumed, (("topic", "t"),)] == 6
    assert last[f"{PREFIX}consumer.coordinator.assigned.partitions", ()] == 2
    lag = f"{PREFIX}consumer.fetch.manager.records.lag"
    assert last[lag, (("topic", "t"), ("partition", "1"))] == 0
    assert client.of(MetricsPushed)[-1].error is None
    assert client.of(MetricsPushed)[-1].points == len(last)


def test_a_producer_pushes_all_that_a_producer_has_to():
    world, cluster, client = produce_world(topics={"t": 1})
    with_telemetry(cluster)
    send_all(client, values(10))
    world.run(30_000)
    found = told(pushes(cluster)[-1])
    assert {name for name, _ in found} >= OF_PRODUCERS
    assert found[f"{PREFIX}producer.record.send.total", ()] == 10
    assert found[f"{PREFIX}producer.topic.record.send.total", (("topic", "t"),)] == 10


def test_without_a_plug_in_nothing_is_asked():
    world, cluster, client = consuming()
    read_on(world, client, 10_000)
    assert cluster.count(GET) == cluster.count(PUSH) == 0
    operation = client.core.client_instance_id(world.now, 5_000)
    with pytest.raises(UnsupportedVersionError):
        client.result(operation, 10)


def test_who_does_not_want_to_push_does_not():
    cluster = with_telemetry(ScriptedCluster({"t": 2}))
    world, cluster, client = consuming(cluster, enable_metrics_push=False)
    read_on(world, client, 10_000)
    assert cluster.count(GET) == 0
    with pytest.raises(IllegalStateError, match="enable_metrics_push"):
        client.core.client_instance_id(world.now, 5_000)


def test_the_id_is_told():
    cluster = with_telemetry(ScriptedCluster({"t": 2}))
    world, _, client = consuming(cluster)
    operation = client.core.client_instance_id(world.now, 5_000)
    assert client.result(operation, 5_000) == ID_TEXT


def test_who_waits_for_an_id_has_a_node_asked_that_nothing_else_is():
    world, cluster, client = produce_world(topics={"t": 1})
    with_telemetry(cluster)
    world.run(100)
    operation = client.core.client_instance_id(world.now, 5_000)
    assert client.result(operation, 5_000) == ID_TEXT


@pytest.mark.parametrize("answer", [SILENT, CUT, m.PushTelemetryResponse()])
def test_the_last_push_is_a_members_and_in_time(answer):
    world, cluster, client = consuming(with_telemetry(ScriptedCluster({"t": 2})))
    read_on(world, client, 3_000)
    before = cluster.count(PUSH)
    cluster.script[PUSH] = lambda _node, _request: answer
    client.core.close(world.now, 30_000)
    client.drain()
    world.run(2_200)
    assert client.of(Closed)
    (last,) = pushes(cluster)[before:]
    assert last.terminating
    assert told(last)[f"{PREFIX}consumer.coordinator.assigned.partitions", ()] == 2
    assert cluster.count(ApiKey.LEAVE_GROUP) == 1


def test_what_a_producer_delivers_in_close_is_in_its_last_push():
    world, cluster, client = produce_world(topics={"t": 1}, linger_ms=5_000)
    with_telemetry(cluster)
    send_all(client, values(1))
    world.run(1_000)
    client.core.close(world.now, 30_000)
    client.drain()
    world.run(2_000)
    assert client.of(Closed)
    assert told(pushes(cluster)[-1])[f"{PREFIX}producer.record.send.total", ()] == 1
    assert pushes(cluster)[-1].terminating


def test_another_node_is_pushed_to_when_one_is_gone():
    cluster = with_telemetry(ScriptedCluster({"t": 2}, nodes=2))
    world, cluster, client = consuming(cluster)
    read_on(world, client, 20_000)
    cluster.down.add(1)
    cluster.coordinator = 2
    for link, node in [*client.links.items()]:
        if node == 1:
            world.cut(client, link)
    before = len(cluster.asked)
    read_on(world, client, 30_000)
    later = cluster.asked[before:]
    assert {node for node, api, _ in later if api is PUSH} == {2}
    assert all(one.client_instance_id == ID for _, api, one in later if api in (GET, PUSH))


def test_a_struck_client_goes_on_pushing():
    world, cluster, client = consuming(with_telemetry(ScriptedCluster({"t": 2})))
    read_on(world, client, 3_000)
    client.core.handle_interrupted(world.now)
    client.drain()
    before = cluster.count(PUSH)
    read_on(world, client, 30_000)
    assert cluster.count(PUSH) > before


def test_metrics_of_the_application_are_pushed_too():
    world, cluster, client = consuming(with_telemetry(ScriptedCluster({"t": 2})))
    client.core.register_metric("my-orders", "open", lambda: 7, (("Shop-Id", "3"),))
    client.core.register_metric("my-orders", "broken", lambda: 1 / 0, ())
    client.core.register_metric("my-orders-metrics", "seen-total", lambda: 2, ())
    client.core.register_metric("my-orders", "gone", lambda: 1, ())
    client.core.unregister_metric("my-orders", "gone", ())
    client.core.unregister_metric("my-orders", "never", ())
    read_on(world, client, 20_000)
    found = {key: value for key, value in told(pushes(cluster)[-1]).items() if "my" in key[0]}
    assert found == {
        (f"{PREFIX}my.orders.open", (("shop_id", "3"),)): 7.0,
        (f"{PREFIX}my.orders.seen.total", ()): 2.0,
    }


def test_metrics_of_an_application_are_bounded():
    own = OwnMetrics()
    for number in range(own.LIMIT):
        own.add("g", str(number), (), lambda: 0)
    own.add("g", "0", (), lambda: 1)
    with pytest.raises(UsageError):
        own.add("g", "one more", (), lambda: 0)


# -- share consumers and admin clients -------------------------------------------------------------


def test_a_share_consumer_pushes_what_javas_does():
    cluster = ShareCluster({"t": 1})
    cluster.fill(10)
    world = World(with_telemetry(cluster))
    client = ShareClient(world, {"client_rack": "r1"}).subscribe("t")
    end = world.now + 30_000
    while world.now < end:
        client.polled(200)
    found = told(pushes(cluster)[-1])
    assert {name for name, _ in found} >= OF_SHARERS
    assert found[f"{PREFIX}consumer.share.fetch.manager.records.consumed.total", ()] == 10
    assert client.core.labels() == {
        "client_rack": "r1",
        "group_id": "g",
        "group_member_id": client.core.member_id,
    }
    client.close()
    assert client.of(Closed)
    last = pushes(cluster)[-1]
    assert last.terminating
    assert told(last)[f"{PREFIX}consumer.share.coordinator.rebalance.total", ()] == 1


def test_an_admin_client_pushes_if_it_is_told_to():
    world, cluster, client = admin_world()
    with_telemetry(cluster)
    client.run(list_topics())
    world.run(30_000)
    assert cluster.count(GET) == 0
    with pytest.raises(IllegalStateError, match="enable_metrics_push"):
        client.core.client_instance_id(world.now, 5_000)
    world, cluster, client = admin_world(enable_metrics_push=True)
    with_telemetry(cluster)
    operation = client.core.client_instance_id(world.now, 5_000)
    assert client.result(operation, 5_000) == ID_TEXT
    client.run(list_topics())
    world.run(30_000)
    found = told(pushes(cluster)[-1])
    assert {name for name, _ in found} >= OF_ADMINS
    assert found[f"{PREFIX}admin.client.request.total", ()] >= 2
    assert client.core.labels() == {}


@pytest.mark.parametrize("answer", [SILENT, CUT, m.PushTelemetryResponse()])
def test_the_last_push_of_an_admin_client_is_in_time(answer):
    world, cluster, client = admin_world(enable_metrics_push=True)
    with_telemetry(cluster)
    client.run(list_topics())
    client.run(list_topics())  # of a node: the first was the bootstrap's to answer
    world.run(3_000)
    before = cluster.count(PUSH)
    cluster.script[PUSH] = lambda _node, _request: answer
    client.core.close(world.now, 2_000)
    with pytest.raises(IllegalStateError, match="closed"):
        client.begin(list_topics())
    client.drain()
    world.run(2_100)
    assert client.of(Closed)
    (last,) = pushes(cluster)[before:]
    assert last.terminating


# -- what a consumer measures ----------------------------------------------------------------------


def test_a_consumer_counts_what_it_does():
    world, cluster, client = consuming(auto_commit_interval_ms=1_000)
    first = client.core.metrics(world.now)
    assert first["consumer-fetch-manager-metrics"]["records-consumed-total"] == 0
    assert read_on(world, client, 5_000) == 6
    client.core.idle_ms += 2_000
    world.run(100)
    groups = client.core.metrics(world.now)
    fetching = groups["consumer-fetch-manager-metrics"]
    assert fetching["records-consumed-total"] == 6
    sizes = sum(len(batch) for log in cluster.logs.values() for _, _, batch in log)
    assert fetching["bytes-consumed-total"] == sizes
    assert fetching["fetch-total"] == cluster.count(ApiKey.FETCH) - 1  # one is under way
    assert fetching["fetch-latency-max"] >= fetching["fetch-latency-avg"] > 0
    assert fetching["records-lag-max"] == 0
    assert groups["consumer-fetch-manager-metrics.t"]["records-consumed-total"] == 6
    assert groups["consumer-fetch-manager-metrics.t-0"] == {"records-lag": 0, "records-lead": 3}
    coordinator = groups["consumer-coordinator-metrics"]
    assert coordinator["assigned-partitions"] == 2
    assert coordinator["rebalance-total"] == 1
    assert coordinator["rebalance-latency-max"] > 0
    assert coordinator["join-total"] == cluster.count(ApiKey.JOIN_GROUP)
    assert coordinator["commit-total"] == cluster.count(ApiKey.OFFSET_COMMIT) > 0
    assert coordinator["heartbeat-total"] == cluster.count(ApiKey.HEARTBEAT) > 0
    whole = groups["consumer-metrics"]
    assert whole["connection-count"] == len(client.links)
    assert whole["poll-idle-ratio-avg"] == pytest.approx(2_000 / 30_000)
    greetings = cluster.count(ApiKey.API_VERSIONS)
    assert whole["request-total"] == len(cluster.asked)
    assert whole["response-total"] == len(cluster.asked) - greetings - 1
    nodes = [name for name in groups if name.startswith("consumer-node-metrics.")]
    assert sum(groups[name]["request-total"] for name in nodes) == whole["request-total"]


def test_a_consumer_tells_how_far_behind_it_is():
    world, _, client = consuming()
    for _ in range(10):
        client.poll()
        world.run(100)
    client.take(1)
    groups = client.core.metrics(world.now)
    assert groups["consumer-fetch-manager-metrics"]["records-lag-max"] == 3
    lags = {
        tp.partition: groups[f"consumer-fetch-manager-metrics.t-{tp.partition}"]["records-lag"]
        for tp in (TopicPartition("t", 0), TopicPartition("t", 1))
    }
    assert sorted(lags.values()) == [2, 3]
