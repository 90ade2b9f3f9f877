"""Made by tools/generate_wire.py from kcore/wire/schema/94_unregister_controller.txt; do not edit."""

# fmt: off
# ruff: noqa: RUF023, RUF100

from __future__ import annotations

from kcore.hints import ClassVar
from kcore.wire.message import Fields, Message


class UnregisterControllerRequest(Message):
    __slots__ = ("controller_id",)

    API_KEY: ClassVar[int] = 94
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int | None] = 0
    FIELDS: ClassVar[Fields] = (
        ("controller_id", "int32", 0, 32767, -1, -1, 0, -1, False, False),
    )

    def __init__(
        self,
        *,
        controller_id: int = 0,
    ) -> None:
        self.controller_id = controller_id


class UnregisterControllerResponse(Message):
    __slots__ = ("throttle_time_ms", "error_code", "error_message")

    API_KEY: ClassVar[int] = 94
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int | None] = 0
    FIELDS: ClassVar[Fields] = (
        ("throttle_time_ms", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("error_code", "int16", 0, 32767, -1, -1, 0, -1, False, False),
        ("error_message", "string", 0, 32767, 0, 32767, "", -1, False, False),
    )

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
