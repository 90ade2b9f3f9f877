"""Client telemetry in tests: what KIP-714 wants of clients, a subscription, a push's numbers."""

from __future__ import annotations

from typing import Any

from kcore.records.codecs import DECOMPRESS
from kcore.wire.messages import GetTelemetrySubscriptionsResponse, PushTelemetryRequest
from kcore.wire.otlp import Pushed, decode

PREFIX = "org.apache.kafka."
OF_CONSUMERS = {
    f"{PREFIX}consumer.{name}"
    for name in (
        *("connection.creation.rate", "connection.creation.total"),
        *("node.request.latency.avg", "node.request.latency.max"),
        "poll.idle.ratio.avg",
        *("coordinator.commit.latency.avg", "coordinator.commit.latency.max"),
        "coordinator.assigned.partitions",
        *("coordinator.rebalance.latency.avg", "coordinator.rebalance.latency.max"),
        "coordinator.rebalance.latency.total",
        *("fetch.manager.fetch.latency.avg", "fetch.manager.fetch.latency.max"),
    )
}
OF_PRODUCERS = {
    f"{PREFIX}producer.{name}"
    for name in (
        *("connection.creation.rate", "connection.creation.total"),
        *("node.request.latency.avg", "node.request.latency.max"),
        *("produce.throttle.time.avg", "produce.throttle.time.max"),
        *("record.queue.time.avg", "record.queue.time.max"),
    )
}
# KIP-714 wants nothing of these two in particular (KIP-932 came later); what Java's push, and ours.
OF_SHARERS = {
    *(
        f"{PREFIX}consumer.{name}"
        for name in ("connection.creation.total", "node.request.latency.avg", "request.total")
    ),
    *(
        f"{PREFIX}consumer.share.{name}"
        for name in (
            *("last.poll.seconds.ago", "poll.idle.ratio.avg"),
            *("time.between.poll.avg", "time.between.poll.max"),
            *("coordinator.heartbeat.rate", "coordinator.heartbeat.total"),
            *("coordinator.heartbeat.response.time.max", "coordinator.last.heartbeat.seconds.ago"),
            *("coordinator.rebalance.rate.per.hour", "coordinator.rebalance.total"),
            *("fetch.manager.acknowledgements.error.rate",),
            *("fetch.manager.acknowledgements.error.total",),
            *("fetch.manager.acknowledgements.send.rate",),
            *("fetch.manager.acknowledgements.send.total",),
            *("fetch.manager.bytes.consumed.rate", "fetch.manager.bytes.consumed.total"),
            *("fetch.manager.fetch.latency.avg", "fetch.manager.fetch.latency.max"),
            *("fetch.manager.fetch.rate", "fetch.manager.fetch.total"),
            *("fetch.manager.fetch.size.avg", "fetch.manager.fetch.size.max"),
            *("fetch.manager.fetch.throttle.time.avg", "fetch.manager.fetch.throttle.time.max"),
            *("fetch.manager.records.consumed.rate", "fetch.manager.records.consumed.total"),
            *("fetch.manager.records.per.request.avg", "fetch.manager.records.per.request.max"),
        )
    ),
}
OF_ADMINS = {
    f"{PREFIX}admin.client.{name}"
    for name in (
        *("connection.count", "connection.close.rate", "connection.close.total"),
        *("connection.creation.rate", "connection.creation.total"),
        *("request.rate", "request.total", "request.size.avg", "request.size.max"),
        *("response.rate", "response.total"),
        *("incoming.byte.rate", "incoming.byte.total"),
        *("outgoing.byte.rate", "outgoing.byte.total"),
        *("node.request.latency.avg", "node.request.latency.max", "node.request.total"),
    )
}
ID = bytes(range(16))
ID_TEXT = "AAECAwQFBgcICQoLDA0ODw"


def subscription(**fields: Any) -> GetTelemetrySubscriptionsResponse:
    """To everything, every 10 s."""
    return GetTelemetrySubscriptionsResponse(
        **{
            "client_instance_id": ID,
            "subscription_id": 5,
            "accepted_compression_types": [],
            "push_interval_ms": 10_000,
            "telemetry_max_bytes": 1 << 20,
            "delta_temporality": False,
            "requested_metrics": ["*"],
            **fields,
        }
    )


def pushed(request: PushTelemetryRequest) -> list[Pushed]:
    """The numbers in it."""
    data = request.metrics
    if request.compression_type:
        data = DECOMPRESS[request.compression_type](memoryview(data), 1 << 20)
    return list(decode(data))
