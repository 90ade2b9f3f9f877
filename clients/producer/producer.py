"""`Producer`: kafka-python's KafkaProducer over the sans-IO core.

`send` appends under a lock and returns; the courier, a thread (or greenlet) of its own, does the
rest. Every method may be called from any thread.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, Self

from kcore import transports
from kcore.clients import arguments
from kcore.clients.measured import ID_TIMEOUT_MS, Measured, told_id
from kcore.clients.opening import begin_at_names, open_proxy, open_sasl, open_tls, open_transport
from kcore.clients.producer.courier import Courier
from kcore.clients.producer.deliveries import RecordFuture, unknown
from kcore.clients.producer.farewell import see_off
from kcore.clients.producer.packing import (
    Headers,
    Packing,
    Record,
    check_headers,
    listed,
    why_held_up,
)
from kcore.clients.producer.tables import TableFuture, send_table
from kcore.clients.producer.transactions import Transactions
from kcore.clients.randomness import ClientRng
from kcore.errors import (
    ForkedError,
    KafkaError,
    KafkaTimeoutError,
    ProducerClosed,
)
from kcore.events import OperationCompleted
from kcore.produce.intake import Door, Sending
from kcore.producer.config import ProducerConfig
from kcore.structs import ProducerRecord

if TYPE_CHECKING:
    from kcore.clients.interceptors import ProducerInterceptors

    SendingRecords = Sending[RecordFuture]
else:
    SendingRecords = Sending

# A close without a timeout ends at last.
_CLOSE_S_MAX = 9_223_372.0
_GRACE_S = 2.0
_now_ms = transports.monotonic_ms


class Producer(SendingRecords, Transactions, Measured):
    """Writes records to topics of a Kafka cluster.

    Options are keywords under kafka-python's names (Java's dotted ones in a mapping), listed in
    `kcore.producer.config`. Idempotent by default: within the life of a producer nothing is written
    twice, and the records of a partition stay in the order of their `send`.

    With `api_version` given the constructor does not connect; without, it waits for a broker for
    `bootstrap_timeout_ms`. KafkaConfigurationError: options. NoBrokersAvailable: nobody answers.
    """

    def __init__(self, **options: Any) -> None:
        self._settings = ProducerConfig.from_options(options)
        self._courier = self._connect(self._settings)
        self._core = self._courier.core
        self._farewell = see_off(self, self._courier, self._settings.client_id)
        self._courier.start()
        self._door = Door(self._core.intake, self._courier.lock, RecordFuture, self._courier)
        self._take = self._door.send
        self._packing = Packing(
            self._settings, self.partitions_for, self._core.available_partitions, unknown
        )
        self._open_door = self._door if self._packing.is_plain else None
        self.config: dict[str, object] = self._settings.as_mapping()
        self._interceptors = self._packing.interceptors
        if self._settings.api_version is None:
            try:
                self._find_release(self._settings.bootstrap_timeout_ms)
            except BaseException:
                self.close(0)
                raise

    def _connect(self, settings: ProducerConfig) -> Courier:
        from kcore.producer.core import ProducerCore  # noqa: PLC0415 - what it loads is not small

        tls, sasl, proxy = open_tls(settings), open_sasl(settings), open_proxy(settings)
        # "blocking" waits in poll(2), which does not see what others have it watch meanwhile.
        wanted = "selectors" if settings.transport == "blocking" else settings.transport
        transport = open_transport(settings, wanted)
        now_ms, wall_ms = transports.monotonic_ms(), time.time_ns() // 1_000_000
        core = ProducerCore(settings, ClientRng(), now_ms, wall_ms=wall_ms)
        begin_at_names(core, settings, transport.name)
        return Courier(core, transport, tls, sasl, proxy, settings.client_id)

    def _ended(self, begin: Callable[[int], int], limit_ms: float) -> OperationCompleted | None:
        """The end of the operation that is begun; None: there was none in time."""
        courier, core = self._courier, self._core
        with courier.lock:
            operation = begin(courier.now_ms())
            core.stirred = True
            courier.nudge()
        ended: list[OperationCompleted] = []

        def done() -> bool:
            found = courier.result(operation)
            if found is not None:
                ended.append(found)
            return bool(ended)

        try:
            courier.wait(done, limit_ms / 1000 + _GRACE_S)
        finally:
            if not ended:
                with courier.lock:
                    courier.forget(operation)
        return ended[0] if ended else None

    def _find_release(self, timeout_ms: int) -> None:
        courier, core = self._courier, self._core
        ended = self._ended(lambda now_ms: core.fetch_metadata((), now_ms, timeout_ms), timeout_ms)
        servers = self._settings.bootstrap_servers
        courier.check_answered(ended, servers, timeout_ms)
        release = core.broker_api_version()
        if release is not None:
            self.config["api_version"] = release

    # Records ---------------------------------------------------------------------------------

    def _send_with_care(
        self,
        topic: str,
        value: Any,
        key: Any,
        headers: Headers | None,
        partition: int | None,
        timestamp_ms: int | None,
    ) -> RecordFuture:
        """`send`, of a record that has not simply gone into a batch."""
        if self._courier.stopped:
            self._courier.check()
        if timestamp_ms is None:
            timestamp_ms = time.time_ns() // 1_000_000
        if self._interceptors is not None:
            record = ProducerRecord(topic, value, key, listed(headers), partition, timestamp_ms)
            return self._send_looked_at(record, self._interceptors)
        return self._prepare(topic, key, value, headers, partition, timestamp_ms)

    def _send_looked_at(
        self, record: ProducerRecord, interceptors: ProducerInterceptors
    ) -> RecordFuture:
        """Send what interceptors make of a record, and have them hear what becomes of it."""
        record = interceptors.on_send(record)
        topic, value, key, headers, partition, timestamp_ms = record
        try:
            future = self._prepare(topic, key, value, headers, partition, timestamp_ms)
        except Exception as error:
            interceptors.not_sent(record, error)
            raise
        tp = future.batch.tp
        future.add_callback(lambda at: interceptors.on_acknowledgement(at, None, headers))
        future.add_errback(lambda error: interceptors.failed(tp, error, headers))
        return future

    def _prepare(
        self,
        topic: str,
        key: Any,
        value: Any,
        headers: Headers | None,
        partition: int | None,
        timestamp_ms: int,
    ) -> RecordFuture:
        """Check and serialize a record, then take it, at once or when that can be done."""
        record = self._packing.pack(topic, key, value, headers, partition, timestamp_ms)
        try:
            future = self._take(*record)
        except (TypeError, ValueError):
            check_headers(record[3])  # as above
            raise
        if future is None:
            _, key, value, given, _, timestamp_ms = record
            future = self._door.ticket(*self._append(record), key, value, given, timestamp_ms)
        return future

    def _append(self, record: Record) -> tuple[Any, int]:
        """Take what is no more than one of many: its batch and its number there."""
        courier, core = self._courier, self._core
        now_ms = _now_ms()
        if record[3]:
            check_headers(record[3])  # in the middle of the core it would look like a strike
        with courier.lock:
            taken: tuple[Any, int] | None = core.append(*record, now_ms)
            courier.nudge()
        return self._append_later(record, now_ms) if taken is None else taken

    def _append_later(self, record: Record, since_ms: int) -> tuple[Any, int]:
        """The record could not be taken: wait until it can be."""
        courier, core = self._courier, self._core
        taken: list[tuple[Any, int]] = []
        seen, held_up = courier.errors_seen, ""

        def attempt() -> bool:
            nonlocal held_up
            courier.check()
            courier.raise_errors(seen)
            found = core.append(*record, _now_ms(), since_ms)
            courier.nudge()
            held_up = core.held_up
            if found is not None:
                taken.append(found)
            return bool(taken)

        limit_ms = self._settings.max_block_ms
        if not courier.wait(attempt, limit_ms / 1000):
            why = why_held_up(core, self._settings, held_up, record[0], record[4])
            raise KafkaTimeoutError(why, timeout_ms=limit_ms)
        return taken[0]

    def send_arrow(self, data: object, topic: str | None = None) -> TableFuture:
        """Take every row of a table, to be delivered soon, without an object a row.

        data: anything with `__arrow_c_stream__` or `__arrow_c_array__` and the columns value and,
        if wanted, key, topic, partition, timestamp, headers (see kcore.produce.rows). topic: where
        all rows go; default: as the column says. Serializers are not asked.

        Waits like `send` for each part that finds no room: KafkaTimeoutError after `max_block_ms`
        without progress; the rows before are delivered nevertheless. ColumnError (a TypeError):
        not such a table. RecordTooLargeError, IllegalArgumentError: a row that cannot be sent, by
        its number. The rest is told by the future.
        """
        if self._interceptors is not None:
            self._interceptors.pass_by("send_arrow")
        return send_table(self._courier, self._settings, data, topic)

    def flush(self, timeout: float | None = None) -> None:
        """Send everything now, and wait (at most `timeout` seconds) until all of it is over.

        Whether it was delivered is told by the futures. KafkaTimeoutError.
        """
        courier, core = self._courier, self._core
        if timeout is not None:
            timeout = arguments.seconds(timeout)
        with courier.lock:
            courier.check()
            operation = core.flush(courier.now_ms())
            courier.nudge()
        ended = False
        try:
            ended = courier.wait(lambda: courier.result(operation) is not None, timeout)
        finally:
            if not ended:
                with courier.lock:
                    courier.forget(operation)
        if not ended:
            raise KafkaTimeoutError(f"not everything was delivered within {timeout} s")

    def partitions_for(self, topic: str) -> set[int]:
        """The partition numbers of a topic. KafkaTimeoutError after `max_block_ms`."""
        name = arguments.topic_name(topic)
        courier, core = self._courier, self._core
        found: list[int] = []
        seen = courier.errors_seen

        def attempt() -> bool:
            courier.check()
            courier.raise_errors(seen)
            found[:] = core.partitions_for(name, courier.now_ms()) or ()
            courier.nudge()
            return bool(found)

        if not courier.wait(attempt, self._settings.max_block_ms / 1000):
            raise KafkaTimeoutError(why_held_up(core, self._settings, "metadata", name))
        return set(found)

    def bootstrap_connected(self) -> bool:
        """Whether any broker is connected. ForkedError."""
        self._courier.check_process()
        return bool(self._core.connected)

    def client_instance_id(self, timeout_ms: float = ID_TIMEOUT_MS) -> str:
        """The id that brokers know this client's metrics by (KIP-714), as Kafka's tools write it.

        UnsupportedVersionError: they have no plug-in for telemetry. IllegalStateError:
        enable_metrics_push is off. KafkaTimeoutError after `timeout_ms`. ForkedError.
        """
        courier, limit = self._courier, arguments.timeout(timeout_ms, ID_TIMEOUT_MS)
        courier.check()
        ended = self._ended(lambda now_ms: self._core.client_instance_id(now_ms, int(limit)), limit)
        return told_id(ended)

    def _measuring(self) -> tuple[Any, Callable[[], int]]:
        self._courier.check_process()
        return self._core, self._courier.now_ms

    def _steady(self, read: Callable[[], Any]) -> Any:
        with self._courier.lock:
            return read()

    # Life ------------------------------------------------------------------------------------

    def close(self, timeout: float | None = None) -> None:
        """Deliver what was sent, for at most `timeout` seconds, fail the rest, and disconnect. A
        transaction that is open is aborted.

        Twice is harmless. From a callback: nothing is waited for (as Java). KafkaError: the
        producer's thread has failed meanwhile, with records that were not delivered. ForkedError:
        the process that made the producer delivers them.
        """
        courier = self._courier
        limit = _CLOSE_S_MAX if timeout is None else arguments.seconds(timeout)
        try:
            courier.check()
        except ForkedError:
            self._farewell.detach()
            raise
        except ProducerClosed:
            self._farewell.detach()
            return
        except KafkaError:
            self._farewell.detach()
            courier.check_nothing_lost()
            return
        with courier.lock:
            self._core.close(courier.now_ms(), 0 if courier.inside else int(limit * 1000))
            courier.nudge()
        if not courier.inside:
            courier.wait(lambda: courier.over, limit + _GRACE_S)
        self._farewell.detach()  # last: who is struck before has somebody who sees to the end
        self._packing.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with suppress(ForkedError):  # the child leaves the block as well, and called nothing
            self.close()

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a Producer cannot be pickled: it holds connections; pickle its options instead"
        )
