"""Made by tools/generate_wire.py from kcore/wire/schema/03_metadata.txt; do not edit."""

# fmt: off
# ruff: noqa: RUF023, RUF100

from __future__ import annotations

from kcore.hints import ClassVar
from kcore.wire.message import UNSET, ZERO_UUID, Fields, Message, Struct


class MetadataRequest(Message):
    __slots__ = ("topics", "allow_auto_topic_creation", "include_cluster_authorized_operations", "include_topic_authorized_operations")

    API_KEY: ClassVar[int] = 3
    VERSIONS: ClassVar[tuple[int, int]] = (0, 13)
    FLEXIBLE_FROM: ClassVar[int | None] = 9
    FIELDS: ClassVar[Fields] = (
        ("topics", "[]MetadataRequestTopic", 0, 32767, 1, 32767, ..., -1, False, False),
        ("allow_auto_topic_creation", "bool", 4, 32767, -1, -1, True, -1, False, False),
        ("include_cluster_authorized_operations", "bool", 8, 10, -1, -1, False, -1, False, False),
        ("include_topic_authorized_operations", "bool", 8, 32767, -1, -1, False, -1, False, False),
    )

    class MetadataRequestTopic(Struct):
        __slots__ = ("topic_id", "name")

        FIELDS: ClassVar[Fields] = (
            ("topic_id", "uuid", 10, 32767, -1, -1, b"\0" * 16, -1, True, False),
            ("name", "string", 0, 32767, 10, 32767, "", -1, False, False),
        )

        def __init__(
            self,
            *,
            topic_id: bytes = ZERO_UUID,
            name: str | None = "",
        ) -> None:
            self.topic_id = topic_id
            self.name = name

    def __init__(
        self,
        *,
        topics: list[MetadataRequest.MetadataRequestTopic] | None = UNSET,
        allow_auto_topic_creation: bool = True,
        include_cluster_authorized_operations: bool = False,
        include_topic_authorized_operations: bool = False,
    ) -> None:
        self.topics: list[MetadataRequest.MetadataRequestTopic] | None = [] if topics is UNSET else topics
        self.allow_auto_topic_creation = allow_auto_topic_creation
        self.include_cluster_authorized_operations = include_cluster_authorized_operations
        self.include_topic_authorized_operations = include_topic_authorized_operations


class MetadataResponse(Message):
    __slots__ = ("throttle_time_ms", "brokers", "cluster_id", "controller_id", "topics", "cluster_authorized_operations", "error_code")

    API_KEY: ClassVar[int] = 3
    VERSIONS: ClassVar[tuple[int, int]] = (0, 13)
    FLEXIBLE_FROM: ClassVar[int | None] = 9
    FIELDS: ClassVar[Fields] = (
        ("throttle_time_ms", "int32", 3, 32767, -1, -1, 0, -1, True, False),
        ("brokers", "[]MetadataResponseBroker", 0, 32767, -1, -1, ..., -1, False, False),
        ("cluster_id", "string", 2, 32767, 2, 32767, None, -1, True, False),
        ("controller_id", "int32", 1, 32767, -1, -1, -1, -1, True, False),
        ("topics", "[]MetadataResponseTopic", 0, 32767, -1, -1, ..., -1, False, False),
        ("cluster_authorized_operations", "int32", 8, 10, -1, -1, -2147483648, -1, False, False),
        ("error_code", "int16", 13, 32767, -1, -1, 0, -1, True, False),
    )

    class MetadataResponseBroker(Struct):
        __slots__ = ("node_id", "host", "port", "rack")

        FIELDS: ClassVar[Fields] = (
            ("node_id", "int32", 0, 32767, -1, -1, 0, -1, False, False),
            ("host", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("port", "int32", 0, 32767, -1, -1, 0, -1, False, False),
            ("rack", "string", 1, 32767, 1, 32767, None, -1, True, False),
        )

        def __init__(
            self,
            *,
            node_id: int = 0,
            host: str = "",
            port: int = 0,
            rack: str | None = None,
        ) -> None:
            self.node_id = node_id
            self.host = host
            self.port = port
            self.rack = rack

    class MetadataResponsePartition(Struct):
        __slots__ = ("error_code", "partition_index", "leader_id", "leader_epoch", "replica_nodes", "isr_nodes", "offline_replicas")

        FIELDS: ClassVar[Fields] = (
            ("error_code", "int16", 0, 32767, -1, -1, 0, -1, False, False),
            ("partition_index", "int32", 0, 32767, -1, -1, 0, -1, False, False),
            ("leader_id", "int32", 0, 32767, -1, -1, 0, -1, False, False),
            ("leader_epoch", "int32", 7, 32767, -1, -1, -1, -1, True, False),
            ("replica_nodes", "[]int32", 0, 32767, -1, -1, ..., -1, False, False),
            ("isr_nodes", "[]int32", 0, 32767, -1, -1, ..., -1, False, False),
            ("offline_replicas", "[]int32", 5, 32767, -1, -1, ..., -1, True, False),
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
            offline_replicas: list[int] = UNSET,
        ) -> None:
            self.error_code = error_code
            self.partition_index = partition_index
            self.leader_id = leader_id
            self.leader_epoch = leader_epoch
            self.replica_nodes: list[int] = [] if replica_nodes is UNSET else replica_nodes
            self.isr_nodes: list[int] = [] if isr_nodes is UNSET else isr_nodes
            self.offline_replicas: list[int] = [] if offline_replicas is UNSET else offline_replicas

    class MetadataResponseTopic(Struct):
        __slots__ = ("error_code", "name", "topic_id", "is_internal", "partitions", "topic_authorized_operations")

        FIELDS: ClassVar[Fields] = (
            ("error_code", "int16", 0, 32767, -1, -1, 0, -1, False, False),
            ("name", "string", 0, 32767, 12, 32767, "", -1, False, False),
            ("topic_id", "uuid", 10, 32767, -1, -1, b"\0" * 16, -1, True, False),
            ("is_internal", "bool", 1, 32767, -1, -1, False, -1, True, False),
            ("partitions", "[]MetadataResponsePartition", 0, 32767, -1, -1, ..., -1, False, False),
            ("topic_authorized_operations", "int32", 8, 32767, -1, -1, -2147483648, -1, False, False),
        )

        def __init__(
            self,
            *,
            error_code: int = 0,
            name: str | None = "",
            topic_id: bytes = ZERO_UUID,
            is_internal: bool = False,
            partitions: list[MetadataResponse.MetadataResponsePartition] = UNSET,
            topic_authorized_operations: int = -2147483648,
        ) -> None:
            self.error_code = error_code
            self.name = name
            self.topic_id = topic_id
            self.is_internal = is_internal
            self.partitions: list[MetadataResponse.MetadataResponsePartition] = [] if partitions is UNSET else partitions
            self.topic_authorized_operations = topic_authorized_operations

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        brokers: list[MetadataResponse.MetadataResponseBroker] = UNSET,
        cluster_id: str | None = None,
        controller_id: int = -1,
        topics: list[MetadataResponse.MetadataResponseTopic] = UNSET,
        cluster_authorized_operations: int = -2147483648,
        error_code: int = 0,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.brokers: list[MetadataResponse.MetadataResponseBroker] = [] if brokers is UNSET else brokers
        self.cluster_id = cluster_id
        self.controller_id = controller_id
        self.topics: list[MetadataResponse.MetadataResponseTopic] = [] if topics is UNSET else topics
        self.cluster_authorized_operations = cluster_authorized_operations
        self.error_code = error_code
