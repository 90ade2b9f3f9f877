"""Made by tools/generate_wire.py from kcore/wire/schema/91_alter_share_group_offsets.txt; do not edit."""

# fmt: off
# ruff: noqa: RUF023, RUF100

from __future__ import annotations

from kcore.hints import ClassVar
from kcore.wire.message import UNSET, ZERO_UUID, Fields, Message, Struct


class AlterShareGroupOffsetsRequest(Message):
    __slots__ = ("group_id", "topics")

    API_KEY: ClassVar[int] = 91
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int | None] = 0
    FIELDS: ClassVar[Fields] = (
        ("group_id", "string", 0, 32767, -1, -1, "", -1, False, False),
        ("topics", "[]AlterShareGroupOffsetsRequestTopic", 0, 32767, -1, -1, ..., -1, False, False),
    )

    class AlterShareGroupOffsetsRequestPartition(Struct):
        __slots__ = ("partition_index", "start_offset")

        FIELDS: ClassVar[Fields] = (
            ("partition_index", "int32", 0, 32767, -1, -1, 0, -1, False, False),
            ("start_offset", "int64", 0, 32767, -1, -1, 0, -1, False, False),
        )

        def __init__(
            self,
            *,
            partition_index: int = 0,
            start_offset: int = 0,
        ) -> None:
            self.partition_index = partition_index
            self.start_offset = start_offset

    class AlterShareGroupOffsetsRequestTopic(Struct):
        __slots__ = ("topic_name", "partitions")

        FIELDS: ClassVar[Fields] = (
            ("topic_name", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("partitions", "[]AlterShareGroupOffsetsRequestPartition", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            topic_name: str = "",
            partitions: list[AlterShareGroupOffsetsRequest.AlterShareGroupOffsetsRequestPartition] = UNSET,
        ) -> None:
            self.topic_name = topic_name
            self.partitions: list[AlterShareGroupOffsetsRequest.AlterShareGroupOffsetsRequestPartition] = [] if partitions is UNSET else partitions

    def __init__(
        self,
        *,
        group_id: str = "",
        topics: list[AlterShareGroupOffsetsRequest.AlterShareGroupOffsetsRequestTopic] = UNSET,
    ) -> None:
        self.group_id = group_id
        self.topics: list[AlterShareGroupOffsetsRequest.AlterShareGroupOffsetsRequestTopic] = [] if topics is UNSET else topics


class AlterShareGroupOffsetsResponse(Message):
    __slots__ = ("throttle_time_ms", "error_code", "error_message", "responses")

    API_KEY: ClassVar[int] = 91
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int | None] = 0
    FIELDS: ClassVar[Fields] = (
        ("throttle_time_ms", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("error_code", "int16", 0, 32767, -1, -1, 0, -1, False, False),
        ("error_message", "string", 0, 32767, 0, 32767, None, -1, False, False),
        ("responses", "[]AlterShareGroupOffsetsResponseTopic", 0, 32767, -1, -1, ..., -1, False, False),
    )

    class AlterShareGroupOffsetsResponsePartition(Struct):
        __slots__ = ("partition_index", "error_code", "error_message")

        FIELDS: ClassVar[Fields] = (
            ("partition_index", "int32", 0, 32767, -1, -1, 0, -1, False, False),
            ("error_code", "int16", 0, 32767, -1, -1, 0, -1, False, False),
            ("error_message", "string", 0, 32767, 0, 32767, None, -1, False, False),
        )

        def __init__(
            self,
            *,
            partition_index: int = 0,
            error_code: int = 0,
            error_message: str | None = None,
        ) -> None:
            self.partition_index = partition_index
            self.error_code = error_code
            self.error_message = error_message

    class AlterShareGroupOffsetsResponseTopic(Struct):
        __slots__ = ("topic_name", "topic_id", "partitions")

        FIELDS: ClassVar[Fields] = (
            ("topic_name", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("topic_id", "uuid", 0, 32767, -1, -1, b"\0" * 16, -1, False, False),
            ("partitions", "[]AlterShareGroupOffsetsResponsePartition", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            topic_name: str = "",
            topic_id: bytes = ZERO_UUID,
            partitions: list[AlterShareGroupOffsetsResponse.AlterShareGroupOffsetsResponsePartition] = UNSET,
        ) -> None:
            self.topic_name = topic_name
            self.topic_id = topic_id
            self.partitions: list[AlterShareGroupOffsetsResponse.AlterShareGroupOffsetsResponsePartition] = [] if partitions is UNSET else partitions

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        responses: list[AlterShareGroupOffsetsResponse.AlterShareGroupOffsetsResponseTopic] = UNSET,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.responses: list[AlterShareGroupOffsetsResponse.AlterShareGroupOffsetsResponseTopic] = [] if responses is UNSET else responses
