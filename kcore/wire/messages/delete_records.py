"""Made by tools/generate_wire.py from kcore/wire/schema/21_delete_records.txt; do not edit."""

# fmt: off
# ruff: noqa: RUF023, RUF100

from __future__ import annotations

from kcore.hints import ClassVar
from kcore.wire.message import UNSET, Fields, Message, Struct


class DeleteRecordsRequest(Message):
    __slots__ = ("topics", "timeout_ms")

    API_KEY: ClassVar[int] = 21
    VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_FROM: ClassVar[int | None] = 2
    FIELDS: ClassVar[Fields] = (
        ("topics", "[]DeleteRecordsTopic", 0, 32767, -1, -1, ..., -1, False, False),
        ("timeout_ms", "int32", 0, 32767, -1, -1, 0, -1, False, False),
    )

    class DeleteRecordsPartition(Struct):
        __slots__ = ("partition_index", "offset")

        FIELDS: ClassVar[Fields] = (
            ("partition_index", "int32", 0, 32767, -1, -1, 0, -1, False, False),
            ("offset", "int64", 0, 32767, -1, -1, 0, -1, False, False),
        )

        def __init__(
            self,
            *,
            partition_index: int = 0,
            offset: int = 0,
        ) -> None:
            self.partition_index = partition_index
            self.offset = offset

    class DeleteRecordsTopic(Struct):
        __slots__ = ("name", "partitions")

        FIELDS: ClassVar[Fields] = (
            ("name", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("partitions", "[]DeleteRecordsPartition", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            name: str = "",
            partitions: list[DeleteRecordsRequest.DeleteRecordsPartition] = UNSET,
        ) -> None:
            self.name = name
            self.partitions: list[DeleteRecordsRequest.DeleteRecordsPartition] = [] if partitions is UNSET else partitions

    def __init__(
        self,
        *,
        topics: list[DeleteRecordsRequest.DeleteRecordsTopic] = UNSET,
        timeout_ms: int = 0,
    ) -> None:
        self.topics: list[DeleteRecordsRequest.DeleteRecordsTopic] = [] if topics is UNSET else topics
        self.timeout_ms = timeout_ms


class DeleteRecordsResponse(Message):
    __slots__ = ("throttle_time_ms", "topics")

    API_KEY: ClassVar[int] = 21
    VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_FROM: ClassVar[int | None] = 2
    FIELDS: ClassVar[Fields] = (
        ("throttle_time_ms", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("topics", "[]DeleteRecordsTopicResult", 0, 32767, -1, -1, ..., -1, False, False),
    )

    class DeleteRecordsPartitionResult(Struct):
        __slots__ = ("partition_index", "low_watermark", "error_code")

        FIELDS: ClassVar[Fields] = (
            ("partition_index", "int32", 0, 32767, -1, -1, 0, -1, False, False),
            ("low_watermark", "int64", 0, 32767, -1, -1, 0, -1, False, False),
            ("error_code", "int16", 0, 32767, -1, -1, 0, -1, False, False),
        )

        def __init__(
            self,
            *,
            partition_index: int = 0,
            low_watermark: int = 0,
            error_code: int = 0,
        ) -> None:
            self.partition_index = partition_index
            self.low_watermark = low_watermark
            self.error_code = error_code

    class DeleteRecordsTopicResult(Struct):
        __slots__ = ("name", "partitions")

        FIELDS: ClassVar[Fields] = (
            ("name", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("partitions", "[]DeleteRecordsPartitionResult", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            name: str = "",
            partitions: list[DeleteRecordsResponse.DeleteRecordsPartitionResult] = UNSET,
        ) -> None:
            self.name = name
            self.partitions: list[DeleteRecordsResponse.DeleteRecordsPartitionResult] = [] if partitions is UNSET else partitions

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        topics: list[DeleteRecordsResponse.DeleteRecordsTopicResult] = UNSET,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics: list[DeleteRecordsResponse.DeleteRecordsTopicResult] = [] if topics is UNSET else topics
