"""Made by tools/generate_wire.py from kcore/wire/schema/49_alter_client_quotas.txt; do not edit."""

# fmt: off
# ruff: noqa: RUF023, RUF100

from __future__ import annotations

from kcore.hints import ClassVar
from kcore.wire.message import UNSET, Fields, Message, Struct


class AlterClientQuotasRequest(Message):
    __slots__ = ("entries", "validate_only")

    API_KEY: ClassVar[int] = 49
    VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_FROM: ClassVar[int | None] = 1
    FIELDS: ClassVar[Fields] = (
        ("entries", "[]EntryData", 0, 32767, -1, -1, ..., -1, False, False),
        ("validate_only", "bool", 0, 32767, -1, -1, False, -1, False, False),
    )

    class EntityData(Struct):
        __slots__ = ("entity_type", "entity_name")

        FIELDS: ClassVar[Fields] = (
            ("entity_type", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("entity_name", "string", 0, 32767, 0, 32767, "", -1, False, False),
        )

        def __init__(
            self,
            *,
            entity_type: str = "",
            entity_name: str | None = "",
        ) -> None:
            self.entity_type = entity_type
            self.entity_name = entity_name

    class OpData(Struct):
        __slots__ = ("key", "value", "remove")

        FIELDS: ClassVar[Fields] = (
            ("key", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("value", "float64", 0, 32767, -1, -1, 0.0, -1, False, False),
            ("remove", "bool", 0, 32767, -1, -1, False, -1, False, False),
        )

        def __init__(
            self,
            *,
            key: str = "",
            value: float = 0.0,
            remove: bool = False,
        ) -> None:
            self.key = key
            self.value = value
            self.remove = remove

    class EntryData(Struct):
        __slots__ = ("entity", "ops")

        FIELDS: ClassVar[Fields] = (
            ("entity", "[]EntityData", 0, 32767, -1, -1, ..., -1, False, False),
            ("ops", "[]OpData", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            entity: list[AlterClientQuotasRequest.EntityData] = UNSET,
            ops: list[AlterClientQuotasRequest.OpData] = UNSET,
        ) -> None:
            self.entity: list[AlterClientQuotasRequest.EntityData] = [] if entity is UNSET else entity
            self.ops: list[AlterClientQuotasRequest.OpData] = [] if ops is UNSET else ops

    def __init__(
        self,
        *,
        entries: list[AlterClientQuotasRequest.EntryData] = UNSET,
        validate_only: bool = False,
    ) -> None:
        self.entries: list[AlterClientQuotasRequest.EntryData] = [] if entries is UNSET else entries
        self.validate_only = validate_only


class AlterClientQuotasResponse(Message):
    __slots__ = ("throttle_time_ms", "entries")

    API_KEY: ClassVar[int] = 49
    VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_FROM: ClassVar[int | None] = 1
    FIELDS: ClassVar[Fields] = (
        ("throttle_time_ms", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("entries", "[]EntryData", 0, 32767, -1, -1, ..., -1, False, False),
    )

    class EntityData(Struct):
        __slots__ = ("entity_type", "entity_name")

        FIELDS: ClassVar[Fields] = (
            ("entity_type", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("entity_name", "string", 0, 32767, 0, 32767, "", -1, False, False),
        )

        def __init__(
            self,
            *,
            entity_type: str = "",
            entity_name: str | None = "",
        ) -> None:
            self.entity_type = entity_type
            self.entity_name = entity_name

    class EntryData(Struct):
        __slots__ = ("error_code", "error_message", "entity")

        FIELDS: ClassVar[Fields] = (
            ("error_code", "int16", 0, 32767, -1, -1, 0, -1, False, False),
            ("error_message", "string", 0, 32767, 0, 32767, "", -1, False, False),
            ("entity", "[]EntityData", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            error_code: int = 0,
            error_message: str | None = "",
            entity: list[AlterClientQuotasResponse.EntityData] = UNSET,
        ) -> None:
            self.error_code = error_code
            self.error_message = error_message
            self.entity: list[AlterClientQuotasResponse.EntityData] = [] if entity is UNSET else entity

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        entries: list[AlterClientQuotasResponse.EntryData] = UNSET,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.entries: list[AlterClientQuotasResponse.EntryData] = [] if entries is UNSET else entries
