"""Made by tools/generate_wire.py from kcore/wire/schema/79_share_acknowledge.txt; do not edit."""

# fmt: off
# ruff: noqa: RUF023, RUF100

from __future__ import annotations

from kcore.hints import ClassVar
from kcore.wire.message import UNSET, ZERO_UUID, Fields, Message, Struct


class ShareAcknowledgeRequest(Message):
    __slots__ = ("group_id", "member_id", "share_session_epoch", "is_renew_ack", "topics")

    API_KEY: ClassVar[int] = 79
    VERSIONS: ClassVar[tuple[int, int]] = (1, 2)
    FLEXIBLE_FROM: ClassVar[int | None] = 0
    FIELDS: ClassVar[Fields] = (
        ("group_id", "string", 0, 32767, 0, 32767, None, -1, False, False),
        ("member_id", "string", 0, 32767, 0, 32767, "", -1, False, False),
        ("share_session_epoch", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("is_renew_ack", "bool", 2, 32767, -1, -1, False, -1, False, False),
        ("topics", "[]AcknowledgeTopic", 0, 32767, -1, -1, ..., -1, False, False),
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

    class AcknowledgePartition(Struct):
        __slots__ = ("partition_index", "acknowledgement_batches")

        FIELDS: ClassVar[Fields] = (
            ("partition_index", "int32", 0, 32767, -1, -1, 0, -1, False, False),
            ("acknowledgement_batches", "[]AcknowledgementBatch", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            partition_index: int = 0,
            acknowledgement_batches: list[ShareAcknowledgeRequest.AcknowledgementBatch] = UNSET,
        ) -> None:
            self.partition_index = partition_index
            self.acknowledgement_batches: list[ShareAcknowledgeRequest.AcknowledgementBatch] = [] if acknowledgement_batches is UNSET else acknowledgement_batches

    class AcknowledgeTopic(Struct):
        __slots__ = ("topic_id", "partitions")

        FIELDS: ClassVar[Fields] = (
            ("topic_id", "uuid", 0, 32767, -1, -1, b"\0" * 16, -1, False, False),
            ("partitions", "[]AcknowledgePartition", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            topic_id: bytes = ZERO_UUID,
            partitions: list[ShareAcknowledgeRequest.AcknowledgePartition] = UNSET,
        ) -> None:
            self.topic_id = topic_id
            self.partitions: list[ShareAcknowledgeRequest.AcknowledgePartition] = [] if partitions is UNSET else partitions

    def __init__(
        self,
        *,
        group_id: str | None = None,
        member_id: str | None = "",
        share_session_epoch: int = 0,
        is_renew_ack: bool = False,
        topics: list[ShareAcknowledgeRequest.AcknowledgeTopic] = UNSET,
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.share_session_epoch = share_session_epoch
        self.is_renew_ack = is_renew_ack
        self.topics: list[ShareAcknowledgeRequest.AcknowledgeTopic] = [] if topics is UNSET else topics


class ShareAcknowledgeResponse(Message):
    __slots__ = ("throttle_time_ms", "error_code", "error_message", "acquisition_lock_timeout_ms", "responses", "node_endpoints")

    API_KEY: ClassVar[int] = 79
    VERSIONS: ClassVar[tuple[int, int]] = (1, 2)
    FLEXIBLE_FROM: ClassVar[int | None] = 0
    FIELDS: ClassVar[Fields] = (
        ("throttle_time_ms", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("error_code", "int16", 0, 32767, -1, -1, 0, -1, False, False),
        ("error_message", "string", 0, 32767, 0, 32767, None, -1, False, False),
        ("acquisition_lock_timeout_ms", "int32", 2, 32767, -1, -1, 0, -1, True, False),
        ("responses", "[]ShareAcknowledgeTopicResponse", 0, 32767, -1, -1, ..., -1, False, False),
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

    class PartitionData(Struct):
        __slots__ = ("partition_index", "error_code", "error_message", "current_leader")

        FIELDS: ClassVar[Fields] = (
            ("partition_index", "int32", 0, 32767, -1, -1, 0, -1, False, False),
            ("error_code", "int16", 0, 32767, -1, -1, 0, -1, False, False),
            ("error_message", "string", 0, 32767, 0, 32767, None, -1, False, False),
            ("current_leader", "LeaderIdAndEpoch", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            partition_index: int = 0,
            error_code: int = 0,
            error_message: str | None = None,
            current_leader: ShareAcknowledgeResponse.LeaderIdAndEpoch = UNSET,
        ) -> None:
            self.partition_index = partition_index
            self.error_code = error_code
            self.error_message = error_message
            self.current_leader: ShareAcknowledgeResponse.LeaderIdAndEpoch = ShareAcknowledgeResponse.LeaderIdAndEpoch() if current_leader is UNSET else current_leader

    class ShareAcknowledgeTopicResponse(Struct):
        __slots__ = ("topic_id", "partitions")

        FIELDS: ClassVar[Fields] = (
            ("topic_id", "uuid", 0, 32767, -1, -1, b"\0" * 16, -1, False, False),
            ("partitions", "[]PartitionData", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            topic_id: bytes = ZERO_UUID,
            partitions: list[ShareAcknowledgeResponse.PartitionData] = UNSET,
        ) -> None:
            self.topic_id = topic_id
            self.partitions: list[ShareAcknowledgeResponse.PartitionData] = [] if partitions is UNSET else partitions

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
        responses: list[ShareAcknowledgeResponse.ShareAcknowledgeTopicResponse] = UNSET,
        node_endpoints: list[ShareAcknowledgeResponse.NodeEndpoint] = UNSET,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.acquisition_lock_timeout_ms = acquisition_lock_timeout_ms
        self.responses: list[ShareAcknowledgeResponse.ShareAcknowledgeTopicResponse] = [] if responses is UNSET else responses
        self.node_endpoints: list[ShareAcknowledgeResponse.NodeEndpoint] = [] if node_endpoints is UNSET else node_endpoints
