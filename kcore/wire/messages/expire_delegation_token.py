"""Made by tools/generate_wire.py from kcore/wire/schema/40_expire_delegation_token.txt; do not edit."""

# fmt: off
# ruff: noqa: RUF023, RUF100

from __future__ import annotations

from kcore.hints import ClassVar
from kcore.wire.message import Fields, Message


class ExpireDelegationTokenRequest(Message):
    __slots__ = ("hmac", "expiry_time_period_ms")

    API_KEY: ClassVar[int] = 40
    VERSIONS: ClassVar[tuple[int, int]] = (1, 2)
    FLEXIBLE_FROM: ClassVar[int | None] = 2
    FIELDS: ClassVar[Fields] = (
        ("hmac", "bytes", 0, 32767, -1, -1, b"", -1, False, False),
        ("expiry_time_period_ms", "int64", 0, 32767, -1, -1, 0, -1, False, False),
    )

    def __init__(
        self,
        *,
        hmac: bytes = b"",
        expiry_time_period_ms: int = 0,
    ) -> None:
        self.hmac = hmac
        self.expiry_time_period_ms = expiry_time_period_ms


class ExpireDelegationTokenResponse(Message):
    __slots__ = ("error_code", "expiry_timestamp_ms", "throttle_time_ms")

    API_KEY: ClassVar[int] = 40
    VERSIONS: ClassVar[tuple[int, int]] = (1, 2)
    FLEXIBLE_FROM: ClassVar[int | None] = 2
    FIELDS: ClassVar[Fields] = (
        ("error_code", "int16", 0, 32767, -1, -1, 0, -1, False, False),
        ("expiry_timestamp_ms", "int64", 0, 32767, -1, -1, 0, -1, False, False),
        ("throttle_time_ms", "int32", 0, 32767, -1, -1, 0, -1, False, False),
    )

    def __init__(
        self,
        *,
        error_code: int = 0,
        expiry_timestamp_ms: int = 0,
        throttle_time_ms: int = 0,
    ) -> None:
        self.error_code = error_code
        self.expiry_timestamp_ms = expiry_timestamp_ms
        self.throttle_time_ms = throttle_time_ms
