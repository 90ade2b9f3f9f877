"""Made by tools/generate_wire.py from kcore/wire/schema/header.txt; do not edit."""

# fmt: off
# ruff: noqa: RUF023, RUF100

from __future__ import annotations

from kcore.hints import ClassVar
from kcore.wire.message import Fields, Message


class RequestHeader(Message):
    __slots__ = ("request_api_key", "request_api_version", "correlation_id", "client_id")

    VERSIONS: ClassVar[tuple[int, int]] = (1, 2)
    FLEXIBLE_FROM: ClassVar[int | None] = 2
    FIELDS: ClassVar[Fields] = (
        ("request_api_key", "int16", 0, 32767, -1, -1, 0, -1, False, False),
        ("request_api_version", "int16", 0, 32767, -1, -1, 0, -1, False, False),
        ("correlation_id", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("client_id", "string", 1, 32767, 1, 32767, "", -1, False, True),
    )

    def __init__(
        self,
        *,
        request_api_key: int = 0,
        request_api_version: int = 0,
        correlation_id: int = 0,
        client_id: str | None = "",
    ) -> None:
        self.request_api_key = request_api_key
        self.request_api_version = request_api_version
        self.correlation_id = correlation_id
        self.client_id = client_id


class ResponseHeader(Message):
    __slots__ = ("correlation_id",)

    VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_FROM: ClassVar[int | None] = 1
    FIELDS: ClassVar[Fields] = (
        ("correlation_id", "int32", 0, 32767, -1, -1, 0, -1, False, False),
    )

    def __init__(
        self,
        *,
        correlation_id: int = 0,
    ) -> None:
        self.correlation_id = correlation_id
