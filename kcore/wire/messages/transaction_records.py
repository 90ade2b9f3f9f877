"""Made by tools/generate_wire.py from kcore/wire/schema/transaction_records.txt; do not edit."""

# fmt: off
# ruff: noqa: RUF023, RUF100

from __future__ import annotations

from kcore.hints import ClassVar
from kcore.wire.message import UNSET, Fields, Message, Struct


class TransactionLogKey(Message):
    __slots__ = ("transactional_id",)

    API_KEY: ClassVar[int] = 0
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int | None] = None
    FIELDS: ClassVar[Fields] = (
        ("transactional_id", "string", 0, 0, -1, -1, "", -1, False, False),
    )

    def __init__(
        self,
        *,
        transactional_id: str = "",
    ) -> None:
        self.transactional_id = transactional_id


class TransactionLogValue(Message):
    __slots__ = ("producer_id", "previous_producer_id", "next_producer_id", "producer_epoch", "next_producer_epoch", "transaction_timeout_ms", "transaction_status", "transaction_partitions", "transaction_last_update_timestamp_ms", "transaction_start_timestamp_ms", "client_transaction_version")

    API_KEY: ClassVar[int] = 0
    VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_FROM: ClassVar[int | None] = 1
    FIELDS: ClassVar[Fields] = (
        ("producer_id", "int64", 0, 32767, -1, -1, 0, -1, False, False),
        ("previous_producer_id", "int64", 1, 32767, -1, -1, -1, 0, False, False),
        ("next_producer_id", "int64", 1, 32767, -1, -1, -1, 1, False, False),
        ("producer_epoch", "int16", 0, 32767, -1, -1, 0, -1, False, False),
        ("next_producer_epoch", "int16", 1, 32767, -1, -1, -1, 3, False, False),
        ("transaction_timeout_ms", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("transaction_status", "int8", 0, 32767, -1, -1, 0, -1, False, False),
        ("transaction_partitions", "[]PartitionsSchema", 0, 32767, 0, 32767, ..., -1, False, False),
        ("transaction_last_update_timestamp_ms", "int64", 0, 32767, -1, -1, 0, -1, False, False),
        ("transaction_start_timestamp_ms", "int64", 0, 32767, -1, -1, 0, -1, False, False),
        ("client_transaction_version", "int16", 1, 32767, -1, -1, 0, 2, False, False),
    )

    class PartitionsSchema(Struct):
        __slots__ = ("topic", "partition_ids")

        FIELDS: ClassVar[Fields] = (
            ("topic", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("partition_ids", "[]int32", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            topic: str = "",
            partition_ids: list[int] = UNSET,
        ) -> None:
            self.topic = topic
            self.partition_ids: list[int] = [] if partition_ids is UNSET else partition_ids

    def __init__(
        self,
        *,
        producer_id: int = 0,
        previous_producer_id: int = -1,
        next_producer_id: int = -1,
        producer_epoch: int = 0,
        next_producer_epoch: int = -1,
        transaction_timeout_ms: int = 0,
        transaction_status: int = 0,
        transaction_partitions: list[TransactionLogValue.PartitionsSchema] | None = UNSET,
        transaction_last_update_timestamp_ms: int = 0,
        transaction_start_timestamp_ms: int = 0,
        client_transaction_version: int = 0,
    ) -> None:
        self.producer_id = producer_id
        self.previous_producer_id = previous_producer_id
        self.next_producer_id = next_producer_id
        self.producer_epoch = producer_epoch
        self.next_producer_epoch = next_producer_epoch
        self.transaction_timeout_ms = transaction_timeout_ms
        self.transaction_status = transaction_status
        self.transaction_partitions: list[TransactionLogValue.PartitionsSchema] | None = [] if transaction_partitions is UNSET else transaction_partitions
        self.transaction_last_update_timestamp_ms = transaction_last_update_timestamp_ms
        self.transaction_start_timestamp_ms = transaction_start_timestamp_ms
        self.client_transaction_version = client_transaction_version
