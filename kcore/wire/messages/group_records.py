"""Made by tools/generate_wire.py from kcore/wire/schema/group_records.txt; do not edit."""

# fmt: off
# ruff: noqa: RUF023, RUF100

from __future__ import annotations

from typing import ClassVar

from kcore.wire.message import UNSET, ZERO_UUID, Fields, Message, Struct


class OffsetCommitKey(Message):
    __slots__ = ("group", "topic", "partition")

    API_KEY: ClassVar[int] = 1
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int | None] = None
    FIELDS: ClassVar[Fields] = (
        ("group", "string", 0, 0, -1, -1, "", -1, False, False),
        ("topic", "string", 0, 0, -1, -1, "", -1, False, False),
        ("partition", "int32", 0, 0, -1, -1, 0, -1, False, False),
    )

    def __init__(
        self,
        *,
        group: str = "",
        topic: str = "",
        partition: int = 0,
    ) -> None:
        self.group = group
        self.topic = topic
        self.partition = partition


class OffsetCommitValue(Message):
    __slots__ = ("offset", "leader_epoch", "metadata", "commit_timestamp", "expire_timestamp", "topic_id")

    API_KEY: ClassVar[int] = 1
    VERSIONS: ClassVar[tuple[int, int]] = (0, 4)
    FLEXIBLE_FROM: ClassVar[int | None] = 4
    FIELDS: ClassVar[Fields] = (
        ("offset", "int64", 0, 32767, -1, -1, 0, -1, False, False),
        ("leader_epoch", "int32", 3, 32767, -1, -1, -1, -1, True, False),
        ("metadata", "string", 0, 32767, -1, -1, "", -1, False, False),
        ("commit_timestamp", "int64", 0, 32767, -1, -1, 0, -1, False, False),
        ("expire_timestamp", "int64", 1, 1, -1, -1, -1, -1, True, False),
        ("topic_id", "uuid", 4, 32767, -1, -1, b"\0" * 16, 0, True, False),
    )

    def __init__(
        self,
        *,
        offset: int = 0,
        leader_epoch: int = -1,
        metadata: str = "",
        commit_timestamp: int = 0,
        expire_timestamp: int = -1,
        topic_id: bytes = ZERO_UUID,
    ) -> None:
        self.offset = offset
        self.leader_epoch = leader_epoch
        self.metadata = metadata
        self.commit_timestamp = commit_timestamp
        self.expire_timestamp = expire_timestamp
        self.topic_id = topic_id


class GroupMetadataKey(Message):
    __slots__ = ("group",)

    API_KEY: ClassVar[int] = 2
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int | None] = None
    FIELDS: ClassVar[Fields] = (
        ("group", "string", 0, 0, -1, -1, "", -1, False, False),
    )

    def __init__(
        self,
        *,
        group: str = "",
    ) -> None:
        self.group = group


class GroupMetadataValue(Message):
    __slots__ = ("protocol_type", "generation", "protocol", "leader", "current_state_timestamp", "members")

    API_KEY: ClassVar[int] = 2
    VERSIONS: ClassVar[tuple[int, int]] = (0, 4)
    FLEXIBLE_FROM: ClassVar[int | None] = 4
    FIELDS: ClassVar[Fields] = (
        ("protocol_type", "string", 0, 32767, -1, -1, "", -1, False, False),
        ("generation", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("protocol", "string", 0, 32767, 0, 32767, "", -1, False, False),
        ("leader", "string", 0, 32767, 0, 32767, "", -1, False, False),
        ("current_state_timestamp", "int64", 2, 32767, -1, -1, -1, -1, True, False),
        ("members", "[]MemberMetadata", 0, 32767, -1, -1, ..., -1, False, False),
    )

    class MemberMetadata(Struct):
        __slots__ = ("member_id", "group_instance_id", "client_id", "client_host", "rebalance_timeout", "session_timeout", "subscription", "assignment")

        FIELDS: ClassVar[Fields] = (
            ("member_id", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("group_instance_id", "string", 3, 32767, 3, 32767, None, -1, True, False),
            ("client_id", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("client_host", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("rebalance_timeout", "int32", 1, 32767, -1, -1, -1, -1, True, False),
            ("session_timeout", "int32", 0, 32767, -1, -1, 0, -1, False, False),
            ("subscription", "bytes", 0, 32767, -1, -1, b"", -1, False, False),
            ("assignment", "bytes", 0, 32767, -1, -1, b"", -1, False, False),
        )

        def __init__(
            self,
            *,
            member_id: str = "",
            group_instance_id: str | None = None,
            client_id: str = "",
            client_host: str = "",
            rebalance_timeout: int = -1,
            session_timeout: int = 0,
            subscription: bytes = b"",
            assignment: bytes = b"",
        ) -> None:
            self.member_id = member_id
            self.group_instance_id = group_instance_id
            self.client_id = client_id
            self.client_host = client_host
            self.rebalance_timeout = rebalance_timeout
            self.session_timeout = session_timeout
            self.subscription = subscription
            self.assignment = assignment

    def __init__(
        self,
        *,
        protocol_type: str = "",
        generation: int = 0,
        protocol: str | None = "",
        leader: str | None = "",
        current_state_timestamp: int = -1,
        members: list[GroupMetadataValue.MemberMetadata] = UNSET,
    ) -> None:
        self.protocol_type = protocol_type
        self.generation = generation
        self.protocol = protocol
        self.leader = leader
        self.current_state_timestamp = current_state_timestamp
        self.members: list[GroupMetadataValue.MemberMetadata] = [] if members is UNSET else members
