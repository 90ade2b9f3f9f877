"""Made by tools/generate_wire.py from kcore/wire/schema/31_delete_acls.txt; do not edit."""

# fmt: off
# ruff: noqa: RUF023, RUF100

from __future__ import annotations

from kcore.hints import ClassVar
from kcore.wire.message import UNSET, Fields, Message, Struct


class DeleteAclsRequest(Message):
    __slots__ = ("filters",)

    API_KEY: ClassVar[int] = 31
    VERSIONS: ClassVar[tuple[int, int]] = (1, 3)
    FLEXIBLE_FROM: ClassVar[int | None] = 2
    FIELDS: ClassVar[Fields] = (
        ("filters", "[]DeleteAclsFilter", 0, 32767, -1, -1, ..., -1, False, False),
    )

    class DeleteAclsFilter(Struct):
        __slots__ = ("resource_type_filter", "resource_name_filter", "pattern_type_filter", "principal_filter", "host_filter", "operation", "permission_type")

        FIELDS: ClassVar[Fields] = (
            ("resource_type_filter", "int8", 0, 32767, -1, -1, 0, -1, False, False),
            ("resource_name_filter", "string", 0, 32767, 0, 32767, "", -1, False, False),
            ("pattern_type_filter", "int8", 1, 32767, -1, -1, 3, -1, False, False),
            ("principal_filter", "string", 0, 32767, 0, 32767, "", -1, False, False),
            ("host_filter", "string", 0, 32767, 0, 32767, "", -1, False, False),
            ("operation", "int8", 0, 32767, -1, -1, 0, -1, False, False),
            ("permission_type", "int8", 0, 32767, -1, -1, 0, -1, False, False),
        )

        def __init__(
            self,
            *,
            resource_type_filter: int = 0,
            resource_name_filter: str | None = "",
            pattern_type_filter: int = 3,
            principal_filter: str | None = "",
            host_filter: str | None = "",
            operation: int = 0,
            permission_type: int = 0,
        ) -> None:
            self.resource_type_filter = resource_type_filter
            self.resource_name_filter = resource_name_filter
            self.pattern_type_filter = pattern_type_filter
            self.principal_filter = principal_filter
            self.host_filter = host_filter
            self.operation = operation
            self.permission_type = permission_type

    def __init__(
        self,
        *,
        filters: list[DeleteAclsRequest.DeleteAclsFilter] = UNSET,
    ) -> None:
        self.filters: list[DeleteAclsRequest.DeleteAclsFilter] = [] if filters is UNSET else filters


class DeleteAclsResponse(Message):
    __slots__ = ("throttle_time_ms", "filter_results")

    API_KEY: ClassVar[int] = 31
    VERSIONS: ClassVar[tuple[int, int]] = (1, 3)
    FLEXIBLE_FROM: ClassVar[int | None] = 2
    FIELDS: ClassVar[Fields] = (
        ("throttle_time_ms", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("filter_results", "[]DeleteAclsFilterResult", 0, 32767, -1, -1, ..., -1, False, False),
    )

    class DeleteAclsMatchingAcl(Struct):
        __slots__ = ("error_code", "error_message", "resource_type", "resource_name", "pattern_type", "principal", "host", "operation", "permission_type")

        FIELDS: ClassVar[Fields] = (
            ("error_code", "int16", 0, 32767, -1, -1, 0, -1, False, False),
            ("error_message", "string", 0, 32767, 0, 32767, "", -1, False, False),
            ("resource_type", "int8", 0, 32767, -1, -1, 0, -1, False, False),
            ("resource_name", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("pattern_type", "int8", 1, 32767, -1, -1, 3, -1, False, False),
            ("principal", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("host", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("operation", "int8", 0, 32767, -1, -1, 0, -1, False, False),
            ("permission_type", "int8", 0, 32767, -1, -1, 0, -1, False, False),
        )

        def __init__(
            self,
            *,
            error_code: int = 0,
            error_message: str | None = "",
            resource_type: int = 0,
            resource_name: str = "",
            pattern_type: int = 3,
            principal: str = "",
            host: str = "",
            operation: int = 0,
            permission_type: int = 0,
        ) -> None:
            self.error_code = error_code
            self.error_message = error_message
            self.resource_type = resource_type
            self.resource_name = resource_name
            self.pattern_type = pattern_type
            self.principal = principal
            self.host = host
            self.operation = operation
            self.permission_type = permission_type

    class DeleteAclsFilterResult(Struct):
        __slots__ = ("error_code", "error_message", "matching_acls")

        FIELDS: ClassVar[Fields] = (
            ("error_code", "int16", 0, 32767, -1, -1, 0, -1, False, False),
            ("error_message", "string", 0, 32767, 0, 32767, "", -1, False, False),
            ("matching_acls", "[]DeleteAclsMatchingAcl", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            error_code: int = 0,
            error_message: str | None = "",
            matching_acls: list[DeleteAclsResponse.DeleteAclsMatchingAcl] = UNSET,
        ) -> None:
            self.error_code = error_code
            self.error_message = error_message
            self.matching_acls: list[DeleteAclsResponse.DeleteAclsMatchingAcl] = [] if matching_acls is UNSET else matching_acls

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        filter_results: list[DeleteAclsResponse.DeleteAclsFilterResult] = UNSET,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.filter_results: list[DeleteAclsResponse.DeleteAclsFilterResult] = [] if filter_results is UNSET else filter_results
