"""Made by tools/generate_wire.py from kcore/wire/schema/28_txn_offset_commit.txt; do not edit."""

# fmt: off
# ruff: noqa: RUF023, RUF100

from __future__ import annotations

from kcore.hints import ClassVar
from kcore.wire.message import UNSET, ZERO_UUID, Fields, Message, Struct


class TxnOffsetCommitRequest(Message):
    __slots__ = ("transactional_id", "group_id", "producer_id", "producer_epoch", "generation_id_or_member_epoch", "member_id", "group_instance_id", "topics")

    API_KEY: ClassVar[int] = 28
    VERSIONS: ClassVar[tuple[int, int]] = (0, 6)
    FLEXIBLE_FROM: ClassVar[int | None] = 3
    FIELDS: ClassVar[Fields] = (
        ("transactional_id", "string", 0, 32767, -1, -1, "", -1, False, False),
        ("group_id", "string", 0, 32767, -1, -1, "", -1, False, False),
        ("producer_id", "int64", 0, 32767, -1, -1, 0, -1, False, False),
        ("producer_epoch", "int16", 0, 32767, -1, -1, 0, -1, False, False),
        ("generation_id_or_member_epoch", "int32", 3, 32767, -1, -1, -1, -1, False, False),
        ("member_id", "string", 3, 32767, -1, -1, "", -1, False, False),
        ("group_instance_id", "string", 3, 32767, 3, 32767, None, -1, False, False),
        ("topics", "[]TxnOffsetCommitRequestTopic", 0, 32767, -1, -1, ..., -1, False, False),
    )

    class TxnOffsetCommitRequestPartition(Struct):
        __slots__ = ("partition_index", "committed_offset", "committed_leader_epoch", "committed_metadata")

        FIELDS: ClassVar[Fields] = (
            ("partition_index", "int32", 0, 32767, -1, -1, 0, -1, False, False),
            ("committed_offset", "int64", 0, 32767, -1, -1, 0, -1, False, False),
            ("committed_leader_epoch", "int32", 2, 32767, -1, -1, -1, -1, True, False),
            ("committed_metadata", "string", 0, 32767, 0, 32767, "", -1, False, False),
        )

        def __init__(
            self,
            *,
            partition_index: int = 0,
            committed_offset: int = 0,
            committed_leader_epoch: int = -1,
            committed_metadata: str | None = "",
        ) -> None:
            self.partition_index = partition_index
            self.committed_offset = committed_offset
            self.committed_leader_epoch = committed_leader_epoch
            self.committed_metadata = committed_metadata

    class TxnOffsetCommitRequestTopic(Struct):
        __slots__ = ("name", "topic_id", "partitions")

        FIELDS: ClassVar[Fields] = (
            ("name", "string", 0, 5, -1, -1, "", -1, True, False),
            ("topic_id", "uuid", 6, 32767, -1, -1, b"\0" * 16, -1, True, False),
            ("partitions", "[]TxnOffsetCommitRequestPartition", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            name: str = "",
            topic_id: bytes = ZERO_UUID,
            partitions: list[TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition] = UNSET,
        ) -> None:
            self.name = name
            self.topic_id = topic_id
            self.partitions: list[TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition] = [] if partitions is UNSET else partitions

    def __init__(
        self,
        *,
        transactional_id: str = "",
        group_id: str = "",
        producer_id: int = 0,
        producer_epoch: int = 0,
        generation_id_or_member_epoch: int = -1,
        member_id: str = "",
        group_instance_id: str | None = None,
        topics: list[TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic] = UNSET,
    ) -> None:
        self.transactional_id = transactional_id
        self.group_id = group_id
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.generation_id_or_member_epoch = generation_id_or_member_epoch
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.topics: list[TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic] = [] if topics is UNSET else topics


class TxnOffsetCommitResponse(Message):
    __slots__ = ("throttle_time_ms", "topics")

    API_KEY: ClassVar[int] = 28
    VERSIONS: ClassVar[tuple[int, int]] = (0, 6)
    FLEXIBLE_FROM: ClassVar[int | None] = 3
    FIELDS: ClassVar[Fields] = (
        ("throttle_time_ms", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("topics", "[]TxnOffsetCommitResponseTopic", 0, 32767, -1, -1, ..., -1, False, False),
    )

    class TxnOffsetCommitResponsePartition(Struct):
        __slots__ = ("partition_index", "error_code")

        FIELDS: ClassVar[Fields] = (
            ("partition_index", "int32", 0, 32767, -1, -1, 0, -1, False, False),
            ("error_code", "int16", 0, 32767, -1, -1, 0, -1, False, False),
        )

        def __init__(
            self,
            *,
            partition_index: int = 0,
            error_code: int = 0,
        ) -> None:
            self.partition_index = partition_index
            self.error_code = error_code

    class TxnOffsetCommitResponseTopic(Struct):
        __slots__ = ("name", "topic_id", "partitions")

        FIELDS: ClassVar[Fields] = (
            ("name", "string", 0, 5, -1, -1, "", -1, True, False),
            ("topic_id", "uuid", 6, 32767, -1, -1, b"\0" * 16, -1, True, False),
            ("partitions", "[]TxnOffsetCommitResponsePartition", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            name: str = "",
            topic_id: bytes = ZERO_UUID,
            partitions: list[TxnOffsetCommitResponse.TxnOffsetCommitResponsePartition] = UNSET,
        ) -> None:
            self.name = name
            self.topic_id = topic_id
            self.partitions: list[TxnOffsetCommitResponse.TxnOffsetCommitResponsePartition] = [] if partitions is UNSET else partitions

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        topics: list[TxnOffsetCommitResponse.TxnOffsetCommitResponseTopic] = UNSET,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics: list[TxnOffsetCommitResponse.TxnOffsetCommitResponseTopic] = [] if topics is UNSET else topics
