"""Made by tools/generate_wire.py from kcore/wire/schema/01_fetch.txt; do not edit."""

# fmt: off
# ruff: noqa: RUF023, RUF100

from __future__ import annotations

from kcore.hints import ClassVar
from kcore.wire.message import UNSET, ZERO_UUID, Fields, Message, Struct


class FetchRequest(Message):
    __slots__ = ("cluster_id", "replica_id", "replica_state", "max_wait_ms", "min_bytes", "max_bytes", "isolation_level", "session_id", "session_epoch", "topics", "forgotten_topics_data", "rack_id")

    API_KEY: ClassVar[int] = 1
    VERSIONS: ClassVar[tuple[int, int]] = (4, 18)
    FLEXIBLE_FROM: ClassVar[int | None] = 12
    FIELDS: ClassVar[Fields] = (
        ("cluster_id", "string", 12, 32767, 12, 32767, None, 0, True, False),
        ("replica_id", "int32", 0, 14, -1, -1, -1, -1, False, False),
        ("replica_state", "ReplicaState", 15, 32767, -1, -1, ..., 1, False, False),
        ("max_wait_ms", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("min_bytes", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("max_bytes", "int32", 3, 32767, -1, -1, 2147483647, -1, True, False),
        ("isolation_level", "int8", 4, 32767, -1, -1, 0, -1, True, False),
        ("session_id", "int32", 7, 32767, -1, -1, 0, -1, True, False),
        ("session_epoch", "int32", 7, 32767, -1, -1, -1, -1, True, False),
        ("topics", "[]FetchTopic", 0, 32767, -1, -1, ..., -1, False, False),
        ("forgotten_topics_data", "[]ForgottenTopic", 7, 32767, -1, -1, ..., -1, False, False),
        ("rack_id", "string", 11, 32767, -1, -1, "", -1, True, False),
    )

    class ReplicaState(Struct):
        __slots__ = ("replica_id", "replica_epoch")

        FIELDS: ClassVar[Fields] = (
            ("replica_id", "int32", 15, 32767, -1, -1, -1, -1, False, False),
            ("replica_epoch", "int64", 15, 32767, -1, -1, -1, -1, False, False),
        )

        def __init__(
            self,
            *,
            replica_id: int = -1,
            replica_epoch: int = -1,
        ) -> None:
            self.replica_id = replica_id
            self.replica_epoch = replica_epoch

    class FetchPartition(Struct):
        __slots__ = ("partition", "current_leader_epoch", "fetch_offset", "last_fetched_epoch", "log_start_offset", "partition_max_bytes", "replica_directory_id", "high_watermark")

        FIELDS: ClassVar[Fields] = (
            ("partition", "int32", 0, 32767, -1, -1, 0, -1, False, False),
            ("current_leader_epoch", "int32", 9, 32767, -1, -1, -1, -1, True, False),
            ("fetch_offset", "int64", 0, 32767, -1, -1, 0, -1, False, False),
            ("last_fetched_epoch", "int32", 12, 32767, -1, -1, -1, -1, False, False),
            ("log_start_offset", "int64", 5, 32767, -1, -1, -1, -1, True, False),
            ("partition_max_bytes", "int32", 0, 32767, -1, -1, 0, -1, False, False),
            ("replica_directory_id", "uuid", 17, 32767, -1, -1, b"\0" * 16, 0, True, False),
            ("high_watermark", "int64", 18, 32767, -1, -1, 9223372036854775807, 1, True, False),
        )

        def __init__(
            self,
            *,
            partition: int = 0,
            current_leader_epoch: int = -1,
            fetch_offset: int = 0,
            last_fetched_epoch: int = -1,
            log_start_offset: int = -1,
            partition_max_bytes: int = 0,
            replica_directory_id: bytes = ZERO_UUID,
            high_watermark: int = 9223372036854775807,
        ) -> None:
            self.partition = partition
            self.current_leader_epoch = current_leader_epoch
            self.fetch_offset = fetch_offset
            self.last_fetched_epoch = last_fetched_epoch
            self.log_start_offset = log_start_offset
            self.partition_max_bytes = partition_max_bytes
            self.replica_directory_id = replica_directory_id
            self.high_watermark = high_watermark

    class FetchTopic(Struct):
        __slots__ = ("topic", "topic_id", "partitions")

        FIELDS: ClassVar[Fields] = (
            ("topic", "string", 0, 12, -1, -1, "", -1, True, False),
            ("topic_id", "uuid", 13, 32767, -1, -1, b"\0" * 16, -1, True, False),
            ("partitions", "[]FetchPartition", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            topic: str = "",
            topic_id: bytes = ZERO_UUID,
            partitions: list[FetchRequest.FetchPartition] = UNSET,
        ) -> None:
            self.topic = topic
            self.topic_id = topic_id
            self.partitions: list[FetchRequest.FetchPartition] = [] if partitions is UNSET else partitions

    class ForgottenTopic(Struct):
        __slots__ = ("topic", "topic_id", "partitions")

        FIELDS: ClassVar[Fields] = (
            ("topic", "string", 7, 12, -1, -1, "", -1, True, False),
            ("topic_id", "uuid", 13, 32767, -1, -1, b"\0" * 16, -1, True, False),
            ("partitions", "[]int32", 7, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            topic: str = "",
            topic_id: bytes = ZERO_UUID,
            partitions: list[int] = UNSET,
        ) -> None:
            self.topic = topic
            self.topic_id = topic_id
            self.partitions: list[int] = [] if partitions is UNSET else partitions

    def __init__(
        self,
        *,
        cluster_id: str | None = None,
        replica_id: int = -1,
        replica_state: FetchRequest.ReplicaState = UNSET,
        max_wait_ms: int = 0,
        min_bytes: int = 0,
        max_bytes: int = 2147483647,
        isolation_level: int = 0,
        session_id: int = 0,
        session_epoch: int = -1,
        topics: list[FetchRequest.FetchTopic] = UNSET,
        forgotten_topics_data: list[FetchRequest.ForgottenTopic] = UNSET,
        rack_id: str = "",
    ) -> None:
        self.cluster_id = cluster_id
        self.replica_id = replica_id
        self.replica_state: FetchRequest.ReplicaState = FetchRequest.ReplicaState() if replica_state is UNSET else replica_state
        self.max_wait_ms = max_wait_ms
        self.min_bytes = min_bytes
        self.max_bytes = max_bytes
        self.isolation_level = isolation_level
        self.session_id = session_id
        self.session_epoch = session_epoch
        self.topics: list[FetchRequest.FetchTopic] = [] if topics is UNSET else topics
        self.forgotten_topics_data: list[FetchRequest.ForgottenTopic] = [] if forgotten_topics_data is UNSET else forgotten_topics_data
        self.rack_id = rack_id


class FetchResponse(Message):
    __slots__ = ("throttle_time_ms", "error_code", "session_id", "responses", "node_endpoints")

    API_KEY: ClassVar[int] = 1
    VERSIONS: ClassVar[tuple[int, int]] = (4, 18)
    FLEXIBLE_FROM: ClassVar[int | None] = 12
    FIELDS: ClassVar[Fields] = (
        ("throttle_time_ms", "int32", 1, 32767, -1, -1, 0, -1, True, False),
        ("error_code", "int16", 7, 32767, -1, -1, 0, -1, True, False),
        ("session_id", "int32", 7, 32767, -1, -1, 0, -1, False, False),
        ("responses", "[]FetchableTopicResponse", 0, 32767, -1, -1, ..., -1, False, False),
        ("node_endpoints", "[]NodeEndpoint", 16, 32767, -1, -1, ..., 0, False, False),
    )

    class EpochEndOffset(Struct):
        __slots__ = ("epoch", "end_offset")

        FIELDS: ClassVar[Fields] = (
            ("epoch", "int32", 12, 32767, -1, -1, -1, -1, False, False),
            ("end_offset", "int64", 12, 32767, -1, -1, -1, -1, False, False),
        )

        def __init__(
            self,
            *,
            epoch: int = -1,
            end_offset: int = -1,
        ) -> None:
            self.epoch = epoch
            self.end_offset = end_offset

    class LeaderIdAndEpoch(Struct):
        __slots__ = ("leader_id", "leader_epoch")

        FIELDS: ClassVar[Fields] = (
            ("leader_id", "int32", 12, 32767, -1, -1, -1, -1, False, False),
            ("leader_epoch", "int32", 12, 32767, -1, -1, -1, -1, False, False),
        )

        def __init__(
            self,
            *,
            leader_id: int = -1,
            leader_epoch: int = -1,
        ) -> None:
            self.leader_id = leader_id
            self.leader_epoch = leader_epoch

    class SnapshotId(Struct):
        __slots__ = ("end_offset", "epoch")

        FIELDS: ClassVar[Fields] = (
            ("end_offset", "int64", 0, 32767, -1, -1, -1, -1, False, False),
            ("epoch", "int32", 0, 32767, -1, -1, -1, -1, False, False),
        )

        def __init__(
            self,
            *,
            end_offset: int = -1,
            epoch: int = -1,
        ) -> None:
            self.end_offset = end_offset
            self.epoch = epoch

    class AbortedTransaction(Struct):
        __slots__ = ("producer_id", "first_offset")

        FIELDS: ClassVar[Fields] = (
            ("producer_id", "int64", 4, 32767, -1, -1, 0, -1, False, False),
            ("first_offset", "int64", 4, 32767, -1, -1, 0, -1, False, False),
        )

        def __init__(
            self,
            *,
            producer_id: int = 0,
            first_offset: int = 0,
        ) -> None:
            self.producer_id = producer_id
            self.first_offset = first_offset

    class PartitionData(Struct):
        __slots__ = ("partition_index", "error_code", "high_watermark", "last_stable_offset", "log_start_offset", "diverging_epoch", "current_leader", "snapshot_id", "aborted_transactions", "preferred_read_replica", "records")

        FIELDS: ClassVar[Fields] = (
            ("partition_index", "int32", 0, 32767, -1, -1, 0, -1, False, False),
            ("error_code", "int16", 0, 32767, -1, -1, 0, -1, False, False),
            ("high_watermark", "int64", 0, 32767, -1, -1, 0, -1, False, False),
            ("last_stable_offset", "int64", 4, 32767, -1, -1, -1, -1, True, False),
            ("log_start_offset", "int64", 5, 32767, -1, -1, -1, -1, True, False),
            ("diverging_epoch", "EpochEndOffset", 12, 32767, -1, -1, ..., 0, False, False),
            ("current_leader", "LeaderIdAndEpoch", 12, 32767, -1, -1, ..., 1, False, False),
            ("snapshot_id", "SnapshotId", 12, 32767, -1, -1, ..., 2, False, False),
            ("aborted_transactions", "[]AbortedTransaction", 4, 32767, 4, 32767, ..., -1, True, False),
            ("preferred_read_replica", "int32", 11, 32767, -1, -1, -1, -1, False, False),
            ("records", "records", 0, 32767, 0, 32767, b"", -1, False, False),
        )

        def __init__(
            self,
            *,
            partition_index: int = 0,
            error_code: int = 0,
            high_watermark: int = 0,
            last_stable_offset: int = -1,
            log_start_offset: int = -1,
            diverging_epoch: FetchResponse.EpochEndOffset = UNSET,
            current_leader: FetchResponse.LeaderIdAndEpoch = UNSET,
            snapshot_id: FetchResponse.SnapshotId = UNSET,
            aborted_transactions: list[FetchResponse.AbortedTransaction] | None = UNSET,
            preferred_read_replica: int = -1,
            records: bytes | bytearray | memoryview | None = b"",
        ) -> None:
            self.partition_index = partition_index
            self.error_code = error_code
            self.high_watermark = high_watermark
            self.last_stable_offset = last_stable_offset
            self.log_start_offset = log_start_offset
            self.diverging_epoch: FetchResponse.EpochEndOffset = FetchResponse.EpochEndOffset() if diverging_epoch is UNSET else diverging_epoch
            self.current_leader: FetchResponse.LeaderIdAndEpoch = FetchResponse.LeaderIdAndEpoch() if current_leader is UNSET else current_leader
            self.snapshot_id: FetchResponse.SnapshotId = FetchResponse.SnapshotId() if snapshot_id is UNSET else snapshot_id
            self.aborted_transactions: list[FetchResponse.AbortedTransaction] | None = [] if aborted_transactions is UNSET else aborted_transactions
            self.preferred_read_replica = preferred_read_replica
            self.records = records

    class FetchableTopicResponse(Struct):
        __slots__ = ("topic", "topic_id", "partitions")

        FIELDS: ClassVar[Fields] = (
            ("topic", "string", 0, 12, -1, -1, "", -1, True, False),
            ("topic_id", "uuid", 13, 32767, -1, -1, b"\0" * 16, -1, True, False),
            ("partitions", "[]PartitionData", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            topic: str = "",
            topic_id: bytes = ZERO_UUID,
            partitions: list[FetchResponse.PartitionData] = UNSET,
        ) -> None:
            self.topic = topic
            self.topic_id = topic_id
            self.partitions: list[FetchResponse.PartitionData] = [] if partitions is UNSET else partitions

    class NodeEndpoint(Struct):
        __slots__ = ("node_id", "host", "port", "rack")

        FIELDS: ClassVar[Fields] = (
            ("node_id", "int32", 16, 32767, -1, -1, 0, -1, False, False),
            ("host", "string", 16, 32767, -1, -1, "", -1, False, False),
            ("port", "int32", 16, 32767, -1, -1, 0, -1, False, False),
            ("rack", "string", 16, 32767, 16, 32767, None, -1, False, False),
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

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        session_id: int = 0,
        responses: list[FetchResponse.FetchableTopicResponse] = UNSET,
        node_endpoints: list[FetchResponse.NodeEndpoint] = UNSET,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.session_id = session_id
        self.responses: list[FetchResponse.FetchableTopicResponse] = [] if responses is UNSET else responses
        self.node_endpoints: list[FetchResponse.NodeEndpoint] = [] if node_endpoints is UNSET else node_endpoints
