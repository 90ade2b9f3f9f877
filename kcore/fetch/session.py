"""Fetch sessions (KIP-227): the broker remembers what we fetch, a request says what changed.

Rules S1-S5 and S7. The session knows what the broker believes we want (`asks`); the planner says
what we want. An answer that does not fit the session is not used and costs the session, because
after it nobody knows what the broker remembers. Java: FetchSessionHandler.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kcore.enums import Enum
from kcore.hints import Final
from kcore.limits import MAX_INT32
from kcore.structs import TopicPartition
from kcore.tuples import NamedTuple
from kcore.wire.codes import ErrorCode

NO_SESSION: Final = 0
INITIAL_EPOCH: Final = 0
FINAL_EPOCH: Final = -1


class Ask(NamedTuple):
    """What is asked for one partition; a change of any of it is sent."""

    tp: TopicPartition
    topic_id: bytes | None
    offset: int
    leader_epoch: int
    max_bytes: int


class SessionRequest(NamedTuple):
    """The part of a fetch request that the session decides.

    full: everything wanted is in `send`. send: in the order the broker is to serve them.
    forget: what the broker is to drop, with the topic id it knows it under.
    """

    session_id: int
    session_epoch: int
    full: bool
    send: list[Ask]
    forget: list[tuple[TopicPartition, bytes | None]]


class Verdict(Enum):
    """What to do with an answer."""

    USE = "use"
    SKIP = "skip"  # carries nothing and is no fault: throttled
    RENEW = "renew"  # the broker refused the session; nothing to use, ask again
    BROKEN = "broken"  # does not fit what was asked


class FetchSession:
    """The session with one node."""

    __slots__ = ("_asked_full", "_by_id", "asks", "epoch", "id", "with_ids")

    def __init__(self) -> None:
        self.id = NO_SESSION
        self.epoch = INITIAL_EPOCH
        # What the broker believes is wanted, in its order.
        self.asks: dict[TopicPartition, Ask] = {}
        self.with_ids = False
        self._asked_full = True
        self._by_id: dict[bytes, str] = {}

    def next_request(
        self, wanted: Mapping[TopicPartition, Ask], changed: Iterable[TopicPartition], ids: bool
    ) -> SessionRequest:
        """The next request (S1).

        wanted: all that is wanted now, in order. changed: where it may differ from what the broker
        believes. ids: whether the request names topics by id, which a session does or does not.
        """
        if ids is not self.with_ids:
            self.renew()
        self.with_ids = ids
        if self.epoch == INITIAL_EPOCH:
            self._asked_full = True
            self.asks = dict(wanted)
            self._by_id = {}
            self._learn_ids(self.asks.values())
            return SessionRequest(self.id, self.epoch, True, list(self.asks.values()), [])
        self._asked_full = False
        send: list[Ask] = []
        forget: list[tuple[TopicPartition, bytes | None]] = []
        for tp in changed:
            ask, known = wanted.get(tp), self.asks.get(tp)
            if ask == known:
                continue
            if known is not None:
                del self.asks[tp]
                if ask is None or (ids and ask.topic_id != known.topic_id):
                    forget.append((tp, known.topic_id))  # gone, or replaced by a topic made anew
            if ask is not None:
                self.asks[tp] = ask  # changed and new ones move to the end
                send.append(ask)
        self._learn_ids(send)
        return SessionRequest(self.id, self.epoch, False, send, forget)

    def _learn_ids(self, asks: Iterable[Ask]) -> None:
        for ask in asks:
            if ask.topic_id is not None:
                self._by_id[ask.topic_id] = ask.tp.topic

    def topic_of(self, topic_id: bytes) -> str | None:
        """The topic of an id in an answer; None if it was never asked for."""
        return self._by_id.get(topic_id)

    def take_answer(
        self,
        error_code: int,
        session_id: int,
        answered: list[TopicPartition] | None,
        throttled: bool,
    ) -> Verdict:
        """Judge an answer and move the session on (S2-S4).

        answered: the partitions in it; None if some were of no known topic, or any came twice.
        """
        if error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND:
            self.forget()
            return Verdict.RENEW
        if error_code != ErrorCode.NONE:
            self.renew()
            return Verdict.RENEW
        if self._asked_full:
            return self._take_full(session_id, answered, throttled)
        return self._take_incremental(session_id, answered)

    def _take_full(
        self, session_id: int, answered: list[TopicPartition] | None, throttled: bool
    ) -> Verdict:
        if not answered and answered is not None and self.asks and throttled:
            self.forget()
            return Verdict.SKIP
        if answered is None or session_id < 0 or self.asks.keys() != set(answered):
            self.forget()
            return Verdict.BROKEN
        self.id = session_id
        self.epoch = INITIAL_EPOCH if session_id == NO_SESSION else 1
        return Verdict.USE

    def _take_incremental(self, session_id: int, answered: list[TopicPartition] | None) -> Verdict:
        known = self.asks
        if answered is None or not all(tp in known for tp in answered):
            self.renew()
            return Verdict.BROKEN
        if session_id == NO_SESSION:
            self.forget()
            return Verdict.USE
        if session_id != self.id:
            self.renew()
            return Verdict.BROKEN
        self.epoch = 1 if self.epoch >= MAX_INT32 else self.epoch + 1
        return Verdict.USE

    def forget(self) -> None:
        """The broker knows no session of ours: the next request is the first of a new one."""
        self.id = NO_SESSION
        self.epoch = INITIAL_EPOCH

    def renew(self) -> None:
        """Nobody knows what the broker remembers: the next request replaces the session (S5)."""
        self.epoch = INITIAL_EPOCH
