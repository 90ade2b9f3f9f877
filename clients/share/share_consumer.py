"""`ShareConsumer`: a member of a share group (KIP-932), over the sans-IO core.

The user's thread drives the pump inside a call; the keeper drives it while the user is away. Every
call goes through the guard, so the core sees one thread at a time.
"""

from __future__ import annotations

import time
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from kcore import transports
from kcore.clients import arguments
from kcore.clients.consumer.closing import ending
from kcore.clients.consumer.keeper import Keeper, Pace
from kcore.clients.consumer.polling import KEEPER_MS, Polling
from kcore.clients.guard import Guard
from kcore.clients.opening import begin_at_names, open_proxy, open_sasl, open_tls, open_transport
from kcore.clients.randomness import ClientRng
from kcore.clients.reporting import Reporter
from kcore.clients.share.engine import ShareEngine
from kcore.clients.share.loop import ShareLoop
from kcore.clients.share.verbs import ShareVerbs
from kcore.errors import (
    IllegalStateError,
    KafkaError,
    KafkaTimeoutError,
)
from kcore.share.config import ShareConsumerConfig
from kcore.structs import TopicPartition
from kcore.transports.forking import release_in_child

if TYPE_CHECKING:
    from kcore.records import ConsumerRecord

# The brokers say how often heartbeats are due (group.share.heartbeat.interval.ms, 5 s as a rule).
_HEARTBEAT_MS = 3_000
NOTHING_SUBSCRIBED = "nothing is subscribed: there is nothing to poll"

Records = dict[TopicPartition, list["ConsumerRecord"]]


