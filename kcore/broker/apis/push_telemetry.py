"""PushTelemetry v0 (KIP-714), where the brokers were made to take telemetry."""

from __future__ import annotations

from kcore.broker.batches import RefusedError
from kcore.broker.calls import Call
from kcore.wire.messages import PushTelemetryRequest, PushTelemetryResponse


def handle(call: Call, request: PushTelemetryRequest) -> PushTelemetryResponse:
    """Keep it for who looks."""
    try:
        data = call.node.desk.push(call, request)
    except RefusedError as refused:
        return PushTelemetryResponse(error_code=refused.code)
    if data:
        call.node.cluster.pushes.add(
            request.client_instance_id, call.client_id, data, last=request.terminating
        )
    return PushTelemetryResponse()
