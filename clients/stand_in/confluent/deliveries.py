"""What becomes of messages: they wait by batches, and are told of in the program's own calls."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from threading import Event
from typing import TYPE_CHECKING, Any, Final

from kcore import errors as ours
from kcore.clients.stand_in.confluent import constants
from kcore.clients.stand_in.confluent.errors import KafkaError, named, told
from kcore.clients.stand_in.confluent.message import Message, of_fields
from kcore.clients.stand_in.confluent.writer import PurgedError

if TYPE_CHECKING:
    from kcore.produce.batch import Batch

Callback = Callable[[Any, Message], object]
_CREATE_TIME: Final = constants.TIMESTAMP_CREATE_TIME
_APPEND_TIME: Final = constants.TIMESTAMP_LOG_APPEND_TIME


# number in its batch, key, value, headers, timestamp (ms), callback, when (s), bytes
Sent = tuple[int, Any, Any, Any, int, Any, float, int]
# topic, partition, and what is Sent otherwise
Unsent = tuple[str, int, Any, Any, Any, int, Any, float, int]


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
        self._failed: deque[tuple[Unsent, KafkaError]] = deque()
        self.bell = Event()

    def take(self, parcel: Parcel) -> None:
        """A batch is over. From any thread; again where there is more of it."""
        parcel.given = True
        self._parcels.append(parcel)
        self.bell.set()

    def fail(self, unsent: Unsent, error: KafkaError) -> None:
        """A message that came into no batch has failed."""
        self._failed.append((unsent, error))
        self.bell.set()

    @property
    def has_any(self) -> bool:
        """Whether anything is to be told."""
        return bool(self._parcels or self._failed)

    def serve(self, over: Callable[[int, int], object], *, errors_only: bool, now: float) -> int:
        """Tell the program: how many were told. over(count, bytes): told before callbacks are."""
        served = 0
        failed = self._failed
        while failed:
            unsent, error = failed.popleft()
            topic, partition, key, value, headers, time_ms, callback, at, size = unsent
            over(1, size)
            served += 1
            if callback is not None:
                where = topic, partition, constants.OFFSET_INVALID
                message = _message(where, key, value, headers, (_CREATE_TIME, time_ms), now - at)
                message.set_error(error)
                callback(error, message)
        parcels = self._parcels
        while parcels:
            parcel = parcels[0]
            batch, waiting = parcel.batch, parcel.sent
            tp = batch.tp
            topic, partition = tp.topic, tp.partition
            while waiting:
                number, key, value, headers, time_ms, callback, at, size = waiting.popleft()
                over(1, size)
                served += 1
                if callback is None:
                    continue
                outcome = batch.outcome(number)
                assert outcome is not None
                why = None if outcome.error is None else _why(outcome.error, batch)
                if why is None and errors_only:
                    continue
                kind = _CREATE_TIME
                if why is None and outcome.timestamp_ms >= 0:
                    kind, time_ms = _APPEND_TIME, outcome.timestamp_ms
                offset = constants.OFFSET_INVALID if why is not None else outcome.offset
                where = topic, partition, offset
                message = _message(where, key, value, headers, (kind, time_ms), now - at)
                if why is not None:
                    message.set_error(why)
                callback(why, message)
            if parcels and parcels[0] is parcel:
                parcels.popleft()
        return served


def _message(
    where: tuple[str, int, int],
    key: Any,
    value: Any,
    headers: Any,
    timestamp: tuple[int, int],
    latency: float,
) -> Message:
    topic, partition, offset = where
    return of_fields({
        "topic": topic,
        "partition": partition,
        "offset": offset,
        "key": key,
        "value": value,
        "headers": headers or None,
        "error": None,
        "timestamp": timestamp,
        "latency": latency,
        "leader_epoch": -1,
        "delivery_count": -1,
    })  # fmt: skip


def _why(error: BaseException, batch: Batch) -> KafkaError:
    if isinstance(error, PurgedError):
        return named("_PURGE_INFLIGHT" if batch.attempts else "_PURGE_QUEUE")
    if isinstance(error, ours.KafkaTimeoutError):
        return named("_MSG_TIMED_OUT", f"Local: Message timed out: {error}")
    return told(error)


def timed_out(topic: str) -> KafkaError:
    """Of a message whose topic was not known in time."""
    return named("_MSG_TIMED_OUT", f"Local: Message timed out: {topic} was not known in time")
