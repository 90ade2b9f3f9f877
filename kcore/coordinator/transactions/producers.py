"""InitProducerId: who produces under a transactional id from now on (KIP-98, KIP-360, KIP-588)."""

from __future__ import annotations

from collections.abc import Callable

from kcore.coordinator.transactions.shard import Shard
from kcore.coordinator.transactions.states import REFUSED, TransactionState
from kcore.coordinator.transactions.transaction import (
    NO_EPOCH,
    NO_PRODUCER_ID,
    Transaction,
    exhausted,
)
from kcore.tuples import NamedTuple
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import InitProducerIdRequest


class Producer(NamedTuple):
    """A producer id and its epoch."""

    producer_id: int
    epoch: int


NOBODY = Producer(NO_PRODUCER_ID, NO_EPOCH)

# Called with the producer that the client is from now on, or why it is none.
Initialized = Callable[[ErrorCode, Producer], None]


def init_producer(
    shard: Shard, request: InitProducerIdRequest, done: Initialized, now_ms: int
) -> None:
    """Give the client an epoch that nobody has had, and end what its predecessor left open."""
    transactional_id = request.transactional_id
    assert transactional_id is not None
    asked = Producer(request.producer_id, request.producer_epoch)
    wall_ms = shard.wall_ms(now_ms)
    if shard.busy(transactional_id):
        done(ErrorCode.CONCURRENT_TRANSACTIONS, NOBODY)
        return
    known = shard.get(transactional_id)
    if known is None and shard.full:
        done(ErrorCode.POLICY_VIOLATION, NOBODY)
        return
    if known is None:
        new_id = shard.ids.new_producer_id()
        known = Transaction(transactional_id, new_id, request.transaction_timeout_ms, wall_ms)
    error = REFUSED[known.state].get(ApiKey.INIT_PRODUCER_ID) or ErrorCode.NONE
    after = None
    if not _may_go_on(known, asked):
        error = ErrorCode.PRODUCER_FENCED
    elif not error and known.state is TransactionState.ONGOING:
        # Who asks gets nothing yet: the epoch of its own comes with the next try.
        shard.fence(
            known,
            lambda error, _now_ms: done(error or ErrorCode.CONCURRENT_TRANSACTIONS, NOBODY),
            now_ms,
        )
        return
    elif not error:
        after = _begun(shard, known, asked, request.transaction_timeout_ms, wall_ms)
        error = ErrorCode.PRODUCER_FENCED if after is None else ErrorCode.NONE
    if after is None:
        done(error, NOBODY)
        return
    producer = Producer(after.producer_id, after.epoch)
    shard.write(
        after,
        lambda error, _now_ms: done(error, NOBODY if error else producer),
        now_ms,
    )


def _may_go_on(known: Transaction, asked: Producer) -> bool:
    """KIP-360: whether a producer that names itself is the one that is known.

    It is also if it had the id before, used up the epochs of that, and did not get the answer that
    gave it the new one.
    """
    return (
        asked == NOBODY
        or known.epoch == NO_EPOCH
        or asked.producer_id == known.producer_id
        or (asked.producer_id == known.previous_producer_id and exhausted(asked.epoch))
    )


def _begun(
    shard: Shard, known: Transaction, asked: Producer, timeout_ms: int, wall_ms: int
) -> Transaction | None:
    """The id with the epoch of its next producer; None: another one has come in between."""
    named = asked != NOBODY
    if exhausted(known.epoch) and (not named or asked.epoch == known.epoch):
        new_id = shard.ids.new_producer_id()
        return known.rotated(new_id, timeout_ms, known.epoch if named else NO_EPOCH, wall_ms)
    if not named:
        return known.initialized(timeout_ms, known.epoch + 1, NO_EPOCH, wall_ms)
    if known.epoch in {NO_EPOCH, asked.epoch}:
        return known.initialized(timeout_ms, known.epoch + 1, known.epoch, wall_ms)
    if asked.epoch == known.last_epoch:
        # It asks again: the answer was lost.
        return known.initialized(timeout_ms, known.epoch, known.last_epoch, wall_ms)
    return None
