"""`AsyncShareConsumer`: a member of a share group (KIP-932), on the running event loop.

Everything happens in the loop's own thread: sockets are its readers and writers, deadlines its
timers (`turns.py`), so heartbeats go on while the application awaits something else.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from kcore.clients import arguments
from kcore.clients.consumer.closing import release
from kcore.clients.engine import GRACE_MS
from kcore.clients.guard import CLOSED
from kcore.clients.log import Log
from kcore.clients.looping import EngineTurns, LoopGuard, LoopLife, begin_at_names, open_driver
from kcore.clients.randomness import ClientRng
from kcore.clients.reporting import Reporter
from kcore.clients.share.engine import ShareEngine
from kcore.clients.share.loop import ShareLoop
from kcore.clients.share.share_consumer import NOTHING_SUBSCRIBED, Records
from kcore.clients.share.verbs import ShareVerbs
from kcore.errors import (
    ConcurrentUseError,
    ConsumerStoppedError,
    IllegalStateError,
    KafkaConfigurationError,
    KafkaError,
    KafkaTimeoutError,
)
from kcore.share.config import ShareConsumerConfig
from kcore.structs import TopicPartition
from kcore.transports import monotonic_ms
from kcore.transports.forking import release_in_child
from kcore.transports.loops import here, running

if TYPE_CHECKING:
    from kcore.records import ConsumerRecord

log = Log("kcore.consumer")


class AsyncShareConsumer(ShareVerbs, LoopLife):
    """`ShareConsumer` on asyncio or trio, with the same options. It may be made anywhere; it
    belongs to the loop that runs `start`.

    One task at a time reads, as each read is about the records of the one before; `acknowledge` and
    `commit` may be called by others. A call from another loop or thread is a ConcurrentUseError.
    KafkaConfigurationError: options.
    """

    def __init__(self, *topics: str, **options: Any) -> None:
        names = arguments.topic_names(topics)
        self._settings = ShareConsumerConfig.from_options(_without_transport(options))
        self._engine = self._connect(self._settings)
        self._driver.engine = self._engine
        self.config = self._settings.as_mapping()
        self._stopping = self._reading = False
        self._loop = ShareLoop()  # of who reads one by one
        release_in_child(self)
        if names:
            self.subscribe(names)

    def _connect(self, settings: ShareConsumerConfig) -> ShareEngine:
        """Core, transport and pump for these options; tests hang their own in here."""
        from kcore.share.core import ShareConsumerCore  # noqa: PLC0415 - what it loads is not small

        now_ms, wall_ms = monotonic_ms(), time.time_ns() // 1_000_000
        core = ShareConsumerCore(settings, ClientRng(), now_ms, wall_ms=wall_ms)
        self._driver = open_driver(core, settings, EngineTurns)
        self._guard = LoopGuard()
        return ShareEngine(core, self._driver, self._guard, Reporter(settings.group_id))

    # Life ------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Connect. NoBrokersAvailable, a KafkaConnectionError: nobody answered within
        bootstrap_timeout_ms. After an error, or cancelled, it can be tried again.
        IllegalStateError: started already, or about to be.
        """
        self._guard.enter()
        with self._guard.place.starting():
            if self._driver.loop is None:
                await begin_at_names(self._engine.core, self._settings)
                loop = here()
                self._guard.bind(loop)
                self._driver.bind(loop)
            limit = self._settings.bootstrap_timeout_ms
            core = self._engine.core
            try:
                await self._answer(core.fetch_metadata((), self._driver.now_ms(), limit), limit)
            except KafkaTimeoutError as error:
                raise self._nobody_answered(limit) from error
            self._note_release()

    async def stop(self) -> None:
        """As `ShareConsumer.close`. A task that waits for records gets a ConsumerStoppedError, a
        loop over the consumer ends. It takes at most request_timeout_ms; what goes wrong is logged.
        Cancelled, it closes at once.
        """
        guard, driver, engine = self._guard, self._driver, self._engine
        if not guard.usable or self._stopping:
            return
        loop = driver.loop
        if loop is not None and not loop.is_closed():
            guard.check_place()
        self._stopping = True
        try:
            if loop is not None and loop is running():
                driver.wake()  # whoever reads has nothing to wait for
                await driver.ways.see_out(self._close_core)
        finally:
            release(engine, self._settings)

    async def _close_core(self) -> None:
        driver, engine = self._driver, self._engine
        self._end_loop()
        limit = self._settings.request_timeout_ms
        engine.core.close(driver.now_ms(), limit)
        driver.drain()
        engine.collect()
        await driver.until(lambda: engine.closing is not None, limit)
        engine.pump.drain()
        engine.run_callbacks()
        self._log_pending()

    def _log_pending(self) -> None:
        try:
            self._engine.raise_pending()
        except KafkaError as error:
            log.warning("while stopping: %s", error)

    async def _give_up(self) -> None:
        await self.stop()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.stop()

    # Reading ---------------------------------------------------------------------------------

    async def getmany(self, timeout_ms: float = 0, max_records: int | None = None) -> Records:
        """As `ShareConsumer.poll`. Cancelled, it has taken nothing.

        ConsumerStoppedError once `stop` was called. ConcurrentUseError: another task reads.
        """
        limit = None if max_records is None else arguments.record_count(max_records)
        wait_ms = arguments.timeout(timeout_ms, 0)
        self._may_read()
        self._leave_loop()
        return await self._read(wait_ms, limit)

    async def getone(self) -> ConsumerRecord:
        """The next record, as soon as there is one; as in a loop over the consumer."""
        for record in self._loop.records:
            return record  # type: ignore[no-any-return]
        while True:
            self._may_read()
            self._leave_loop()
            taken = await self._read(float("inf"), None)
            self._loop.begin(taken.values())
            for record in self._loop.records:
                return record  # type: ignore[no-any-return]

    def __aiter__(self) -> Self:
        if self._guard.closed:
            self._guard.refuse()
        return self

    async def __anext__(self) -> ConsumerRecord:
        try:
            return await self.getone()
        except ConsumerStoppedError:
            raise StopAsyncIteration from None

    async def _read(self, wait_ms: float, limit: int | None) -> Records:
        driver, core = self._driver, self._engine.core
        self._reading = True
        try:
            looked = driver.spent
            if looked:
                await driver.breathe()
            until = driver.now_ms() + wait_ms
            asked = False  # what comes after that is only to be taken
            while True:
                self._need_reader()
                now = driver.now_ms()
                taken = self._look(limit, now, asked=asked)
                asked = True
                if taken:
                    return taken
                if now < until:
                    await driver.news(until - now)
                    core.idle_ms += driver.now_ms() - now
                elif looked:
                    return {}
                else:
                    await driver.breathe()
                looked = True
        finally:
            self._reading = False
            core.rest()

    def _look(self, limit: int | None, now_ms: int, *, asked: bool) -> Records:
        """One look, with all that a poll does for the group, unless what was asked for has come."""
        engine = self._engine
        with engine.guard:
            try:
                engine.raise_pending()
                if not (asked and engine.core.has_records):
                    engine.core.poll(now_ms)
                engine.collect()
                engine.run_callbacks()
                self._need_reader()  # a callback may have stopped it
                if not engine.core.has_records:
                    return {}
                taken: Records = engine.core.take_records(limit, now_ms)
                self._driver.passed(sum(map(len, taken.values())))
                return taken
            finally:
                self._driver.obey()

    def _may_read(self) -> None:
        self._need_reader()
        if self._reading:
            raise ConcurrentUseError("another task reads: one at a time can")

    def _need_reader(self) -> None:
        """ConsumerStoppedError; IllegalStateError: not started, or nothing is to be read."""
        if self._stopping:
            raise ConsumerStoppedError(CLOSED)
        self._need_started()
        if not self._engine.core.subscription():
            raise IllegalStateError(NOTHING_SUBSCRIBED)

    def _need_started(self) -> None:
        self._guard.enter()
        if self._driver.loop is None:
            raise IllegalStateError("the consumer is not started: `await consumer.start()` first")

    async def client_instance_id(self, timeout_ms: float | None = None) -> str:
        """The id that brokers know this client's metrics by: see `Consumer.client_instance_id`."""
        self._need_started()
        limit = self._limit(timeout_ms)
        begun = self._engine.core.client_instance_id(self._driver.now_ms(), int(limit))
        return str(await self._answer(begun, limit))

    # Commits ---------------------------------------------------------------------------------

    async def commit(
        self, timeout_ms: float | None = None
    ) -> dict[TopicPartition, KafkaError | None]:
        """As `ShareConsumer.commit`. Cancelled, brokers are told nevertheless."""
        self._need_started()
        limit = self._limit(timeout_ms)
        begun = self._engine.core.commit(self._driver.now_ms(), int(limit), self._loop.left)
        found: dict[TopicPartition, KafkaError | None] = await self._answer(begun, limit)
        return found

    def commit_async(self) -> None:
        """`commit` without waiting: what came of it, the acknowledgement callback hears."""
        self._need_started()
        limit_ms = self._settings.default_api_timeout_ms
        self._engine.core.commit(self._driver.now_ms(), limit_ms, self._loop.left)
        self._driver.drain()

    async def _answer(self, operation: int, limit_ms: float) -> Any:
        engine, driver = self._engine, self._driver
        future = engine.later(operation)
        if not await driver.until(lambda: future.is_done, limit_ms + GRACE_MS):
            if driver.closed:
                raise ConsumerStoppedError("the consumer was stopped before the answer came")
            raise KafkaTimeoutError(f"no answer in {limit_ms:.0f} ms", timeout_ms=limit_ms)
        if future.exception is not None:
            raise future.exception
        return future.value


def _without_transport(options: Mapping[str, Any]) -> Mapping[str, Any]:
    """The running loop is the transport, there is no choice."""
    ours = dict(options)
    if ours.pop("transport", None) is not None:
        raise KafkaConfigurationError(
            "transport: an AsyncShareConsumer is driven by the running event loop",
            option="transport",
        )
    return ours
