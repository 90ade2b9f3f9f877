"""Share sessions: what a member reads at one broker is remembered, so that it sends changes only.

    epoch 0      a new session, in the place of one that may be there
    epoch n > 0  changes to it; n grows by one a request, ShareAcknowledge counting as well
    epoch -1     it ends, and what its member has acquired here is free again

A session ends with its connection, too. Source of the rules: Java's SharePartitionManager,
ShareSession and ShareSessionCache of Kafka 4.3.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kcore.broker.batches import RefusedError
from kcore.limits import MAX_INT32
from kcore.wire.codes import ErrorCode

INITIAL_EPOCH: Final = 0
FINAL_EPOCH: Final = -1

# Group and member.
SessionKey = tuple[str, str]

# A topic's id (16 bytes) and a partition.
Part = tuple[bytes, int]


class ShareSession:
    """What one member reads. known: of each partition, whether its client has been answered."""

    __slots__ = ("epoch", "key", "link", "parts")

    def __init__(self, key: SessionKey, link: int, parts: Iterable[Part]) -> None:
        self.key = key
        self.link = link
        self.parts: dict[Part, None] = dict.fromkeys(parts)
        self.epoch = INITIAL_EPOCH + 1  # of the next request


class ShareSessions:
    """The sessions of one node, `limit` of them at most."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._sessions: dict[SessionKey, ShareSession] = {}
        self._by_link: dict[int, dict[SessionKey, None]] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def create(self, key: SessionKey, link: int, parts: Iterable[Part]) -> ShareSession:
        """A new one. RefusedError (SHARE_SESSION_LIMIT_REACHED) if there is no room."""
        self.remove(key)
        if len(self._sessions) >= self._limit:
            raise RefusedError(
                ErrorCode.SHARE_SESSION_LIMIT_REACHED,
                "The limit of share sessions has been reached.",
            )
        session = self._sessions[key] = ShareSession(key, link, parts)
        self._by_link.setdefault(link, {})[key] = None
        return session

    def find(self, key: SessionKey) -> ShareSession:
        """RefusedError (SHARE_SESSION_NOT_FOUND)."""
        session = self._sessions.get(key)
        if session is None:
            raise RefusedError(
                ErrorCode.SHARE_SESSION_NOT_FOUND, "The share session was not found."
            )
        return session

    def step(self, key: SessionKey, epoch: int) -> ShareSession:
        """A request in the session. RefusedError, also with INVALID_SHARE_SESSION_EPOCH."""
        session = self.find(key)
        if session.epoch != epoch:
            raise RefusedError(
                ErrorCode.INVALID_SHARE_SESSION_EPOCH, "The share session epoch is invalid."
            )
        session.epoch = 1 if session.epoch == MAX_INT32 else session.epoch + 1
        return session

    def remove(self, key: SessionKey) -> ShareSession | None:
        """It is over."""
        session = self._sessions.pop(key, None)
        if session is not None:
            others = self._by_link[session.link]
            del others[key]
            if not others:
                del self._by_link[session.link]
        return session

    def of_link(self, link: int) -> list[ShareSession]:
        """Those of a connection."""
        return [self._sessions[key] for key in self._by_link.get(link, ())]

    def clear(self) -> None:
        """The node went down: nothing is remembered."""
        self._sessions.clear()
        self._by_link.clear()
