"""`confluent_kafka.aio`: its AIOConsumer and AIOProducer, over the clients that stand in.

Calls that may wait run in threads. Callbacks are coroutines of the loop; what they call of the
consumer runs in the thread that has called them, which is inside it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import suppress
from contextvars import ContextVar
from functools import partial
from math import inf
from queue import SimpleQueue
from typing import Any, Final, Self

from kcore.clients.stand_in.confluent.consumer import Consumer
from kcore.clients.stand_in.confluent.errors import KafkaException
from kcore.clients.stand_in.confluent.producer import Producer
from kcore.transports import monotonic_s

Task = Callable[[], object]
_INSIDE: ContextVar[SimpleQueue[Task | None] | None] = ContextVar("kcore_inside", default=None)
_CALLBACKS: Final = ("error_cb", "throttle_cb", "stats_cb", "on_commit")
_REBALANCES: Final = ("on_assign", "on_revoke", "on_lost")
_POLL_S: Final = 0.1
_SLICE_S: Final = 1.0  # of a poll whose task may be gone


def _awaited(loop: asyncio.AbstractEventLoop, callback: Any) -> Callable[..., Any]:
    """A coroutine function as a function for other threads, which do meanwhile what it calls."""

    def call(*arguments: Any) -> Any:
        tasks: SimpleQueue[Task | None] = SimpleQueue()

        async def run() -> Any:
            _INSIDE.set(tasks)
            return await callback(*arguments)

        future = asyncio.run_coroutine_threadsafe(run(), loop)
        future.add_done_callback(lambda _: tasks.put(None))
        while (task := tasks.get()) is not None:
            task()
        return future.result()

    return call


def _prepared(loop: asyncio.AbstractEventLoop, conf: dict[str, Any]) -> dict[str, Any]:
    found = {**conf}
    for name in _CALLBACKS:
        if found.get(name) is not None:
            found[name] = _awaited(loop, found[name])
    return found


class _Threads:
    """Where calls run."""

    def __init__(self, workers: int, executor: Executor | None) -> None:
        if executor is None and workers < 1:
            raise ValueError("max_workers must be at least 1")
        self._own = executor is None
        self.executor = executor or ThreadPoolExecutor(workers, "kcore-aio")

    async def run(self, call: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
        """What it gives."""
        loop, bound = asyncio.get_running_loop(), partial(call, *arguments, **keywords)
        tasks = _INSIDE.get()
        if tasks is None:
            return await loop.run_in_executor(self.executor, bound)
        future: asyncio.Future[Any] = loop.create_future()

        def do() -> None:
            try:
                found = bound()
            except BaseException as error:  # noqa: BLE001 - raised where it is awaited
                loop.call_soon_threadsafe(_fail, future, error)
            else:
                loop.call_soon_threadsafe(_finish, future, found)

        tasks.put(do)
        return await future

    async def close(self) -> None:
        """End them, if they are its own."""
        if self._own:
            await asyncio.get_running_loop().run_in_executor(None, self.executor.shutdown)


def _finish(future: asyncio.Future[Any], found: Any) -> None:
    if not future.done():
        future.set_result(found)


def _fail(future: asyncio.Future[Any], error: BaseException) -> None:
    if not future.done():
        future.set_exception(error)


def _verb(name: str, kind: type) -> Callable[..., Any]:
    """A method of a client as a coroutine."""

    async def call(self: Any, *arguments: Any, **keywords: Any) -> Any:
        return await self._call(getattr(self._client, name), *arguments, **keywords)

    call.__name__ = name
    call.__doc__ = getattr(kind, name).__doc__
    return call


class _Reading:
    """A `poll` (count: None) or a `consume` in a thread, which may go on when its task does not."""

    def __init__(self, client: Consumer, timeout: float, count: int | None = None) -> None:
        self._client = client
        self._timeout = timeout
        self._count = count
        self._stopped = False
        self._before: dict[Any, Any] = {}

    def __call__(self) -> Any:
        """What came."""
        self._before = self._client.handed_over()
        if self._count is not None:
            return self._client.consume(self._count, self._timeout)
        until = monotonic_s() + (inf if self._timeout < 0 else self._timeout)
        while True:
            left = until - monotonic_s()
            found = self._client.poll(max(0, min(left, _SLICE_S)))
            if found is not None or left <= _SLICE_S or self._stopped:
                return found

    def stop(self) -> None:
        """Nobody waits for it any more."""
        self._stopped = True

    def give_back(self, done: Future[Any]) -> None:
        """What came is nobody's."""
        if not done.cancelled() and done.exception() is None:
            found = done.result()
            messages = found if self._count is not None else [] if found is None else [found]
            self._client.take_back(messages, self._before)


