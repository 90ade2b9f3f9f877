"""Made by tools/generate_wire.py from kcore/wire/schema/46_list_partition_reassignments.txt; do not edit."""

# fmt: off
# ruff: noqa: RUF023, RUF100

from __future__ import annotations

from kcore.hints import ClassVar
from kcore.wire.message import UNSET, Fields, Message, Struct


class ListPartitionReassignmentsRequest(Message):
    __slots__ = ("timeout_ms", "topics")

    API_KEY: ClassVar[int] = 46
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int | None] = 0
    FIELDS: ClassVar[Fields] = (
        ("timeout_ms", "int32", 0, 32767, -1, -1, 60000, -1, False, False),
        ("topics", "[]ListPartitionReassignmentsTopics", 0, 32767, 0, 32767, None, -1, False, False),
    )

    class ListPartitionReassignmentsTopics(Struct):
        __slots__ = ("name", "partition_indexes")

        FIELDS: ClassVar[Fields] = (
            ("name", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("partition_indexes", "[]int32", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            name: str = "",
            partition_indexes: list[int] = UNSET,
        ) -> None:
            self.name = name
            self.partition_indexes: list[int] = [] if partition_indexes is UNSET else partition_indexes

    def __init__(
        self,
        *,
        timeout_ms: int = 60000,
        topics: list[ListPartitionReassignmentsRequest.ListPartitionReassignmentsTopics] | None = None,
    ) -> None:
        self.timeout_ms = timeout_ms
        self.topics = topics


class ListPartitionReassignmentsResponse(Message):
    __slots__ = ("throttle_time_ms", "error_code", "error_message", "topics")

    API_KEY: ClassVar[int] = 46
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int | None] = 0
    FIELDS: ClassVar[Fields] = (
        ("throttle_time_ms", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("error_code", "int16", 0, 32767, -1, -1, 0, -1, False, False),
        ("error_message", "string", 0, 32767, 0, 32767, "", -1, False, False),
        ("topics", "[]OngoingTopicReassignment", 0, 32767, -1, -1, ..., -1, False, False),
    )

    class OngoingPartitionReassignment(Struct):
        __slots__ = ("partition_index", "replicas", "adding_replicas", "removing_replicas")

        FIELDS: ClassVar[Fields] = (
            ("partition_index", "int32", 0, 32767, -1, -1, 0, -1, False, False),
            ("replicas", "[]int32", 0, 32767, -1, -1, ..., -1, False, False),
            ("adding_replicas", "[]int32", 0, 32767, -1, -1, ..., -1, False, False),
            ("removing_replicas", "[]int32", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            partition_index: int = 0,
            replicas: list[int] = UNSET,
            adding_replicas: list[int] = UNSET,
            removing_replicas: list[int] = UNSET,
        ) -> None:
            self.partition_index = partition_index
            self.replicas: list[int] = [] if replicas is UNSET else replicas
            self.adding_replicas: list[int] = [] if adding_replicas is UNSET else adding_replicas
            self.removing_replicas: list[int] = [] if removing_replicas is UNSET else removing_replicas

    class OngoingTopicReassignment(Struct):
        __slots__ = ("name", "partitions")

        FIELDS: ClassVar[Fields] = (
            ("name", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("partitions", "[]OngoingPartitionReassignment", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            name: str = "",
            partitions: list[ListPartitionReassignmentsResponse.OngoingPartitionReassignment] = UNSET,
        ) -> None:
            self.name = name
            self.partitions: list[ListPartitionReassignmentsResponse.OngoingPartitionReassignment] = [] if partitions is UNSET else partitions

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        topics: list[ListPartitionReassignmentsResponse.OngoingTopicReassignment] = UNSET,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.topics: list[ListPartitionReassignmentsResponse.OngoingTopicReassignment] = [] if topics is UNSET else topics
