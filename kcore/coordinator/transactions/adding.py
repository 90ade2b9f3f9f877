"""AddPartitionsToTxn and AddOffsetsToTxn: what takes part in a transaction."""

from __future__ import annotations

from collections.abc import Callable

from kcore.coordinator.transactions.producers import Producer
from kcore.coordinator.transactions.shard import Shard
from kcore.coordinator.transactions.states import DECIDED, REFUSED, TransactionState
from kcore.structs import TopicPartition
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode

Done = Callable[[ErrorCode], None]


def add(
    shard: Shard,
    transactional_id: str,
    producer: Producer,
    partitions: frozenset[TopicPartition],
    client_version: int,
    done: Done,
    now_ms: int,
) -> None:
    """Let partitions take part in the producer's transaction, which begins if there is none."""
    known = shard.get(transactional_id)
    error = ErrorCode.NONE
    if known is None and not shard.busy(transactional_id):
        error = ErrorCode.INVALID_PRODUCER_ID_MAPPING
    elif known is None or shard.busy(transactional_id):
        error = ErrorCode.CONCURRENT_TRANSACTIONS
    elif known.producer_id != producer.producer_id:
        error = ErrorCode.INVALID_PRODUCER_ID_MAPPING
    elif known.epoch != producer.epoch:
        error = ErrorCode.PRODUCER_FENCED
    else:
        error = REFUSED[known.state].get(ApiKey.ADD_PARTITIONS_TO_TXN) or ErrorCode.NONE
    there = (
        known is not None
        and known.state is TransactionState.ONGOING
        and partitions <= known.partitions
    )
    if error or known is None or there:
        done(error)
        return
    if shard.is_ahead(client_version):
        done(ErrorCode.UNSUPPORTED_VERSION)
        return
    after = known.with_partitions(partitions, client_version, shard.wall_ms(now_ms))
    shard.write(after, lambda error, _now_ms: done(error), now_ms)


def verify(
    shard: Shard,
    transactional_id: str,
    producer: Producer,
    partitions: frozenset[TopicPartition],
) -> dict[TopicPartition, ErrorCode]:
    """KIP-890: which of these take part in the producer's transaction; nothing is added."""
    known = shard.get(transactional_id)
    error = ErrorCode.NONE
    if known is None or known.producer_id != producer.producer_id:
        error = ErrorCode.INVALID_PRODUCER_ID_MAPPING
    elif known.epoch != producer.epoch:
        error = ErrorCode.PRODUCER_FENCED
    elif known.state in DECIDED:
        error = ErrorCode.CONCURRENT_TRANSACTIONS
    if error or known is None:
        return dict.fromkeys(partitions, error)
    return {
        tp: ErrorCode.NONE if tp in known.partitions else ErrorCode.TRANSACTION_ABORTABLE
        for tp in partitions
    }
