"""Made by tools/generate_wire.py from kcore/wire/schema/90_describe_share_group_offsets.txt; do not edit."""

# fmt: off
# ruff: noqa: RUF023, RUF100

from __future__ import annotations

from kcore.hints import ClassVar
from kcore.wire.message import UNSET, ZERO_UUID, Fields, Message, Struct


class DescribeShareGroupOffsetsRequest(Message):
    __slots__ = ("groups",)

    API_KEY: ClassVar[int] = 90
    VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_FROM: ClassVar[int | None] = 0
    FIELDS: ClassVar[Fields] = (
        ("groups", "[]DescribeShareGroupOffsetsRequestGroup", 0, 32767, -1, -1, ..., -1, False, False),
    )

    class DescribeShareGroupOffsetsRequestTopic(Struct):
        __slots__ = ("topic_name", "partitions")

        FIELDS: ClassVar[Fields] = (
            ("topic_name", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("partitions", "[]int32", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            topic_name: str = "",
            partitions: list[int] = UNSET,
        ) -> None:
            self.topic_name = topic_name
            self.partitions: list[int] = [] if partitions is UNSET else partitions

    class DescribeShareGroupOffsetsRequestGroup(Struct):
        __slots__ = ("group_id", "topics")

        FIELDS: ClassVar[Fields] = (
            ("group_id", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("topics", "[]DescribeShareGroupOffsetsRequestTopic", 0, 32767, 0, 32767, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            group_id: str = "",
            topics: list[DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestTopic] | None = UNSET,
        ) -> None:
            self.group_id = group_id
            self.topics: list[DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestTopic] | None = [] if topics is UNSET else topics

    def __init__(
        self,
        *,
        groups: list[DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestGroup] = UNSET,
    ) -> None:
        self.groups: list[DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestGroup] = [] if groups is UNSET else groups


class DescribeShareGroupOffsetsResponse(Message):
    __slots__ = ("throttle_time_ms", "groups")

    API_KEY: ClassVar[int] = 90
    VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_FROM: ClassVar[int | None] = 0
    FIELDS: ClassVar[Fields] = (
        ("throttle_time_ms", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("groups", "[]DescribeShareGroupOffsetsResponseGroup", 0, 32767, -1, -1, ..., -1, False, False),
    )

    class DescribeShareGroupOffsetsResponsePartition(Struct):
        __slots__ = ("partition_index", "start_offset", "leader_epoch", "lag", "error_code", "error_message")

        FIELDS: ClassVar[Fields] = (
            ("partition_index", "int32", 0, 32767, -1, -1, 0, -1, False, False),
            ("start_offset", "int64", 0, 32767, -1, -1, 0, -1, False, False),
            ("leader_epoch", "int32", 0, 32767, -1, -1, 0, -1, False, False),
            ("lag", "int64", 1, 32767, -1, -1, -1, -1, True, False),
            ("error_code", "int16", 0, 32767, -1, -1, 0, -1, False, False),
            ("error_message", "string", 0, 32767, 0, 32767, None, -1, False, False),
        )

        def __init__(
            self,
            *,
            partition_index: int = 0,
            start_offset: int = 0,
            leader_epoch: int = 0,
            lag: int = -1,
            error_code: int = 0,
            error_message: str | None = None,
        ) -> None:
            self.partition_index = partition_index
            self.start_offset = start_offset
            self.leader_epoch = leader_epoch
            self.lag = lag
            self.error_code = error_code
            self.error_message = error_message

    class DescribeShareGroupOffsetsResponseTopic(Struct):
        __slots__ = ("topic_name", "topic_id", "partitions")

        FIELDS: ClassVar[Fields] = (
            ("topic_name", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("topic_id", "uuid", 0, 32767, -1, -1, b"\0" * 16, -1, False, False),
            ("partitions", "[]DescribeShareGroupOffsetsResponsePartition", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            topic_name: str = "",
            topic_id: bytes = ZERO_UUID,
            partitions: list[DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponsePartition] = UNSET,
        ) -> None:
            self.topic_name = topic_name
            self.topic_id = topic_id
            self.partitions: list[DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponsePartition] = [] if partitions is UNSET else partitions

    class DescribeShareGroupOffsetsResponseGroup(Struct):
        __slots__ = ("group_id", "topics", "error_code", "error_message")

        FIELDS: ClassVar[Fields] = (
            ("group_id", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("topics", "[]DescribeShareGroupOffsetsResponseTopic", 0, 32767, -1, -1, ..., -1, False, False),
            ("error_code", "int16", 0, 32767, -1, -1, 0, -1, False, False),
            ("error_message", "string", 0, 32767, 0, 32767, None, -1, False, False),
        )

        def __init__(
            self,
            *,
            group_id: str = "",
            topics: list[DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponseTopic] = UNSET,
            error_code: int = 0,
            error_message: str | None = None,
        ) -> None:
            self.group_id = group_id
            self.topics: list[DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponseTopic] = [] if topics is UNSET else topics
            self.error_code = error_code
            self.error_message = error_message

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        groups: list[DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponseGroup] = UNSET,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.groups: list[DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponseGroup] = [] if groups is UNSET else groups
