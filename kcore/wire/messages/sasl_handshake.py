"""Made by tools/generate_wire.py from kcore/wire/schema/17_sasl_handshake.txt; do not edit."""

# fmt: off
# ruff: noqa: RUF023, RUF100

from __future__ import annotations

from kcore.hints import ClassVar
from kcore.wire.message import UNSET, Fields, Message


class SaslHandshakeRequest(Message):
    __slots__ = ("mechanism",)

    API_KEY: ClassVar[int] = 17
    VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_FROM: ClassVar[int | None] = None
    FIELDS: ClassVar[Fields] = (
        ("mechanism", "string", 0, 32767, -1, -1, "", -1, False, False),
    )

    def __init__(
        self,
        *,
        mechanism: str = "",
    ) -> None:
        self.mechanism = mechanism


class SaslHandshakeResponse(Message):
    __slots__ = ("error_code", "mechanisms")

    API_KEY: ClassVar[int] = 17
    VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_FROM: ClassVar[int | None] = None
    FIELDS: ClassVar[Fields] = (
        ("error_code", "int16", 0, 32767, -1, -1, 0, -1, False, False),
        ("mechanisms", "[]string", 0, 32767, -1, -1, ..., -1, False, False),
    )

    def __init__(
        self,
        *,
        error_code: int = 0,
        mechanisms: list[str] = UNSET,
    ) -> None:
        self.error_code = error_code
        self.mechanisms: list[str] = [] if mechanisms is UNSET else mechanisms
