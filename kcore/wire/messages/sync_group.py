"""Made by tools/generate_wire.py from kcore/wire/schema/14_sync_group.txt; do not edit."""

# fmt: off
# ruff: noqa: RUF023, RUF100

from __future__ import annotations

from kcore.hints import ClassVar
from kcore.wire.message import UNSET, Fields, Message, Struct


class SyncGroupRequest(Message):
    __slots__ = ("group_id", "generation_id", "member_id", "group_instance_id", "protocol_type", "protocol_name", "assignments")

    API_KEY: ClassVar[int] = 14
    VERSIONS: ClassVar[tuple[int, int]] = (0, 5)
    FLEXIBLE_FROM: ClassVar[int | None] = 4
    FIELDS: ClassVar[Fields] = (
        ("group_id", "string", 0, 32767, -1, -1, "", -1, False, False),
        ("generation_id", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("member_id", "string", 0, 32767, -1, -1, "", -1, False, False),
        ("group_instance_id", "string", 3, 32767, 3, 32767, None, -1, False, False),
        ("protocol_type", "string", 5, 32767, 5, 32767, None, -1, True, False),
        ("protocol_name", "string", 5, 32767, 5, 32767, None, -1, True, False),
        ("assignments", "[]SyncGroupRequestAssignment", 0, 32767, -1, -1, ..., -1, False, False),
    )

    class SyncGroupRequestAssignment(Struct):
        __slots__ = ("member_id", "assignment")

        FIELDS: ClassVar[Fields] = (
            ("member_id", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("assignment", "bytes", 0, 32767, -1, -1, b"", -1, False, False),
        )

        def __init__(
            self,
            *,
            member_id: str = "",
            assignment: bytes = b"",
        ) -> None:
            self.member_id = member_id
            self.assignment = assignment

    def __init__(
        self,
        *,
        group_id: str = "",
        generation_id: int = 0,
        member_id: str = "",
        group_instance_id: str | None = None,
        protocol_type: str | None = None,
        protocol_name: str | None = None,
        assignments: list[SyncGroupRequest.SyncGroupRequestAssignment] = UNSET,
    ) -> None:
        self.group_id = group_id
        self.generation_id = generation_id
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.protocol_type = protocol_type
        self.protocol_name = protocol_name
        self.assignments: list[SyncGroupRequest.SyncGroupRequestAssignment] = [] if assignments is UNSET else assignments


class SyncGroupResponse(Message):
    __slots__ = ("throttle_time_ms", "error_code", "protocol_type", "protocol_name", "assignment")

    API_KEY: ClassVar[int] = 14
    VERSIONS: ClassVar[tuple[int, int]] = (0, 5)
    FLEXIBLE_FROM: ClassVar[int | None] = 4
    FIELDS: ClassVar[Fields] = (
        ("throttle_time_ms", "int32", 1, 32767, -1, -1, 0, -1, True, False),
        ("error_code", "int16", 0, 32767, -1, -1, 0, -1, False, False),
        ("protocol_type", "string", 5, 32767, 5, 32767, None, -1, True, False),
        ("protocol_name", "string", 5, 32767, 5, 32767, None, -1, True, False),
        ("assignment", "bytes", 0, 32767, -1, -1, b"", -1, False, False),
    )

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        protocol_type: str | None = None,
        protocol_name: str | None = None,
        assignment: bytes = b"",
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.protocol_type = protocol_type
        self.protocol_name = protocol_name
        self.assignment = assignment
