"""Made by tools/generate_wire.py from kcore/wire/schema/32_describe_configs.txt; do not edit."""

# fmt: off
# ruff: noqa: RUF023, RUF100

from __future__ import annotations

from kcore.hints import ClassVar
from kcore.wire.message import UNSET, Fields, Message, Struct


class DescribeConfigsRequest(Message):
    __slots__ = ("resources", "include_synonyms", "include_documentation")

    API_KEY: ClassVar[int] = 32
    VERSIONS: ClassVar[tuple[int, int]] = (1, 4)
    FLEXIBLE_FROM: ClassVar[int | None] = 4
    FIELDS: ClassVar[Fields] = (
        ("resources", "[]DescribeConfigsResource", 0, 32767, -1, -1, ..., -1, False, False),
        ("include_synonyms", "bool", 1, 32767, -1, -1, False, -1, False, False),
        ("include_documentation", "bool", 3, 32767, -1, -1, False, -1, False, False),
    )

    class DescribeConfigsResource(Struct):
        __slots__ = ("resource_type", "resource_name", "configuration_keys")

        FIELDS: ClassVar[Fields] = (
            ("resource_type", "int8", 0, 32767, -1, -1, 0, -1, False, False),
            ("resource_name", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("configuration_keys", "[]string", 0, 32767, 0, 32767, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            resource_type: int = 0,
            resource_name: str = "",
            configuration_keys: list[str] | None = UNSET,
        ) -> None:
            self.resource_type = resource_type
            self.resource_name = resource_name
            self.configuration_keys: list[str] | None = [] if configuration_keys is UNSET else configuration_keys

    def __init__(
        self,
        *,
        resources: list[DescribeConfigsRequest.DescribeConfigsResource] = UNSET,
        include_synonyms: bool = False,
        include_documentation: bool = False,
    ) -> None:
        self.resources: list[DescribeConfigsRequest.DescribeConfigsResource] = [] if resources is UNSET else resources
        self.include_synonyms = include_synonyms
        self.include_documentation = include_documentation


class DescribeConfigsResponse(Message):
    __slots__ = ("throttle_time_ms", "results")

    API_KEY: ClassVar[int] = 32
    VERSIONS: ClassVar[tuple[int, int]] = (1, 4)
    FLEXIBLE_FROM: ClassVar[int | None] = 4
    FIELDS: ClassVar[Fields] = (
        ("throttle_time_ms", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("results", "[]DescribeConfigsResult", 0, 32767, -1, -1, ..., -1, False, False),
    )

    class DescribeConfigsSynonym(Struct):
        __slots__ = ("name", "value", "source")

        FIELDS: ClassVar[Fields] = (
            ("name", "string", 1, 32767, -1, -1, "", -1, False, False),
            ("value", "string", 1, 32767, 0, 32767, "", -1, False, False),
            ("source", "int8", 1, 32767, -1, -1, 0, -1, False, False),
        )

        def __init__(
            self,
            *,
            name: str = "",
            value: str | None = "",
            source: int = 0,
        ) -> None:
            self.name = name
            self.value = value
            self.source = source

    class DescribeConfigsResourceResult(Struct):
        __slots__ = ("name", "value", "read_only", "config_source", "is_sensitive", "synonyms", "config_type", "documentation")

        FIELDS: ClassVar[Fields] = (
            ("name", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("value", "string", 0, 32767, 0, 32767, "", -1, False, False),
            ("read_only", "bool", 0, 32767, -1, -1, False, -1, False, False),
            ("config_source", "int8", 1, 32767, -1, -1, -1, -1, True, False),
            ("is_sensitive", "bool", 0, 32767, -1, -1, False, -1, False, False),
            ("synonyms", "[]DescribeConfigsSynonym", 1, 32767, -1, -1, ..., -1, True, False),
            ("config_type", "int8", 3, 32767, -1, -1, 0, -1, True, False),
            ("documentation", "string", 3, 32767, 0, 32767, "", -1, True, False),
        )

        def __init__(
            self,
            *,
            name: str = "",
            value: str | None = "",
            read_only: bool = False,
            config_source: int = -1,
            is_sensitive: bool = False,
            synonyms: list[DescribeConfigsResponse.DescribeConfigsSynonym] = UNSET,
            config_type: int = 0,
            documentation: str | None = "",
        ) -> None:
            self.name = name
            self.value = value
            self.read_only = read_only
            self.config_source = config_source
            self.is_sensitive = is_sensitive
            self.synonyms: list[DescribeConfigsResponse.DescribeConfigsSynonym] = [] if synonyms is UNSET else synonyms
            self.config_type = config_type
            self.documentation = documentation

    class DescribeConfigsResult(Struct):
        __slots__ = ("error_code", "error_message", "resource_type", "resource_name", "configs")

        FIELDS: ClassVar[Fields] = (
            ("error_code", "int16", 0, 32767, -1, -1, 0, -1, False, False),
            ("error_message", "string", 0, 32767, 0, 32767, "", -1, False, False),
            ("resource_type", "int8", 0, 32767, -1, -1, 0, -1, False, False),
            ("resource_name", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("configs", "[]DescribeConfigsResourceResult", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            error_code: int = 0,
            error_message: str | None = "",
            resource_type: int = 0,
            resource_name: str = "",
            configs: list[DescribeConfigsResponse.DescribeConfigsResourceResult] = UNSET,
        ) -> None:
            self.error_code = error_code
            self.error_message = error_message
            self.resource_type = resource_type
            self.resource_name = resource_name
            self.configs: list[DescribeConfigsResponse.DescribeConfigsResourceResult] = [] if configs is UNSET else configs

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        results: list[DescribeConfigsResponse.DescribeConfigsResult] = UNSET,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results: list[DescribeConfigsResponse.DescribeConfigsResult] = [] if results is UNSET else results
