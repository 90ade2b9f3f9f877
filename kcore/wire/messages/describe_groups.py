"""Made by tools/generate_wire.py from kcore/wire/schema/15_describe_groups.txt; do not edit."""

# fmt: off
# ruff: noqa: RUF023, RUF100

from __future__ import annotations

from kcore.hints import ClassVar
from kcore.wire.message import UNSET, Fields, Message, Struct


class DescribeGroupsRequest(Message):
    __slots__ = ("groups", "include_authorized_operations")

    API_KEY: ClassVar[int] = 15
    VERSIONS: ClassVar[tuple[int, int]] = (0, 6)
    FLEXIBLE_FROM: ClassVar[int | None] = 5
    FIELDS: ClassVar[Fields] = (
        ("groups", "[]string", 0, 32767, -1, -1, ..., -1, False, False),
        ("include_authorized_operations", "bool", 3, 32767, -1, -1, False, -1, False, False),
    )

    def __init__(
        self,
        *,
        groups: list[str] = UNSET,
        include_authorized_operations: bool = False,
    ) -> None:
        self.groups: list[str] = [] if groups is UNSET else groups
        self.include_authorized_operations = include_authorized_operations


class DescribeGroupsResponse(Message):
    __slots__ = ("throttle_time_ms", "groups")

    API_KEY: ClassVar[int] = 15
    VERSIONS: ClassVar[tuple[int, int]] = (0, 6)
    FLEXIBLE_FROM: ClassVar[int | None] = 5
    FIELDS: ClassVar[Fields] = (
        ("throttle_time_ms", "int32", 1, 32767, -1, -1, 0, -1, True, False),
        ("groups", "[]DescribedGroup", 0, 32767, -1, -1, ..., -1, False, False),
    )

    class DescribedGroupMember(Struct):
        __slots__ = ("member_id", "group_instance_id", "client_id", "client_host", "member_metadata", "member_assignment")

        FIELDS: ClassVar[Fields] = (
            ("member_id", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("group_instance_id", "string", 4, 32767, 4, 32767, None, -1, True, False),
            ("client_id", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("client_host", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("member_metadata", "bytes", 0, 32767, -1, -1, b"", -1, False, False),
            ("member_assignment", "bytes", 0, 32767, -1, -1, b"", -1, False, False),
        )

        def __init__(
            self,
            *,
            member_id: str = "",
            group_instance_id: str | None = None,
            client_id: str = "",
            client_host: str = "",
            member_metadata: bytes = b"",
            member_assignment: bytes = b"",
        ) -> None:
            self.member_id = member_id
            self.group_instance_id = group_instance_id
            self.client_id = client_id
            self.client_host = client_host
            self.member_metadata = member_metadata
            self.member_assignment = member_assignment

    class DescribedGroup(Struct):
        __slots__ = ("error_code", "error_message", "group_id", "group_state", "protocol_type", "protocol_data", "members", "authorized_operations")

        FIELDS: ClassVar[Fields] = (
            ("error_code", "int16", 0, 32767, -1, -1, 0, -1, False, False),
            ("error_message", "string", 6, 32767, 6, 32767, None, -1, False, False),
            ("group_id", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("group_state", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("protocol_type", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("protocol_data", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("members", "[]DescribedGroupMember", 0, 32767, -1, -1, ..., -1, False, False),
            ("authorized_operations", "int32", 3, 32767, -1, -1, -2147483648, -1, False, False),
        )

        def __init__(
            self,
            *,
            error_code: int = 0,
            error_message: str | None = None,
            group_id: str = "",
            group_state: str = "",
            protocol_type: str = "",
            protocol_data: str = "",
            members: list[DescribeGroupsResponse.DescribedGroupMember] = UNSET,
            authorized_operations: int = -2147483648,
        ) -> None:
            self.error_code = error_code
            self.error_message = error_message
            self.group_id = group_id
            self.group_state = group_state
            self.protocol_type = protocol_type
            self.protocol_data = protocol_data
            self.members: list[DescribeGroupsResponse.DescribedGroupMember] = [] if members is UNSET else members
            self.authorized_operations = authorized_operations

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        groups: list[DescribeGroupsResponse.DescribedGroup] = UNSET,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.groups: list[DescribeGroupsResponse.DescribedGroup] = [] if groups is UNSET else groups
