"""Mishaps on purpose, for tests of clients.

The next requests of an API are answered with an error, late, or never, with the connection closed;
or the way between some clients and some nodes is slow, or lets nothing pass, until it is mended.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from kcore.errors import UsageError
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode


class Kind(Enum):
    """What happens to a request."""

    REFUSED = "refused"  # answered with an error; what it asks for is not done
    CUT = "cut"  # its connection is closed instead; what it asks for is not done
    DELAYED = "delayed"  # served later


@dataclass(slots=True)
class Mishap:
    """What is to happen to the next `times` requests of an API, at one node (None: at any)."""

    api: ApiKey
    kind: Kind
    times: int = 1
    node_id: int | None = None
    error: ErrorCode = ErrorCode.NONE
    delay_ms: int = 0

    def __post_init__(self) -> None:
        """Refuse what means nothing: UsageError."""
        if self.times < 1 or self.delay_ms < 0:
            raise UsageError(f"times={self.times}, delay_ms={self.delay_ms}")


@dataclass(frozen=True, slots=True)
class LinkFault:
    """Something is wrong between a node (None: every) and clients of an id (None: all).

    delay_ms: requests are served so much later; None: nothing passes, and nothing is lost, as TCP
    has it: what was sent arrives when the fault is gone.
    """

    delay_ms: int | None = None
    node_id: int | None = None
    client_id: str | None = None

    def __post_init__(self) -> None:
        """Refuse what means nothing: UsageError."""
        if self.delay_ms is not None and self.delay_ms < 0:
            raise UsageError(f"delay_ms={self.delay_ms}")


class Mishaps:
    """The mishaps of a cluster, in the order in which they were asked for."""

    def __init__(self) -> None:
        self._mishaps: list[Mishap] = []
        self._links: list[LinkFault] = []

    def add(self, mishap: Mishap) -> None:
        """From now on."""
        self._mishaps.append(mishap)

    def clear(self) -> None:
        """No more of them; what is delayed stays so."""
        self._mishaps.clear()

    def add_link(self, fault: LinkFault) -> None:
        """From now on, until `mend_links`."""
        self._links.append(fault)

    def mend_links(self) -> None:
        """Everything passes again; nodes are to be told by `Node.release`."""
        self._links.clear()

    def blocked(self, node_id: int, client_id: str) -> bool:
        """Whether nothing passes between these two."""
        return bool(self._links) and any(
            fault.delay_ms is None for fault in self._between(node_id, client_id)
        )

    def delay_ms(self, node_id: int, client_id: str) -> int:
        """How late everything is between these two."""
        if not self._links:
            return 0
        delays = (fault.delay_ms or 0 for fault in self._between(node_id, client_id))
        return max(delays, default=0)

    def _between(self, node_id: int, client_id: str) -> Iterator[LinkFault]:
        for fault in self._links:
            if fault.node_id in {None, node_id} and fault.client_id in {None, client_id}:
                yield fault

    def take(self, api: ApiKey, node_id: int) -> Mishap | None:
        """What happens to this request; counts it."""
        for mishap in self._mishaps:
            if mishap.api is api and mishap.node_id in {None, node_id}:
                mishap.times -= 1
                if not mishap.times:
                    self._mishaps.remove(mishap)
                return mishap
        return None

    def __len__(self) -> int:
        return sum(mishap.times for mishap in self._mishaps)
