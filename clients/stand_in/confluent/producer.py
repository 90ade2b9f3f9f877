"""`Producer` under confluent-kafka's name, with its ways, over our producer.

`produce` never waits: messages for topics that are not known yet are kept until they are. Delivery
reports are told by `poll` and `flush`. Every call may come from any thread.
"""

from __future__ import annotations

import time
from collections import deque
from threading import Event as Bell
from threading import RLock, Thread
from types import TracebackType
from typing import Any, Final, Self

from kcore.clients.stand_in.confluent.admin_cluster import OwnDesk
from kcore.clients.stand_in.confluent.deliveries import Callback, Unsent, timed_out, why_failed
from kcore.clients.stand_in.confluent.errors import (
    KafkaError,
    KafkaException,
    code_of,
    failure,
    named,
    raised,
    told,
    words_of,
)
from kcore.clients.stand_in.confluent.happenings import Happenings
from kcore.clients.stand_in.confluent.messages import Counter, Outgoing
from kcore.clients.stand_in.confluent.options import Configuration, of_producer, wrong
from kcore.clients.stand_in.confluent.partitioners import CHOOSERS, DRAWN
from kcore.clients.stand_in.confluent.statistics import of_producer as statistics_of
from kcore.clients.stand_in.confluent.transactions import Transactions
from kcore.clients.stand_in.confluent.writer import Writer, refused
from kcore.errors import KafkaError as OurError
from kcore.errors import KafkaTimeoutError
from kcore.events import ErrorRaised, Event, MetadataUpdated, TopicsMissing
from kcore.limits import MAX_INT32
from kcore.settings.parsers import is_legal_name
from kcore.transports import monotonic_s
from kcore.tuples import NamedTuple

_CLOSED: Final = "Producer has been closed"
_SLICE_S: Final = 1.0
_LOOK_S: Final = 0.05  # again for topics that are not known yet
_ANEW_S: Final = 1.0  # for a topic that was not there, and may be by now


class _Kept(NamedTuple):
    """A message that no batch has taken yet. until: when it has failed, s."""

    unsent: Unsent
    until: float


