"""Made by tools/generate_wire.py from kcore/wire/schema/78_share_fetch.txt; do not edit."""

# fmt: off
# ruff: noqa: RUF023, RUF100

from __future__ import annotations

from kcore.hints import ClassVar
from kcore.wire.message import UNSET, ZERO_UUID, Fields, Message, Struct


class ShareFetchRequest(Message):
    __slots__ = ("group_id", "member_id", "share_session_epoch", "max_wait_ms", "min_bytes", "max_bytes", "max_records", "batch_size", "share_acquire_mode", "is_renew_ack", "topics", "forgotten_topics_data")

    API_KEY: ClassVar[int] = 78
    VERSIONS: ClassVar[tuple[int, int]] = (1, 2)
    FLEXIBLE_FROM: ClassVar[int | None] = 0
    FIELDS: ClassVar[Fields] = (
        ("group_id", "string", 0, 32767, 0, 32767, None, -1, False, False),
        ("member_id", "string", 0, 32767, 0, 32767, "", -1, False, False),
        ("share_session_epoch", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("max_wait_ms", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("min_bytes", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("max_bytes", "int32", 0, 32767, -1, -1, 2147483647, -1, False, False),
        ("max_records", "int32", 1, 32767, -1, -1, 0, -1, False, False),
        ("batch_size", "int32", 1, 32767, -1, -1, 0, -1, False, False),
        ("share_acquire_mode", "int8", 2, 32767, -1, -1, 0, -1, True, False),
        ("is_renew_ack", "bool", 2, 32767, -1, -1, False, -1, False, False),
        ("topics", "[]FetchTopic", 0, 32767, -1, -1, ..., -1, False, False),
        ("forgotten_topics_data", "[]ForgottenTopic", 0, 32767, -1, -1, ..., -1, False, False),
    )

    class AcknowledgementBatch(Struct):
        __slots__ = ("first_offset", "last_offset", "acknowledge_types")

        FIELDS: ClassVar[Fields] = (
            ("first_offset", "int64", 0, 32767, -1, -1, 0, -1, False, False),
            ("last_offset", "int64", 0, 32767, -1, -1, 0, -1, False, False),
            ("acknowledge_types", "[]int8", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            first_offset: int = 0,
            last_offset: int = 0,
            acknowledge_types: list[int] = UNSET,
        ) -> None:
            self.first_offset = first_offset
            self.last_offset = last_offset
            self.acknowledge_types: list[int] = [] if acknowledge_types is UNSET else acknowledge_types

    class FetchPartition(Struct):
        __slots__ = ("partition_index", "partition_max_bytes", "acknowledgement_batches")

        FIELDS: ClassVar[Fields] = (
            ("partition_index", "int32", 0, 32767, -1, -1, 0, -1, False, False),
            ("partition_max_bytes", "int32", 0, 0, -1, -1, 0, -1, False, False),
            ("acknowledgement_batches", "[]AcknowledgementBatch", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            partition_index: int = 0,
            partition_max_bytes: int = 0,
            acknowledgement_batches: list[ShareFetchRequest.AcknowledgementBatch] = UNSET,
        ) -> None:
            self.partition_index = partition_index
            self.partition_max_bytes = partition_max_bytes
            self.acknowledgement_batches: list[ShareFetchRequest.AcknowledgementBatch] = [] if acknowledgement_batches is UNSET else acknowledgement_batches

    class FetchTopic(Struct):
        __slots__ = ("topic_id", "partitions")

        FIELDS: ClassVar[Fields] = (
            ("topic_id", "uuid", 0, 32767, -1, -1, b"\0" * 16, -1, False, False),
            ("partitions", "[]FetchPartition", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            topic_id: bytes = ZERO_UUID,
            partitions: list[ShareFetchRequest.FetchPartition] = UNSET,
        ) -> None:
            self.topic_id = topic_id
            self.partitions: list[ShareFetchRequest.FetchPartition] = [] if partitions is UNSET else partitions

    class ForgottenTopic(Struct):
        __slots__ = ("topic_id", "partitions")

        FIELDS: ClassVar[Fields] = (
            ("topic_id", "uuid", 0, 32767, -1, -1, b"\0" * 16, -1, False, False),
            ("partitions", "[]int32", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            topic_id: bytes = ZERO_UUID,
            partitions: list[int] = UNSET,
        ) -> None:
            self.topic_id = topic_id
            self.partitions: list[int] = [] if partitions is UNSET else partitions

    def __init__(
        self,
        *,
        group_id: str | None = None,
        member_id: str | None = "",
        share_session_epoch: int = 0,
        max_wait_ms: int = 0,
        min_bytes: int = 0,
        max_bytes: int = 2147483647,
        max_records: int = 0,
        batch_size: int = 0,
        share_acquire_mode: int = 0,
        is_renew_ack: bool = False,
        topics: list[ShareFetchRequest.FetchTopic] = UNSET,
        forgotten_topics_data: list[ShareFetchRequest.ForgottenTopic] = UNSET,
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.share_session_epoch = share_session_epoch
        self.max_wait_ms = max_wait_ms
        self.min_bytes = min_bytes
        self.max_bytes = max_bytes
        self.max_records = max_records
        self.batch_size = batch_size
        self.share_acquire_mode = share_acquire_mode
        self.is_renew_ack = is_renew_ack
        self.topics: list[ShareFetchRequest.FetchTopic] = [] if topics is UNSET else topics
        self.forgotten_topics_data: list[ShareFetchRequest.ForgottenTopic] = [] if forgotten_topics_data is UNSET else forgotten_topics_data


class ShareFetchResponse(Message):
    __slots__ = ("throttle_time_ms", "error_code", "error_message", "acquisition_lock_timeout_ms", "responses", "node_endpoints")

    API_KEY: ClassVar[int] = 78
    VERSIONS: ClassVar[tuple[int, int]] = (1, 2)
    FLEXIBLE_FROM: ClassVar[int | None] = 0
    FIELDS: ClassVar[Fields] = (
        ("throttle_time_ms", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("error_code", "int16", 0, 32767, -1, -1, 0, -1, False, False),
        ("error_message", "string", 0, 32767, 0, 32767, None, -1, False, False),
        ("acquisition_lock_timeout_ms", "int32", 1, 32767, -1, -1, 0, -1, False, False),
        ("responses", "[]ShareFetchableTopicResponse", 0, 32767, -1, -1, ..., -1, False, False),
        ("node_endpoints", "[]NodeEndpoint", 0, 32767, -1, -1, ..., -1, False, False),
    )

    class LeaderIdAndEpoch(Struct):
        __slots__ = ("leader_id", "leader_epoch")

        FIELDS: ClassVar[Fields] = (
            ("leader_id", "int32", 0, 32767, -1, -1, 0, -1, False, False),
            ("leader_epoch", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        )

        def __init__(
            self,
            *,
            leader_id: int = 0,
            leader_epoch: int = 0,
        ) -> None:
            self.leader_id = leader_id
            self.leader_epoch = leader_epoch

    class AcquiredRecords(Struct):
        __slots__ = ("first_offset", "last_offset", "delivery_count")

        FIELDS: ClassVar[Fields] = (
            ("first_offset", "int64", 0, 32767, -1, -1, 0, -1, False, False),
            ("last_offset", "int64", 0, 32767, -1, -1, 0, -1, False, False),
            ("delivery_count", "int16", 0, 32767, -1, -1, 0, -1, False, False),
        )

        def __init__(
            self,
            *,
            first_offset: int = 0,
            last_offset: int = 0,
            delivery_count: int = 0,
        ) -> None:
            self.first_offset = first_offset
            self.last_offset = last_offset
            self.delivery_count = delivery_count

    class PartitionData(Struct):
        __slots__ = ("partition_index", "error_code", "error_message", "acknowledge_error_code", "acknowledge_error_message", "current_leader", "records", "acquired_records")

        FIELDS: ClassVar[Fields] = (
            ("partition_index", "int32", 0, 32767, -1, -1, 0, -1, False, False),
            ("error_code", "int16", 0, 32767, -1, -1, 0, -1, False, False),
            ("error_message", "string", 0, 32767, 0, 32767, None, -1, False, False),
            ("acknowledge_error_code", "int16", 0, 32767, -1, -1, 0, -1, False, False),
            ("acknowledge_error_message", "string", 0, 32767, 0, 32767, None, -1, False, False),
            ("current_leader", "LeaderIdAndEpoch", 0, 32767, -1, -1, ..., -1, False, False),
            ("records", "records", 0, 32767, 0, 0, b"", -1, False, False),
            ("acquired_records", "[]AcquiredRecords", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            partition_index: int = 0,
            error_code: int = 0,
            error_message: str | None = None,
            acknowledge_error_code: int = 0,
            acknowledge_error_message: str | None = None,
            current_leader: ShareFetchResponse.LeaderIdAndEpoch = UNSET,
            records: bytes | bytearray | memoryview | None = b"",
            acquired_records: list[ShareFetchResponse.AcquiredRecords] = UNSET,
        ) -> None:
            self.partition_index = partition_index
            self.error_code = error_code
            self.error_message = error_message
            self.acknowledge_error_code = acknowledge_error_code
            self.acknowledge_error_message = acknowledge_error_message
            self.current_leader: ShareFetchResponse.LeaderIdAndEpoch = ShareFetchResponse.LeaderIdAndEpoch() if current_leader is UNSET else current_leader
            self.records = records
            self.acquired_records: list[ShareFetchResponse.AcquiredRecords] = [] if acquired_records is UNSET else acquired_records

    class ShareFetchableTopicResponse(Struct):
        __slots__ = ("topic_id", "partitions")

        FIELDS: ClassVar[Fields] = (
            ("topic_id", "uuid", 0, 32767, -1, -1, b"\0" * 16, -1, False, False),
            ("partitions", "[]PartitionData", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            topic_id: bytes = ZERO_UUID,
            partitions: list[ShareFetchResponse.PartitionData] = UNSET,
        ) -> None:
            self.topic_id = topic_id
            self.partitions: list[ShareFetchResponse.PartitionData] = [] if partitions is UNSET else partitions

    class NodeEndpoint(Struct):
        __slots__ = ("node_id", "host", "port", "rack")

        FIELDS: ClassVar[Fields] = (
            ("node_id", "int32", 0, 32767, -1, -1, 0, -1, False, False),
            ("host", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("port", "int32", 0, 32767, -1, -1, 0, -1, False, False),
            ("rack", "string", 0, 32767, 0, 32767, None, -1, False, False),
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
        error_message: str | None = None,
        acquisition_lock_timeout_ms: int = 0,
        responses: list[ShareFetchResponse.ShareFetchableTopicResponse] = UNSET,
        node_endpoints: list[ShareFetchResponse.NodeEndpoint] = UNSET,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.acquisition_lock_timeout_ms = acquisition_lock_timeout_ms
        self.responses: list[ShareFetchResponse.ShareFetchableTopicResponse] = [] if responses is UNSET else responses
        self.node_endpoints: list[ShareFetchResponse.NodeEndpoint] = [] if node_endpoints is UNSET else node_endpoints
