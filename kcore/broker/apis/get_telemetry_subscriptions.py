"""GetTelemetrySubscriptions v0 (KIP-714), where the brokers were made to take telemetry."""

from __future__ import annotations

from kcore.broker.batches import RefusedError
from kcore.broker.calls import Call
from kcore.broker.telemetry.desk import CODECS, TELEMETRY_BYTES_MAX
from kcore.wire.messages import GetTelemetrySubscriptionsRequest, GetTelemetrySubscriptionsResponse


def handle(
    call: Call, request: GetTelemetrySubscriptionsRequest
) -> GetTelemetrySubscriptionsResponse:
    """What this client is to push."""
    try:
        found = call.node.desk.ask(call, request.client_instance_id)
    except RefusedError as refused:
        return GetTelemetrySubscriptionsResponse(error_code=refused.code)
    return GetTelemetrySubscriptionsResponse(
        client_instance_id=found.id,
        subscription_id=found.subscription_id,
        accepted_compression_types=[*CODECS],
        push_interval_ms=found.wanted.interval_ms,
        telemetry_max_bytes=TELEMETRY_BYTES_MAX,
        delta_temporality=True,
        requested_metrics=[*found.wanted.metrics],
    )
