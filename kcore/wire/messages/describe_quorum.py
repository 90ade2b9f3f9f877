"""Made by tools/generate_wire.py from kcore/wire/schema/55_describe_quorum.txt; do not edit."""

# fmt: off
# ruff: noqa: RUF023, RUF100

from __future__ import annotations

from kcore.hints import ClassVar
from kcore.wire.message import UNSET, ZERO_UUID, Fields, Message, Struct


class DescribeQuorumRequest(Message):
    __slots__ = ("topics",)

    API_KEY: ClassVar[int] = 55
    VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_FROM: ClassVar[int | None] = 0
    FIELDS: ClassVar[Fields] = (
        ("topics", "[]TopicData", 0, 32767, -1, -1, ..., -1, False, False),
    )

    class PartitionData(Struct):
        __slots__ = ("partition_index",)

        FIELDS: ClassVar[Fields] = (
            ("partition_index", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        )

        def __init__(
            self,
            *,
            partition_index: int = 0,
        ) -> None:
            self.partition_index = partition_index

    class TopicData(Struct):
        __slots__ = ("topic_name", "partitions")

        FIELDS: ClassVar[Fields] = (
            ("topic_name", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("partitions", "[]PartitionData", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            topic_name: str = "",
            partitions: list[DescribeQuorumRequest.PartitionData] = UNSET,
        ) -> None:
            self.topic_name = topic_name
            self.partitions: list[DescribeQuorumRequest.PartitionData] = [] if partitions is UNSET else partitions

    def __init__(
        self,
        *,
        topics: list[DescribeQuorumRequest.TopicData] = UNSET,
    ) -> None:
        self.topics: list[DescribeQuorumRequest.TopicData] = [] if topics is UNSET else topics


class DescribeQuorumResponse(Message):
    __slots__ = ("error_code", "error_message", "topics", "nodes")

    API_KEY: ClassVar[int] = 55
    VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_FROM: ClassVar[int | None] = 0
    FIELDS: ClassVar[Fields] = (
        ("error_code", "int16", 0, 32767, -1, -1, 0, -1, False, False),
        ("error_message", "string", 2, 32767, 2, 32767, "", -1, True, False),
        ("topics", "[]TopicData", 0, 32767, -1, -1, ..., -1, False, False),
        ("nodes", "[]Node", 2, 32767, -1, -1, ..., -1, False, False),
    )

    class ReplicaState(Struct):
        __slots__ = ("replica_id", "replica_directory_id", "log_end_offset", "last_fetch_timestamp", "last_caught_up_timestamp")

        FIELDS: ClassVar[Fields] = (
            ("replica_id", "int32", 0, 32767, -1, -1, 0, -1, False, False),
            ("replica_directory_id", "uuid", 2, 32767, -1, -1, b"\0" * 16, -1, False, False),
            ("log_end_offset", "int64", 0, 32767, -1, -1, 0, -1, False, False),
            ("last_fetch_timestamp", "int64", 1, 32767, -1, -1, -1, -1, True, False),
            ("last_caught_up_timestamp", "int64", 1, 32767, -1, -1, -1, -1, True, False),
        )

        def __init__(
            self,
            *,
            replica_id: int = 0,
            replica_directory_id: bytes = ZERO_UUID,
            log_end_offset: int = 0,
            last_fetch_timestamp: int = -1,
            last_caught_up_timestamp: int = -1,
        ) -> None:
            self.replica_id = replica_id
            self.replica_directory_id = replica_directory_id
            self.log_end_offset = log_end_offset
            self.last_fetch_timestamp = last_fetch_timestamp
            self.last_caught_up_timestamp = last_caught_up_timestamp

    class PartitionData(Struct):
        __slots__ = ("partition_index", "error_code", "error_message", "leader_id", "leader_epoch", "high_watermark", "current_voters", "observers")

        FIELDS: ClassVar[Fields] = (
            ("partition_index", "int32", 0, 32767, -1, -1, 0, -1, False, False),
            ("error_code", "int16", 0, 32767, -1, -1, 0, -1, False, False),
            ("error_message", "string", 2, 32767, 2, 32767, "", -1, True, False),
            ("leader_id", "int32", 0, 32767, -1, -1, 0, -1, False, False),
            ("leader_epoch", "int32", 0, 32767, -1, -1, 0, -1, False, False),
            ("high_watermark", "int64", 0, 32767, -1, -1, 0, -1, False, False),
            ("current_voters", "[]ReplicaState", 0, 32767, -1, -1, ..., -1, False, False),
            ("observers", "[]ReplicaState", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            partition_index: int = 0,
            error_code: int = 0,
            error_message: str | None = "",
            leader_id: int = 0,
            leader_epoch: int = 0,
            high_watermark: int = 0,
            current_voters: list[DescribeQuorumResponse.ReplicaState] = UNSET,
            observers: list[DescribeQuorumResponse.ReplicaState] = UNSET,
        ) -> None:
            self.partition_index = partition_index
            self.error_code = error_code
            self.error_message = error_message
            self.leader_id = leader_id
            self.leader_epoch = leader_epoch
            self.high_watermark = high_watermark
            self.current_voters: list[DescribeQuorumResponse.ReplicaState] = [] if current_voters is UNSET else current_voters
            self.observers: list[DescribeQuorumResponse.ReplicaState] = [] if observers is UNSET else observers

    class TopicData(Struct):
        __slots__ = ("topic_name", "partitions")

        FIELDS: ClassVar[Fields] = (
            ("topic_name", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("partitions", "[]PartitionData", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            topic_name: str = "",
            partitions: list[DescribeQuorumResponse.PartitionData] = UNSET,
        ) -> None:
            self.topic_name = topic_name
            self.partitions: list[DescribeQuorumResponse.PartitionData] = [] if partitions is UNSET else partitions

    class Listener(Struct):
        __slots__ = ("name", "host", "port")

        FIELDS: ClassVar[Fields] = (
            ("name", "string", 2, 32767, -1, -1, "", -1, False, False),
            ("host", "string", 2, 32767, -1, -1, "", -1, False, False),
            ("port", "uint16", 2, 32767, -1, -1, 0, -1, False, False),
        )

        def __init__(
            self,
            *,
            name: str = "",
            host: str = "",
            port: int = 0,
        ) -> None:
            self.name = name
            self.host = host
            self.port = port

    class Node(Struct):
        __slots__ = ("node_id", "listeners")

        FIELDS: ClassVar[Fields] = (
            ("node_id", "int32", 2, 32767, -1, -1, 0, -1, False, False),
            ("listeners", "[]Listener", 2, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            node_id: int = 0,
            listeners: list[DescribeQuorumResponse.Listener] = UNSET,
        ) -> None:
            self.node_id = node_id
            self.listeners: list[DescribeQuorumResponse.Listener] = [] if listeners is UNSET else listeners

    def __init__(
        self,
        *,
        error_code: int = 0,
        error_message: str | None = "",
        topics: list[DescribeQuorumResponse.TopicData] = UNSET,
        nodes: list[DescribeQuorumResponse.Node] = UNSET,
    ) -> None:
        self.error_code = error_code
        self.error_message = error_message
        self.topics: list[DescribeQuorumResponse.TopicData] = [] if topics is UNSET else topics
        self.nodes: list[DescribeQuorumResponse.Node] = [] if nodes is UNSET else nodes
