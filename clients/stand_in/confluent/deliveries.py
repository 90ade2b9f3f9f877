"""What becomes of messages: they wait by batches, and are told of in the program's own calls."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from threading import Event
from typing import TYPE_CHECKING, Any, Final

from kcore import errors as ours
from kcore.clients.stand_in.confluent import constants
from kcore.clients.stand_in.confluent.errors import KafkaError, named, told
from kcore.clients.stand_in.confluent.message import Message
from kcore.clients.stand_in.confluent.writer import PurgedError
from kcore.tuples import NamedTuple

if TYPE_CHECKING:
    from kcore.produce.batch import Batch, Outcome

Callback = Callable[[Any, Message], object]
_APPEND_TIME: Final = constants.TIMESTAMP_LOG_APPEND_TIME


class Sent(NamedTuple):
    """A message that was taken. number: in its batch. at: when, s. size: bytes."""

    number: int
    topic: str
    partition: int
    key: bytes | None
    value: bytes | None
    headers: Any
    timestamp_ms: int
    callback: Callback | None
    at: float
    size: int


class Parcel:
    """Who waits for a batch."""

    __slots__ = ("batch", "counter", "given", "sent")

    def __init__(self, batch: Batch, counter: Counter) -> None:
        self.batch = batch
        self.counter = counter
        self.sent: deque[Sent] = deque()
        self.given = False

    def settle(self, _batch: Batch) -> list[Callable[[], object]]:
        """As batches tell who waits: in the producer's thread."""
        if self.batch.done:
            self.counter.take(self)
        return []


class Counter:
    """Where parcels are handed over to the program. bell: rung when one has come."""

    def __init__(self) -> None:
        self._parcels: deque[Parcel] = deque()
        self._failed: deque[tuple[Sent, KafkaError]] = deque()
        self.bell = Event()

    def take(self, parcel: Parcel) -> None:
        """A batch is over. From any thread; again where there is more of it."""
        parcel.given = True
        self._parcels.append(parcel)
        self.bell.set()

    def fail(self, sent: Sent, error: KafkaError) -> None:
        """A message that came into no batch has failed."""
        self._failed.append((sent, error))
        self.bell.set()

    @property
    def has_any(self) -> bool:
        """Whether anything is to be told."""
        return bool(self._parcels or self._failed)

    def serve(self, over: Callable[[Sent], object], *, errors_only: bool, now: float) -> int:
        """Tell the program: how many were told. over: told of each before its callback."""
        served = 0
        failed = self._failed
        while failed:
            sent, error = failed.popleft()
            over(sent)
            _tell(sent, error, None, now)
            served += 1
        parcels = self._parcels
        while parcels:
            parcel = parcels[0]
            batch, waiting = parcel.batch, parcel.sent
            while waiting:
                sent = waiting.popleft()
                outcome = batch.outcome(sent.number)
                over(sent)
                served += 1
                if sent.callback is None:
                    continue
                if outcome is None or outcome.error is None:
                    if not errors_only:
                        _tell(sent, None, outcome, now)
                else:
                    _tell(sent, _why(outcome.error, batch), outcome, now)
            if parcels and parcels[0] is parcel:
                parcels.popleft()
        return served


def _tell(sent: Sent, error: KafkaError | None, outcome: Outcome | None, now: float) -> None:
    if sent.callback is None:
        return
    kind, time_ms = constants.TIMESTAMP_CREATE_TIME, sent.timestamp_ms
    offset = constants.OFFSET_INVALID
    if outcome is not None and error is None:
        offset = outcome.offset
        if outcome.timestamp_ms >= 0:
            kind, time_ms = _APPEND_TIME, outcome.timestamp_ms
    message = Message(
        sent.topic,
        sent.partition,
        offset,
        sent.key,
        sent.value,
        sent.headers or None,
        error,
        (kind, time_ms),
        now - sent.at,
    )
    sent.callback(error, message)


def _why(error: BaseException, batch: Batch) -> KafkaError:
    if isinstance(error, PurgedError):
        return named("_PURGE_INFLIGHT" if batch.attempts else "_PURGE_QUEUE")
    if isinstance(error, ours.KafkaTimeoutError):
        return named("_MSG_TIMED_OUT", f"Local: Message timed out: {error}")
    return told(error)


def timed_out(topic: str) -> KafkaError:
    """Of a message whose topic was not known in time."""
    return named("_MSG_TIMED_OUT", f"Local: Message timed out: {topic} was not known in time")
