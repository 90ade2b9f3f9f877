"""One node as the links see it: its address, its link if any, and how its attempts went. And how
all of them do.
"""

from __future__ import annotations

from collections.abc import Iterable

from kcore.connection.link import Link
from kcore.errors import AuthenticationFailedError
from kcore.values import Value


class NodeLink(Value, frozen=False):
    """A place to connect to. `key` is a node id, a bootstrap number (negative) or a coordinator's
    key.
    """

    key: int
    host: str
    port: int
    link: Link | None = None
    greeted: bool = False  # the link has been seen ready
    proven: bool = False  # it has answered a request
    failures: int = 0  # attempts and links that failed since the last answer
    setups: int = 0  # attempts in a row that ran out of the set-up time (KIP-601)
    retry_at: int = 0  # no attempt before this time (ms)
    refusal: AuthenticationFailedError | None = None  # the last attempt's end, if so
    address_index: int = 0  # which of the name's addresses is next
    tried_at: int = -1  # when the last attempt began, -1 never

    @property
    def load(self) -> int:
        """Requests unanswered on its link."""
        return self.link.load if self.link is not None else 0

    @property
    def ready(self) -> bool:
        """Connected and greeted."""
        return self.link is not None and self.link.ready


class Outage(Value, frozen=False):
    """Since when no broker can be reached; None while one can or nothing was tried yet."""

    since: int | None = None
    attempts: int = 0


def first_idle(entries: Iterable[NodeLink | None]) -> NodeLink | None:
    """The first by which something could be asked now, and nothing is."""
    return next((one for one in entries if one is not None and one.ready and not one.load), None)
