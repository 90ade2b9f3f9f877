"""Made by tools/generate_wire.py from kcore/wire/schema/11_join_group.txt; do not edit."""

# fmt: off
# ruff: noqa: RUF023, RUF100

from __future__ import annotations

from kcore.hints import ClassVar
from kcore.wire.message import UNSET, Fields, Message, Struct


class JoinGroupRequest(Message):
    __slots__ = ("group_id", "session_timeout_ms", "rebalance_timeout_ms", "member_id", "group_instance_id", "protocol_type", "protocols", "reason")

    API_KEY: ClassVar[int] = 11
    VERSIONS: ClassVar[tuple[int, int]] = (0, 9)
    FLEXIBLE_FROM: ClassVar[int | None] = 6
    FIELDS: ClassVar[Fields] = (
        ("group_id", "string", 0, 32767, -1, -1, "", -1, False, False),
        ("session_timeout_ms", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("rebalance_timeout_ms", "int32", 1, 32767, -1, -1, -1, -1, True, False),
        ("member_id", "string", 0, 32767, -1, -1, "", -1, False, False),
        ("group_instance_id", "string", 5, 32767, 5, 32767, None, -1, False, False),
        ("protocol_type", "string", 0, 32767, -1, -1, "", -1, False, False),
        ("protocols", "[]JoinGroupRequestProtocol", 0, 32767, -1, -1, ..., -1, False, False),
        ("reason", "string", 8, 32767, 8, 32767, None, -1, True, False),
    )

    class JoinGroupRequestProtocol(Struct):
        __slots__ = ("name", "metadata")

        FIELDS: ClassVar[Fields] = (
            ("name", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("metadata", "bytes", 0, 32767, -1, -1, b"", -1, False, False),
        )

        def __init__(
            self,
            *,
            name: str = "",
            metadata: bytes = b"",
        ) -> None:
            self.name = name
            self.metadata = metadata

    def __init__(
        self,
        *,
        group_id: str = "",
        session_timeout_ms: int = 0,
        rebalance_timeout_ms: int = -1,
        member_id: str = "",
        group_instance_id: str | None = None,
        protocol_type: str = "",
        protocols: list[JoinGroupRequest.JoinGroupRequestProtocol] = UNSET,
        reason: str | None = None,
    ) -> None:
        self.group_id = group_id
        self.session_timeout_ms = session_timeout_ms
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.protocol_type = protocol_type
        self.protocols: list[JoinGroupRequest.JoinGroupRequestProtocol] = [] if protocols is UNSET else protocols
        self.reason = reason


class JoinGroupResponse(Message):
    __slots__ = ("throttle_time_ms", "error_code", "generation_id", "protocol_type", "protocol_name", "leader", "skip_assignment", "member_id", "members")

    API_KEY: ClassVar[int] = 11
    VERSIONS: ClassVar[tuple[int, int]] = (0, 9)
    FLEXIBLE_FROM: ClassVar[int | None] = 6
    FIELDS: ClassVar[Fields] = (
        ("throttle_time_ms", "int32", 2, 32767, -1, -1, 0, -1, True, False),
        ("error_code", "int16", 0, 32767, -1, -1, 0, -1, False, False),
        ("generation_id", "int32", 0, 32767, -1, -1, -1, -1, False, False),
        ("protocol_type", "string", 7, 32767, 7, 32767, None, -1, True, False),
        ("protocol_name", "string", 0, 32767, 7, 32767, "", -1, False, False),
        ("leader", "string", 0, 32767, -1, -1, "", -1, False, False),
        ("skip_assignment", "bool", 9, 32767, -1, -1, False, -1, False, False),
        ("member_id", "string", 0, 32767, -1, -1, "", -1, False, False),
        ("members", "[]JoinGroupResponseMember", 0, 32767, -1, -1, ..., -1, False, False),
    )

    class JoinGroupResponseMember(Struct):
        __slots__ = ("member_id", "group_instance_id", "metadata")

        FIELDS: ClassVar[Fields] = (
            ("member_id", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("group_instance_id", "string", 5, 32767, 5, 32767, None, -1, True, False),
            ("metadata", "bytes", 0, 32767, -1, -1, b"", -1, False, False),
        )

        def __init__(
            self,
            *,
            member_id: str = "",
            group_instance_id: str | None = None,
            metadata: bytes = b"",
        ) -> None:
            self.member_id = member_id
            self.group_instance_id = group_instance_id
            self.metadata = metadata

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        generation_id: int = -1,
        protocol_type: str | None = None,
        protocol_name: str | None = "",
        leader: str = "",
        skip_assignment: bool = False,
        member_id: str = "",
        members: list[JoinGroupResponse.JoinGroupResponseMember] = UNSET,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.generation_id = generation_id
        self.protocol_type = protocol_type
        self.protocol_name = protocol_name
        self.leader = leader
        self.skip_assignment = skip_assignment
        self.member_id = member_id
        self.members: list[JoinGroupResponse.JoinGroupResponseMember] = [] if members is UNSET else members
