"""One partition's batches in their order, and the sequence they are numbered in.

With idempotence a leader takes a producer's batches only in sequence, and knows the last five of
each producer. So here: no more than five batches are numbered from the oldest unfinished one on,
finished or not, or it could not be told apart from a new one when it is sent again (an old leader
may be silent while another one takes what follows); one that is sent again goes out only when it is
the oldest; and when nobody can say whether a batch was written, the ones behind it wait until that
is known, or the producer goes on under a new epoch (KIP-360).

A leader that knows nothing of a producer takes whatever comes first, as it cannot tell a new one
from one whose records are gone. So the first batch of an epoch goes alone: if it is refused, what
is behind it must not be taken for the beginning. So does the first one to a topic that was made
anew under its name, once what was sent to the one before is answered.

Source: Java's TransactionManager and TxnPartitionMap.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from kcore.produce.batch import NO_SEQUENCE, SEQUENCES, Batch, BatchState
from kcore.produce.intake import Inlet
from kcore.structs import TopicPartition

# What a leader remembers of one producer (Java: ProducerStateEntry.NUM_BATCHES_TO_RETAIN).
TRACKED_MAX: Final = 5


class Lane(Inlet):
    """See the module's text.

    queue: batches to be sent, the oldest first; the last one may be open. sent: how many are part
    of unanswered requests. opened: how many batches there were. tracked: those with a sequence
    that are not done, in sequence. topic_id: of the topic that was sent to last, None if it has
    none or nothing was; fresh: nothing was acknowledged of what was sent to that. numbered: how
    many got a sequence. retry_at: nothing is sent before. failures: in a row.
    """

    __slots__ = (
        "acked_sequence",
        "failures",
        "fresh",
        "next_sequence",
        "numbered",
        "opened",
        "producer_epoch",
        "producer_id",
        "queue",
        "retry_at",
        "sent",
        "topic_id",
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
        self.numbered = 0
        self.producer_id = -1
        self.producer_epoch = -1
        self.next_sequence = 0
        self.acked_sequence = NO_SEQUENCE
        self.unresolved = False
        self.topic_id: bytes | None = None
        self.fresh = True
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
        if self.unresolved:
            return False
        if self.tracked and (
            self.acked_sequence == NO_SEQUENCE
            or self.fresh
            or self.numbered - self.tracked[0].place >= TRACKED_MAX - 1
        ):
            return False
        if (self.producer_id, self.producer_epoch) != (producer_id, producer_epoch):
            if self.tracked:
                return False  # what is under way ends under the epoch it began in
            self._restart(producer_id, producer_epoch)
        return True

    def moves_to(self, topic_id: bytes | None) -> bool:
        """Whether what is next may go to a topic of that id, which is another one than before."""
        if topic_id is not None:  # else it goes by its name, as ever
            if self.topic_id is not None and self.sent:
                return False
            self.fresh = self.fresh or self.topic_id is not None
            self.topic_id = topic_id
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
            self.numbered += 1
            batch.place = self.numbered
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
        if not batch.has_sequence:
            return
        self.fresh = False
        known = batch in self.tracked
        if known:
            self.tracked.remove(batch)
        if batch.sent_as != batch.identity:
            # Written as what it was before it was numbered anew: its new numbers stay unused.
            self.unresolved = self.unresolved or known
        elif (batch.producer_id, batch.producer_epoch) == (self.producer_id, self.producer_epoch):
            last = (batch.next_sequence - 1) % SEQUENCES
            acked = self.acked_sequence
            if acked == NO_SEQUENCE or (last - acked) % SEQUENCES < SEQUENCES // 2:
                self.acked_sequence = last

    def drop(self, batch: Batch, *, certain: bool) -> None:
        """It failed for good. certain: the leader does not have it; else nobody knows.

        Its numbers are used again only if nothing else can have been taken under them: it was sent
        once and nothing is behind it. What is behind it was sent under numbers of its own, which
        must not come to mean something else (Java: KIP-360).
        """
        if batch not in self.tracked:
            return
        at = self.tracked.index(batch)
        del self.tracked[at]
        if certain and at == len(self.tracked) and batch.attempts <= 1:
            self.next_sequence = batch.base_sequence
        else:
            self.unresolved = True

    def resolve(self) -> bool:
        """Nothing sequenced is under way any more: whether the sequence is whole. If it is not, a
        new epoch is needed.
        """
        self.unresolved = False
        return self.whole

    def renumber(self, producer_id: int, producer_epoch: int) -> None:
        """Go on under another epoch: what is unfinished is numbered from 0."""
        self._restart(producer_id, producer_epoch)
        for batch in self.tracked:
            batch.identify(producer_id, producer_epoch, self.next_sequence)
            self.next_sequence = batch.next_sequence

    def mend(self, batches: list[Batch]) -> None:
        """Begin anew with all that is not over, in its order; nothing is under way.

        What was struck while it was numbered is numbered; what was taken out of the sequence and
        was not over then is in it again.
        """
        self.queue = deque(batches)
        self.sent = 0
        last = batches[-1] if batches else None
        self.filling = last if last is not None and last.state is BatchState.OPEN else None
        self.tracked = [batch for batch in batches if batch.has_sequence]
        for batch in self.tracked:
            if not batch.place:
                self.numbered += 1
                batch.place = self.numbered
        if self.tracked:
            last = self.tracked[-1]
            if (self.next_sequence - last.base_sequence) % SEQUENCES < last.record_count:
                self.next_sequence = last.next_sequence
            known = self.producer_id, self.producer_epoch
            if any((one.producer_id, one.producer_epoch) != known for one in self.tracked):
                self.renumber(*known)

    @property
    def whole(self) -> bool:
        """Whether what comes next in the sequence is what the leader expects."""
        acked = self.acked_sequence
        return self.next_sequence == (0 if acked == NO_SEQUENCE else (acked + 1) % SEQUENCES)

    def _restart(self, producer_id: int, producer_epoch: int) -> None:
        self.producer_id, self.producer_epoch = producer_id, producer_epoch
        self.next_sequence = 0
        self.acked_sequence = NO_SEQUENCE
        self.unresolved = False
