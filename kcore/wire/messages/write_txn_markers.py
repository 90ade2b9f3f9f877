"""Made by tools/generate_wire.py from kcore/wire/schema/27_write_txn_markers.txt; do not edit."""

# fmt: off
# ruff: noqa: RUF023, RUF100

from __future__ import annotations

from kcore.hints import ClassVar
from kcore.wire.message import UNSET, Fields, Message, Struct


class WriteTxnMarkersRequest(Message):
    __slots__ = ("markers",)

    API_KEY: ClassVar[int] = 27
    VERSIONS: ClassVar[tuple[int, int]] = (1, 2)
    FLEXIBLE_FROM: ClassVar[int | None] = 1
    FIELDS: ClassVar[Fields] = (
        ("markers", "[]WritableTxnMarker", 0, 32767, -1, -1, ..., -1, False, False),
    )

    class WritableTxnMarkerTopic(Struct):
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

    class WritableTxnMarker(Struct):
        __slots__ = ("producer_id", "producer_epoch", "transaction_result", "topics", "coordinator_epoch", "transaction_version")

        FIELDS: ClassVar[Fields] = (
            ("producer_id", "int64", 0, 32767, -1, -1, 0, -1, False, False),
            ("producer_epoch", "int16", 0, 32767, -1, -1, 0, -1, False, False),
            ("transaction_result", "bool", 0, 32767, -1, -1, False, -1, False, False),
            ("topics", "[]WritableTxnMarkerTopic", 0, 32767, -1, -1, ..., -1, False, False),
            ("coordinator_epoch", "int32", 0, 32767, -1, -1, 0, -1, False, False),
            ("transaction_version", "int8", 2, 32767, -1, -1, 0, -1, True, False),
        )

        def __init__(
            self,
            *,
            producer_id: int = 0,
            producer_epoch: int = 0,
            transaction_result: bool = False,
            topics: list[WriteTxnMarkersRequest.WritableTxnMarkerTopic] = UNSET,
            coordinator_epoch: int = 0,
            transaction_version: int = 0,
        ) -> None:
            self.producer_id = producer_id
            self.producer_epoch = producer_epoch
            self.transaction_result = transaction_result
            self.topics: list[WriteTxnMarkersRequest.WritableTxnMarkerTopic] = [] if topics is UNSET else topics
            self.coordinator_epoch = coordinator_epoch
            self.transaction_version = transaction_version

    def __init__(
        self,
        *,
        markers: list[WriteTxnMarkersRequest.WritableTxnMarker] = UNSET,
    ) -> None:
        self.markers: list[WriteTxnMarkersRequest.WritableTxnMarker] = [] if markers is UNSET else markers


class WriteTxnMarkersResponse(Message):
    __slots__ = ("markers",)

    API_KEY: ClassVar[int] = 27
    VERSIONS: ClassVar[tuple[int, int]] = (1, 2)
    FLEXIBLE_FROM: ClassVar[int | None] = 1
    FIELDS: ClassVar[Fields] = (
        ("markers", "[]WritableTxnMarkerResult", 0, 32767, -1, -1, ..., -1, False, False),
    )

    class WritableTxnMarkerPartitionResult(Struct):
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

    class WritableTxnMarkerTopicResult(Struct):
        __slots__ = ("name", "partitions")

        FIELDS: ClassVar[Fields] = (
            ("name", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("partitions", "[]WritableTxnMarkerPartitionResult", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            name: str = "",
            partitions: list[WriteTxnMarkersResponse.WritableTxnMarkerPartitionResult] = UNSET,
        ) -> None:
            self.name = name
            self.partitions: list[WriteTxnMarkersResponse.WritableTxnMarkerPartitionResult] = [] if partitions is UNSET else partitions

    class WritableTxnMarkerResult(Struct):
        __slots__ = ("producer_id", "topics")

        FIELDS: ClassVar[Fields] = (
            ("producer_id", "int64", 0, 32767, -1, -1, 0, -1, False, False),
            ("topics", "[]WritableTxnMarkerTopicResult", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            producer_id: int = 0,
            topics: list[WriteTxnMarkersResponse.WritableTxnMarkerTopicResult] = UNSET,
        ) -> None:
            self.producer_id = producer_id
            self.topics: list[WriteTxnMarkersResponse.WritableTxnMarkerTopicResult] = [] if topics is UNSET else topics

    def __init__(
        self,
        *,
        markers: list[WriteTxnMarkersResponse.WritableTxnMarkerResult] = UNSET,
    ) -> None:
        self.markers: list[WriteTxnMarkersResponse.WritableTxnMarkerResult] = [] if markers is UNSET else markers
