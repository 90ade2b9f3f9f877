"""Made by tools/generate_wire.py from kcore/wire/schema/10_find_coordinator.txt; do not edit."""

# fmt: off
# ruff: noqa: RUF023, RUF100

from __future__ import annotations

from kcore.hints import ClassVar
from kcore.wire.message import UNSET, Fields, Message, Struct


class FindCoordinatorRequest(Message):
    __slots__ = ("key", "key_type", "coordinator_keys")

    API_KEY: ClassVar[int] = 10
    VERSIONS: ClassVar[tuple[int, int]] = (0, 6)
    FLEXIBLE_FROM: ClassVar[int | None] = 3
    FIELDS: ClassVar[Fields] = (
        ("key", "string", 0, 3, -1, -1, "", -1, False, False),
        ("key_type", "int8", 1, 32767, -1, -1, 0, -1, False, False),
        ("coordinator_keys", "[]string", 4, 32767, -1, -1, ..., -1, False, False),
    )

    def __init__(
        self,
        *,
        key: str = "",
        key_type: int = 0,
        coordinator_keys: list[str] = UNSET,
    ) -> None:
        self.key = key
        self.key_type = key_type
        self.coordinator_keys: list[str] = [] if coordinator_keys is UNSET else coordinator_keys


class FindCoordinatorResponse(Message):
    __slots__ = ("throttle_time_ms", "error_code", "error_message", "node_id", "host", "port", "coordinators")

    API_KEY: ClassVar[int] = 10
    VERSIONS: ClassVar[tuple[int, int]] = (0, 6)
    FLEXIBLE_FROM: ClassVar[int | None] = 3
    FIELDS: ClassVar[Fields] = (
        ("throttle_time_ms", "int32", 1, 32767, -1, -1, 0, -1, True, False),
        ("error_code", "int16", 0, 3, -1, -1, 0, -1, False, False),
        ("error_message", "string", 1, 3, 1, 3, "", -1, True, False),
        ("node_id", "int32", 0, 3, -1, -1, 0, -1, False, False),
        ("host", "string", 0, 3, -1, -1, "", -1, False, False),
        ("port", "int32", 0, 3, -1, -1, 0, -1, False, False),
        ("coordinators", "[]Coordinator", 4, 32767, -1, -1, ..., -1, False, False),
    )

    class Coordinator(Struct):
        __slots__ = ("key", "node_id", "host", "port", "error_code", "error_message")

        FIELDS: ClassVar[Fields] = (
            ("key", "string", 4, 32767, -1, -1, "", -1, False, False),
            ("node_id", "int32", 4, 32767, -1, -1, 0, -1, False, False),
            ("host", "string", 4, 32767, -1, -1, "", -1, False, False),
            ("port", "int32", 4, 32767, -1, -1, 0, -1, False, False),
            ("error_code", "int16", 4, 32767, -1, -1, 0, -1, False, False),
            ("error_message", "string", 4, 32767, 4, 32767, "", -1, True, False),
        )

        def __init__(
            self,
            *,
            key: str = "",
            node_id: int = 0,
            host: str = "",
            port: int = 0,
            error_code: int = 0,
            error_message: str | None = "",
        ) -> None:
            self.key = key
            self.node_id = node_id
            self.host = host
            self.port = port
            self.error_code = error_code
            self.error_message = error_message

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        node_id: int = 0,
        host: str = "",
        port: int = 0,
        coordinators: list[FindCoordinatorResponse.Coordinator] = UNSET,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.node_id = node_id
        self.host = host
        self.port = port
        self.coordinators: list[FindCoordinatorResponse.Coordinator] = [] if coordinators is UNSET else coordinators
