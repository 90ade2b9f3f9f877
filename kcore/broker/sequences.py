"""Producers of one partition: which sequence numbers may come next (KIP-98), who is fenced.

Source of the rules: Kafka's ProducerStateManager and ProducerAppendInfo; KIP-360, KIP-890.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Container, Iterator
from dataclasses import dataclass
from typing import Final

from kcore.broker.batches import NO_TIMESTAMP, TRANSACTIONAL, Batch, RefusedError
from kcore.broker.markers import Marker
from kcore.coordinator.journal import Epochs, marker_error
from kcore.tuples import NamedTuple
from kcore.wire.codes import ErrorCode

# A producer has at most five requests in flight (max.in.flight.requests.per.connection with
# idempotence), so no older batch can come again.
REMEMBERED_BATCHES: Final = 5

# Producers remembered for one partition; the one that has been silent longest goes first, as after
# producer.id.expiration.ms.
PRODUCERS_MAX: Final = 10_000

NO_SEQUENCE: Final = -1
# A batch may say so, and is kept (Java: RecordBatch.NO_PRODUCER_EPOCH).
NO_EPOCH: Final = -1
_INT32_MAX: Final = 0x7FFFFFFF


@dataclass(frozen=True, slots=True)
class Origin:
    """How a batch comes to the log.

    strict: a producer that is not known has to begin with sequence 0, as before Kafka 2.5
    (KIP-360).
    """

    strict: bool = False


ANY_ORIGIN: Final = Origin()


class Kept(NamedTuple):
    """A batch that is in the log: its sequences, where it is, its largest timestamp in ms."""

    first: int
    last: int
    base_offset: int
    timestamp: int


class ProducerState:
    """A producer. last_timestamp: of its last batch or marker, ms; coordinator_epoch: of its last
    marker, -1 if there was none.
    """

    __slots__ = ("batches", "coordinator_epoch", "epoch", "last_timestamp")

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch
        self.coordinator_epoch = -1
        self.last_timestamp = NO_TIMESTAMP
        self.batches: deque[Kept] = deque(maxlen=REMEMBERED_BATCHES)

    def raise_to(self, epoch: int) -> None:
        """Sequences begin anew with each epoch."""
        if epoch != self.epoch:
            self.epoch = epoch
            self.batches.clear()

    @property
    def last_sequence(self) -> int:
        """Of its last batch in this epoch; NO_SEQUENCE if there is none."""
        return self.batches[-1].last if self.batches else NO_SEQUENCE


class _Verifying(NamedTuple):
    """A transaction whose first batch here is not kept yet: what comes first if it is. bumps: its
    producer gets a new epoch with each transaction (KIP-890).
    """

    epoch: int
    lowest_sequence: int
    bumps: bool


class Sequences:
    """The producers of one partition."""

    __slots__ = ("_producers", "_verifying")

    def __init__(self) -> None:
        self._producers: OrderedDict[int, ProducerState] = OrderedDict()
        self._verifying: OrderedDict[int, _Verifying] = OrderedDict()

    def __iter__(self) -> Iterator[tuple[int, ProducerState]]:
        """Producer ids and what is known of them."""
        return iter(self._producers.items())

    def epoch_of(self, producer_id: int) -> int:
        """The epoch of a producer; NO_EPOCH if it is not known."""
        known = self._producers.get(producer_id)
        return NO_EPOCH if known is None else known.epoch

    # Checks --------------------------------------------------------------------------------------

    def begin(self, batch: Batch, *, bumps: bool) -> None:
        """The first batch of a transaction is about to be verified: those behind it wait for it,
        whatever becomes of it. RefusedError if its producer is fenced.
        """
        _check_epoch(batch, self.epoch_of(batch.producer_id))
        verifying = self._verifying.get(batch.producer_id)
        if (
            verifying is None
            or batch.producer_epoch > verifying.epoch
            or (
                batch.producer_epoch == verifying.epoch
                and batch.base_sequence < verifying.lowest_sequence
            )
        ):
            if verifying is not None:
                bumps = verifying.bumps
            self._verifying[batch.producer_id] = _Verifying(
                batch.producer_epoch, batch.base_sequence, bumps
            )
            while len(self._verifying) > PRODUCERS_MAX:
                self._verifying.popitem(last=False)

    def check(self, batch: Batch, first_offset: int | None, origin: Origin) -> Kept | None:
        """None: the batch comes next; else it is kept already, and this is where.

        first_offset: where its producer's transaction begins, None if there is none. RefusedError:
        a producer that has been replaced, a gap, or a batch that is in no transaction.
        """
        known = self._producers.get(batch.producer_id)
        if known is not None and batch.producer_epoch == known.epoch:
            for kept in known.batches:
                if (kept.first, kept.last) == (batch.base_sequence, batch.last_sequence):
                    return kept
        _check_epoch(batch, self.epoch_of(batch.producer_id))
        if first_offset is None:
            self._check_first(batch, known)
        self._check_sequence(batch, known, origin)
        if first_offset is not None and not batch.attributes & TRANSACTIONAL:
            raise RefusedError(
                ErrorCode.INVALID_TXN_STATE,
                f"producer {batch.producer_id} is in a transaction, and this batch is not",
            )
        return None

    def _check_first(self, batch: Batch, known: ProducerState | None) -> None:
        """The first batch of a transaction, as long as earlier ones may be on their way; one that
        is in none waits for them, too.
        """
        verifying = self._verifying.get(batch.producer_id)
        if verifying is None:
            return
        lowest = 0 if verifying.bumps and known is None else verifying.lowest_sequence
        if batch.base_sequence > lowest:
            raise _out_of_order(batch, lowest)

    def _check_sequence(self, batch: Batch, known: ProducerState | None, origin: Origin) -> None:
        if known is None or known.epoch == NO_EPOCH:
            if origin.strict and batch.base_sequence != 0:
                raise RefusedError(
                    ErrorCode.UNKNOWN_PRODUCER_ID, f"nothing of producer {batch.producer_id}"
                )
            return
        expected = 0
        if batch.producer_epoch == known.epoch:
            expected = (known.last_sequence + 1) & _INT32_MAX
        if batch.base_sequence != expected:
            raise _out_of_order(batch, expected)

    def check_marker(
        self,
        producer_id: int,
        producer_epoch: int,
        coordinator_epoch: int,
        version: int,
        *,
        opened: bool,
    ) -> None:
        """RefusedError if a marker comes from a coordinator, or is about a producer, that has been
        replaced. version: `transaction.version` of it. opened: whether there is one to end.
        """
        known = self._producers.get(producer_id)
        if known is None:
            return
        error = marker_error(
            Epochs(producer_epoch, coordinator_epoch),
            Epochs(known.epoch, known.coordinator_epoch),
            version,
            opened=opened,
        )
        if error:
            raise RefusedError(
                error,
                f"producer {producer_id} has epoch {known.epoch}, the marker {producer_epoch}; "
                f"coordinator epoch {coordinator_epoch}, after {known.coordinator_epoch}",
            )

    # What is kept --------------------------------------------------------------------------------

    def add(self, batch: Batch, base_offset: int) -> None:
        """The batch has been kept."""
        known = self._touch(batch)
        known.batches.append(
            Kept(batch.base_sequence, batch.last_sequence, base_offset, batch.max_timestamp)
        )

    def mark(self, batch: Batch, marker: Marker) -> None:
        """A marker has been kept: its producer is at that epoch now."""
        self._touch(batch).coordinator_epoch = marker.coordinator_epoch
        self._verifying.pop(batch.producer_id, None)

    def expire(self, oldest_ms: int, transactions: Container[int]) -> None:
        """Forget producers that are silent since before then, but for those in transactions."""
        for producer_id, known in list(self._producers.items()):
            if known.last_timestamp <= oldest_ms and producer_id not in transactions:
                del self._producers[producer_id]

    def _touch(self, batch: Batch) -> ProducerState:
        known = self._producers.get(batch.producer_id)
        if known is None:
            known = self._producers[batch.producer_id] = ProducerState(batch.producer_epoch)
            while len(self._producers) > PRODUCERS_MAX:
                self._producers.popitem(last=False)
        known.raise_to(batch.producer_epoch)
        known.last_timestamp = batch.max_timestamp
        self._producers.move_to_end(batch.producer_id)
        return known


def _check_epoch(batch: Batch, epoch: int) -> None:
    if batch.producer_epoch < epoch:
        raise RefusedError(
            ErrorCode.INVALID_PRODUCER_EPOCH,
            f"producer {batch.producer_id} has epoch {epoch}, not {batch.producer_epoch}",
        )


def _out_of_order(batch: Batch, expected: int) -> RefusedError:
    return RefusedError(
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        f"producer {batch.producer_id} sent sequence {batch.base_sequence}"
        f" where {expected} comes next",
    )
