"""Made by tools/generate_wire.py from kcore/wire/schema/65_describe_transactions.txt; do not edit."""

# fmt: off
# ruff: noqa: RUF023, RUF100

from __future__ import annotations

from kcore.hints import ClassVar
from kcore.wire.message import UNSET, Fields, Message, Struct


class DescribeTransactionsRequest(Message):
    __slots__ = ("transactional_ids",)

    API_KEY: ClassVar[int] = 65
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int | None] = 0
    FIELDS: ClassVar[Fields] = (
        ("transactional_ids", "[]string", 0, 32767, -1, -1, ..., -1, False, False),
    )

    def __init__(
        self,
        *,
        transactional_ids: list[str] = UNSET,
    ) -> None:
        self.transactional_ids: list[str] = [] if transactional_ids is UNSET else transactional_ids


class DescribeTransactionsResponse(Message):
    __slots__ = ("throttle_time_ms", "transaction_states")

    API_KEY: ClassVar[int] = 65
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int | None] = 0
    FIELDS: ClassVar[Fields] = (
        ("throttle_time_ms", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("transaction_states", "[]TransactionState", 0, 32767, -1, -1, ..., -1, False, False),
    )

    class TopicData(Struct):
        __slots__ = ("topic", "partitions")

        FIELDS: ClassVar[Fields] = (
            ("topic", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("partitions", "[]int32", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            topic: str = "",
            partitions: list[int] = UNSET,
        ) -> None:
            self.topic = topic
            self.partitions: list[int] = [] if partitions is UNSET else partitions

    class TransactionState(Struct):
        __slots__ = ("error_code", "transactional_id", "transaction_state", "transaction_timeout_ms", "transaction_start_time_ms", "producer_id", "producer_epoch", "topics")

        FIELDS: ClassVar[Fields] = (
            ("error_code", "int16", 0, 32767, -1, -1, 0, -1, False, False),
            ("transactional_id", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("transaction_state", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("transaction_timeout_ms", "int32", 0, 32767, -1, -1, 0, -1, False, False),
            ("transaction_start_time_ms", "int64", 0, 32767, -1, -1, 0, -1, False, False),
            ("producer_id", "int64", 0, 32767, -1, -1, 0, -1, False, False),
            ("producer_epoch", "int16", 0, 32767, -1, -1, 0, -1, False, False),
            ("topics", "[]TopicData", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            error_code: int = 0,
            transactional_id: str = "",
            transaction_state: str = "",
            transaction_timeout_ms: int = 0,
            transaction_start_time_ms: int = 0,
            producer_id: int = 0,
            producer_epoch: int = 0,
            topics: list[DescribeTransactionsResponse.TopicData] = UNSET,
        ) -> None:
            self.error_code = error_code
            self.transactional_id = transactional_id
            self.transaction_state = transaction_state
            self.transaction_timeout_ms = transaction_timeout_ms
            self.transaction_start_time_ms = transaction_start_time_ms
            self.producer_id = producer_id
            self.producer_epoch = producer_epoch
            self.topics: list[DescribeTransactionsResponse.TopicData] = [] if topics is UNSET else topics

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        transaction_states: list[DescribeTransactionsResponse.TransactionState] = UNSET,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.transaction_states: list[DescribeTransactionsResponse.TransactionState] = [] if transaction_states is UNSET else transaction_states
