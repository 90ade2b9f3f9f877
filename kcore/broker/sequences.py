"""Idempotent producers of one partition: which sequence numbers may come next (KIP-98).

Source of the rules: Kafka's ProducerStateManager and ProducerAppendInfo.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import Final, NamedTuple

from kcore.broker.batches import Batch, RefusedError
from kcore.wire.codes import ErrorCode

# A producer has at most five requests in flight (max.in.flight.requests.per.connection with
# idempotence), so no older batch can come again.
REMEMBERED_BATCHES: Final = 5

# Producers remembered for one partition; the one that has been silent longest goes first. Who
# comes back after that may begin with any sequence, as after producer.id.expiration.ms.
PRODUCERS_MAX: Final = 10_000

_INT32_MAX: Final = 0x7FFFFFFF


class _Kept(NamedTuple):
    first: int
    last: int
    base_offset: int


class _Producer:
    __slots__ = ("batches", "epoch")

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch
        self.batches: deque[_Kept] = deque(maxlen=REMEMBERED_BATCHES)


class Sequences:
    """The producers of one partition."""

    __slots__ = ("_producers",)

    def __init__(self) -> None:
        self._producers: OrderedDict[int, _Producer] = OrderedDict()

    def check(self, batch: Batch) -> int | None:
        """None: the batch comes next. A number: it is kept already, at this base offset.

        RefusedError: a producer that has been replaced, or a gap.
        """
        known = self._producers.get(batch.producer_id)
        if known is None:
            return None
        if batch.producer_epoch < known.epoch:
            raise RefusedError(
                ErrorCode.INVALID_PRODUCER_EPOCH,
                f"producer {batch.producer_id} has epoch {known.epoch}, not {batch.producer_epoch}",
            )
        expected = 0
        if batch.producer_epoch == known.epoch:
            for kept in known.batches:
                if (kept.first, kept.last) == (batch.base_sequence, batch.last_sequence):
                    return kept.base_offset
            expected = (known.batches[-1].last + 1) & _INT32_MAX
        if batch.base_sequence != expected:
            raise RefusedError(
                ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
                f"producer {batch.producer_id} sent sequence {batch.base_sequence}"
                f" where {expected} comes next",
            )
        return None

    def add(self, batch: Batch, base_offset: int) -> None:
        """The batch has been kept."""
        known = self._producers.get(batch.producer_id)
        if known is None or known.epoch != batch.producer_epoch:
            known = self._producers[batch.producer_id] = _Producer(batch.producer_epoch)
        known.batches.append(_Kept(batch.base_sequence, batch.last_sequence, base_offset))
        self._producers.move_to_end(batch.producer_id)
        while len(self._producers) > PRODUCERS_MAX:
            self._producers.popitem(last=False)