class ShareConsumer(ShareVerbs, Polling):
    """Reads topics of a Kafka cluster as a member of a share group: records, not partitions, are
    shared out among its members, and each is acknowledged by itself.

    Topics to subscribe to are positional; options are keywords under the names that `Consumer` has
    (Java's dotted ones in a mapping), listed in `kcore.share.config`; group_id is needed. With
    `api_version` given the constructor does not connect; without, it finds out which release the
    brokers are within `bootstrap_timeout_ms`.

    One thread at a time may call it; `wakeup`, `assignment`, `subscription`, `health` and `config`
    are free for all threads.

    KafkaConfigurationError: options. NoBrokersAvailable: nobody answers.
    """

    _engine: ShareEngine

    def __init__(self, *topics: str, **options: Any) -> None:
        names = arguments.topic_names(topics)
        self._settings = ShareConsumerConfig.from_options(options)
        self._engine = self._connect(self._settings)
        self.config: dict[str, object] = self._settings.as_mapping()
        name = getattr(getattr(self._engine.pump, "transport", None), "name", "")
        self._keeper = Keeper(self._engine, Pace(_HEARTBEAT_MS), str(name))
        self._inside = self._engine.core
        self._arrived = 0
        self._loop = ShareLoop()
        self._asked = False  # in this poll: what comes after that is only to be taken
        release_in_child(self)
        try:
            if names:
                self.subscribe(names)
            if self._settings.api_version is None:
                self._find_release(self._settings.bootstrap_timeout_ms)
        except BaseException:
            self.close(timeout_ms=0)
            raise

    def _connect(self, settings: ShareConsumerConfig) -> ShareEngine:
        """Core, transport and pump for these options; tests hang their own in here."""
        from kcore.share.core import ShareConsumerCore  # noqa: PLC0415 - what it loads is not small

        tls, sasl, proxy = open_tls(settings), open_sasl(settings), open_proxy(settings)
        transport = open_transport(settings, settings.transport)
        now_ms, wall_ms = transports.monotonic_ms(), time.time_ns() // 1_000_000
        core = ShareConsumerCore(settings, ClientRng(), now_ms, wall_ms=wall_ms)
        begin_at_names(core, settings, transport.name)
        guard = Guard.for_transport(transport.name)
        pump = transports.Pump(core, transport, tls=tls, sasl=sasl, proxy=proxy)
        return ShareEngine(core, pump, guard, Reporter(settings.group_id))

    # Life ------------------------------------------------------------------------------------

    def _begin_membership(self) -> None:
        self._keeper.start()

    def _find_release(self, timeout_ms: float) -> None:
        core = self._engine.core
        try:
            with self._engine.guard:
                self._engine.run(
                    lambda now: int(core.fetch_metadata((), now, int(timeout_ms))), timeout_ms
                )
        except KafkaTimeoutError as error:
            raise self._nobody_answered(timeout_ms) from error
        self._note_release()

    def close(self, timeout_ms: float | None = None) -> None:
        """Tell brokers what is acknowledged, have them release everything else at once, leave the
        group, close all connections. Twice is harmless.

        What the last poll returned is accepted only if that was said: by `acknowledge`, or where
        that is implicit by `commit`. Of a loop, what it has gone past is. `timeout_ms` bounds it
        all (default and maximum: request_timeout_ms). Struck by Ctrl-C, it can be called again, and
        goes on: only that has the group know at once.
        """
        limit = arguments.timeout(timeout_ms, self._settings.request_timeout_ms)
        engine, guard = self._engine, self._engine.guard
        if engine.released:
            return
        limit = min(limit, self._settings.request_timeout_ms)
        until = engine.pump.now_ms() + limit
        with guard.even_barred(max(limit, KEEPER_MS) / 1000):
            if not engine.released:
                self._keeper.stop()
                with ending(engine, self._settings):
                    self._close_core(until)

    def _close_core(self, until: float) -> None:
        engine = self._engine
        self._end_loop()
        left_ms = engine.left(until)
        engine.core.close(engine.pump.now_ms(), int(left_ms))
        engine.wait(lambda: engine.closing is not None, left_ms, interruptible=False)
        with suppress(KafkaError):
            engine.pump.drain()
        with suppress(Exception):
            engine.run_callbacks()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def forked(self) -> None:
        """In the child of a fork (called by itself): every later call raises ForkedError."""
        self._engine.guard.forked()
        self._keeper.forked()
        self._drop_loop()  # the parent goes on with that
        self._engine.released = True  # it closes all, too

    # Reading ---------------------------------------------------------------------------------

    def poll(self, timeout_ms: float = 0, max_records: int | None = None) -> Records:
        """Records that are here, or come within `timeout_ms`; {} if none do.

        With implicit acknowledgement it accepts all that the poll before returned; with explicit
        that has to be acknowledged, or this is an IllegalStateError. At most `max_records` are
        returned; without it max_poll_records, and with batch_optimized what is left of the last
        batch. No more once they make 1 MiB; what was acquired beyond comes with the next polls.

        IllegalStateError: nothing is subscribed. WakeupError. Whatever is wrong with records or the
        group: CorruptRecordError, DeserializationError, GroupAuthorizationFailedError, ...
        """
        limit = None if max_records is None else arguments.record_count(max_records)
        wait_ms = arguments.timeout(timeout_ms, 0)
        return self._hand_over(lambda: self._poll_records(wait_ms, limit))

    def _poll_records(self, wait_ms: float, limit: int | None) -> Records:
        """Inside the guard: what `poll` gives."""
        core = self._engine.core
        try:
            return self._poll_until(wait_ms, lambda now: core.take_records(limit, now)) or {}
        finally:
            core.rest()

    def _begin_poll(self) -> None:
        self._leave_loop()
        self._asked = False
        if not self._engine.core.subscription():
            raise IllegalStateError(NOTHING_SUBSCRIBED)

    def _drop_loop(self) -> None:
        self._loop.clear()

    def _live(self, now_ms: int) -> bool:
        engine = self._engine
        if not (self._asked and engine.core.has_records):
            engine.core.poll(now_ms)
            self._asked = True
        engine.collect()
        if engine.calls:
            engine.run_callbacks()
        return not engine.guard.closed

    # One by one ------------------------------------------------------------------------------

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> ConsumerRecord:
        for record in self._loop.records:
            return record  # type: ignore[no-any-return]
        if not self._engine.guard.closed:
            self._hand_over(self._next_batch)
            for record in self._loop.records:
                return record  # type: ignore[no-any-return]
        raise StopIteration

    def _next_batch(self) -> None:
        """The last record is done with: poll for more."""
        taken = self._poll_records(self._settings.consumer_timeout_ms, None)
        self._loop.begin(taken.values())

    def client_instance_id(self, timeout_ms: float | None = None) -> str:
        """The id that brokers know this client's metrics by: see `Consumer.client_instance_id`."""
        limit, engine = self._limit(timeout_ms), self._engine
        with engine.guard:
            return str(
                engine.run(lambda now: int(engine.core.client_instance_id(now, int(limit))), limit)
            )

    # Commits ---------------------------------------------------------------------------------

    def commit(self, timeout_ms: float | None = None) -> dict[TopicPartition, KafkaError | None]:
        """Tell brokers what has been acknowledged, and wait for what they say: for each partition
        None, or why it was not taken in (its records are delivered again).

        With implicit acknowledgement that is all that the last poll returned; in a loop over the
        consumer, what it has yielded. What fails in passing is tried again until `timeout_ms`
        (default_api_timeout_ms).
        """
        limit, engine, loop = self._limit(timeout_ms), self._engine, self._loop
        with engine.guard:
            try:
                found: dict[TopicPartition, KafkaError | None] = engine.run(
                    lambda now: int(engine.core.commit(now, int(limit), loop.left)), limit
                )
            finally:
                engine.run_callbacks()
        return found

    commit_sync = commit

    def commit_async(self) -> None:
        """`commit` without waiting: what came of it, the acknowledgement callback hears."""
        with self._engine.guard:
            engine, limit_ms = self._engine, self._settings.default_api_timeout_ms
            engine.recover()
            engine.core.commit(engine.pump.now_ms(), limit_ms, self._loop.left)
            engine.pump.drain()
            engine.collect()
            engine.run_callbacks()
