"""Made by tools/generate_wire.py from kcore/wire/schema/71_get_telemetry_subscriptions.txt; do not edit."""

# fmt: off
# ruff: noqa: RUF023, RUF100

from __future__ import annotations

from kcore.hints import ClassVar
from kcore.wire.message import UNSET, ZERO_UUID, Fields, Message


class GetTelemetrySubscriptionsRequest(Message):
    __slots__ = ("client_instance_id",)

    API_KEY: ClassVar[int] = 71
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int | None] = 0
    FIELDS: ClassVar[Fields] = (
        ("client_instance_id", "uuid", 0, 32767, -1, -1, b"\0" * 16, -1, False, False),
    )

    def __init__(
        self,
        *,
        client_instance_id: bytes = ZERO_UUID,
    ) -> None:
        self.client_instance_id = client_instance_id


class GetTelemetrySubscriptionsResponse(Message):
    __slots__ = ("throttle_time_ms", "error_code", "client_instance_id", "subscription_id", "accepted_compression_types", "push_interval_ms", "telemetry_max_bytes", "delta_temporality", "requested_metrics")

    API_KEY: ClassVar[int] = 71
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int | None] = 0
    FIELDS: ClassVar[Fields] = (
        ("throttle_time_ms", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("error_code", "int16", 0, 32767, -1, -1, 0, -1, False, False),
        ("client_instance_id", "uuid", 0, 32767, -1, -1, b"\0" * 16, -1, False, False),
        ("subscription_id", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("accepted_compression_types", "[]int8", 0, 32767, -1, -1, ..., -1, False, False),
        ("push_interval_ms", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("telemetry_max_bytes", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("delta_temporality", "bool", 0, 32767, -1, -1, False, -1, False, False),
        ("requested_metrics", "[]string", 0, 32767, -1, -1, ..., -1, False, False),
    )

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        client_instance_id: bytes = ZERO_UUID,
        subscription_id: int = 0,
        accepted_compression_types: list[int] = UNSET,
        push_interval_ms: int = 0,
        telemetry_max_bytes: int = 0,
        delta_temporality: bool = False,
        requested_metrics: list[str] = UNSET,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.client_instance_id = client_instance_id
        self.subscription_id = subscription_id
        self.accepted_compression_types: list[int] = [] if accepted_compression_types is UNSET else accepted_compression_types
        self.push_interval_ms = push_interval_ms
        self.telemetry_max_bytes = telemetry_max_bytes
        self.delta_temporality = delta_temporality
        self.requested_metrics: list[str] = [] if requested_metrics is UNSET else requested_metrics
