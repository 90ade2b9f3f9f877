"""Made by tools/generate_wire.py from kcore/wire/schema/34_alter_replica_log_dirs.txt; do not edit."""

# fmt: off
# ruff: noqa: RUF023, RUF100

from __future__ import annotations

from kcore.hints import ClassVar
from kcore.wire.message import UNSET, Fields, Message, Struct


class AlterReplicaLogDirsRequest(Message):
    __slots__ = ("dirs",)

    API_KEY: ClassVar[int] = 34
    VERSIONS: ClassVar[tuple[int, int]] = (1, 2)
    FLEXIBLE_FROM: ClassVar[int | None] = 2
    FIELDS: ClassVar[Fields] = (
        ("dirs", "[]AlterReplicaLogDir", 0, 32767, -1, -1, ..., -1, False, False),
    )

    class AlterReplicaLogDirTopic(Struct):
        __slots__ = ("name", "partitions")

        FIELDS: ClassVar[Fields] = (
            ("name", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("partitions", "[]int32", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            name: str = "",
            partitions: list[int] = UNSET,
        ) -> None:
            self.name = name
            self.partitions: list[int] = [] if partitions is UNSET else partitions

    class AlterReplicaLogDir(Struct):
        __slots__ = ("path", "topics")

        FIELDS: ClassVar[Fields] = (
            ("path", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("topics", "[]AlterReplicaLogDirTopic", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            path: str = "",
            topics: list[AlterReplicaLogDirsRequest.AlterReplicaLogDirTopic] = UNSET,
        ) -> None:
            self.path = path
            self.topics: list[AlterReplicaLogDirsRequest.AlterReplicaLogDirTopic] = [] if topics is UNSET else topics

    def __init__(
        self,
        *,
        dirs: list[AlterReplicaLogDirsRequest.AlterReplicaLogDir] = UNSET,
    ) -> None:
        self.dirs: list[AlterReplicaLogDirsRequest.AlterReplicaLogDir] = [] if dirs is UNSET else dirs


class AlterReplicaLogDirsResponse(Message):
    __slots__ = ("throttle_time_ms", "results")

    API_KEY: ClassVar[int] = 34
    VERSIONS: ClassVar[tuple[int, int]] = (1, 2)
    FLEXIBLE_FROM: ClassVar[int | None] = 2
    FIELDS: ClassVar[Fields] = (
        ("throttle_time_ms", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("results", "[]AlterReplicaLogDirTopicResult", 0, 32767, -1, -1, ..., -1, False, False),
    )

    class AlterReplicaLogDirPartitionResult(Struct):
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

    class AlterReplicaLogDirTopicResult(Struct):
        __slots__ = ("topic_name", "partitions")

        FIELDS: ClassVar[Fields] = (
            ("topic_name", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("partitions", "[]AlterReplicaLogDirPartitionResult", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            topic_name: str = "",
            partitions: list[AlterReplicaLogDirsResponse.AlterReplicaLogDirPartitionResult] = UNSET,
        ) -> None:
            self.topic_name = topic_name
            self.partitions: list[AlterReplicaLogDirsResponse.AlterReplicaLogDirPartitionResult] = [] if partitions is UNSET else partitions

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        results: list[AlterReplicaLogDirsResponse.AlterReplicaLogDirTopicResult] = UNSET,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results: list[AlterReplicaLogDirsResponse.AlterReplicaLogDirTopicResult] = [] if results is UNSET else results
