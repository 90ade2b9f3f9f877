"""What a log tells whoever keeps it elsewhere, such as on a disk: every change, in its order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class LogStore(Protocol):
    """Told of the changes of one replica's log, after they happened here."""

    def appended(self, data: bytes) -> None:
        """A batch was added at the end; its offsets and epoch stand in it."""

    def truncated(self, end_offset: int) -> None:
        """Every batch that reached `end_offset` is gone."""

    def started(self, start_offset: int) -> None:
        """The log starts here now; batches that end before may go."""

    def replaced(self, first_offset: int, end_offset: int, batches: Sequence[bytes]) -> None:
        """Compaction: these batches are what is left from first_offset up to end_offset."""
