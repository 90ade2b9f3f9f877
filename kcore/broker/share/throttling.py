"""Records that come back again and again are given out in ever smaller portions, and alone when it
is for the last time: so that one that brings its readers down does not take the others with it.

Source of the rules: Java's SharePartition of Kafka 4.3 (shouldThrottleRecordsDelivery,
acquireSubsetBatchRecords).
"""

from __future__ import annotations

from kcore.broker.share.batches import InFlightBatch, Run
from kcore.broker.share.states import RecordState

# With a limit of two deliveries every second one would be for the last time: nothing is alone then.
_ALONE_FROM = 3


def throttled_from(limit: int) -> int:
    """The delivery count from which on a batch is given out in portions."""
    return max(2, -(-limit // 2))


def is_throttled(batch: InFlightBatch, first: int, last: int, limit: int) -> bool:
    """Whether a batch is given out in portions; of one that is split, by what is asked for."""
    counts = [
        run.count
        for run in batch.runs
        if run.state is RecordState.AVAILABLE
        and (not batch.split or (run.last >= first and run.first <= last))
    ]
    return max(counts, default=0) >= throttled_from(limit)


class Portion:
    """How much of a batch one fetch gets. records_max: what it asks for at most, None if a batch
    may go beyond.
    """

    def __init__(self, size: int, limit: int, records_max: int | None) -> None:
        self._size = size
        self._limit = limit
        self._records_max = records_max
        self._quota: int | None = None
        self.taken = 0
        self.full = False

    def take(self, run: Run) -> int:
        """How many of the first records of a run that is available to take now."""
        alone = self._limit >= _ALONE_FROM and run.count == self._limit - 1
        if alone and self.taken:
            self.full = True
            return 0
        count = 1 if alone else len(run)
        self.full = alone
        if self._records_max is not None:
            count = self._upto(count, self._records_max)
        if self._quota is None and run.count >= throttled_from(self._limit):
            shift = run.count - throttled_from(self._limit) + 1
            self._quota = max(1, self._size >> shift)
        if self._quota is not None and self._quota > self.taken:
            count = self._upto(count, self._quota)
        self.taken += count
        return count

    def _upto(self, count: int, most: int) -> int:
        if count < most - self.taken:
            return count
        self.full = True
        return most - self.taken
