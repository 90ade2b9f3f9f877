"""DescribeTransactions and ListTransactions (KIP-664, KIP-994, KIP-1152)."""

from __future__ import annotations

from collections.abc import Iterable

from kcore.coordinator.patterns import compiled
from kcore.coordinator.transactions.shard import Shard
from kcore.coordinator.transactions.states import REFUSED, TransactionState
from kcore.coordinator.transactions.transaction import Transaction
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import (
    DescribeTransactionsResponse,
    ListTransactionsRequest,
    ListTransactionsResponse,
)

Described = DescribeTransactionsResponse.TransactionState


def describe(transactional_id: str, shard: Shard) -> Described:
    """One id; a transaction that is being ended shows the partitions without a marker yet."""
    transaction = shard.get(transactional_id)
    if transaction is None:
        return Described(
            transactional_id=transactional_id, error_code=ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
        )
    state = TransactionState.DEAD if shard.dying(transactional_id) else transaction.state
    error = REFUSED[state].get(ApiKey.DESCRIBE_TRANSACTIONS)
    if error:
        return Described(transactional_id=transactional_id, error_code=error)
    topics: dict[str, list[int]] = {}
    for tp in sorted(shard.marking.get(transactional_id, transaction.partitions)):
        topics.setdefault(tp.topic, []).append(tp.partition)
    return Described(
        transactional_id=transactional_id,
        transaction_state=state.value,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_start_time_ms=transaction.started_ms,
        producer_id=transaction.producer_id,
        producer_epoch=transaction.epoch,
        topics=[
            DescribeTransactionsResponse.TopicData(topic=topic, partitions=numbers)
            for topic, numbers in topics.items()
        ],
    )


def listed(
    transactions: Iterable[Transaction], request: ListTransactionsRequest, wall_ms: int
) -> ListTransactionsResponse:
    """All ids that pass every filter."""
    known = {state.value: state for state in TransactionState}
    states = {known[name] for name in request.state_filters if name in known}
    response = ListTransactionsResponse(
        unknown_state_filters=[name for name in request.state_filters if name not in known]
    )
    pattern = None
    if request.transactional_id_pattern:
        pattern = compiled(request.transactional_id_pattern)
        if pattern is None:
            return ListTransactionsResponse(error_code=ErrorCode.INVALID_REGULAR_EXPRESSION)
    for transaction in transactions:
        running_ms = wall_ms - transaction.started_ms
        if (
            (
                request.producer_id_filters
                and transaction.producer_id not in request.producer_id_filters
            )
            or (request.state_filters and transaction.state not in states)
            or 0 <= request.duration_filter >= running_ms
            or (pattern is not None and not pattern.fullmatch(transaction.transactional_id))
        ):
            continue
        response.transaction_states.append(
            ListTransactionsResponse.TransactionState(
                transactional_id=transaction.transactional_id,
                producer_id=transaction.producer_id,
                transaction_state=transaction.state.value,
            )
        )
    return response
