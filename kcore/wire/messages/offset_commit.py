"""Made by tools/generate_wire.py from kcore/wire/schema/08_offset_commit.txt; do not edit."""

# fmt: off
# ruff: noqa: RUF023, RUF100

from __future__ import annotations

from kcore.hints import ClassVar
from kcore.wire.message import UNSET, ZERO_UUID, Fields, Message, Struct


class OffsetCommitRequest(Message):
    __slots__ = ("group_id", "generation_id_or_member_epoch", "member_id", "group_instance_id", "retention_time_ms", "topics")

    API_KEY: ClassVar[int] = 8
    VERSIONS: ClassVar[tuple[int, int]] = (2, 10)
    FLEXIBLE_FROM: ClassVar[int | None] = 8
    FIELDS: ClassVar[Fields] = (
        ("group_id", "string", 0, 32767, -1, -1, "", -1, False, False),
        ("generation_id_or_member_epoch", "int32", 1, 32767, -1, -1, -1, -1, True, False),
        ("member_id", "string", 1, 32767, -1, -1, "", -1, True, False),
        ("group_instance_id", "string", 7, 32767, 7, 32767, None, -1, False, False),
        ("retention_time_ms", "int64", 2, 4, -1, -1, -1, -1, True, False),
        ("topics", "[]OffsetCommitRequestTopic", 0, 32767, -1, -1, ..., -1, False, False),
    )

    class OffsetCommitRequestPartition(Struct):
        __slots__ = ("partition_index", "committed_offset", "committed_leader_epoch", "committed_metadata")

        FIELDS: ClassVar[Fields] = (
            ("partition_index", "int32", 0, 32767, -1, -1, 0, -1, False, False),
            ("committed_offset", "int64", 0, 32767, -1, -1, 0, -1, False, False),
            ("committed_leader_epoch", "int32", 6, 32767, -1, -1, -1, -1, True, False),
            ("committed_metadata", "string", 0, 32767, 0, 32767, "", -1, False, False),
        )

        def __init__(
            self,
            *,
            partition_index: int = 0,
            committed_offset: int = 0,
            committed_leader_epoch: int = -1,
            committed_metadata: str | None = "",
        ) -> None:
            self.partition_index = partition_index
            self.committed_offset = committed_offset
            self.committed_leader_epoch = committed_leader_epoch
            self.committed_metadata = committed_metadata

    class OffsetCommitRequestTopic(Struct):
        __slots__ = ("name", "topic_id", "partitions")

        FIELDS: ClassVar[Fields] = (
            ("name", "string", 0, 9, -1, -1, "", -1, True, False),
            ("topic_id", "uuid", 10, 32767, -1, -1, b"\0" * 16, -1, True, False),
            ("partitions", "[]OffsetCommitRequestPartition", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            name: str = "",
            topic_id: bytes = ZERO_UUID,
            partitions: list[OffsetCommitRequest.OffsetCommitRequestPartition] = UNSET,
        ) -> None:
            self.name = name
            self.topic_id = topic_id
            self.partitions: list[OffsetCommitRequest.OffsetCommitRequestPartition] = [] if partitions is UNSET else partitions

    def __init__(
        self,
        *,
        group_id: str = "",
        generation_id_or_member_epoch: int = -1,
        member_id: str = "",
        group_instance_id: str | None = None,
        retention_time_ms: int = -1,
        topics: list[OffsetCommitRequest.OffsetCommitRequestTopic] = UNSET,
    ) -> None:
        self.group_id = group_id
        self.generation_id_or_member_epoch = generation_id_or_member_epoch
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.retention_time_ms = retention_time_ms
        self.topics: list[OffsetCommitRequest.OffsetCommitRequestTopic] = [] if topics is UNSET else topics


class OffsetCommitResponse(Message):
    __slots__ = ("throttle_time_ms", "topics")

    API_KEY: ClassVar[int] = 8
    VERSIONS: ClassVar[tuple[int, int]] = (2, 10)
    FLEXIBLE_FROM: ClassVar[int | None] = 8
    FIELDS: ClassVar[Fields] = (
        ("throttle_time_ms", "int32", 3, 32767, -1, -1, 0, -1, True, False),
        ("topics", "[]OffsetCommitResponseTopic", 0, 32767, -1, -1, ..., -1, False, False),
    )

    class OffsetCommitResponsePartition(Struct):
        __slots__ = ("partition_index", "error_code")

        FIELDS: ClassVar[Fields] = (
            ("partition_index", "int32", 0, 32767, -1, -1, 0, -1, False, False),
            ("error_code", "int16", 0, 32767, -1, -1, 0, -1, False, False),
        )

        def __init__(
            self,
            *,
            partition_index: int = 0,
            error_code: int = 0,
        ) -> None:
            self.partition_index = partition_index
            self.error_code = error_code

    class OffsetCommitResponseTopic(Struct):
        __slots__ = ("name", "topic_id", "partitions")

        FIELDS: ClassVar[Fields] = (
            ("name", "string", 0, 9, -1, -1, "", -1, True, False),
            ("topic_id", "uuid", 10, 32767, -1, -1, b"\0" * 16, -1, True, False),
            ("partitions", "[]OffsetCommitResponsePartition", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            name: str = "",
            topic_id: bytes = ZERO_UUID,
            partitions: list[OffsetCommitResponse.OffsetCommitResponsePartition] = UNSET,
        ) -> None:
            self.name = name
            self.topic_id = topic_id
            self.partitions: list[OffsetCommitResponse.OffsetCommitResponsePartition] = [] if partitions is UNSET else partitions

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        topics: list[OffsetCommitResponse.OffsetCommitResponseTopic] = UNSET,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics: list[OffsetCommitResponse.OffsetCommitResponseTopic] = [] if topics is UNSET else topics
