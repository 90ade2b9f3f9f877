"""Fetch sessions (KIP-227): what a client reads is remembered, so that it sends and gets changes
only.

    epoch 0      a full request: a new session is made, if there is room
    epoch -1     a full request, and no session
    epoch n > 0  changes to the session named; n grows by one a request

Any full request that names a session ends it. Source of the rules: Java's FetchSession, of Kafka
4.3 (FetchManager.newContext, FetchSessionCacheShard, CachedPartition).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from kcore.broker.batches import RefusedError
from kcore.limits import MAX_INT32
from kcore.structs import Rng
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import FetchRequest

INITIAL_EPOCH: Final = 0
FINAL_EPOCH: Final = -1
NO_SESSION: Final = 0
TOPIC_IDS_VERSION: Final = 13

# A topic by its id (16 bytes) or, before version 13, its name; and the partition's number.
Key = tuple[bytes | str, int]


@dataclass(frozen=True, slots=True)
class SessionLimits:
    """How much is remembered.

    slots: sessions (Kafka: max.incremental.fetch.session.cache.slots). eviction_ms: how long one
    that is in use is safe from larger ones. partitions: of all sessions together, some 400 bytes
    each; Kafka has no such bound.
    """

    slots: int = 1_000
    eviction_ms: int = 120_000
    partitions: int = 200_000


class Wanted:
    """One partition that a client reads, and what it was told of it last.

    name: of the topic; None if nothing has its id.
    """

    __slots__ = (
        "fetch_offset",
        "high_watermark",
        "last_fetched_epoch",
        "leader_epoch",
        "log_start_offset",
        "max_bytes",
        "name",
        "number",
        "topic_id",
    )

    def __init__(
        self, name: str | None, topic_id: bytes, asked: FetchRequest.FetchPartition
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.number = asked.partition
        self.high_watermark = -1
        self.log_start_offset = -1
        self.update(asked)

    def update(self, asked: FetchRequest.FetchPartition) -> None:
        """The client says anew where it is."""
        self.fetch_offset = asked.fetch_offset
        self.max_bytes = asked.partition_max_bytes
        self.leader_epoch = asked.current_leader_epoch
        self.last_fetched_epoch = asked.last_fetched_epoch


class Session:
    """One client's partitions, in the order in which they are read: who was served goes last."""

    __slots__ = ("by_id", "created_ms", "epoch", "evictable", "number", "parts", "used_ms")

    def __init__(self, number: int, parts: dict[Key, Wanted], *, by_id: bool, now_ms: int) -> None:
        self.number = number
        self.parts = parts
        self.by_id = by_id
        self.epoch = INITIAL_EPOCH + 1  # of the next request
        self.created_ms = self.used_ms = now_ms
        self.evictable = False  # by a larger one

    def take_turn(self, key: Key) -> None:
        """It got records: the others come first next time, however little room there is."""
        self.parts[key] = self.parts.pop(key)


@dataclass(slots=True)
class Opened:
    """What a request is about. session: it goes on with; None: all of `parts` is answered.

    epoch: the session's, as long as no other request overtakes this one.
    """

    parts: dict[Key, Wanted]
    session: Session | None = None
    epoch: int = FINAL_EPOCH
    create: bool = False  # whether a session is to be made


