"""Made by tools/generate_wire.py from kcore/wire/schema/13_leave_group.txt; do not edit."""

# fmt: off
# ruff: noqa: RUF023, RUF100

from __future__ import annotations

from kcore.hints import ClassVar
from kcore.wire.message import UNSET, Fields, Message, Struct


class LeaveGroupRequest(Message):
    __slots__ = ("group_id", "member_id", "members")

    API_KEY: ClassVar[int] = 13
    VERSIONS: ClassVar[tuple[int, int]] = (0, 5)
    FLEXIBLE_FROM: ClassVar[int | None] = 4
    FIELDS: ClassVar[Fields] = (
        ("group_id", "string", 0, 32767, -1, -1, "", -1, False, False),
        ("member_id", "string", 0, 2, -1, -1, "", -1, False, False),
        ("members", "[]MemberIdentity", 3, 32767, -1, -1, ..., -1, False, False),
    )

    class MemberIdentity(Struct):
        __slots__ = ("member_id", "group_instance_id", "reason")

        FIELDS: ClassVar[Fields] = (
            ("member_id", "string", 3, 32767, -1, -1, "", -1, False, False),
            ("group_instance_id", "string", 3, 32767, 3, 32767, None, -1, False, False),
            ("reason", "string", 5, 32767, 5, 32767, None, -1, True, False),
        )

        def __init__(
            self,
            *,
            member_id: str = "",
            group_instance_id: str | None = None,
            reason: str | None = None,
        ) -> None:
            self.member_id = member_id
            self.group_instance_id = group_instance_id
            self.reason = reason

    def __init__(
        self,
        *,
        group_id: str = "",
        member_id: str = "",
        members: list[LeaveGroupRequest.MemberIdentity] = UNSET,
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.members: list[LeaveGroupRequest.MemberIdentity] = [] if members is UNSET else members


class LeaveGroupResponse(Message):
    __slots__ = ("throttle_time_ms", "error_code", "members")

    API_KEY: ClassVar[int] = 13
    VERSIONS: ClassVar[tuple[int, int]] = (0, 5)
    FLEXIBLE_FROM: ClassVar[int | None] = 4
    FIELDS: ClassVar[Fields] = (
        ("throttle_time_ms", "int32", 1, 32767, -1, -1, 0, -1, True, False),
        ("error_code", "int16", 0, 32767, -1, -1, 0, -1, False, False),
        ("members", "[]MemberResponse", 3, 32767, -1, -1, ..., -1, False, False),
    )

    class MemberResponse(Struct):
        __slots__ = ("member_id", "group_instance_id", "error_code")

        FIELDS: ClassVar[Fields] = (
            ("member_id", "string", 3, 32767, -1, -1, "", -1, False, False),
            ("group_instance_id", "string", 3, 32767, 3, 32767, "", -1, False, False),
            ("error_code", "int16", 3, 32767, -1, -1, 0, -1, False, False),
        )

        def __init__(
            self,
            *,
            member_id: str = "",
            group_instance_id: str | None = "",
            error_code: int = 0,
        ) -> None:
            self.member_id = member_id
            self.group_instance_id = group_instance_id
            self.error_code = error_code

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        members: list[LeaveGroupResponse.MemberResponse] = UNSET,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.members: list[LeaveGroupResponse.MemberResponse] = [] if members is UNSET else members
