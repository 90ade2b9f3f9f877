"""Made by tools/generate_wire.py from kcore/wire/schema/74_list_config_resources.txt; do not edit."""

# fmt: off
# ruff: noqa: RUF023, RUF100

from __future__ import annotations

from kcore.hints import ClassVar
from kcore.wire.message import UNSET, Fields, Message, Struct


class ListConfigResourcesRequest(Message):
    __slots__ = ("resource_types",)

    API_KEY: ClassVar[int] = 74
    VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_FROM: ClassVar[int | None] = 0
    FIELDS: ClassVar[Fields] = (
        ("resource_types", "[]int8", 1, 32767, -1, -1, ..., -1, False, False),
    )

    def __init__(
        self,
        *,
        resource_types: list[int] = UNSET,
    ) -> None:
        self.resource_types: list[int] = [] if resource_types is UNSET else resource_types


class ListConfigResourcesResponse(Message):
    __slots__ = ("throttle_time_ms", "error_code", "config_resources")

    API_KEY: ClassVar[int] = 74
    VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_FROM: ClassVar[int | None] = 0
    FIELDS: ClassVar[Fields] = (
        ("throttle_time_ms", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("error_code", "int16", 0, 32767, -1, -1, 0, -1, False, False),
        ("config_resources", "[]ConfigResource", 0, 32767, -1, -1, ..., -1, False, False),
    )

    class ConfigResource(Struct):
        __slots__ = ("resource_name", "resource_type")

        FIELDS: ClassVar[Fields] = (
            ("resource_name", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("resource_type", "int8", 1, 32767, -1, -1, 16, -1, True, False),
        )

        def __init__(
            self,
            *,
            resource_name: str = "",
            resource_type: int = 16,
        ) -> None:
            self.resource_name = resource_name
            self.resource_type = resource_type

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        config_resources: list[ListConfigResourcesResponse.ConfigResource] = UNSET,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.config_resources: list[ListConfigResourcesResponse.ConfigResource] = [] if config_resources is UNSET else config_resources