class Producer(Outgoing, Transactions, OwnDesk):
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
        self._kept: dict[str, deque[_Kept]] = {}
        self._missing: dict[str, float] = {}  # topics that brokers do not have: since when
        self._denied: dict[str, KafkaError] = {}  # or that they do not tell of
        self._told = Bell()  # rings when something is known of topics
        happenings.serve_for(self)  # from now on events are seen
        self._errors_only: bool = conf.get("delivery.report.only.error", False)
        self._timeout_s = (conf.get("message.timeout.ms", 300_000) or MAX_INT32) / 1000
        self._feeding = False
        self._telling = RLock()
        options = of_producer(conf)
        options["partitioner_ignore_keys"] = name == "random"
        connects = "bootstrap.servers" in conf.given
        writer = Writer(happenings, options, connects=connects)
        counter = self._counter = Counter(
            writer.intake,
            writer.lock,
            self._choose,
            why_failed,
            conf.get("queue.buffering.max.messages", 100_000) or MAX_INT32,
            conf.get("queue.buffering.max.kbytes", 1_048_576) * 1024,
        )
        self._kept = counter.kept
        self._propagation_s = conf.get("topic.metadata.propagation.max.ms", 30_000) / 1000
        self._taking = writer.lock.held()  # for the order of messages, and how many there are
        self._writer = writer
        message_max = conf.get("message.max.bytes", 1_000_000)
        self._begin(counter, conf.calls.get("on_delivery"), message_max)

    def _need(self) -> Writer:
        writer = self._writer
        if writer is None:
            raise RuntimeError(_CLOSED)
        return writer

    # Messages ----------------------------------------------------------------------------------

    def _take(self, unsent: Unsent) -> None:
        """A message that could not simply be put into a batch that is open."""
        writer, size, counter = self._need(), unsent[-1], self._counter
        if "\0" in unsent[0]:  # here, where no topic comes that is known
            raise ValueError("embedded null character")
        with self._taking:
            counter.check_room(size)
            try:
                if unsent[0] in self._kept or not self._put(writer, unsent):
                    writer.check_open()
                    self._keep(unsent)
            except OurError as error:
                raise _not_taken(error) from error
            counter.count(size)

    def _put(self, writer: Writer, unsent: Unsent) -> bool:
        """Into a batch; False: its topic is not known yet. OurError."""
        if self._counter.put_quickly(unsent):
            return True
        topic, partition, key, value, headers, timestamp_ms, *_ = unsent
        if not is_legal_name(topic):
            return False
        number: int | None = partition
        if partition == DRAWN:
            count = writer.count_of(topic)
            if not count:
                return False
            number = self._choose(key, count)
            if number == DRAWN:
                number = None
        taken = writer.take(topic, key, value, headers, number, timestamp_ms)
        if taken is None:
            return False
        self._counter.put(*taken, unsent)
        return True

    def _keep(self, unsent: Unsent) -> None:
        kept = self._kept.setdefault(unsent[0], deque())
        kept.append(_Kept(unsent, unsent[7] + self._timeout_s))
        if not self._feeding:
            self._feeding = True
            Thread(target=self._feed, name="kcore-kept-messages", daemon=True).start()

    def _feed(self) -> None:
        """In a thread of its own, while there is a message whose topic is not known."""
        while True:
            self._told.wait(_LOOK_S)
            self._told.clear()
            with self._taking:
                writer = self._writer
                if writer is not None:
                    self._put_kept(writer)
                    self._counter.bell.set()  # who flushes has them linger no longer
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
                        why = self._why_given_up(topic, unsent[7], until, now)
                        if why is None:
                            break
                        self._fail(unsent, why)
                except OurError as error:
                    self._fail(unsent, _not_taken(error).args[0])
                kept.popleft()
            if not kept:
                del self._kept[topic]
                self._denied.pop(topic, None)

    def _why_given_up(self, topic: str, at: float, until: float, now: float) -> KafkaError | None:
        """Of a message that was produced `at`, and whose topic is not known; None: not yet."""
        if not is_legal_name(topic):
            return named("TOPIC_EXCEPTION")
        if topic in self._denied:
            return self._denied[topic]
        limit = self._propagation_s
        since = self._missing.get(topic)
        if since is not None and now >= max(since + limit, at + min(limit, _ANEW_S)):
            return named("UNKNOWN_TOPIC_OR_PART")
        return None if now < until else timed_out(topic)

    def _fail(self, unsent: Unsent, error: KafkaError) -> None:
        """A message that no batch has taken is told of, and its transaction is not to be
        committed.
        """
        self._counter.fail(unsent, error)
        self._unwritten += 1

    def _give_up_kept(self) -> None:
        with self._taking:
            for kept in self._kept.values():
                for one in kept:
                    self._fail(one.unsent, named("_PURGE_QUEUE"))
            self._kept.clear()

    def statistics(self) -> str:
        """What stats_cb is given."""
        writer, counter = self._need(), self._counter
        queued = len(self), counter.taken_bytes - counter.ended_bytes
        return statistics_of(writer, self._config, queued, writer.began_at)

    def see(self, event: Event) -> None:
        """What our producer says beside deliveries; not for programs."""
        if isinstance(event, TopicsMissing):
            now = time.time()
            self._missing = {topic: self._missing.get(topic, now) for topic in event.topics}
        elif isinstance(event, ErrorRaised):
            for topic in getattr(event.error, "topics", ()):
                if topic in self._kept:
                    self._denied[topic] = told(event.error)
        if isinstance(event, (MetadataUpdated, TopicsMissing, ErrorRaised)):
            self._told.set()

    def _put_everything(self, until: float | None) -> None:
        while self._kept:
            if until is not None and monotonic_s() >= until:
                raise KafkaTimeoutError(f"{next(iter(self._kept), '')} is not known yet")
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

    @property
    def _left(self) -> int:
        return self._counter.taken - self._counter.ended

    def __len__(self) -> int:
        return self._left if self._writer is not None else 0

    def __bool__(self) -> bool:
        return True

    def poll(self, timeout: float = -1) -> int:
        """Call callbacks: at once, or as soon as there is something within `timeout` seconds (below
        0: for ever). How many there were. Whatever they raise.
        """
        self._need()
        until = None if timeout < 0 else monotonic_s() + timeout
        while True:
            served = self._serve()
            if served:
                return served
            left = _SLICE_S if until is None else until - monotonic_s()
            if left <= 0:
                return 0
            self._wait(left)

    def flush(self, timeout: float = -1) -> int:
        """`poll` until everything is delivered or has failed: how many messages are left after
        `timeout` seconds (below 0: for ever).
        """
        until = None if timeout < 0 else monotonic_s() + timeout
        self._need().hurry()
        while True:
            self._serve()
            if not self._left:
                return 0
            left = _SLICE_S if until is None else until - monotonic_s()
            if left <= 0:
                return self._left
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
                served += counter.serve(self._errors_only)
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
        if in_queue:
            self._give_up_kept()
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
            self._end()
            writer.close(0)
            self._close_desk()
            self._config.close()
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
