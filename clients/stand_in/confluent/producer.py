"""`Producer` under confluent-kafka's name, with its ways, over our producer.

`produce` never waits: messages for topics that are not known yet are kept until they are. Delivery
reports are told by `poll` and `flush`. Every call may come from any thread.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping
from threading import Lock, RLock, Thread
from types import TracebackType
from typing import Any, Final, Self

from kcore.clients.stand_in.confluent.admin_cluster import OwnDesk
from kcore.clients.stand_in.confluent.deliveries import (
    Callback,
    Counter,
    Parcel,
    Unsent,
    timed_out,
)
from kcore.clients.stand_in.confluent.errors import (
    KafkaException,
    code_of,
    failure,
    named,
    raised,
    words_of,
)
from kcore.clients.stand_in.confluent.happenings import Happenings
from kcore.clients.stand_in.confluent.options import Configuration, of_producer, wrong
from kcore.clients.stand_in.confluent.partitioners import CHOOSERS, DRAWN
from kcore.clients.stand_in.confluent.statistics import of_producer as statistics_of
from kcore.clients.stand_in.confluent.transactions import Transactions
from kcore.clients.stand_in.confluent.writer import Headers, Writer, refused
from kcore.errors import KafkaError as OurError
from kcore.events import Event, MetadataUpdated
from kcore.limits import MAX_INT32
from kcore.tuples import NamedTuple

_CLOSED: Final = "Producer has been closed"
_SLICE_S: Final = 1.0
_LOOK_S: Final = 0.05  # again for topics that are not known yet


class _Kept(NamedTuple):
    """A message that no batch has taken yet. until: when it has failed, s."""

    unsent: Unsent
    until: float


class Producer(Transactions, OwnDesk):
    """Writes messages; options in librdkafka's words. KafkaException: what is wrong with them.

    TypeError: no configuration.
    """

    _writer: Writer | None = None

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        conf = self._config = Configuration(arguments, keywords)
        name = conf.get("partitioner", "consistent_random")
        if name not in CHOOSERS:
            raise wrong(f'Invalid value for configuration property "partitioner": {name}')
        self._choose = CHOOSERS[name]
        happenings = self._happenings = Happenings(str(conf.get("client.id", "rdkafka")), conf)
        happenings.serve_for(self)
        self._on_delivery = conf.calls.get("on_delivery")
        self._errors_only: bool = conf.get("delivery.report.only.error", False)
        self._count_max: int = conf.get("queue.buffering.max.messages", 100_000) or MAX_INT32
        self._bytes_max: int = conf.get("queue.buffering.max.kbytes", 1_048_576) * 1024
        self._message_max: int = conf.get("message.max.bytes", 1_000_000)
        self._timeout_s = (conf.get("message.timeout.ms", 300_000) or MAX_INT32) / 1000
        self._counter = Counter()
        self._parcels: dict[Any, Parcel] = {}
        self._counts: dict[str, int] = {}  # partitions of topics
        self._kept: dict[str, deque[_Kept]] = {}  # by topic
        self._feeding = False
        self._taking = Lock()  # for the order of messages, what they are put into, and these two
        self._taken = 0
        self._taken_bytes = 0
        self._telling = RLock()  # for what is told, and these two
        self._ended = 0
        self._ended_bytes = 0
        options = of_producer(conf)
        options["partitioner_ignore_keys"] = name == "random"
        connects = "bootstrap.servers" in conf.given
        self._writer = Writer(happenings, options, connects=connects)

    def _need(self) -> Writer:
        writer = self._writer
        if writer is None:
            raise RuntimeError(_CLOSED)
        return writer

    # Messages ----------------------------------------------------------------------------------

    def produce(
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        partition: int = DRAWN,
        callback: Callback | None = None,
        on_delivery: Callback | None = None,
        timestamp: int = 0,
        headers: Any = None,
    ) -> None:
        """Take a message, to be delivered soon. value, key: bytes, or text. headers: pairs, or a
        dict. timestamp: ms since 1970; 0: now. callback, on_delivery: called with a KafkaError (or
        None) and the message, by `poll` and `flush`.

        BufferError: there are too many that are not delivered: `poll`, then try again.
        KafkaException: too large, no such partition, not in a transaction. TypeError.
        """
        writer = self._writer or self._need()
        if type(value) is not bytes and value is not None:
            value = _bytes("value", value)
        if type(key) is not bytes and key is not None:
            key = _bytes("key", key)
        given = _headers(headers) if headers else []
        at = time.time()
        size = (0 if value is None else len(value)) + (0 if key is None else len(key))
        if size > self._message_max:
            raise failure("MSG_SIZE_TOO_LARGE", "Broker: Message size too large")
        if type(topic) is not str:
            raise TypeError(f"topic must be a string, not {topic!r:.200}")
        told = callback or on_delivery or self._on_delivery
        unsent = (topic, partition, key, value, given, timestamp or int(at * 1000), told, at, size)
        with self._taking:
            if (
                self._taken - self._ended >= self._count_max
                or self._taken_bytes - self._ended_bytes + size > self._bytes_max
            ):
                raise BufferError("Local: Queue full")
            try:
                if topic in self._kept or not self._put(writer, unsent):
                    self._keep(unsent)
            except OurError as error:
                raise _not_taken(error) from error
            self._taken += 1
            self._taken_bytes += size

    def _put(self, writer: Writer, unsent: Unsent) -> bool:
        """Into a batch; False: its topic is not known yet. OurError."""
        topic, partition, key, value, headers, timestamp_ms, told, at, size = unsent
        number: int | None = partition
        if partition == DRAWN:
            count = self._counts.get(topic) or self._count(writer, topic)
            if not count:
                return False
            number = self._choose(key, count)
            if number == DRAWN:
                number = None
        taken = writer.take(topic, key, value, headers, number, timestamp_ms)
        if taken is None:
            return False
        batch, place = taken
        parcels = self._parcels
        where = batch.tp
        parcel = parcels.get(where)
        if parcel is None or parcel.batch is not batch:
            parcel = parcels[where] = Parcel(batch, self._counter)
            with writer.lock:
                if not batch.done:
                    batch.waiters.append(parcel)
                else:
                    parcel.given = True
        parcel.sent.append((place, key, value, headers, timestamp_ms, told, at, size))
        if parcel.given:
            self._counter.take(parcel)
        return True

    def _count(self, writer: Writer, topic: str) -> int:
        found = writer.count_of(topic)
        if found:
            self._counts[topic] = found
        return found

    def _keep(self, unsent: Unsent) -> None:
        kept = self._kept.setdefault(unsent[0], deque())
        kept.append(_Kept(unsent, unsent[7] + self._timeout_s))
        if not self._feeding:
            self._feeding = True
            Thread(target=self._feed, name="kcore-kept-messages", daemon=True).start()

    def _feed(self) -> None:
        """In a thread of its own, while there is a message whose topic is not known."""
        while True:
            time.sleep(_LOOK_S)
            with self._taking:
                writer = self._writer
                if writer is not None:
                    self._put_kept(writer)
                if not self._kept or writer is None:
                    self._feeding = False
                    return

    def _put_kept(self, writer: Writer) -> None:
        """What was kept goes where it can go now, in its order."""
        now = time.time()
        for topic, kept in [*self._kept.items()]:
            while kept:
                unsent, until = kept[0]
                try:
                    if not self._put(writer, unsent):
                        if now < until:
                            break
                        self._counter.fail(unsent, timed_out(topic))
                except OurError as error:
                    self._counter.fail(unsent, _not_taken(error).args[0])
                kept.popleft()
            if not kept:
                del self._kept[topic]

    def _over(self, count: int, size: int) -> None:
        self._ended += count
        self._ended_bytes += size

    def statistics(self) -> str:
        """What stats_cb is given."""
        writer, queued = self._need(), (len(self), self._taken_bytes - self._ended_bytes)
        return statistics_of(writer, self._config, queued, writer.began_at)

    def see(self, event: Event) -> None:
        """What our producer says beside deliveries; not for programs."""
        if isinstance(event, MetadataUpdated):
            self._counts.clear()

    def _put_everything(self, timeout: float) -> None:
        until = None if timeout < 0 else time.monotonic() + timeout
        while self._kept and (until is None or time.monotonic() < until):
            time.sleep(_LOOK_S)

    def produce_batch(
        self,
        topic: str,
        messages: list[dict[str, Any]],
        partition: int = DRAWN,
        callback: Callback | None = None,
        on_delivery: Callback | None = None,
    ) -> int:
        """`produce` for each of these (dicts of value, key, partition, callback): how many were
        taken. Those that were not have a KafkaError as `_error`.
        """
        if not isinstance(messages, list):
            raise TypeError("messages must be a list")
        if not isinstance(topic, str) or not isinstance(partition, int):
            raise TypeError("topic must be a string, and partition a number")
        for index, message in enumerate(messages):
            _check_of_batch(index, message)
        self._need()
        taken = 0
        for message in messages:
            told = message.get("callback") or message.get("on_delivery") or callback or on_delivery
            number = message.get("partition", partition)
            try:
                self.produce(topic, message.get("value"), message.get("key"), number, told)
            except BufferError:
                message["_error"] = named("_QUEUE_FULL")
            except KafkaException as error:
                message["_error"] = error.args[0]
            else:
                taken += 1
        return taken

    # Delivery ----------------------------------------------------------------------------------

    def __len__(self) -> int:
        return self._taken - self._ended if self._writer is not None else 0

    def __bool__(self) -> bool:
        return True

    def poll(self, timeout: float = -1) -> int:
        """Call callbacks: at once, or as soon as there is something within `timeout` seconds (below
        0: for ever). How many there were. Whatever they raise.
        """
        self._need()
        until = None if timeout < 0 else time.monotonic() + timeout
        while True:
            served = self._serve()
            if served:
                return served
            left = _SLICE_S if until is None else until - time.monotonic()
            if left <= 0:
                return 0
            self._wait(left)

    def flush(self, timeout: float = -1) -> int:
        """`poll` until everything is delivered or has failed: how many messages are left after
        `timeout` seconds (below 0: for ever).
        """
        until = None if timeout < 0 else time.monotonic() + timeout
        self._need().hurry()
        while True:
            self._serve()
            if self._taken == self._ended:
                return 0
            left = _SLICE_S if until is None else until - time.monotonic()
            if left <= 0:
                return self._taken - self._ended
            kept = bool(self._kept)
            self._wait(left)
            if kept:
                self._need().hurry()

    def _serve(self) -> int:
        writer = self._need()
        counter, happenings = self._counter, self._happenings
        served = happenings.serve(writer.now_ms())
        if counter.has_any:
            with self._telling:
                served += counter.serve(self._over, errors_only=self._errors_only, now=time.time())
        return served

    def _wait(self, left_s: float) -> None:
        counter = self._counter
        counter.bell.clear()
        if counter.has_any or self._happenings.calls:
            return
        due = self._happenings.due_in(self._need().now_ms()) / 1000
        counter.bell.wait(max(0, min(left_s, due, _LOOK_S if self._waits_briefly() else _SLICE_S)))

    def _waits_briefly(self) -> bool:
        return bool(self._kept) or self._happenings.tells_errors

    def purge(
        self,
        in_queue: bool = True,
        in_flight: bool = True,
        blocking: bool = True,  # noqa: ARG002 - nothing is waited for
    ) -> None:
        """Give messages up: those that no broker was sent (_PURGE_QUEUE), and those that one was
        (_PURGE_INFLIGHT), which may be written nevertheless.
        """
        writer = self._need()
        with self._taking:
            if in_queue:
                for kept in self._kept.values():
                    for one in kept:
                        self._counter.fail(one.unsent, named("_PURGE_QUEUE"))
                self._kept.clear()
        if in_queue and in_flight:
            writer.give_up()

    def _check_open(self) -> None:
        self._need()

    def _authenticate(self, username: str, password: str) -> None:
        self._need().authenticate_as(username, password)

    # Life --------------------------------------------------------------------------------------

    def close(self) -> bool:
        """Deliver everything, then disconnect."""
        writer = self._writer
        if writer is None:
            return True
        try:
            self.flush()
        finally:
            self._writer = None
            writer.close(0)
            self._close_desk()
        return True

    def __del__(self) -> None:
        if self._writer is not None:
            self._writer.let_go()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _not_taken(error: OurError) -> KafkaException:
    why = refused(error)
    if why is not None:
        return KafkaException(why)
    if code_of(error) == named("_STATE").code():
        return failure("_STATE", f"Unable to produce message: {words_of(code_of(error))}: {error}")
    return raised(error)


def _bytes(name: str, value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    raise TypeError(f"{name} must be bytes or a string, not {type(value).__name__}")


def _headers(headers: Any) -> Headers:
    """TypeError."""
    if isinstance(headers, Mapping):
        pairs: Any = headers.items()
    elif isinstance(headers, list):
        pairs = headers
    else:
        raise TypeError("expected headers to be a dict or list of (key, value) tuples")
    found: Headers = []
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2 or not isinstance(pair[0], str):
            raise TypeError("headers must be a list of (key, value) tuples, or a dict")
        name, value = pair
        found.append((name, None if value is None else _bytes("a header's value", value)))
    return found


def _check_of_batch(index: int, message: Any) -> None:
    """TypeError, NotImplementedError."""
    if not isinstance(message, dict):
        raise TypeError(f"Message at index {index} must be a dict")
    if "timestamp" in message:
        raise NotImplementedError(
            "Message timestamps are not currently supported in batch mode: use produce()"
        )
    for name in ("value", "key"):
        given = message.get(name)
        if given is not None and not isinstance(given, (str, bytes, bytearray, memoryview)):
            raise TypeError(f"Message {name} at index {index} must be bytes or str")
    if not isinstance(message.get("partition", 0), int):
        raise TypeError(f"Message partition at index {index} must be int")
    for name in ("callback", "on_delivery"):
        if message.get(name) is not None and not callable(message[name]):
            raise TypeError(f"Message {name} at index {index} must be callable")
