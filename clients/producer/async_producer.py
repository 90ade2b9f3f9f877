"""`AsyncProducer`: aiokafka's AIOKafkaProducer over the sans-IO core, driven by the running loop.

Everything happens in the loop's own thread (`turns.py`). `send` puts a record into a batch and
returns; the next turn sends what has come together, and ends the futures of what was answered.
"""

from __future__ import annotations

import asyncio
import time
import warnings
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeVar

from kcore.clients import arguments
from kcore.clients.looping import begin_at_names
from kcore.clients.measured import ID_TIMEOUT_MS, Measured, told_id
from kcore.clients.opening import open_loop_sasl, open_proxy, open_tls, socket_options, tie
from kcore.clients.producer.async_deliveries import (
    RowsFuture,
    Taken,
    Witness,
    rows_future,
)
from kcore.clients.producer.async_transactions import AsyncTransactions
from kcore.clients.producer.batches import (
    ProducerBatch,
    batch_future,
    batch_topic,
    sent_batch,
)
from kcore.clients.producer.loop_courier import LoopCourier
from kcore.clients.producer.loop_door import LoopDoor
from kcore.clients.producer.metadata import RecordMetadata, unknown
from kcore.clients.producer.packing import (
    Headers,
    Packing,
    Record,
    check_headers,
    listed,
    why_held_up,
)
from kcore.clients.producer.tables import Pour, pours
from kcore.clients.randomness import ClientRng
from kcore.clients.turns import RECORDS_PER_TURN, Place
from kcore.errors import (
    Cancelled,
    ConcurrentUseError,
    IllegalStateError,
    KafkaConfigurationError,
    KafkaTimeoutError,
    ProducerClosed,
)
from kcore.events import OperationCompleted
from kcore.produce.feeding import RowsDelivery
from kcore.producer.config import ProducerConfig
from kcore.structs import ProducerRecord
from kcore.transports import monotonic_ms
from kcore.transports.asyncio_driver import AsyncioTransport
from kcore.transports.loops import Loop, here, running

if TYPE_CHECKING:
    from kcore.clients.interceptors import ProducerInterceptors

_Taken = TypeVar("_Taken")
_GRACE_MS = 2_000
# Of a table, without a turn of the loop between.
_ROWS_PER_TURN = 8_192