class Sessions:
    """The sessions of one node."""

    def __init__(self, rng: Rng, limits: SessionLimits) -> None:
        self._rng = rng
        self._limits = limits
        self._sessions: OrderedDict[int, Session] = OrderedDict()  # used longest ago first
        self._partitions = 0

    def __len__(self) -> int:
        return len(self._sessions)

    @property
    def partition_count(self) -> int:
        """Partitions remembered in all."""
        return self._partitions

    def open(
        self,
        request: FetchRequest,
        version: int,
        now_ms: int,
        name_of: Callable[[bytes], str | None],
    ) -> Opened:
        """What the request is about. RefusedError with the code to answer.

        name_of: of a topic id.
        """
        by_id = version >= TOPIC_IDS_VERSION
        if request.session_epoch in {INITIAL_EPOCH, FINAL_EPOCH}:
            self._remove(self._sessions.get(request.session_id))
            parts = _wanted(request, name_of, by_id=by_id)
            return Opened(parts, create=request.session_epoch == INITIAL_EPOCH)
        session = self._sessions.get(request.session_id)
        if session is None:
            raise RefusedError(ErrorCode.FETCH_SESSION_ID_NOT_FOUND, "no such session")
        if session.epoch != request.session_epoch:
            raise RefusedError(ErrorCode.INVALID_FETCH_SESSION_EPOCH, f"it is {session.epoch}")
        if session.by_id is not by_id:
            raise RefusedError(ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR, "ids and names")
        self._change(session, request, name_of)
        if not session.parts:
            self._remove(session)
            return Opened(_wanted(request, name_of, by_id=by_id))  # also if it is forgotten at once
        self._touch(session, now_ms)
        return Opened(session.parts, session, session.epoch)

    def named(self, request: FetchRequest, version: int) -> list[Key]:
        """The partitions that a request is about, as `open` will find them; nothing is changed."""
        by_id = version >= TOPIC_IDS_VERSION
        asked = dict.fromkeys(key for key, _, _ in _asked(request, by_id=by_id))
        if request.session_epoch in {INITIAL_EPOCH, FINAL_EPOCH}:
            return list(asked)
        session = self._sessions.get(request.session_id)
        if session is None or (session.epoch, session.by_id) != (request.session_epoch, by_id):
            return []
        found = dict.fromkeys(session.parts) | asked
        for forgotten in request.forgotten_topics_data:
            for number in forgotten.partitions:
                found.pop((forgotten.topic_id if by_id else forgotten.topic, number), None)
        return list(found or asked)

    def create(self, parts: dict[Key, Wanted], now_ms: int, *, by_id: bool) -> int:
        """The number of a new session with these partitions; NO_SESSION if there is no room."""
        if self._partitions + len(parts) > self._limits.partitions:
            return NO_SESSION
        if len(self._sessions) >= self._limits.slots and not self._evict(len(parts), now_ms):
            return NO_SESSION
        number = self._rng.getrandbits(31)
        while not number or number in self._sessions:
            number = self._rng.getrandbits(31)
        self._sessions[number] = Session(number, parts, by_id=by_id, now_ms=now_ms)
        self._partitions += len(parts)
        return number

    def clear(self) -> None:
        """The node went down: nothing is remembered."""
        self._sessions.clear()
        self._partitions = 0

    def _change(
        self, session: Session, request: FetchRequest, name_of: Callable[[bytes], str | None]
    ) -> None:
        parts = session.parts
        before = len(parts)
        for key, topic_id, asked in _asked(request, by_id=session.by_id):
            known = parts.get(key)
            if known is not None:
                known.update(asked)
            else:
                parts[key] = Wanted(_name(key, name_of), topic_id, asked)
        for forgotten in request.forgotten_topics_data:
            for number in forgotten.partitions:
                parts.pop((forgotten.topic_id if session.by_id else forgotten.topic, number), None)
        self._partitions += len(parts) - before
        if self._partitions > self._limits.partitions:
            self._remove(session)
            raise RefusedError(ErrorCode.FETCH_SESSION_ID_NOT_FOUND, "too large to be kept")

    def _touch(self, session: Session, now_ms: int) -> None:
        session.epoch = 1 if session.epoch == MAX_INT32 else session.epoch + 1
        session.used_ms = now_ms
        session.evictable = now_ms - session.created_ms > self._limits.eviction_ms
        self._sessions.move_to_end(session.number)

    def _evict(self, size: int, now_ms: int) -> bool:
        """Make room: one that nobody uses goes, else the smallest old one, if it is smaller."""
        oldest = next(iter(self._sessions.values()), None)
        if oldest is not None and now_ms - oldest.used_ms > self._limits.eviction_ms:
            self._remove(oldest)
            return True
        smallest = min(
            (one for one in self._sessions.values() if one.evictable),
            key=lambda one: len(one.parts),
            default=None,
        )
        if smallest is not None and len(smallest.parts) < size:
            self._remove(smallest)
            return True
        return False

    def _remove(self, session: Session | None) -> None:
        if session is not None:
            del self._sessions[session.number]
            self._partitions -= len(session.parts)


def _wanted(
    request: FetchRequest, name_of: Callable[[bytes], str | None], *, by_id: bool
) -> dict[Key, Wanted]:
    """What the request itself asks for."""
    return {
        key: Wanted(_name(key, name_of), topic_id, one)
        for key, topic_id, one in _asked(request, by_id=by_id)
    }


def _name(key: Key, name_of: Callable[[bytes], str | None]) -> str | None:
    topic, _ = key
    return name_of(topic) if isinstance(topic, bytes) else topic


def _asked(
    request: FetchRequest, *, by_id: bool
) -> Iterator[tuple[Key, bytes, FetchRequest.FetchPartition]]:
    for entry in request.topics:
        topic: bytes | str = entry.topic_id if by_id else entry.topic
        for asked in entry.partitions:
            yield (topic, asked.partition), entry.topic_id, asked
