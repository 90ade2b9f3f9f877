"""Made by tools/generate_wire.py from kcore/wire/schema/45_alter_partition_reassignments.txt; do not edit."""

# fmt: off
# ruff: noqa: RUF023, RUF100

from __future__ import annotations

from kcore.hints import ClassVar
from kcore.wire.message import UNSET, Fields, Message, Struct


class AlterPartitionReassignmentsRequest(Message):
    __slots__ = ("timeout_ms", "allow_replication_factor_change", "topics")

    API_KEY: ClassVar[int] = 45
    VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_FROM: ClassVar[int | None] = 0
    FIELDS: ClassVar[Fields] = (
        ("timeout_ms", "int32", 0, 32767, -1, -1, 60000, -1, False, False),
        ("allow_replication_factor_change", "bool", 1, 32767, -1, -1, True, -1, False, False),
        ("topics", "[]ReassignableTopic", 0, 32767, -1, -1, ..., -1, False, False),
    )

    class ReassignablePartition(Struct):
        __slots__ = ("partition_index", "replicas")

        FIELDS: ClassVar[Fields] = (
            ("partition_index", "int32", 0, 32767, -1, -1, 0, -1, False, False),
            ("replicas", "[]int32", 0, 32767, 0, 32767, None, -1, False, False),
        )

        def __init__(
            self,
            *,
            partition_index: int = 0,
            replicas: list[int] | None = None,
        ) -> None:
            self.partition_index = partition_index
            self.replicas = replicas

    class ReassignableTopic(Struct):
        __slots__ = ("name", "partitions")

        FIELDS: ClassVar[Fields] = (
            ("name", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("partitions", "[]ReassignablePartition", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            name: str = "",
            partitions: list[AlterPartitionReassignmentsRequest.ReassignablePartition] = UNSET,
        ) -> None:
            self.name = name
            self.partitions: list[AlterPartitionReassignmentsRequest.ReassignablePartition] = [] if partitions is UNSET else partitions

    def __init__(
        self,
        *,
        timeout_ms: int = 60000,
        allow_replication_factor_change: bool = True,
        topics: list[AlterPartitionReassignmentsRequest.ReassignableTopic] = UNSET,
    ) -> None:
        self.timeout_ms = timeout_ms
        self.allow_replication_factor_change = allow_replication_factor_change
        self.topics: list[AlterPartitionReassignmentsRequest.ReassignableTopic] = [] if topics is UNSET else topics


class AlterPartitionReassignmentsResponse(Message):
    __slots__ = ("throttle_time_ms", "allow_replication_factor_change", "error_code", "error_message", "responses")

    API_KEY: ClassVar[int] = 45
    VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_FROM: ClassVar[int | None] = 0
    FIELDS: ClassVar[Fields] = (
        ("throttle_time_ms", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("allow_replication_factor_change", "bool", 1, 32767, -1, -1, True, -1, True, False),
        ("error_code", "int16", 0, 32767, -1, -1, 0, -1, False, False),
        ("error_message", "string", 0, 32767, 0, 32767, "", -1, False, False),
        ("responses", "[]ReassignableTopicResponse", 0, 32767, -1, -1, ..., -1, False, False),
    )

    class ReassignablePartitionResponse(Struct):
        __slots__ = ("partition_index", "error_code", "error_message")

        FIELDS: ClassVar[Fields] = (
            ("partition_index", "int32", 0, 32767, -1, -1, 0, -1, False, False),
            ("error_code", "int16", 0, 32767, -1, -1, 0, -1, False, False),
            ("error_message", "string", 0, 32767, 0, 32767, "", -1, False, False),
        )

        def __init__(
            self,
            *,
            partition_index: int = 0,
            error_code: int = 0,
            error_message: str | None = "",
        ) -> None:
            self.partition_index = partition_index
            self.error_code = error_code
            self.error_message = error_message

    class ReassignableTopicResponse(Struct):
        __slots__ = ("name", "partitions")

        FIELDS: ClassVar[Fields] = (
            ("name", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("partitions", "[]ReassignablePartitionResponse", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            name: str = "",
            partitions: list[AlterPartitionReassignmentsResponse.ReassignablePartitionResponse] = UNSET,
        ) -> None:
            self.name = name
            self.partitions: list[AlterPartitionReassignmentsResponse.ReassignablePartitionResponse] = [] if partitions is UNSET else partitions

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        allow_replication_factor_change: bool = True,
        error_code: int = 0,
        error_message: str | None = "",
        responses: list[AlterPartitionReassignmentsResponse.ReassignableTopicResponse] = UNSET,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.allow_replication_factor_change = allow_replication_factor_change
        self.error_code = error_code
        self.error_message = error_message
        self.responses: list[AlterPartitionReassignmentsResponse.ReassignableTopicResponse] = [] if responses is UNSET else responses
