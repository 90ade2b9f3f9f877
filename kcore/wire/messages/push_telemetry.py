"""Made by tools/generate_wire.py from kcore/wire/schema/72_push_telemetry.txt; do not edit."""

# fmt: off
# ruff: noqa: RUF023, RUF100

from __future__ import annotations

from kcore.hints import ClassVar
from kcore.wire.message import ZERO_UUID, Fields, Message


class PushTelemetryRequest(Message):
    __slots__ = ("client_instance_id", "subscription_id", "terminating", "compression_type", "metrics")

    API_KEY: ClassVar[int] = 72
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int | None] = 0
    FIELDS: ClassVar[Fields] = (
        ("client_instance_id", "uuid", 0, 32767, -1, -1, b"\0" * 16, -1, False, False),
        ("subscription_id", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("terminating", "bool", 0, 32767, -1, -1, False, -1, False, False),
        ("compression_type", "int8", 0, 32767, -1, -1, 0, -1, False, False),
        ("metrics", "bytes", 0, 32767, -1, -1, b"", -1, False, False),
    )

    def __init__(
        self,
        *,
        client_instance_id: bytes = ZERO_UUID,
        subscription_id: int = 0,
        terminating: bool = False,
        compression_type: int = 0,
        metrics: bytes = b"",
    ) -> None:
        self.client_instance_id = client_instance_id
        self.subscription_id = subscription_id
        self.terminating = terminating
        self.compression_type = compression_type
        self.metrics = metrics


class PushTelemetryResponse(Message):
    __slots__ = ("throttle_time_ms", "error_code")

    API_KEY: ClassVar[int] = 72
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int | None] = 0
    FIELDS: ClassVar[Fields] = (
        ("throttle_time_ms", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("error_code", "int16", 0, 32767, -1, -1, 0, -1, False, False),
    )

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
