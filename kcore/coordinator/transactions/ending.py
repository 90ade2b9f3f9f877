"""EndTxn: commit or abort, once, however often it is asked for.

Up to v4 the epoch says who asks, and the state whether it was done already. From v5 on every end
raises the epoch (KIP-890): who asks with the one before has not got the answer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from kcore.coordinator.transactions.producers import NOBODY, Producer
from kcore.coordinator.transactions.shard import Shard
from kcore.coordinator.transactions.states import (
    DECIDED,
    ENDED,
    REFUSED,
    End,
    TransactionState,
)
from kcore.coordinator.transactions.transaction import (
    EPOCH_LAST,
    NO_PRODUCER_ID,
    TV_BUMPS,
    Transaction,
)
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode

_OVER: Final = (TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)

# Called with how it went, and who the producer is from now on.
Ended = Callable[[ErrorCode, Producer], None]


def end(
    shard: Shard,
    transactional_id: str,
    producer: Producer,
    *,
    committed: bool,
    client_version: int,
    done: Ended,
    now_ms: int,
) -> None:
    """Decide, and let the markers be written; `done` is called when it is decided."""
    known = shard.get(transactional_id)
    busy = shard.busy(transactional_id)
    if known is None:
        code = ErrorCode.INVALID_PRODUCER_ID_MAPPING
        done(ErrorCode.CONCURRENT_TRANSACTIONS if busy else code, NOBODY)
        return
    bumps = client_version >= TV_BUMPS
    kind = _kind(known, producer, bumps=bumps)
    answer: ErrorCode | None = _identity_error(known, producer, kind)
    if busy and (bumps or not answer):
        answer = ErrorCode.CONCURRENT_TRANSACTIONS
    if not answer:
        answer = REFUSED[known.state].get(ApiKey.END_TXN)
        if answer is None:
            commit, abort = ENDED[known.state, kind]
            answer = commit if committed else abort
    if answer is not None:
        done(answer, NOBODY if answer else Producer(known.producer_id, known.epoch))
        return
    if shard.is_ahead(client_version):
        done(ErrorCode.UNSUPPORTED_VERSION, NOBODY)
        return
    after = known.ending(
        committed=committed,
        client_version=client_version,
        next_producer_id=shard.id_after(known, client_version),
        wall_ms=shard.wall_ms(now_ms),
    )
    successor = Producer(after.producer_id, after.epoch)
    if after.next_producer_id != NO_PRODUCER_ID:
        successor = Producer(after.next_producer_id, 0)
    shard.decide(
        after,
        lambda error, _now_ms: done(error, NOBODY if error else successor),
        now_ms,
    )


def _kind(known: Transaction, producer: Producer, *, bumps: bool) -> End:
    if not bumps:
        return End.OLD
    bumped = known.epoch == producer.epoch + 1 and known.state in (*_OVER, *DECIDED)
    return End.AGAIN if bumped or _overflowed(known, producer) else End.NEW


def _overflowed(known: Transaction, producer: Producer) -> bool:
    """Whether this is the last epoch of the id that the producer had before."""
    return (
        known.state in _OVER
        and known.previous_producer_id == producer.producer_id
        and producer.epoch == EPOCH_LAST
        and known.epoch == 0
    )


def _identity_error(known: Transaction, producer: Producer, kind: End) -> ErrorCode:
    """Whether this is the producer of the id, at the epoch it has to be at."""
    if known.producer_id != producer.producer_id:
        again = kind is End.AGAIN and _overflowed(known, producer)
        return ErrorCode.NONE if again else ErrorCode.INVALID_PRODUCER_ID_MAPPING
    if kind is not End.AGAIN and known.epoch != producer.epoch:
        return ErrorCode.PRODUCER_FENCED
    return ErrorCode.NONE
