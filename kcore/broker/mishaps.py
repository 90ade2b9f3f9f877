"""Mishaps on purpose, for tests of clients: the next requests of an API are answered with an error,
late, or never, with the connection closed.
"""

from __future__ import annotations

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


class Mishaps:
    """The mishaps of a cluster, in the order in which they were asked for."""

    def __init__(self) -> None:
        self._mishaps: list[Mishap] = []

    def add(self, mishap: Mishap) -> None:
        """From now on."""
        self._mishaps.append(mishap)

    def clear(self) -> None:
        """No more of them; what is delayed stays so."""
        self._mishaps.clear()

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
