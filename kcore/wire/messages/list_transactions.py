"""Made by tools/generate_wire.py from kcore/wire/schema/66_list_transactions.txt; do not edit."""

# fmt: off
# ruff: noqa: RUF023, RUF100

from __future__ import annotations

from kcore.hints import ClassVar
from kcore.wire.message import UNSET, Fields, Message, Struct


class ListTransactionsRequest(Message):
    __slots__ = ("state_filters", "producer_id_filters", "duration_filter", "transactional_id_pattern")

    API_KEY: ClassVar[int] = 66
    VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_FROM: ClassVar[int | None] = 0
    FIELDS: ClassVar[Fields] = (
        ("state_filters", "[]string", 0, 32767, -1, -1, ..., -1, False, False),
        ("producer_id_filters", "[]int64", 0, 32767, -1, -1, ..., -1, False, False),
        ("duration_filter", "int64", 1, 32767, -1, -1, -1, -1, False, False),
        ("transactional_id_pattern", "string", 2, 32767, 2, 32767, None, -1, False, False),
    )

    def __init__(
        self,
        *,
        state_filters: list[str] = UNSET,
        producer_id_filters: list[int] = UNSET,
        duration_filter: int = -1,
        transactional_id_pattern: str | None = None,
    ) -> None:
        self.state_filters: list[str] = [] if state_filters is UNSET else state_filters
        self.producer_id_filters: list[int] = [] if producer_id_filters is UNSET else producer_id_filters
        self.duration_filter = duration_filter
        self.transactional_id_pattern = transactional_id_pattern


class ListTransactionsResponse(Message):
    __slots__ = ("throttle_time_ms", "error_code", "unknown_state_filters", "transaction_states")

    API_KEY: ClassVar[int] = 66
    VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_FROM: ClassVar[int | None] = 0
    FIELDS: ClassVar[Fields] = (
        ("throttle_time_ms", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("error_code", "int16", 0, 32767, -1, -1, 0, -1, False, False),
        ("unknown_state_filters", "[]string", 0, 32767, -1, -1, ..., -1, False, False),
        ("transaction_states", "[]TransactionState", 0, 32767, -1, -1, ..., -1, False, False),
    )

    class TransactionState(Struct):
        __slots__ = ("transactional_id", "producer_id", "transaction_state")

        FIELDS: ClassVar[Fields] = (
            ("transactional_id", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("producer_id", "int64", 0, 32767, -1, -1, 0, -1, False, False),
            ("transaction_state", "string", 0, 32767, -1, -1, "", -1, False, False),
        )

        def __init__(
            self,
            *,
            transactional_id: str = "",
            producer_id: int = 0,
            transaction_state: str = "",
        ) -> None:
            self.transactional_id = transactional_id
            self.producer_id = producer_id
            self.transaction_state = transaction_state

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        unknown_state_filters: list[str] = UNSET,
        transaction_states: list[ListTransactionsResponse.TransactionState] = UNSET,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.unknown_state_filters: list[str] = [] if unknown_state_filters is UNSET else unknown_state_filters
        self.transaction_states: list[ListTransactionsResponse.TransactionState] = [] if transaction_states is UNSET else transaction_states
