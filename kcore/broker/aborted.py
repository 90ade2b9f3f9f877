"""What a log knows of transactions: where the first open one begins, which ones were aborted.

The log calls it for every transactional batch and marker it keeps, and makes a new one from the
batches that are left when its end is cut off.
"""

from __future__ import annotations

from kcore.broker.batches import Batch


class TransactionIndex:
    """The transactions of one log."""

    __slots__ = ()

    def appended(self, batch: Batch, data: bytes) -> None:
        """A transactional batch or a marker has been kept; `batch.base_offset` is its place."""

    def deleted(self, start_offset: int) -> None:
        """Nothing is left before `start_offset`."""

    def last_stable_offset(self, high_watermark: int) -> int:
        """Up to where consumers that read committed records may read."""
        return high_watermark
