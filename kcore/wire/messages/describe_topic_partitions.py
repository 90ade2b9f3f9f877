"""Made by tools/generate_wire.py from kcore/wire/schema/75_describe_topic_partitions.txt; do not edit."""

# fmt: off
# ruff: noqa: RUF023, RUF100

from __future__ import annotations

from kcore.hints import ClassVar
from kcore.wire.message import UNSET, ZERO_UUID, Fields, Message, Struct


class DescribeTopicPartitionsRequest(Message):
    __slots__ = ("topics", "response_partition_limit", "cursor")

    API_KEY: ClassVar[int] = 75
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int | None] = 0
    FIELDS: ClassVar[Fields] = (
        ("topics", "[]TopicRequest", 0, 32767, -1, -1, ..., -1, False, False),
        ("response_partition_limit", "int32", 0, 32767, -1, -1, 2000, -1, False, False),
        ("cursor", "Cursor", 0, 32767, 0, 32767, None, -1, False, False),
    )

    class TopicRequest(Struct):
        __slots__ = ("name",)

        FIELDS: ClassVar[Fields] = (
            ("name", "string", 0, 32767, -1, -1, "", -1, False, False),
        )

        def __init__(
            self,
            *,
            name: str = "",
        ) -> None:
            self.name = name

    class Cursor(Struct):
        __slots__ = ("topic_name", "partition_index")

        FIELDS: ClassVar[Fields] = (
            ("topic_name", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("partition_index", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        )

        def __init__(
            self,
            *,
            topic_name: str = "",
            partition_index: int = 0,
        ) -> None:
            self.topic_name = topic_name
            self.partition_index = partition_index

    def __init__(
        self,
        *,
        topics: list[DescribeTopicPartitionsRequest.TopicRequest] = UNSET,
        response_partition_limit: int = 2000,
        cursor: DescribeTopicPartitionsRequest.Cursor | None = None,
    ) -> None:
        self.topics: list[DescribeTopicPartitionsRequest.TopicRequest] = [] if topics is UNSET else topics
        self.response_partition_limit = response_partition_limit
        self.cursor = cursor


class DescribeTopicPartitionsResponse(Message):
    __slots__ = ("throttle_time_ms", "topics", "next_cursor")

    API_KEY: ClassVar[int] = 75
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int | None] = 0
    FIELDS: ClassVar[Fields] = (
        ("throttle_time_ms", "int32", 0, 32767, -1, -1, 0, -1, True, False),
        ("topics", "[]DescribeTopicPartitionsResponseTopic", 0, 32767, -1, -1, ..., -1, False, False),
        ("next_cursor", "Cursor", 0, 32767, 0, 32767, None, -1, False, False),
    )

    class DescribeTopicPartitionsResponsePartition(Struct):
        __slots__ = ("error_code", "partition_index", "leader_id", "leader_epoch", "replica_nodes", "isr_nodes", "eligible_leader_replicas", "last_known_elr", "offline_replicas")

        FIELDS: ClassVar[Fields] = (
            ("error_code", "int16", 0, 32767, -1, -1, 0, -1, False, False),
            ("partition_index", "int32", 0, 32767, -1, -1, 0, -1, False, False),
            ("leader_id", "int32", 0, 32767, -1, -1, 0, -1, False, False),
            ("leader_epoch", "int32", 0, 32767, -1, -1, -1, -1, True, False),
            ("replica_nodes", "[]int32", 0, 32767, -1, -1, ..., -1, False, False),
            ("isr_nodes", "[]int32", 0, 32767, -1, -1, ..., -1, False, False),
            ("eligible_leader_replicas", "[]int32", 0, 32767, 0, 32767, None, -1, False, False),
            ("last_known_elr", "[]int32", 0, 32767, 0, 32767, None, -1, False, False),
            ("offline_replicas", "[]int32", 0, 32767, -1, -1, ..., -1, True, False),
        )

        def __init__(
            self,
            *,
            error_code: int = 0,
            partition_index: int = 0,
            leader_id: int = 0,
            leader_epoch: int = -1,
            replica_nodes: list[int] = UNSET,
            isr_nodes: list[int] = UNSET,
            eligible_leader_replicas: list[int] | None = None,
            last_known_elr: list[int] | None = None,
            offline_replicas: list[int] = UNSET,
        ) -> None:
            self.error_code = error_code
            self.partition_index = partition_index
            self.leader_id = leader_id
            self.leader_epoch = leader_epoch
            self.replica_nodes: list[int] = [] if replica_nodes is UNSET else replica_nodes
            self.isr_nodes: list[int] = [] if isr_nodes is UNSET else isr_nodes
            self.eligible_leader_replicas = eligible_leader_replicas
            self.last_known_elr = last_known_elr
            self.offline_replicas: list[int] = [] if offline_replicas is UNSET else offline_replicas

    class DescribeTopicPartitionsResponseTopic(Struct):
        __slots__ = ("error_code", "name", "topic_id", "is_internal", "partitions", "topic_authorized_operations")

        FIELDS: ClassVar[Fields] = (
            ("error_code", "int16", 0, 32767, -1, -1, 0, -1, False, False),
            ("name", "string", 0, 32767, 0, 32767, "", -1, False, False),
            ("topic_id", "uuid", 0, 32767, -1, -1, b"\0" * 16, -1, True, False),
            ("is_internal", "bool", 0, 32767, -1, -1, False, -1, True, False),
            ("partitions", "[]DescribeTopicPartitionsResponsePartition", 0, 32767, -1, -1, ..., -1, False, False),
            ("topic_authorized_operations", "int32", 0, 32767, -1, -1, -2147483648, -1, False, False),
        )

        def __init__(
            self,
            *,
            error_code: int = 0,
            name: str | None = "",
            topic_id: bytes = ZERO_UUID,
            is_internal: bool = False,
            partitions: list[DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponsePartition] = UNSET,
            topic_authorized_operations: int = -2147483648,
        ) -> None:
            self.error_code = error_code
            self.name = name
            self.topic_id = topic_id
            self.is_internal = is_internal
            self.partitions: list[DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponsePartition] = [] if partitions is UNSET else partitions
            self.topic_authorized_operations = topic_authorized_operations

    class Cursor(Struct):
        __slots__ = ("topic_name", "partition_index")

        FIELDS: ClassVar[Fields] = (
            ("topic_name", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("partition_index", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        )

        def __init__(
            self,
            *,
            topic_name: str = "",
            partition_index: int = 0,
        ) -> None:
            self.topic_name = topic_name
            self.partition_index = partition_index

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        topics: list[DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic] = UNSET,
        next_cursor: DescribeTopicPartitionsResponse.Cursor | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics: list[DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic] = [] if topics is UNSET else topics
        self.next_cursor = next_cursor
