"""One partition's batches in their order, and the sequence they are numbered in.

With idempotence a leader takes a producer's batches only in sequence, and knows the last five of
each producer. So here: at most five sequenced batches are unfinished; one that is sent again goes
out only when it is the oldest of them; and when nobody can say whether a batch was written, the
ones behind it wait until that is known, or the producer goes on under a new epoch (KIP-360).

Source: Java's TransactionManager and TxnPartitionMap.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from kcore.produce.batch import NO_SEQUENCE, SEQUENCES, Batch, BatchState
from kcore.structs import TopicPartition

# What a leader remembers of one producer (Java: ProducerStateEntry.NUM_BATCHES_TO_RETAIN).
TRACKED_MAX: Final = 5


class Lane:
    """See the module's text.

    queue: batches to be sent, the oldest first; the last one may be open. sent: how many are part
    of unanswered requests. opened: how many batches there were. tracked: those with a sequence
    that are not done, in sequence. retry_at: nothing is sent before. failures: in a row.
    """

    __slots__ = (
        "acked_offset",
        "acked_sequence",
        "failures",
        "next_sequence",
        "opened",
        "producer_epoch",
        "producer_id",
        "queue",
        "retry_at",
        "sent",
        "tp",
        "tracked",
        "unresolved",
    )

    def __init__(self, tp: TopicPartition) -> None:
        self.tp = tp
        self.queue: deque[Batch] = deque()
        self.opened = 0
        self.sent = 0
        self.tracked: list[Batch] = []
        self.producer_id = -1
        self.producer_epoch = -1
        self.next_sequence = 0
        self.acked_sequence = NO_SEQUENCE
        self.acked_offset = -1
        self.unresolved = False
        self.retry_at = 0
        self.failures = 0

    @property
    def idle(self) -> bool:
        """Nothing is queued or under way."""
        return not self.queue and not self.sent

    # What may be sent ----------------------------------------------------------------------------

    def sendable(self, producer_id: int, producer_epoch: int) -> bool:
        """Whether the oldest batch may go out now, under this producer."""
        head = self.queue[0]
        if head.has_sequence:
            return self.tracked[0] is head
        if self.unresolved or len(self.tracked) >= TRACKED_MAX:
            return False
        if (self.producer_id, self.producer_epoch) != (producer_id, producer_epoch):
            if self.tracked:
                return False  # what is under way ends under the epoch it began in
            self._restart(producer_id, producer_epoch)
        return True

    def take(self, *, sequenced: bool) -> Batch:
        """The oldest batch, which is sealed, to be sent."""
        batch = self.queue.popleft()
        if not sequenced:
            if batch.attempts == 0:
                batch.identify(-1, -1, NO_SEQUENCE)
        elif not batch.has_sequence:
            batch.identify(self.producer_id, self.producer_epoch, self.next_sequence)
            self.next_sequence = batch.next_sequence
            self.tracked.append(batch)
        batch.attempts += 1
        batch.state = BatchState.SENT
        self.sent += 1
        return batch

    def put_back(self, batch: Batch) -> None:
        """A batch is to be sent again: in its old place."""
        batch.state = BatchState.SEALED
        at = 0
        for one in self.queue:
            if one.serial > batch.serial:
                break
            at += 1
        self.queue.insert(at, batch)

    @property
    def due(self) -> bool:
        """Whether the oldest batch waits for nothing but its turn."""
        queue = self.queue
        return bool(queue) and (queue[0].state is BatchState.SEALED or queue[0].hurried)

    # What became of it ---------------------------------------------------------------------------

    def acknowledge(self, batch: Batch) -> None:
        """The leader has it."""
        self._untrack(batch)
        if (batch.producer_id, batch.producer_epoch) != (self.producer_id, self.producer_epoch):
            return
        last = (batch.base_sequence + batch.record_count - 1) % SEQUENCES
        self.acked_sequence = last
        self.acked_offset = max(self.acked_offset, batch.base_offset + batch.record_count - 1)

    def drop(self, batch: Batch, *, certain: bool) -> None:
        """It failed for good. certain: the leader does not have it, so that its sequence is free;
        else nobody knows.
        """
        if batch not in self.tracked:
            return
        behind = self.tracked[self.tracked.index(batch) + 1 :]
        self._untrack(batch)
        if not certain:
            self.unresolved = True
        elif (batch.producer_id, batch.producer_epoch) == (self.producer_id, self.producer_epoch):
            sequence = batch.base_sequence
            for one in behind:
                one.identify(self.producer_id, self.producer_epoch, sequence)
                sequence = one.next_sequence
            self.next_sequence = sequence

    def is_next(self, batch: Batch) -> bool:
        """Whether everything before the batch is known to be written."""
        expected = 0
        if self.acked_sequence != NO_SEQUENCE:
            expected = (self.acked_sequence + 1) % SEQUENCES
        return batch.base_sequence == expected

    def resolve(self) -> bool:
        """Nothing sequenced is under way any more: whether the sequence is whole. If it is not, a
        new epoch is needed.
        """
        expected = 0
        if self.acked_sequence != NO_SEQUENCE:
            expected = (self.acked_sequence + 1) % SEQUENCES
        self.unresolved = False
        return self.next_sequence == expected

    def renumber(self, producer_id: int, producer_epoch: int) -> None:
        """Go on under another epoch: what is unfinished is numbered from 0."""
        self._restart(producer_id, producer_epoch)
        for batch in self.tracked:
            batch.identify(producer_id, producer_epoch, self.next_sequence)
            self.next_sequence = batch.next_sequence

    def _restart(self, producer_id: int, producer_epoch: int) -> None:
        self.producer_id, self.producer_epoch = producer_id, producer_epoch
        self.next_sequence = 0
        self.acked_sequence = NO_SEQUENCE
        self.acked_offset = -1
        self.unresolved = False

    def _untrack(self, batch: Batch) -> None:
        if batch in self.tracked:
            self.tracked.remove(batch)
