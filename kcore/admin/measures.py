"""What an admin client measures of itself, under the names of Java's metrics: its links."""

from __future__ import annotations

from kcore.connection.measures import LinkMeasures
from kcore.meters import Reading


class AdminMeasures:
    """See the module's text. links: what is measured of links."""

    def __init__(self, now_ms: int) -> None:
        self.links = LinkMeasures(now_ms, ())

    def labels(self) -> dict[str, str]:
        """What is told beside it when it is pushed: nothing (KIP-714)."""
        return {}

    def tell(self, now_ms: int) -> list[Reading]:
        """Everything."""
        whole = {**self.links.tell(now_ms), **self.links.tell_requests(now_ms)}
        nodes = self.links.tell_nodes("admin-client-node-metrics", now_ms)
        return [Reading("admin-client-metrics", (), whole), *nodes]
