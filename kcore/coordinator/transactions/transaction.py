"""What a coordinator knows of a transactional id, and what each input makes of it.

A `Transaction` never changes: an input gives the one that is to be written to the journal, and it
counts when it has been. Java: TransactionMetadata.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from kcore.coordinator.transactions.states import TABLE, TransactionInput, TransactionState
from kcore.errors import IllegalStateError
from kcore.structs import TopicPartition

NO_PRODUCER_ID: Final = -1
NO_EPOCH: Final = -1

# The last epoch a producer is given: the one above is kept for fencing it.
EPOCH_LAST: Final = 0x7FFE
_EPOCH_MAX: Final = 0x7FFF

# KIP-890, `transaction.version`: from 2 on every end of a transaction raises the epoch.
TV_BUMPS: Final = 2


def exhausted(epoch: int) -> bool:
    """Whether a producer with this epoch needs a new id to go on."""
    return epoch >= EPOCH_LAST


@dataclass(frozen=True, slots=True)
class Transaction:
    """A transactional id: its producer, and its transaction if there is one.

    previous_producer_id: before the last change. next_producer_id: what the producer goes on with
    once the markers are written. last_epoch: the one before `epoch`, if its producer asked for the
    next itself; not in the journal. Times in ms of the time of day; -1: not begun.
    client_version: the `transaction.version` that the producer speaks.
    """

    transactional_id: str
    producer_id: int
    timeout_ms: int
    updated_ms: int
    epoch: int = NO_EPOCH
    last_epoch: int = NO_EPOCH
    previous_producer_id: int = NO_PRODUCER_ID
    next_producer_id: int = NO_PRODUCER_ID
    state: TransactionState = TransactionState.EMPTY
    partitions: frozenset[TopicPartition] = frozenset()
    started_ms: int = -1
    client_version: int = 0

    @property
    def bumps(self) -> bool:
        """Whether its producer gets a new epoch with each end."""
        return self.client_version >= TV_BUMPS

    @property
    def committing(self) -> bool:
        """What was decided; only in a state that is."""
        return self.state is TransactionState.PREPARE_COMMIT

    # What follows --------------------------------------------------------------------------------

    def _moved(self, what: TransactionInput) -> Transaction:
        after = TABLE[self.state].get(what)
        if after is None:
            raise IllegalStateError(f"{self.transactional_id}: {what.value}, while {self.state}")
        return replace(self, state=after, previous_producer_id=self.producer_id)

    def initialized(
        self, timeout_ms: int, epoch: int, last_epoch: int, wall_ms: int
    ) -> Transaction:
        """Its producer begins, or goes on, with this epoch."""
        return replace(
            self._moved(TransactionInput.INITIALIZED),
            timeout_ms=timeout_ms,
            epoch=epoch,
            last_epoch=last_epoch,
            partitions=frozenset(),
            started_ms=-1,
            updated_ms=wall_ms,
        )

    def rotated(
        self, producer_id: int, timeout_ms: int, last_epoch: int, wall_ms: int
    ) -> Transaction:
        """Its epochs are used up: its producer begins with another id."""
        after = self.initialized(timeout_ms, 0, last_epoch, wall_ms)
        return replace(after, producer_id=producer_id)

    def with_partitions(
        self, more: Iterable[TopicPartition], client_version: int, wall_ms: int
    ) -> Transaction:
        """These take part, too."""
        ongoing = self.state is TransactionState.ONGOING
        return replace(
            self._moved(TransactionInput.ADDED),
            partitions=self.partitions | frozenset(more),
            started_ms=self.started_ms if ongoing else wall_ms,
            updated_ms=wall_ms,
            client_version=client_version,
        )

    def ending(
        self, *, committed: bool, client_version: int, next_producer_id: int, wall_ms: int
    ) -> Transaction:
        """Decided: markers are to be written.

        From version 2 on the epoch is raised: that of the markers, and of what the producer does
        next.
        """
        what = TransactionInput.COMMITTED if committed else TransactionInput.ABORTED
        after = replace(
            self._moved(what),
            next_producer_id=next_producer_id,
            # An abort of nothing has not begun before.
            started_ms=wall_ms if self.started_ms < 0 or not self.partitions else self.started_ms,
            updated_ms=wall_ms,
            client_version=client_version,
        )
        if after.bumps:
            after = replace(after, epoch=min(self.epoch + 1, _EPOCH_MAX), last_epoch=self.epoch)
        return after

    def fenced(self, client_version: int, next_producer_id: int, wall_ms: int) -> Transaction:
        """Its producer is out, and its transaction aborted; `client_version`: the coordinator's."""
        fenced = self._moved(TransactionInput.FENCED)
        if client_version < TV_BUMPS:
            fenced = replace(fenced, epoch=min(self.epoch + 1, _EPOCH_MAX), last_epoch=NO_EPOCH)
        return fenced.ending(
            committed=False,
            client_version=client_version,
            next_producer_id=next_producer_id,
            wall_ms=wall_ms,
        )

    def completed(self, wall_ms: int) -> Transaction:
        """All markers are written."""
        after = replace(
            self._moved(TransactionInput.MARKED),
            next_producer_id=NO_PRODUCER_ID,
            partitions=frozenset(),
            updated_ms=wall_ms,
        )
        if self.bumps and self.next_producer_id != NO_PRODUCER_ID:
            after = replace(after, producer_id=self.next_producer_id, epoch=0)
        return after