class AsyncProducer(AsyncTransactions, Measured):
    """Writes records to topics of a Kafka cluster, on asyncio or trio.

    Options are keywords, those of `Producer` (kafka-python's names, Java's dotted ones in a
    mapping) and under aiokafka's names where these differ. It may be made anywhere, and does
    nothing before `start`; it belongs to the loop that runs that. Idempotent by default, as
    `Producer`.

    Several tasks may call it. A call from another loop or thread is a ConcurrentUseError.
    KafkaConfigurationError: options.
    """

    def __init__(self, **options: Any) -> None:
        self._wanted_loop: Loop | None = options.pop("loop", None)
        self._settings = ProducerConfig.from_options(_ours(options))
        self._courier = self._connect(self._settings)
        self._core = self._courier.core
        self._packing = Packing(
            self._settings, _known(self._courier), self._core.available_partitions, unknown
        )
        self._interceptors = self._packing.interceptors
        self._door = LoopDoor(self._core.intake, self._courier, self._courier.stint)
        self._take = self._door.send
        self._place = Place("producer")
        self._line: AbstractAsyncContextManager[object]  # the first who waits for room
        self.config: dict[str, object] = self._settings.as_mapping()

    def _connect(self, settings: ProducerConfig) -> LoopCourier:
        from kcore.producer.core import ProducerCore  # noqa: PLC0415 - what it loads is not small

        now_ms, wall_ms = monotonic_ms(), time.time_ns() // 1_000_000
        core = ProducerCore(settings, ClientRng(), now_ms, wall_ms=wall_ms)
        transport, sasl = AsyncioTransport(socket_options(settings)), open_loop_sasl(settings)
        tls, proxy = open_tls(settings), open_proxy(settings)
        courier = LoopCourier(core, transport, tls, sasl, proxy, settings.client_id)
        tie(sasl, courier)
        return courier

    # Life ---------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Connect, and with a transactional_id fence whoever had that before. NoBrokersAvailable, a
        KafkaConnectionError: nobody answered within bootstrap_timeout_ms. KafkaTimeoutError: no
        producer id was had within max_block_ms. After an error, or cancelled, it can be tried
        again.

        IllegalStateError: started already, or about to be. ProducerClosed: stopped.
        """
        self._courier.check()
        self._place.check()
        with self._place.starting():
            await self._begin()
        self._door.open = self._packing.is_plain

    async def _begin(self) -> None:
        courier, settings, loop = self._courier, self._settings, here()
        if self._wanted_loop not in (None, loop):
            raise ConcurrentUseError("the producer was given another event loop than the running")
        if courier.loop is None:
            await begin_at_names(self._core, settings)
            self._place.bind(loop)
            courier.bind(loop)
            self._door.bind(loop)
            self._line = courier.ways.lock()
        limit_ms = settings.bootstrap_timeout_ms
        operation = self._core.fetch_metadata((), courier.now_ms(), limit_ms)
        ended = await self._ended(operation, limit_ms + _GRACE_MS)
        if ended is None:
            courier.check()
        courier.check_answered(ended, settings.bootstrap_servers, limit_ms)
        release = self._core.broker_api_version()
        if release is not None and settings.api_version is None:
            self.config["api_version"] = release
        if settings.transactional_id is not None:
            await self._initialize()

    async def stop(self, timeout: float | None = None) -> None:
        """Deliver what was sent, for at most `timeout` seconds (None: for `delivery_timeout_ms`,
        when all of it is over), fail the rest with ProducerClosed, and disconnect. A transaction
        that is open is aborted.

        Twice is harmless; cancelled, it closes at once. Tasks that wait in `send` get a
        ProducerClosed. KafkaError: a turn of the loop has failed meanwhile, with records that were
        not delivered.
        """
        courier = self._courier
        if courier.over:
            return
        loop = courier.loop
        if loop is not None and not loop.is_closed():
            self._place.check()
        limit_ms = self._settings.delivery_timeout_ms
        if timeout is not None:
            limit_ms = int(arguments.seconds(timeout) * 1000)
        try:
            if loop is not None and loop is running() and not courier.stopped:
                with courier.work:
                    self._core.close(courier.now_ms(), limit_ms)
                courier.turn()
                courier.wake()  # whoever waits for room has nothing to wait for
                over = partial(courier.until, lambda: courier.over, limit_ms + _GRACE_MS)
                await courier.ways.see_out(over)
        finally:
            courier.close()
            self._packing.close()
        courier.check_nothing_lost()

    async def __aenter__(self) -> Self:
        was_started = self._place.started
        try:
            await self.start()
        except BaseException:
            if not was_started:  # else it is somebody else's
                await self.stop(0)
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.stop()

    def __del__(self) -> None:
        courier = getattr(self, "_courier", None)
        if courier is None or not courier.left:
            return
        told = courier.loop is not None
        courier.abandon()
        if told:  # behind it: with -W error this raises
            warnings.warn(f"{self!r} was never stopped", ResourceWarning, stacklevel=2, source=self)

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "an AsyncProducer cannot be pickled: it holds connections; pickle its options instead"
        )

    def _enter(self) -> None:
        if self._courier.stopped:
            self._courier.check()
        self._place.check()
        if not self._place.started or self._courier.loop is None:  # names are looked up first
            raise IllegalStateError(
                "the producer was not started: await start() first, or use `async with`"
            )

    # Records ------------------------------------------------------------------------------------

    async def send(
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
        headers: Headers | None = None,
    ) -> asyncio.Future[RecordMetadata]:
        """Take a record, to be delivered soon; a future of its metadata. The order of the arguments
        is aiokafka's.

        value, key: bytes or None, or what the serializers make that of. headers: (str, bytes or
        None) pairs. partition: None: by the key, or where the partitioner wants it.
        timestamp_ms: wall time, default now.

        Waits, at most `max_block_ms`, while the topic is not known or `buffer_memory` is in use:
        KafkaTimeoutError then. Who waits for room is served in turn. Cancelled, it has taken
        nothing; a future that is cancelled calls nothing back: the record goes out.

        RecordTooLargeError. IllegalArgumentError (a ValueError): no such partition, nor when
        brokers are asked anew. TypeError. TopicAuthorizationFailedError, InvalidTopicError.
        ProducerClosed. Everything else is told by the future.
        """
        future = self._take(topic, value, key, partition, timestamp_ms, headers)
        if future is not None:
            return future
        self._enter()
        if self._courier.spent:
            await self._courier.breathe()
            future = self._take(topic, value, key, partition, timestamp_ms, headers)
            if future is not None:
                return future
        if timestamp_ms is None:
            timestamp_ms = time.time_ns() // 1_000_000
        if self._interceptors is not None:
            record = ProducerRecord(topic, value, key, listed(headers), partition, timestamp_ms)
            taken = await self._looked_at(record, self._interceptors)
        else:
            taken = await self._deliver(topic, value, key, headers, partition, timestamp_ms)
        return self._door.follow(*taken)

    async def _looked_at(self, record: ProducerRecord, interceptors: ProducerInterceptors) -> Taken:
        """Take what interceptors make of a record, and have them hear what becomes of it."""
        record = interceptors.on_send(record)
        try:
            taken = await self._deliver(*record)
        except BaseException as error:
            interceptors.not_sent(record, _told(error))
            raise
        taken[0].waiters.append(Witness(taken, interceptors, record.headers))
        return taken

    async def _deliver(
        self,
        topic: str,
        value: Any,
        key: Any,
        headers: Headers | None,
        partition: int | None,
        timestamp_ms: int,
    ) -> Taken:
        """Check and serialize a record, then take it, as soon as that can be done."""
        if self._packing.chooses and partition is None:
            await self.partitions_for(topic)  # the partitioner asks, and cannot wait
        record = self._packing.pack(topic, key, value, headers, partition, timestamp_ms)
        batch, number = await self._append(record)
        return batch, number, record[-1]

    async def send_and_wait(
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
        headers: Headers | None = None,
    ) -> RecordMetadata:
        """`send`, and wait until the record is delivered, or raise why it is not.

        Cancelled, the record may still be delivered.
        """
        future = await self.send(topic, value, key, partition, timestamp_ms, headers)
        batch = self._courier.last  # its own, if whoever wraps `send` awaits nothing behind it
        if batch is not None and batch.lingers:
            self._courier.hurry((batch,))
        return await future

    async def _append(self, record: Record) -> tuple[Any, int]:
        """Take a record, as soon as that can be done: its batch and its number there."""
        if record[3]:
            check_headers(record[3])  # not in the middle of the core
        return await self._taken(partial(self._core.append, *record), record[0], record[4])

    async def _taken(
        self, take: Callable[[int, int], _Taken | None], topic: str, partition: int | None
    ) -> _Taken:
        """What the core says when it takes something for a topic, as soon as it does. Nothing is
        awaited behind that. take: its verb, given the time now and that of the first attempt.
        """
        courier, core = self._courier, self._core
        taken: list[_Taken] = []
        seen, held_up, since_ms = courier.errors_seen, "memory", courier.now_ms()

        def attempt() -> bool:
            nonlocal held_up
            courier.check()
            courier.raise_errors(seen)
            with courier.work:
                found = take(courier.now_ms(), since_ms)
            if found is not None:
                courier.nudge()
                taken.append(found)
                return True
            held_up = core.held_up
            courier.turn_soon()  # it may have moved a deadline
            return False

        if not self._door.in_line and attempt():
            return taken[0]
        limit_ms = self._settings.max_block_ms
        try:
            async with courier.ways.timeout(limit_ms / 1000) as limit:
                while not taken:
                    if held_up == "memory":
                        async with self._standing_in_line():
                            await self._until(lambda: attempt() or held_up != "memory")
                    else:
                        await self._until(lambda: attempt() or held_up == "memory")
        except TimeoutError:
            if not limit.expired():
                raise
            why = why_held_up(core, self._settings, held_up, topic, partition)
            raise KafkaTimeoutError(why, timeout_ms=limit_ms) from None
        return taken[0]

    @asynccontextmanager
    async def _standing_in_line(self) -> AsyncIterator[None]:
        """Be the first of those who wait for room: nobody who comes later is served before."""
        self._door.in_line += 1
        try:
            async with self._line:
                yield
        finally:
            self._door.in_line -= 1

    async def _until(self, done: Callable[[], bool]) -> None:
        """Wait until `done()`. ProducerClosed, or what else ended the courier."""
        if not await self._courier.until(done, float("inf")):
            self._courier.check()
            raise ProducerClosed("the producer is closed")

    def create_batch(self, topic: str | None = None) -> ProducerBatch:
        """An empty batch, to be filled by the application and sent whole by `send_batch`.

        It takes up to `batch_size` bytes. topic: what serializers that ask for it are told.
        """
        return ProducerBatch(
            self._core.new_batch(),
            self._packing,
            batch_topic(topic),
            self._settings.batch_size,
            self._core.intake.record_bytes_max,
        )

    async def send_batch(
        self, batch: ProducerBatch, topic: str, *, partition: int | None
    ) -> asyncio.Future[RecordMetadata]:
        """Take a batch, to be delivered soon, as one record batch of its own; a future of where its
        first record is. It is closed from then on. partition: None: where records without a key
        go.

        Waits and raises as `send` does, with IllegalStateError for a batch that was sent and
        IllegalArgumentError for one without records or of another producer. Cancelled, it has taken
        nothing, and the batch may be sent again.
        """
        self._enter()
        courier, given = self._courier, sent_batch(batch)
        if self._interceptors is not None:
            self._interceptors.pass_by("send_batch")
        if courier.spent:
            await courier.breathe()
        name, number = arguments.topic_name(topic), partition
        if number is not None:
            number = arguments.partition_number(number)
        take = partial(self._core.append_batch, given.take(self._packing), name, number)
        try:
            taken = await self._taken(take, name, number)
        except BaseException:
            given.give_back()
            raise
        courier.passed(taken.record_count)
        assert courier.loop is not None
        return batch_future(courier.loop, taken, given.first_timestamp_ms)

    async def send_arrow(self, data: object, topic: str | None = None) -> RowsFuture:
        """Take every row of a table, to be delivered soon, without an object a row; a future of
        what each partition has got, or of the first error.

        See `Producer.send_arrow` for `data`, `topic` and errors. Waits like `send` for each part
        that finds no room; cancelled, the rows taken before are delivered nevertheless.
        """
        self._enter()
        if self._interceptors is not None:
            self._interceptors.pass_by("send_arrow")
        courier, settings, delivery = self._courier, self._settings, RowsDelivery()
        limit_ms = settings.max_block_ms
        try:
            for pour in pours(courier, settings, data, topic, delivery, _ROWS_PER_TURN):
                while not pour.done:
                    if courier.spent:
                        await courier.breathe()
                    if not await courier.until(partial(self._pour, pour), limit_ms):
                        courier.check()
                        why = why_held_up(self._core, settings, pour.held_up, pour.topic)
                        raise KafkaTimeoutError(why, timeout_ms=limit_ms)
                    courier.passed(RECORDS_PER_TURN)
        finally:
            delivery.complete = True
        assert courier.loop is not None
        return rows_future(courier.loop, delivery)

    def _pour(self, pour: Pour) -> bool:
        with self._courier.work:
            taken = pour.attempt()
        if not taken:
            self._courier.turn_soon()  # it may have moved a deadline
        return taken

    async def flush(self) -> None:
        """Send everything now, and wait until all that was sent before is over.

        Whether it was delivered is told by the futures. It takes at most `delivery_timeout_ms`.
        """
        self._enter()
        courier = self._courier
        with courier.work:
            operation = self._core.flush(courier.now_ms())
        if await self._ended(operation, float("inf")) is None:
            courier.check()

    async def partitions_for(self, topic: str) -> set[int]:
        """The partition numbers of a topic. KafkaTimeoutError after `max_block_ms`."""
        self._enter()
        name = arguments.topic_name(topic)
        courier, core = self._courier, self._core
        found: list[int] = []
        seen = courier.errors_seen

        def attempt() -> bool:
            courier.check()
            courier.raise_errors(seen)
            with courier.work:
                found[:] = core.partitions_for(name, courier.now_ms()) or ()
            if not found:
                courier.turn_soon()  # it may have moved a deadline
            return bool(found)

        if not await courier.until(attempt, self._settings.max_block_ms):
            courier.check()
            raise KafkaTimeoutError(why_held_up(core, self._settings, "metadata", name))
        return set(found)

    def bootstrap_connected(self) -> bool:
        """Whether any broker is connected; any thread may ask. ForkedError."""
        self._courier.check_process()
        return bool(self._core.connected)

    async def client_instance_id(self, timeout_ms: float = ID_TIMEOUT_MS) -> str:
        """The id that brokers know this client's metrics by: see `Producer.client_instance_id`."""
        self._enter()
        limit = arguments.timeout(timeout_ms, ID_TIMEOUT_MS)
        operation = self._core.client_instance_id(self._courier.now_ms(), int(limit))
        return told_id(await self._ended(operation, limit + _GRACE_MS))

    def _measuring(self) -> tuple[Any, Callable[[], int]]:
        self._courier.check_process()
        return self._core, self._courier.now_ms

    async def _ended(
        self, operation: int, limit_ms: float, check: Callable[[], object] | None = None
    ) -> OperationCompleted | None:
        """The end of an operation that was begun just now; None: there was none in time. check:
        raises why it is not waited for.
        """
        courier = self._courier
        ended: list[OperationCompleted] = []

        def done() -> bool:
            found = courier.result(operation)
            if found is not None:
                ended.append(found)
            elif check is not None:
                check()
            return bool(ended)

        courier.turn_soon()
        try:
            await courier.until(done, limit_ms)
        finally:
            if not ended:
                courier.forget(operation)
        return ended[0] if ended else None


def _told(error: BaseException) -> Exception:
    """Why a record was not taken, for interceptors: each that has seen it hears of its end."""
    return error if isinstance(error, Exception) else Cancelled("the send was cancelled")


def _known(courier: LoopCourier) -> Callable[[str], set[int]]:
    """Partitions of a topic, as far as is known now. It does not hold the producer."""

    def known(topic: str) -> set[int]:
        return set(courier.core.partitions_for(topic, courier.now_ms()) or ())

    return known


def _ours(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of aiokafka as ProducerConfig knows them. KafkaConfigurationError."""
    ours = dict(options)
    if ours.pop("transport", None) is not None:
        raise KafkaConfigurationError(
            "transport: an AsyncProducer is driven by the running event loop", option="transport"
        )
    if "max_batch_size" in ours:
        if "batch_size" in ours:
            raise KafkaConfigurationError(
                "max_batch_size is aiokafka's name of batch_size: give one", option="max_batch_size"
            )
        ours["batch_size"] = ours.pop("max_batch_size")
    return ours
