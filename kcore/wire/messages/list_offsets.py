"""Made by tools/generate_wire.py from kcore/wire/schema/02_list_offsets.txt; do not edit."""

# fmt: off
# ruff: noqa: RUF023, RUF100

from __future__ import annotations

from kcore.hints import ClassVar
from kcore.wire.message import UNSET, Fields, Message, Struct


class ListOffsetsRequest(Message):
    __slots__ = ("replica_id", "isolation_level", "topics", "timeout_ms")

    API_KEY: ClassVar[int] = 2
    VERSIONS: ClassVar[tuple[int, int]] = (1, 11)
    FLEXIBLE_FROM: ClassVar[int | None] = 6
    FIELDS: ClassVar[Fields] = (
        ("replica_id", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("isolation_level", "int8", 2, 32767, -1, -1, 0, -1, False, False),
        ("topics", "[]ListOffsetsTopic", 0, 32767, -1, -1, ..., -1, False, False),
        ("timeout_ms", "int32", 10, 32767, -1, -1, 0, -1, True, False),
    )

    class ListOffsetsPartition(Struct):
        __slots__ = ("partition_index", "current_leader_epoch", "timestamp")

        FIELDS: ClassVar[Fields] = (
            ("partition_index", "int32", 0, 32767, -1, -1, 0, -1, False, False),
            ("current_leader_epoch", "int32", 4, 32767, -1, -1, -1, -1, True, False),
            ("timestamp", "int64", 0, 32767, -1, -1, 0, -1, False, False),
        )

        def __init__(
            self,
            *,
            partition_index: int = 0,
            current_leader_epoch: int = -1,
            timestamp: int = 0,
        ) -> None:
            self.partition_index = partition_index
            self.current_leader_epoch = current_leader_epoch
            self.timestamp = timestamp

    class ListOffsetsTopic(Struct):
        __slots__ = ("name", "partitions")

        FIELDS: ClassVar[Fields] = (
            ("name", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("partitions", "[]ListOffsetsPartition", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            name: str = "",
            partitions: list[ListOffsetsRequest.ListOffsetsPartition] = UNSET,
        ) -> None:
            self.name = name
            self.partitions: list[ListOffsetsRequest.ListOffsetsPartition] = [] if partitions is UNSET else partitions

    def __init__(
        self,
        *,
        replica_id: int = 0,
        isolation_level: int = 0,
        topics: list[ListOffsetsRequest.ListOffsetsTopic] = UNSET,
        timeout_ms: int = 0,
    ) -> None:
        self.replica_id = replica_id
        self.isolation_level = isolation_level
        self.topics: list[ListOffsetsRequest.ListOffsetsTopic] = [] if topics is UNSET else topics
        self.timeout_ms = timeout_ms


class ListOffsetsResponse(Message):
    __slots__ = ("throttle_time_ms", "topics")

    API_KEY: ClassVar[int] = 2
    VERSIONS: ClassVar[tuple[int, int]] = (1, 11)
    FLEXIBLE_FROM: ClassVar[int | None] = 6
    FIELDS: ClassVar[Fields] = (
        ("throttle_time_ms", "int32", 2, 32767, -1, -1, 0, -1, True, False),
        ("topics", "[]ListOffsetsTopicResponse", 0, 32767, -1, -1, ..., -1, False, False),
    )

    class ListOffsetsPartitionResponse(Struct):
        __slots__ = ("partition_index", "error_code", "timestamp", "offset", "leader_epoch")

        FIELDS: ClassVar[Fields] = (
            ("partition_index", "int32", 0, 32767, -1, -1, 0, -1, False, False),
            ("error_code", "int16", 0, 32767, -1, -1, 0, -1, False, False),
            ("timestamp", "int64", 1, 32767, -1, -1, -1, -1, False, False),
            ("offset", "int64", 1, 32767, -1, -1, -1, -1, False, False),
            ("leader_epoch", "int32", 4, 32767, -1, -1, -1, -1, False, False),
        )

        def __init__(
            self,
            *,
            partition_index: int = 0,
            error_code: int = 0,
            timestamp: int = -1,
            offset: int = -1,
            leader_epoch: int = -1,
        ) -> None:
            self.partition_index = partition_index
            self.error_code = error_code
            self.timestamp = timestamp
            self.offset = offset
            self.leader_epoch = leader_epoch

    class ListOffsetsTopicResponse(Struct):
        __slots__ = ("name", "partitions")

        FIELDS: ClassVar[Fields] = (
            ("name", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("partitions", "[]ListOffsetsPartitionResponse", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            name: str = "",
            partitions: list[ListOffsetsResponse.ListOffsetsPartitionResponse] = UNSET,
        ) -> None:
            self.name = name
            self.partitions: list[ListOffsetsResponse.ListOffsetsPartitionResponse] = [] if partitions is UNSET else partitions

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        topics: list[ListOffsetsResponse.ListOffsetsTopicResponse] = UNSET,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics: list[ListOffsetsResponse.ListOffsetsTopicResponse] = [] if topics is UNSET else topics
