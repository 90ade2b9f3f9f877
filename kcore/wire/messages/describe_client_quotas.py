"""Made by tools/generate_wire.py from kcore/wire/schema/48_describe_client_quotas.txt; do not edit."""

# fmt: off
# ruff: noqa: RUF023, RUF100

from __future__ import annotations

from kcore.hints import ClassVar
from kcore.wire.message import UNSET, Fields, Message, Struct


class DescribeClientQuotasRequest(Message):
    __slots__ = ("components", "strict")

    API_KEY: ClassVar[int] = 48
    VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_FROM: ClassVar[int | None] = 1
    FIELDS: ClassVar[Fields] = (
        ("components", "[]ComponentData", 0, 32767, -1, -1, ..., -1, False, False),
        ("strict", "bool", 0, 32767, -1, -1, False, -1, False, False),
    )

    class ComponentData(Struct):
        __slots__ = ("entity_type", "match_type", "match")

        FIELDS: ClassVar[Fields] = (
            ("entity_type", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("match_type", "int8", 0, 32767, -1, -1, 0, -1, False, False),
            ("match", "string", 0, 32767, 0, 32767, "", -1, False, False),
        )

        def __init__(
            self,
            *,
            entity_type: str = "",
            match_type: int = 0,
            match: str | None = "",
        ) -> None:
            self.entity_type = entity_type
            self.match_type = match_type
            self.match = match

    def __init__(
        self,
        *,
        components: list[DescribeClientQuotasRequest.ComponentData] = UNSET,
        strict: bool = False,
    ) -> None:
        self.components: list[DescribeClientQuotasRequest.ComponentData] = [] if components is UNSET else components
        self.strict = strict


class DescribeClientQuotasResponse(Message):
    __slots__ = ("throttle_time_ms", "error_code", "error_message", "entries")

    API_KEY: ClassVar[int] = 48
    VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_FROM: ClassVar[int | None] = 1
    FIELDS: ClassVar[Fields] = (
        ("throttle_time_ms", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("error_code", "int16", 0, 32767, -1, -1, 0, -1, False, False),
        ("error_message", "string", 0, 32767, 0, 32767, "", -1, False, False),
        ("entries", "[]EntryData", 0, 32767, 0, 32767, ..., -1, False, False),
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

    class ValueData(Struct):
        __slots__ = ("key", "value")

        FIELDS: ClassVar[Fields] = (
            ("key", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("value", "float64", 0, 32767, -1, -1, 0.0, -1, False, False),
        )

        def __init__(
            self,
            *,
            key: str = "",
            value: float = 0.0,
        ) -> None:
            self.key = key
            self.value = value

    class EntryData(Struct):
        __slots__ = ("entity", "values")

        FIELDS: ClassVar[Fields] = (
            ("entity", "[]EntityData", 0, 32767, -1, -1, ..., -1, False, False),
            ("values", "[]ValueData", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            entity: list[DescribeClientQuotasResponse.EntityData] = UNSET,
            values: list[DescribeClientQuotasResponse.ValueData] = UNSET,
        ) -> None:
            self.entity: list[DescribeClientQuotasResponse.EntityData] = [] if entity is UNSET else entity
            self.values: list[DescribeClientQuotasResponse.ValueData] = [] if values is UNSET else values

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        entries: list[DescribeClientQuotasResponse.EntryData] | None = UNSET,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.entries: list[DescribeClientQuotasResponse.EntryData] | None = [] if entries is UNSET else entries
