"""Made by tools/generate_wire.py from kcore/wire/schema/61_describe_producers.txt; do not edit."""

# fmt: off
# ruff: noqa: RUF023, RUF100

from __future__ import annotations

from kcore.hints import ClassVar
from kcore.wire.message import UNSET, Fields, Message, Struct


class DescribeProducersRequest(Message):
    __slots__ = ("topics",)

    API_KEY: ClassVar[int] = 61
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int | None] = 0
    FIELDS: ClassVar[Fields] = (
        ("topics", "[]TopicRequest", 0, 32767, -1, -1, ..., -1, False, False),
    )

    class TopicRequest(Struct):
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
        topics: list[DescribeProducersRequest.TopicRequest] = UNSET,
    ) -> None:
        self.topics: list[DescribeProducersRequest.TopicRequest] = [] if topics is UNSET else topics


class DescribeProducersResponse(Message):
    __slots__ = ("throttle_time_ms", "topics")

    API_KEY: ClassVar[int] = 61
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int | None] = 0
    FIELDS: ClassVar[Fields] = (
        ("throttle_time_ms", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("topics", "[]TopicResponse", 0, 32767, -1, -1, ..., -1, False, False),
    )

    class ProducerState(Struct):
        __slots__ = ("producer_id", "producer_epoch", "last_sequence", "last_timestamp", "coordinator_epoch", "current_txn_start_offset")

        FIELDS: ClassVar[Fields] = (
            ("producer_id", "int64", 0, 32767, -1, -1, 0, -1, False, False),
            ("producer_epoch", "int32", 0, 32767, -1, -1, 0, -1, False, False),
            ("last_sequence", "int32", 0, 32767, -1, -1, -1, -1, False, False),
            ("last_timestamp", "int64", 0, 32767, -1, -1, -1, -1, False, False),
            ("coordinator_epoch", "int32", 0, 32767, -1, -1, 0, -1, False, False),
            ("current_txn_start_offset", "int64", 0, 32767, -1, -1, -1, -1, False, False),
        )

        def __init__(
            self,
            *,
            producer_id: int = 0,
            producer_epoch: int = 0,
            last_sequence: int = -1,
            last_timestamp: int = -1,
            coordinator_epoch: int = 0,
            current_txn_start_offset: int = -1,
        ) -> None:
            self.producer_id = producer_id
            self.producer_epoch = producer_epoch
            self.last_sequence = last_sequence
            self.last_timestamp = last_timestamp
            self.coordinator_epoch = coordinator_epoch
            self.current_txn_start_offset = current_txn_start_offset

    class PartitionResponse(Struct):
        __slots__ = ("partition_index", "error_code", "error_message", "active_producers")

        FIELDS: ClassVar[Fields] = (
            ("partition_index", "int32", 0, 32767, -1, -1, 0, -1, False, False),
            ("error_code", "int16", 0, 32767, -1, -1, 0, -1, False, False),
            ("error_message", "string", 0, 32767, 0, 32767, None, -1, False, False),
            ("active_producers", "[]ProducerState", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            partition_index: int = 0,
            error_code: int = 0,
            error_message: str | None = None,
            active_producers: list[DescribeProducersResponse.ProducerState] = UNSET,
        ) -> None:
            self.partition_index = partition_index
            self.error_code = error_code
            self.error_message = error_message
            self.active_producers: list[DescribeProducersResponse.ProducerState] = [] if active_producers is UNSET else active_producers

    class TopicResponse(Struct):
        __slots__ = ("name", "partitions")

        FIELDS: ClassVar[Fields] = (
            ("name", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("partitions", "[]PartitionResponse", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            name: str = "",
            partitions: list[DescribeProducersResponse.PartitionResponse] = UNSET,
        ) -> None:
            self.name = name
            self.partitions: list[DescribeProducersResponse.PartitionResponse] = [] if partitions is UNSET else partitions

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        topics: list[DescribeProducersResponse.TopicResponse] = UNSET,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics: list[DescribeProducersResponse.TopicResponse] = [] if topics is UNSET else topics
