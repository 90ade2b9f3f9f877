"""What producing tells the application."""

from __future__ import annotations

from typing import ClassVar

from kcore.events import Event
from kcore.produce.batch import Batch


class RecordsDelivered(Event):
    """A batch came to its end: its records are in the log, or have failed (`batch.outcome`).

    Never dropped, however many nobody takes.
    """

    news: ClassVar[bool] = False

    batch: Batch

    def __init__(self, batch: Batch) -> None:  # for every batch: quicker than what all values have
        object.__setattr__(self, "batch", batch)
