"""Share sessions: what a member reads at one broker is remembered, so that it sends changes only.

    epoch 0      a new session, in the place of one that may be there
    epoch n > 0  changes to it; n grows by one a request, ShareAcknowledge counting as well
    epoch -1     it ends, and what its member has acquired here is free again

A session ends with its connection, too. Source of the rules: Java's SharePartitionManager,
ShareSession and ShareSessionCache of Kafka 4.3.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from kcore.broker.batches import RefusedError
from kcore.limits import MAX_INT32
from kcore.wire.codes import ErrorCode

INITIAL_EPOCH: Final = 0
FINAL_EPOCH: Final = -1

# Partitions that all sessions of a node remember together; Kafka has no such bound.
PARTS_MAX: Final = 200_000

# Group and member.
SessionKey = tuple[str, str]

# A topic's id (16 bytes) and a partition.
Part = tuple[bytes, int]


class ShareSession:
    """What one member reads, over one connection. parts: each, and whether its topic was there."""

    __slots__ = ("epoch", "key", "link", "parts")

    def __init__(self, key: SessionKey, link: int) -> None:
        self.key = key
        self.link = link
        self.parts: dict[Part, bool] = {}
        self.epoch = INITIAL_EPOCH + 1  # of the next request


class ShareSessions:
    """The sessions of one node, `limit` of them at most."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._sessions: dict[SessionKey, ShareSession] = {}
        self._by_link: dict[int, dict[SessionKey, None]] = {}
        self._of_group: Counter[str] = Counter()
        self._parts = 0

    def __len__(self) -> int:
        return len(self._sessions)

    def create(self, key: SessionKey, link: int, parts: Iterable[Part]) -> ShareSession:
        """A new one. RefusedError (SHARE_SESSION_LIMIT_REACHED) if there is no room."""
        self.remove(key)
        if len(self._sessions) >= self._limit:
            raise _full()
        session = self._sessions[key] = ShareSession(key, link)
        self._by_link.setdefault(link, {})[key] = None
        self._of_group[key[0]] += 1
        self.change(session, parts, ())
        return session

    def change(
        self, session: ShareSession, added: Iterable[Part], forgotten: Iterable[Part]
    ) -> None:
        """It reads other partitions now. RefusedError if that is too much, and it ends."""
        before = len(session.parts)
        for part in added:
            session.parts.setdefault(part, False)
        for part in forgotten:
            session.parts.pop(part, None)
        self._parts += len(session.parts) - before
        if self._parts > PARTS_MAX:
            self.remove(session.key)
            raise _full()

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
            self._of_group[key[0]] -= 1
            if not self._of_group[key[0]]:
                del self._of_group[key[0]]
            self._parts -= len(session.parts)
        return session

    def any_of(self, group_id: str) -> bool:
        """Whether a member of the group reads here."""
        return group_id in self._of_group

    def of_link(self, link: int) -> list[ShareSession]:
        """Those of a connection."""
        return [self._sessions[key] for key in self._by_link.get(link, ())]

    def parts(self) -> Iterator[tuple[SessionKey, Part]]:
        """What is read here, and by whom, to look at."""
        for session in self._sessions.values():
            for part in session.parts:
                yield session.key, part

    def clear(self) -> None:
        """The node went down: nothing is remembered."""
        self._sessions.clear()
        self._by_link.clear()
        self._of_group.clear()
        self._parts = 0


def _full() -> RefusedError:
    return RefusedError(ErrorCode.SHARE_SESSION_LIMIT_REACHED, "no room for more")