class AIOConsumer:
    """A Consumer whose calls are coroutines, and its callbacks, too. In a running loop."""

    def __init__(
        self,
        consumer_conf: dict[str, Any],
        max_workers: int = 100,
        executor: Executor | None = None,
    ) -> None:
        self._closed = False
        self._threads = _Threads(max_workers, executor)
        self._client = Consumer(_prepared(asyncio.get_running_loop(), consumer_conf))

    async def _call(self, call: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
        if self._closed:
            raise RuntimeError("Consumer closed")
        return await self._threads.run(call, *arguments, **keywords)

    async def poll(self, timeout: float = -1) -> Any:
        """As Consumer's. What a task that is cancelled would have got is for the next."""
        return await self._read(_Reading(self._client, timeout))

    async def consume(self, num_messages: int = 1, timeout: float = -1) -> Any:
        """The same of several."""
        return await self._read(_Reading(self._client, timeout, num_messages))

    async def _read(self, reading: _Reading) -> Any:
        if self._closed or _INSIDE.get() is not None:
            return await self._call(reading)
        under_way = self._threads.executor.submit(reading)
        try:
            return await asyncio.wrap_future(under_way)
        except asyncio.CancelledError:
            reading.stop()
            under_way.add_done_callback(reading.give_back)
            raise

    async def subscribe(self, *arguments: Any, **keywords: Any) -> Any:
        """As Consumer's; callbacks are coroutines, called with this consumer."""
        loop = asyncio.get_running_loop()
        for name in _REBALANCES:
            callback = keywords.get(name)
            if callback is not None:
                keywords[name] = self._of_rebalance(_awaited(loop, callback))
        return await self._call(self._client.subscribe, *arguments, **keywords)

    def _of_rebalance(self, call: Callable[..., Any]) -> Callable[..., Any]:
        return lambda _consumer, partitions: call(self, partitions)

    async def close(self) -> None:
        """As Consumer's."""
        try:
            await self._call(self._client.close)
        finally:
            self._closed = True
            await self._threads.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


for _name in (
    "unsubscribe", "commit", "seek", "pause", "resume", "store_offsets",
    "committed", "assign", "unassign", "incremental_assign", "incremental_unassign", "assignment",
    "position", "consumer_group_metadata", "set_sasl_credentials", "list_topics", "cluster_id",
    "get_watermark_offsets", "offsets_for_times", "memberid",
):  # fmt: skip
    setattr(AIOConsumer, _name, _verb(_name, Consumer))


class AIOProducer:
    """A Producer whose `produce` gives a future of the message. In a running loop.

    batch_size, buffer_timeout: taken, and without effect: `linger.ms` and `batch.size` say it.
    """

    def __init__(
        self,
        producer_conf: dict[str, Any],
        max_workers: int = 4,
        executor: Executor | None = None,
        batch_size: int = 1000,  # noqa: ARG002 - theirs
        buffer_timeout: float = 1.0,  # noqa: ARG002 - theirs
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._closed = False
        self._threads = _Threads(max_workers, executor)
        self._client = Producer(_prepared(self._loop, producer_conf))
        self._polling: asyncio.Task[None] | None = None

    async def _call(self, call: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
        return await self._threads.run(call, *arguments, **keywords)

    async def produce(
        self,
        topic: str,
        value: Any = None,
        key: Any = None,
        partition: int = -1,
        timestamp: int = 0,
        headers: Any = None,
    ) -> asyncio.Future[Any]:
        """Take a message; the future gives it as it was delivered, or raises KafkaException. Waits
        while there are too many that are not delivered.
        """
        future: asyncio.Future[Any] = self._loop.create_future()

        def told(error: Any, message: Any) -> None:
            if error is None:
                self._loop.call_soon_threadsafe(_finish, future, message)
            else:
                self._loop.call_soon_threadsafe(_fail, future, KafkaException(error))

        take = partial(
            self._client.produce,
            topic,
            value,
            key,
            partition,
            on_delivery=told,
            timestamp=timestamp,
            headers=headers,
        )
        while True:
            try:
                take()
                break
            except BufferError:
                await self.poll(_POLL_S)
        if self._polling is None or self._polling.done():
            self._polling = self._loop.create_task(self._poll_on())
        return future

    async def _poll_on(self) -> None:
        """While anything is not delivered, hear what becomes of it."""
        with suppress(RuntimeError):  # closed meanwhile
            while len(self._client):
                await self._call(self._client.poll, _POLL_S)

    async def close(self) -> None:
        """Deliver everything, then disconnect."""
        self._closed = True
        await self._call(self._client.close)
        if not (self._polling is None or self._polling.cancelled()):  # by others, as frameworks do
            await self._polling
        await self._threads.close()

    def __len__(self) -> int:
        return len(self._client)

    def __bool__(self) -> bool:
        return True

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def poll(self, timeout: float = 0) -> int:
        """As Producer's."""
        return int(await self._call(self._client.poll, timeout))


for _name in (
    "flush", "purge", "list_topics", "cluster_id", "init_transactions", "begin_transaction",
    "send_offsets_to_transaction", "commit_transaction", "abort_transaction",
    "set_sasl_credentials",
):  # fmt: skip
    setattr(AIOProducer, _name, _verb(_name, Producer))
