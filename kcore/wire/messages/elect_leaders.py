"""Made by tools/generate_wire.py from kcore/wire/schema/43_elect_leaders.txt; do not edit."""

# fmt: off
# ruff: noqa: RUF023, RUF100

from __future__ import annotations

from kcore.hints import ClassVar
from kcore.wire.message import UNSET, Fields, Message, Struct


class ElectLeadersRequest(Message):
    __slots__ = ("election_type", "topic_partitions", "timeout_ms")

    API_KEY: ClassVar[int] = 43
    VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_FROM: ClassVar[int | None] = 2
    FIELDS: ClassVar[Fields] = (
        ("election_type", "int8", 1, 32767, -1, -1, 0, -1, False, False),
        ("topic_partitions", "[]TopicPartitions", 0, 32767, 0, 32767, ..., -1, False, False),
        ("timeout_ms", "int32", 0, 32767, -1, -1, 60000, -1, False, False),
    )

    class TopicPartitions(Struct):
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
        election_type: int = 0,
        topic_partitions: list[ElectLeadersRequest.TopicPartitions] | None = UNSET,
        timeout_ms: int = 60000,
    ) -> None:
        self.election_type = election_type
        self.topic_partitions: list[ElectLeadersRequest.TopicPartitions] | None = [] if topic_partitions is UNSET else topic_partitions
        self.timeout_ms = timeout_ms


class ElectLeadersResponse(Message):
    __slots__ = ("throttle_time_ms", "error_code", "replica_election_results")

    API_KEY: ClassVar[int] = 43
    VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_FROM: ClassVar[int | None] = 2
    FIELDS: ClassVar[Fields] = (
        ("throttle_time_ms", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("error_code", "int16", 1, 32767, -1, -1, 0, -1, False, False),
        ("replica_election_results", "[]ReplicaElectionResult", 0, 32767, -1, -1, ..., -1, False, False),
    )

    class PartitionResult(Struct):
        __slots__ = ("partition_id", "error_code", "error_message")

        FIELDS: ClassVar[Fields] = (
            ("partition_id", "int32", 0, 32767, -1, -1, 0, -1, False, False),
            ("error_code", "int16", 0, 32767, -1, -1, 0, -1, False, False),
            ("error_message", "string", 0, 32767, 0, 32767, "", -1, False, False),
        )

        def __init__(
            self,
            *,
            partition_id: int = 0,
            error_code: int = 0,
            error_message: str | None = "",
        ) -> None:
            self.partition_id = partition_id
            self.error_code = error_code
            self.error_message = error_message

    class ReplicaElectionResult(Struct):
        __slots__ = ("topic", "partition_result")

        FIELDS: ClassVar[Fields] = (
            ("topic", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("partition_result", "[]PartitionResult", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            topic: str = "",
            partition_result: list[ElectLeadersResponse.PartitionResult] = UNSET,
        ) -> None:
            self.topic = topic
            self.partition_result: list[ElectLeadersResponse.PartitionResult] = [] if partition_result is UNSET else partition_result

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        replica_election_results: list[ElectLeadersResponse.ReplicaElectionResult] = UNSET,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.replica_election_results: list[ElectLeadersResponse.ReplicaElectionResult] = [] if replica_election_results is UNSET else replica_election_results
