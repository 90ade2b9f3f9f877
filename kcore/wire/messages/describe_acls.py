"""Made by tools/generate_wire.py from kcore/wire/schema/29_describe_acls.txt; do not edit."""

# fmt: off
# ruff: noqa: RUF023, RUF100

from __future__ import annotations

from kcore.hints import ClassVar
from kcore.wire.message import UNSET, Fields, Message, Struct


class DescribeAclsRequest(Message):
    __slots__ = ("resource_type_filter", "resource_name_filter", "pattern_type_filter", "principal_filter", "host_filter", "operation", "permission_type")

    API_KEY: ClassVar[int] = 29
    VERSIONS: ClassVar[tuple[int, int]] = (1, 3)
    FLEXIBLE_FROM: ClassVar[int | None] = 2
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


class DescribeAclsResponse(Message):
    __slots__ = ("throttle_time_ms", "error_code", "error_message", "resources")

    API_KEY: ClassVar[int] = 29
    VERSIONS: ClassVar[tuple[int, int]] = (1, 3)
    FLEXIBLE_FROM: ClassVar[int | None] = 2
    FIELDS: ClassVar[Fields] = (
        ("throttle_time_ms", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("error_code", "int16", 0, 32767, -1, -1, 0, -1, False, False),
        ("error_message", "string", 0, 32767, 0, 32767, "", -1, False, False),
        ("resources", "[]DescribeAclsResource", 0, 32767, -1, -1, ..., -1, False, False),
    )

    class AclDescription(Struct):
        __slots__ = ("principal", "host", "operation", "permission_type")

        FIELDS: ClassVar[Fields] = (
            ("principal", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("host", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("operation", "int8", 0, 32767, -1, -1, 0, -1, False, False),
            ("permission_type", "int8", 0, 32767, -1, -1, 0, -1, False, False),
        )

        def __init__(
            self,
            *,
            principal: str = "",
            host: str = "",
            operation: int = 0,
            permission_type: int = 0,
        ) -> None:
            self.principal = principal
            self.host = host
            self.operation = operation
            self.permission_type = permission_type

    class DescribeAclsResource(Struct):
        __slots__ = ("resource_type", "resource_name", "pattern_type", "acls")

        FIELDS: ClassVar[Fields] = (
            ("resource_type", "int8", 0, 32767, -1, -1, 0, -1, False, False),
            ("resource_name", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("pattern_type", "int8", 1, 32767, -1, -1, 3, -1, False, False),
            ("acls", "[]AclDescription", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            resource_type: int = 0,
            resource_name: str = "",
            pattern_type: int = 3,
            acls: list[DescribeAclsResponse.AclDescription] = UNSET,
        ) -> None:
            self.resource_type = resource_type
            self.resource_name = resource_name
            self.pattern_type = pattern_type
            self.acls: list[DescribeAclsResponse.AclDescription] = [] if acls is UNSET else acls

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        resources: list[DescribeAclsResponse.DescribeAclsResource] = UNSET,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.resources: list[DescribeAclsResponse.DescribeAclsResource] = [] if resources is UNSET else resources
