"""One broker as a share consumer sees it: the session with it, and what it is still to be told."""

from __future__ import annotations

from kcore.connection.calls import Standing
from kcore.share.acknowledgements import Sheet
from kcore.share.session import ShareSession, Topics
from kcore.structs import TopicPartition


class ShareNode:
    """leads: what it is to be asked for. pending: what it is to be told, oldest first; in_flight:
    by the request that is on its way. busy: one is. fetching: it asks for records. retry_at:
    nothing is sent before (ms). failures: in a row, the last of which was `error`. asked: what the
    last request for records asked for, at `asked_at` (ms). standing: those that follow empty
    answers.
    """

    __slots__ = (
        "asked",
        "asked_at",
        "busy",
        "error",
        "failures",
        "fetching",
        "in_flight",
        "leads",
        "node_id",
        "pending",
        "retry_at",
        "session",
        "standing",
    )

    standing: Standing

    def __init__(self, node_id: int) -> None:
        self.node_id = node_id
        self.session = ShareSession()
        self.leads: Topics = {}
        self.asked: Topics = {}
        self.asked_at = 0
        self.pending: list[Sheet] = []
        self.in_flight: list[Sheet] = []
        self.busy = self.fetching = False
        self.retry_at = 0
        self.failures = 0
        self.error = ""

    def choose(self) -> tuple[list[Sheet], list[Sheet]]:
        """What the next request can say, one sheet of each partition, and what has to wait."""
        chosen: dict[TopicPartition, Sheet] = {}
        for sheet in self.pending:
            chosen.setdefault(sheet.place.tp, sheet)
        left = [sheet for sheet in self.pending if chosen[sheet.place.tp] is not sheet]
        return list(chosen.values()), left

    def sent(self, sheets: list[Sheet], left: list[Sheet], *, fetching: bool) -> None:
        """A request is on its way."""
        self.busy, self.fetching = True, fetching
        self.in_flight, self.pending = sheets, left

    def answered(self) -> list[Sheet]:
        """It was, or failed: what it said."""
        self.busy = self.fetching = False
        sheets, self.in_flight = self.in_flight, []
        return sheets

    def failed(self, retry_at: int, error: object) -> None:
        """Leave it alone until then."""
        self.failures += 1
        self.error = str(error)
        self.retry_at = retry_at

    def works(self) -> None:
        """It did what it was asked."""
        self.failures = 0
        self.retry_at = 0
