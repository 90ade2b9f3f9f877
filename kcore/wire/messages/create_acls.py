"""Made by tools/generate_wire.py from kcore/wire/schema/30_create_acls.txt; do not edit."""

# fmt: off
# ruff: noqa: RUF023, RUF100

from __future__ import annotations

from kcore.hints import ClassVar
from kcore.wire.message import UNSET, Fields, Message, Struct


class CreateAclsRequest(Message):
    __slots__ = ("creations",)

    API_KEY: ClassVar[int] = 30
    VERSIONS: ClassVar[tuple[int, int]] = (1, 3)
    FLEXIBLE_FROM: ClassVar[int | None] = 2
    FIELDS: ClassVar[Fields] = (
        ("creations", "[]AclCreation", 0, 32767, -1, -1, ..., -1, False, False),
    )

    class AclCreation(Struct):
        __slots__ = ("resource_type", "resource_name", "resource_pattern_type", "principal", "host", "operation", "permission_type")

        FIELDS: ClassVar[Fields] = (
            ("resource_type", "int8", 0, 32767, -1, -1, 0, -1, False, False),
            ("resource_name", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("resource_pattern_type", "int8", 1, 32767, -1, -1, 3, -1, False, False),
            ("principal", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("host", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("operation", "int8", 0, 32767, -1, -1, 0, -1, False, False),
            ("permission_type", "int8", 0, 32767, -1, -1, 0, -1, False, False),
        )

        def __init__(
            self,
            *,
            resource_type: int = 0,
            resource_name: str = "",
            resource_pattern_type: int = 3,
            principal: str = "",
            host: str = "",
            operation: int = 0,
            permission_type: int = 0,
        ) -> None:
            self.resource_type = resource_type
            self.resource_name = resource_name
            self.resource_pattern_type = resource_pattern_type
            self.principal = principal
            self.host = host
            self.operation = operation
            self.permission_type = permission_type

    def __init__(
        self,
        *,
        creations: list[CreateAclsRequest.AclCreation] = UNSET,
    ) -> None:
        self.creations: list[CreateAclsRequest.AclCreation] = [] if creations is UNSET else creations


class CreateAclsResponse(Message):
    __slots__ = ("throttle_time_ms", "results")

    API_KEY: ClassVar[int] = 30
    VERSIONS: ClassVar[tuple[int, int]] = (1, 3)
    FLEXIBLE_FROM: ClassVar[int | None] = 2
    FIELDS: ClassVar[Fields] = (
        ("throttle_time_ms", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("results", "[]AclCreationResult", 0, 32767, -1, -1, ..., -1, False, False),
    )

    class AclCreationResult(Struct):
        __slots__ = ("error_code", "error_message")

        FIELDS: ClassVar[Fields] = (
            ("error_code", "int16", 0, 32767, -1, -1, 0, -1, False, False),
            ("error_message", "string", 0, 32767, 0, 32767, "", -1, False, False),
        )

        def __init__(
            self,
            *,
            error_code: int = 0,
            error_message: str | None = "",
        ) -> None:
            self.error_code = error_code
            self.error_message = error_message

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        results: list[CreateAclsResponse.AclCreationResult] = UNSET,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results: list[CreateAclsResponse.AclCreationResult] = [] if results is UNSET else results
