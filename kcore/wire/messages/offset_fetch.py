"""Made by tools/generate_wire.py from kcore/wire/schema/09_offset_fetch.txt; do not edit."""

# fmt: off
# ruff: noqa: RUF023, RUF100

from __future__ import annotations

from kcore.hints import ClassVar
from kcore.wire.message import UNSET, ZERO_UUID, Fields, Message, Struct


class OffsetFetchRequest(Message):
    __slots__ = ("group_id", "topics", "groups", "require_stable")

    API_KEY: ClassVar[int] = 9
    VERSIONS: ClassVar[tuple[int, int]] = (1, 10)
    FLEXIBLE_FROM: ClassVar[int | None] = 6
    FIELDS: ClassVar[Fields] = (
        ("group_id", "string", 0, 7, -1, -1, "", -1, False, False),
        ("topics", "[]OffsetFetchRequestTopic", 0, 7, 2, 7, ..., -1, False, False),
        ("groups", "[]OffsetFetchRequestGroup", 8, 32767, -1, -1, ..., -1, False, False),
        ("require_stable", "bool", 7, 32767, -1, -1, False, -1, False, False),
    )

    class OffsetFetchRequestTopic(Struct):
        __slots__ = ("name", "partition_indexes")

        FIELDS: ClassVar[Fields] = (
            ("name", "string", 0, 7, -1, -1, "", -1, False, False),
            ("partition_indexes", "[]int32", 0, 7, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            name: str = "",
            partition_indexes: list[int] = UNSET,
        ) -> None:
            self.name = name
            self.partition_indexes: list[int] = [] if partition_indexes is UNSET else partition_indexes

    class OffsetFetchRequestTopics(Struct):
        __slots__ = ("name", "topic_id", "partition_indexes")

        FIELDS: ClassVar[Fields] = (
            ("name", "string", 8, 9, -1, -1, "", -1, True, False),
            ("topic_id", "uuid", 10, 32767, -1, -1, b"\0" * 16, -1, True, False),
            ("partition_indexes", "[]int32", 8, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            name: str = "",
            topic_id: bytes = ZERO_UUID,
            partition_indexes: list[int] = UNSET,
        ) -> None:
            self.name = name
            self.topic_id = topic_id
            self.partition_indexes: list[int] = [] if partition_indexes is UNSET else partition_indexes

    class OffsetFetchRequestGroup(Struct):
        __slots__ = ("group_id", "member_id", "member_epoch", "topics")

        FIELDS: ClassVar[Fields] = (
            ("group_id", "string", 8, 32767, -1, -1, "", -1, False, False),
            ("member_id", "string", 9, 32767, 9, 32767, None, -1, True, False),
            ("member_epoch", "int32", 9, 32767, -1, -1, -1, -1, True, False),
            ("topics", "[]OffsetFetchRequestTopics", 8, 32767, 8, 32767, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            group_id: str = "",
            member_id: str | None = None,
            member_epoch: int = -1,
            topics: list[OffsetFetchRequest.OffsetFetchRequestTopics] | None = UNSET,
        ) -> None:
            self.group_id = group_id
            self.member_id = member_id
            self.member_epoch = member_epoch
            self.topics: list[OffsetFetchRequest.OffsetFetchRequestTopics] | None = [] if topics is UNSET else topics

    def __init__(
        self,
        *,
        group_id: str = "",
        topics: list[OffsetFetchRequest.OffsetFetchRequestTopic] | None = UNSET,
        groups: list[OffsetFetchRequest.OffsetFetchRequestGroup] = UNSET,
        require_stable: bool = False,
    ) -> None:
        self.group_id = group_id
        self.topics: list[OffsetFetchRequest.OffsetFetchRequestTopic] | None = [] if topics is UNSET else topics
        self.groups: list[OffsetFetchRequest.OffsetFetchRequestGroup] = [] if groups is UNSET else groups
        self.require_stable = require_stable


class OffsetFetchResponse(Message):
    __slots__ = ("throttle_time_ms", "topics", "error_code", "groups")

    API_KEY: ClassVar[int] = 9
    VERSIONS: ClassVar[tuple[int, int]] = (1, 10)
    FLEXIBLE_FROM: ClassVar[int | None] = 6
    FIELDS: ClassVar[Fields] = (
        ("throttle_time_ms", "int32", 3, 32767, -1, -1, 0, -1, True, False),
        ("topics", "[]OffsetFetchResponseTopic", 0, 7, -1, -1, ..., -1, False, False),
        ("error_code", "int16", 2, 7, -1, -1, 0, -1, True, False),
        ("groups", "[]OffsetFetchResponseGroup", 8, 32767, -1, -1, ..., -1, False, False),
    )

    class OffsetFetchResponsePartition(Struct):
        __slots__ = ("partition_index", "committed_offset", "committed_leader_epoch", "metadata", "error_code")

        FIELDS: ClassVar[Fields] = (
            ("partition_index", "int32", 0, 7, -1, -1, 0, -1, False, False),
            ("committed_offset", "int64", 0, 7, -1, -1, 0, -1, False, False),
            ("committed_leader_epoch", "int32", 5, 7, -1, -1, -1, -1, True, False),
            ("metadata", "string", 0, 7, 0, 7, "", -1, False, False),
            ("error_code", "int16", 0, 7, -1, -1, 0, -1, False, False),
        )

        def __init__(
            self,
            *,
            partition_index: int = 0,
            committed_offset: int = 0,
            committed_leader_epoch: int = -1,
            metadata: str | None = "",
            error_code: int = 0,
        ) -> None:
            self.partition_index = partition_index
            self.committed_offset = committed_offset
            self.committed_leader_epoch = committed_leader_epoch
            self.metadata = metadata
            self.error_code = error_code

    class OffsetFetchResponseTopic(Struct):
        __slots__ = ("name", "partitions")

        FIELDS: ClassVar[Fields] = (
            ("name", "string", 0, 7, -1, -1, "", -1, False, False),
            ("partitions", "[]OffsetFetchResponsePartition", 0, 7, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            name: str = "",
            partitions: list[OffsetFetchResponse.OffsetFetchResponsePartition] = UNSET,
        ) -> None:
            self.name = name
            self.partitions: list[OffsetFetchResponse.OffsetFetchResponsePartition] = [] if partitions is UNSET else partitions

    class OffsetFetchResponsePartitions(Struct):
        __slots__ = ("partition_index", "committed_offset", "committed_leader_epoch", "metadata", "error_code")

        FIELDS: ClassVar[Fields] = (
            ("partition_index", "int32", 8, 32767, -1, -1, 0, -1, False, False),
            ("committed_offset", "int64", 8, 32767, -1, -1, 0, -1, False, False),
            ("committed_leader_epoch", "int32", 8, 32767, -1, -1, -1, -1, True, False),
            ("metadata", "string", 8, 32767, 8, 32767, "", -1, False, False),
            ("error_code", "int16", 8, 32767, -1, -1, 0, -1, False, False),
        )

        def __init__(
            self,
            *,
            partition_index: int = 0,
            committed_offset: int = 0,
            committed_leader_epoch: int = -1,
            metadata: str | None = "",
            error_code: int = 0,
        ) -> None:
            self.partition_index = partition_index
            self.committed_offset = committed_offset
            self.committed_leader_epoch = committed_leader_epoch
            self.metadata = metadata
            self.error_code = error_code

    class OffsetFetchResponseTopics(Struct):
        __slots__ = ("name", "topic_id", "partitions")

        FIELDS: ClassVar[Fields] = (
            ("name", "string", 8, 9, -1, -1, "", -1, True, False),
            ("topic_id", "uuid", 10, 32767, -1, -1, b"\0" * 16, -1, True, False),
            ("partitions", "[]OffsetFetchResponsePartitions", 8, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            name: str = "",
            topic_id: bytes = ZERO_UUID,
            partitions: list[OffsetFetchResponse.OffsetFetchResponsePartitions] = UNSET,
        ) -> None:
            self.name = name
            self.topic_id = topic_id
            self.partitions: list[OffsetFetchResponse.OffsetFetchResponsePartitions] = [] if partitions is UNSET else partitions

    class OffsetFetchResponseGroup(Struct):
        __slots__ = ("group_id", "topics", "error_code")

        FIELDS: ClassVar[Fields] = (
            ("group_id", "string", 8, 32767, -1, -1, "", -1, False, False),
            ("topics", "[]OffsetFetchResponseTopics", 8, 32767, -1, -1, ..., -1, False, False),
            ("error_code", "int16", 8, 32767, -1, -1, 0, -1, False, False),
        )

        def __init__(
            self,
            *,
            group_id: str = "",
            topics: list[OffsetFetchResponse.OffsetFetchResponseTopics] = UNSET,
            error_code: int = 0,
        ) -> None:
            self.group_id = group_id
            self.topics: list[OffsetFetchResponse.OffsetFetchResponseTopics] = [] if topics is UNSET else topics
            self.error_code = error_code

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        topics: list[OffsetFetchResponse.OffsetFetchResponseTopic] = UNSET,
        error_code: int = 0,
        groups: list[OffsetFetchResponse.OffsetFetchResponseGroup] = UNSET,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics: list[OffsetFetchResponse.OffsetFetchResponseTopic] = [] if topics is UNSET else topics
        self.error_code = error_code
        self.groups: list[OffsetFetchResponse.OffsetFetchResponseGroup] = [] if groups is UNSET else groups
