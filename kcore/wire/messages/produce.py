"""Made by tools/generate_wire.py from kcore/wire/schema/00_produce.txt; do not edit."""

# fmt: off
# ruff: noqa: RUF023, RUF100

from __future__ import annotations

from kcore.hints import ClassVar
from kcore.wire.message import UNSET, ZERO_UUID, Fields, Message, Struct


class ProduceRequest(Message):
    __slots__ = ("transactional_id", "acks", "timeout_ms", "topic_data")

    API_KEY: ClassVar[int] = 0
    VERSIONS: ClassVar[tuple[int, int]] = (3, 13)
    FLEXIBLE_FROM: ClassVar[int | None] = 9
    FIELDS: ClassVar[Fields] = (
        ("transactional_id", "string", 3, 32767, 3, 32767, None, -1, False, False),
        ("acks", "int16", 0, 32767, -1, -1, 0, -1, False, False),
        ("timeout_ms", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("topic_data", "[]TopicProduceData", 0, 32767, -1, -1, ..., -1, False, False),
    )

    class PartitionProduceData(Struct):
        __slots__ = ("index", "records")

        FIELDS: ClassVar[Fields] = (
            ("index", "int32", 0, 32767, -1, -1, 0, -1, False, False),
            ("records", "records", 0, 32767, 0, 32767, b"", -1, False, False),
        )

        def __init__(
            self,
            *,
            index: int = 0,
            records: bytes | bytearray | memoryview | None = b"",
        ) -> None:
            self.index = index
            self.records = records

    class TopicProduceData(Struct):
        __slots__ = ("name", "topic_id", "partition_data")

        FIELDS: ClassVar[Fields] = (
            ("name", "string", 0, 12, -1, -1, "", -1, True, False),
            ("topic_id", "uuid", 13, 32767, -1, -1, b"\0" * 16, -1, True, False),
            ("partition_data", "[]PartitionProduceData", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            name: str = "",
            topic_id: bytes = ZERO_UUID,
            partition_data: list[ProduceRequest.PartitionProduceData] = UNSET,
        ) -> None:
            self.name = name
            self.topic_id = topic_id
            self.partition_data: list[ProduceRequest.PartitionProduceData] = [] if partition_data is UNSET else partition_data

    def __init__(
        self,
        *,
        transactional_id: str | None = None,
        acks: int = 0,
        timeout_ms: int = 0,
        topic_data: list[ProduceRequest.TopicProduceData] = UNSET,
    ) -> None:
        self.transactional_id = transactional_id
        self.acks = acks
        self.timeout_ms = timeout_ms
        self.topic_data: list[ProduceRequest.TopicProduceData] = [] if topic_data is UNSET else topic_data


class ProduceResponse(Message):
    __slots__ = ("responses", "throttle_time_ms", "node_endpoints")

    API_KEY: ClassVar[int] = 0
    VERSIONS: ClassVar[tuple[int, int]] = (3, 13)
    FLEXIBLE_FROM: ClassVar[int | None] = 9
    FIELDS: ClassVar[Fields] = (
        ("responses", "[]TopicProduceResponse", 0, 32767, -1, -1, ..., -1, False, False),
        ("throttle_time_ms", "int32", 1, 32767, -1, -1, 0, -1, True, False),
        ("node_endpoints", "[]NodeEndpoint", 10, 32767, -1, -1, ..., 0, False, False),
    )

    class BatchIndexAndErrorMessage(Struct):
        __slots__ = ("batch_index", "batch_index_error_message")

        FIELDS: ClassVar[Fields] = (
            ("batch_index", "int32", 8, 32767, -1, -1, 0, -1, False, False),
            ("batch_index_error_message", "string", 8, 32767, 8, 32767, None, -1, False, False),
        )

        def __init__(
            self,
            *,
            batch_index: int = 0,
            batch_index_error_message: str | None = None,
        ) -> None:
            self.batch_index = batch_index
            self.batch_index_error_message = batch_index_error_message

    class LeaderIdAndEpoch(Struct):
        __slots__ = ("leader_id", "leader_epoch")

        FIELDS: ClassVar[Fields] = (
            ("leader_id", "int32", 10, 32767, -1, -1, -1, -1, False, False),
            ("leader_epoch", "int32", 10, 32767, -1, -1, -1, -1, False, False),
        )

        def __init__(
            self,
            *,
            leader_id: int = -1,
            leader_epoch: int = -1,
        ) -> None:
            self.leader_id = leader_id
            self.leader_epoch = leader_epoch

    class PartitionProduceResponse(Struct):
        __slots__ = ("index", "error_code", "base_offset", "log_append_time_ms", "log_start_offset", "record_errors", "error_message", "current_leader")

        FIELDS: ClassVar[Fields] = (
            ("index", "int32", 0, 32767, -1, -1, 0, -1, False, False),
            ("error_code", "int16", 0, 32767, -1, -1, 0, -1, False, False),
            ("base_offset", "int64", 0, 32767, -1, -1, 0, -1, False, False),
            ("log_append_time_ms", "int64", 2, 32767, -1, -1, -1, -1, True, False),
            ("log_start_offset", "int64", 5, 32767, -1, -1, -1, -1, True, False),
            ("record_errors", "[]BatchIndexAndErrorMessage", 8, 32767, -1, -1, ..., -1, True, False),
            ("error_message", "string", 8, 32767, 8, 32767, None, -1, True, False),
            ("current_leader", "LeaderIdAndEpoch", 10, 32767, -1, -1, ..., 0, False, False),
        )

        def __init__(
            self,
            *,
            index: int = 0,
            error_code: int = 0,
            base_offset: int = 0,
            log_append_time_ms: int = -1,
            log_start_offset: int = -1,
            record_errors: list[ProduceResponse.BatchIndexAndErrorMessage] = UNSET,
            error_message: str | None = None,
            current_leader: ProduceResponse.LeaderIdAndEpoch = UNSET,
        ) -> None:
            self.index = index
            self.error_code = error_code
            self.base_offset = base_offset
            self.log_append_time_ms = log_append_time_ms
            self.log_start_offset = log_start_offset
            self.record_errors: list[ProduceResponse.BatchIndexAndErrorMessage] = [] if record_errors is UNSET else record_errors
            self.error_message = error_message
            self.current_leader: ProduceResponse.LeaderIdAndEpoch = ProduceResponse.LeaderIdAndEpoch() if current_leader is UNSET else current_leader

    class TopicProduceResponse(Struct):
        __slots__ = ("name", "topic_id", "partition_responses")

        FIELDS: ClassVar[Fields] = (
            ("name", "string", 0, 12, -1, -1, "", -1, True, False),
            ("topic_id", "uuid", 13, 32767, -1, -1, b"\0" * 16, -1, True, False),
            ("partition_responses", "[]PartitionProduceResponse", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            name: str = "",
            topic_id: bytes = ZERO_UUID,
            partition_responses: list[ProduceResponse.PartitionProduceResponse] = UNSET,
        ) -> None:
            self.name = name
            self.topic_id = topic_id
            self.partition_responses: list[ProduceResponse.PartitionProduceResponse] = [] if partition_responses is UNSET else partition_responses

    class NodeEndpoint(Struct):
        __slots__ = ("node_id", "host", "port", "rack")

        FIELDS: ClassVar[Fields] = (
            ("node_id", "int32", 10, 32767, -1, -1, 0, -1, False, False),
            ("host", "string", 10, 32767, -1, -1, "", -1, False, False),
            ("port", "int32", 10, 32767, -1, -1, 0, -1, False, False),
            ("rack", "string", 10, 32767, 10, 32767, None, -1, False, False),
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
        responses: list[ProduceResponse.TopicProduceResponse] = UNSET,
        throttle_time_ms: int = 0,
        node_endpoints: list[ProduceResponse.NodeEndpoint] = UNSET,
    ) -> None:
        self.responses: list[ProduceResponse.TopicProduceResponse] = [] if responses is UNSET else responses
        self.throttle_time_ms = throttle_time_ms
        self.node_endpoints: list[ProduceResponse.NodeEndpoint] = [] if node_endpoints is UNSET else node_endpoints
