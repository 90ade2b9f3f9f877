"""Made by tools/generate_wire.py from kcore/wire/schema/33_alter_configs.txt; do not edit."""

# fmt: off
# ruff: noqa: RUF023, RUF100

from __future__ import annotations

from kcore.hints import ClassVar
from kcore.wire.message import UNSET, Fields, Message, Struct


class AlterConfigsRequest(Message):
    __slots__ = ("resources", "validate_only")

    API_KEY: ClassVar[int] = 33
    VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_FROM: ClassVar[int | None] = 2
    FIELDS: ClassVar[Fields] = (
        ("resources", "[]AlterConfigsResource", 0, 32767, -1, -1, ..., -1, False, False),
        ("validate_only", "bool", 0, 32767, -1, -1, False, -1, False, False),
    )

    class AlterableConfig(Struct):
        __slots__ = ("name", "value")

        FIELDS: ClassVar[Fields] = (
            ("name", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("value", "string", 0, 32767, 0, 32767, "", -1, False, False),
        )

        def __init__(
            self,
            *,
            name: str = "",
            value: str | None = "",
        ) -> None:
            self.name = name
            self.value = value

    class AlterConfigsResource(Struct):
        __slots__ = ("resource_type", "resource_name", "configs")

        FIELDS: ClassVar[Fields] = (
            ("resource_type", "int8", 0, 32767, -1, -1, 0, -1, False, False),
            ("resource_name", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("configs", "[]AlterableConfig", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            resource_type: int = 0,
            resource_name: str = "",
            configs: list[AlterConfigsRequest.AlterableConfig] = UNSET,
        ) -> None:
            self.resource_type = resource_type
            self.resource_name = resource_name
            self.configs: list[AlterConfigsRequest.AlterableConfig] = [] if configs is UNSET else configs

    def __init__(
        self,
        *,
        resources: list[AlterConfigsRequest.AlterConfigsResource] = UNSET,
        validate_only: bool = False,
    ) -> None:
        self.resources: list[AlterConfigsRequest.AlterConfigsResource] = [] if resources is UNSET else resources
        self.validate_only = validate_only


class AlterConfigsResponse(Message):
    __slots__ = ("throttle_time_ms", "responses")

    API_KEY: ClassVar[int] = 33
    VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_FROM: ClassVar[int | None] = 2
    FIELDS: ClassVar[Fields] = (
        ("throttle_time_ms", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("responses", "[]AlterConfigsResourceResponse", 0, 32767, -1, -1, ..., -1, False, False),
    )

    class AlterConfigsResourceResponse(Struct):
        __slots__ = ("error_code", "error_message", "resource_type", "resource_name")

        FIELDS: ClassVar[Fields] = (
            ("error_code", "int16", 0, 32767, -1, -1, 0, -1, False, False),
            ("error_message", "string", 0, 32767, 0, 32767, "", -1, False, False),
            ("resource_type", "int8", 0, 32767, -1, -1, 0, -1, False, False),
            ("resource_name", "string", 0, 32767, -1, -1, "", -1, False, False),
        )

        def __init__(
            self,
            *,
            error_code: int = 0,
            error_message: str | None = "",
            resource_type: int = 0,
            resource_name: str = "",
        ) -> None:
            self.error_code = error_code
            self.error_message = error_message
            self.resource_type = resource_type
            self.resource_name = resource_name

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        responses: list[AlterConfigsResponse.AlterConfigsResourceResponse] = UNSET,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.responses: list[AlterConfigsResponse.AlterConfigsResourceResponse] = [] if responses is UNSET else responses
