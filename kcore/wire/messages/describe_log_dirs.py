"""Made by tools/generate_wire.py from kcore/wire/schema/35_describe_log_dirs.txt; do not edit."""

# fmt: off
# ruff: noqa: RUF023, RUF100

from __future__ import annotations

from kcore.hints import ClassVar
from kcore.wire.message import UNSET, Fields, Message, Struct


class DescribeLogDirsRequest(Message):
    __slots__ = ("topics",)

    API_KEY: ClassVar[int] = 35
    VERSIONS: ClassVar[tuple[int, int]] = (1, 5)
    FLEXIBLE_FROM: ClassVar[int | None] = 2
    FIELDS: ClassVar[Fields] = (
        ("topics", "[]DescribableLogDirTopic", 0, 32767, 0, 32767, ..., -1, False, False),
    )

    class DescribableLogDirTopic(Struct):
        __slots__ = ("topic", "partitions")

        FIELDS: ClassVar[Fields] = (
            ("topic", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("partitions", "[]int32", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            topic: str = "",
            partitions: list[int] = UNSET,
        ) -> None:
            self.topic = topic
            self.partitions: list[int] = [] if partitions is UNSET else partitions

    def __init__(
        self,
        *,
        topics: list[DescribeLogDirsRequest.DescribableLogDirTopic] | None = UNSET,
    ) -> None:
        self.topics: list[DescribeLogDirsRequest.DescribableLogDirTopic] | None = [] if topics is UNSET else topics


class DescribeLogDirsResponse(Message):
    __slots__ = ("throttle_time_ms", "error_code", "results")

    API_KEY: ClassVar[int] = 35
    VERSIONS: ClassVar[tuple[int, int]] = (1, 5)
    FLEXIBLE_FROM: ClassVar[int | None] = 2
    FIELDS: ClassVar[Fields] = (
        ("throttle_time_ms", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("error_code", "int16", 3, 32767, -1, -1, 0, -1, True, False),
        ("results", "[]DescribeLogDirsResult", 0, 32767, -1, -1, ..., -1, False, False),
    )

    class DescribeLogDirsPartition(Struct):
        __slots__ = ("partition_index", "partition_size", "offset_lag", "is_future_key")

        FIELDS: ClassVar[Fields] = (
            ("partition_index", "int32", 0, 32767, -1, -1, 0, -1, False, False),
            ("partition_size", "int64", 0, 32767, -1, -1, 0, -1, False, False),
            ("offset_lag", "int64", 0, 32767, -1, -1, 0, -1, False, False),
            ("is_future_key", "bool", 0, 32767, -1, -1, False, -1, False, False),
        )

        def __init__(
            self,
            *,
            partition_index: int = 0,
            partition_size: int = 0,
            offset_lag: int = 0,
            is_future_key: bool = False,
        ) -> None:
            self.partition_index = partition_index
            self.partition_size = partition_size
            self.offset_lag = offset_lag
            self.is_future_key = is_future_key

    class DescribeLogDirsTopic(Struct):
        __slots__ = ("name", "partitions")

        FIELDS: ClassVar[Fields] = (
            ("name", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("partitions", "[]DescribeLogDirsPartition", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            name: str = "",
            partitions: list[DescribeLogDirsResponse.DescribeLogDirsPartition] = UNSET,
        ) -> None:
            self.name = name
            self.partitions: list[DescribeLogDirsResponse.DescribeLogDirsPartition] = [] if partitions is UNSET else partitions

    class DescribeLogDirsResult(Struct):
        __slots__ = ("error_code", "log_dir", "topics", "total_bytes", "usable_bytes", "is_cordoned")

        FIELDS: ClassVar[Fields] = (
            ("error_code", "int16", 0, 32767, -1, -1, 0, -1, False, False),
            ("log_dir", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("topics", "[]DescribeLogDirsTopic", 0, 32767, -1, -1, ..., -1, False, False),
            ("total_bytes", "int64", 4, 32767, -1, -1, -1, -1, True, False),
            ("usable_bytes", "int64", 4, 32767, -1, -1, -1, -1, True, False),
            ("is_cordoned", "bool", 5, 32767, -1, -1, False, -1, True, False),
        )

        def __init__(
            self,
            *,
            error_code: int = 0,
            log_dir: str = "",
            topics: list[DescribeLogDirsResponse.DescribeLogDirsTopic] = UNSET,
            total_bytes: int = -1,
            usable_bytes: int = -1,
            is_cordoned: bool = False,
        ) -> None:
            self.error_code = error_code
            self.log_dir = log_dir
            self.topics: list[DescribeLogDirsResponse.DescribeLogDirsTopic] = [] if topics is UNSET else topics
            self.total_bytes = total_bytes
            self.usable_bytes = usable_bytes
            self.is_cordoned = is_cordoned

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        results: list[DescribeLogDirsResponse.DescribeLogDirsResult] = UNSET,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.results: list[DescribeLogDirsResponse.DescribeLogDirsResult] = [] if results is UNSET else results
