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
