"""Made by tools/generate_wire.py from kcore/wire/schema/24_add_partitions_to_txn.txt; do not edit."""

# fmt: off
# ruff: noqa: RUF023, RUF100

from __future__ import annotations

from kcore.hints import ClassVar
from kcore.wire.message import UNSET, Fields, Message, Struct


class AddPartitionsToTxnRequest(Message):
    __slots__ = ("transactions", "v3_and_below_transactional_id", "v3_and_below_producer_id", "v3_and_below_producer_epoch", "v3_and_below_topics")

    API_KEY: ClassVar[int] = 24
    VERSIONS: ClassVar[tuple[int, int]] = (0, 5)
    FLEXIBLE_FROM: ClassVar[int | None] = 3
    FIELDS: ClassVar[Fields] = (
        ("transactions", "[]AddPartitionsToTxnTransaction", 4, 32767, -1, -1, ..., -1, False, False),
        ("v3_and_below_transactional_id", "string", 0, 3, -1, -1, "", -1, False, False),
        ("v3_and_below_producer_id", "int64", 0, 3, -1, -1, 0, -1, False, False),
        ("v3_and_below_producer_epoch", "int16", 0, 3, -1, -1, 0, -1, False, False),
        ("v3_and_below_topics", "[]AddPartitionsToTxnTopic", 0, 3, -1, -1, ..., -1, False, False),
    )

    class AddPartitionsToTxnTopic(Struct):
        __slots__ = ("name", "partitions")

        FIELDS: ClassVar[Fields] = (
            ("name", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("partitions", "[]int32", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            name: str = "",
            partitions: list[int] = UNSET,
        ) -> None:
            self.name = name
            self.partitions: list[int] = [] if partitions is UNSET else partitions

    class AddPartitionsToTxnTransaction(Struct):
        __slots__ = ("transactional_id", "producer_id", "producer_epoch", "verify_only", "topics")

        FIELDS: ClassVar[Fields] = (
            ("transactional_id", "string", 4, 32767, -1, -1, "", -1, False, False),
            ("producer_id", "int64", 4, 32767, -1, -1, 0, -1, False, False),
            ("producer_epoch", "int16", 4, 32767, -1, -1, 0, -1, False, False),
            ("verify_only", "bool", 4, 32767, -1, -1, False, -1, False, False),
            ("topics", "[]AddPartitionsToTxnTopic", 4, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            transactional_id: str = "",
            producer_id: int = 0,
            producer_epoch: int = 0,
            verify_only: bool = False,
            topics: list[AddPartitionsToTxnRequest.AddPartitionsToTxnTopic] = UNSET,
        ) -> None:
            self.transactional_id = transactional_id
            self.producer_id = producer_id
            self.producer_epoch = producer_epoch
            self.verify_only = verify_only
            self.topics: list[AddPartitionsToTxnRequest.AddPartitionsToTxnTopic] = [] if topics is UNSET else topics

    def __init__(
        self,
        *,
        transactions: list[AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction] = UNSET,
        v3_and_below_transactional_id: str = "",
        v3_and_below_producer_id: int = 0,
        v3_and_below_producer_epoch: int = 0,
        v3_and_below_topics: list[AddPartitionsToTxnRequest.AddPartitionsToTxnTopic] = UNSET,
    ) -> None:
        self.transactions: list[AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction] = [] if transactions is UNSET else transactions
        self.v3_and_below_transactional_id = v3_and_below_transactional_id
        self.v3_and_below_producer_id = v3_and_below_producer_id
        self.v3_and_below_producer_epoch = v3_and_below_producer_epoch
        self.v3_and_below_topics: list[AddPartitionsToTxnRequest.AddPartitionsToTxnTopic] = [] if v3_and_below_topics is UNSET else v3_and_below_topics


class AddPartitionsToTxnResponse(Message):
    __slots__ = ("throttle_time_ms", "error_code", "results_by_transaction", "results_by_topic_v3_and_below")

    API_KEY: ClassVar[int] = 24
    VERSIONS: ClassVar[tuple[int, int]] = (0, 5)
    FLEXIBLE_FROM: ClassVar[int | None] = 3
    FIELDS: ClassVar[Fields] = (
        ("throttle_time_ms", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("error_code", "int16", 4, 32767, -1, -1, 0, -1, True, False),
        ("results_by_transaction", "[]AddPartitionsToTxnResult", 4, 32767, -1, -1, ..., -1, False, False),
        ("results_by_topic_v3_and_below", "[]AddPartitionsToTxnTopicResult", 0, 3, -1, -1, ..., -1, False, False),
    )

    class AddPartitionsToTxnTopicResult(Struct):
        __slots__ = ("name", "results_by_partition")

        FIELDS: ClassVar[Fields] = (
            ("name", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("results_by_partition", "[]AddPartitionsToTxnPartitionResult", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            name: str = "",
            results_by_partition: list[AddPartitionsToTxnResponse.AddPartitionsToTxnPartitionResult] = UNSET,
        ) -> None:
            self.name = name
            self.results_by_partition: list[AddPartitionsToTxnResponse.AddPartitionsToTxnPartitionResult] = [] if results_by_partition is UNSET else results_by_partition

    class AddPartitionsToTxnPartitionResult(Struct):
        __slots__ = ("partition_index", "partition_error_code")

        FIELDS: ClassVar[Fields] = (
            ("partition_index", "int32", 0, 32767, -1, -1, 0, -1, False, False),
            ("partition_error_code", "int16", 0, 32767, -1, -1, 0, -1, False, False),
        )

        def __init__(
            self,
            *,
            partition_index: int = 0,
            partition_error_code: int = 0,
        ) -> None:
            self.partition_index = partition_index
            self.partition_error_code = partition_error_code

    class AddPartitionsToTxnResult(Struct):
        __slots__ = ("transactional_id", "topic_results")

        FIELDS: ClassVar[Fields] = (
            ("transactional_id", "string", 4, 32767, -1, -1, "", -1, False, False),
            ("topic_results", "[]AddPartitionsToTxnTopicResult", 4, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            transactional_id: str = "",
            topic_results: list[AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult] = UNSET,
        ) -> None:
            self.transactional_id = transactional_id
            self.topic_results: list[AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult] = [] if topic_results is UNSET else topic_results

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        results_by_transaction: list[AddPartitionsToTxnResponse.AddPartitionsToTxnResult] = UNSET,
        results_by_topic_v3_and_below: list[AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult] = UNSET,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.results_by_transaction: list[AddPartitionsToTxnResponse.AddPartitionsToTxnResult] = [] if results_by_transaction is UNSET else results_by_transaction
        self.results_by_topic_v3_and_below: list[AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult] = [] if results_by_topic_v3_and_below is UNSET else results_by_topic_v3_and_below
