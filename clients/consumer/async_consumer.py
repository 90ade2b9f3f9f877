"""`AsyncConsumer`: aiokafka's AIOKafkaConsumer over the sans-IO core, driven by the running loop.

Everything happens in the loop's own thread: sockets are its readers and writers, deadlines its
timers (`turns.py`). A call that asks the cluster begins an operation and awaits its end.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, overload

from kcore.clients import arguments
from kcore.clients.consumer.async_bounded import AsyncBounded
from kcore.clients.consumer.async_rebalance import AsyncBridge
from kcore.clients.consumer.closing import release
from kcore.clients.consumer.groupless import warn_of_auto_commit
from kcore.clients.consumer.questions import EARLIEST, LATEST, Question, Several
from kcore.clients.engine import GRACE_MS, Engine
from kcore.clients.log import Log
from kcore.clients.looping import LoopDriver, LoopGuard, LoopLife, begin_at_names, open_driver
from kcore.clients.randomness import ClientRng
from kcore.clients.reporting import Reporter
from kcore.errors import (
    ConcurrentUseError,
    ConsumerStoppedError,
    KafkaConfigurationError,
    KafkaError,
    KafkaTimeoutError,
)
from kcore.structs import GroupMembershipOperation, OffsetAndTimestamp, TopicPartition
from kcore.transports import monotonic_ms
from kcore.transports.forking import release_in_child
from kcore.transports.loops import Loop, here, running

if TYPE_CHECKING:
    from kcore.consumer.config import ConsumerConfig

log = Log("kcore.consumer")
# How long a start waits for topics that are not there, and for partitions that nobody leads; they
# are looked for later.
_PLACED_MS = 1_000
_LOOK_MS = 50  # for topics that are being made


class AsyncConsumer(AsyncBounded, LoopLife):
    """Reads topics of a Kafka cluster, alone or as a member of a group, on asyncio or trio.

    Topics to subscribe to are positional; options are keywords, those of `Consumer` (kafka-python's
    names, Java's dotted ones in a mapping) and under aiokafka's names where these differ. It may be
    made anywhere; it belongs to the loop that runs `start`.

    Several tasks may call it. A call from another loop or thread is a ConcurrentUseError.
    KafkaConfigurationError: options.
    """

    _driver: LoopDriver

    def __init__(self, *topics: str, **options: Any) -> None:
        super().__init__()
        names = arguments.topic_names(topics)
        loop = options.pop("loop", None)
        from kcore.consumer.config import ConsumerConfig  # noqa: PLC0415 - as in `Consumer`

        self._settings = ConsumerConfig.from_options(_ours(options), await_acknowledgement=True)
        warn_of_auto_commit(self._settings, options)
        self._engine = self._connect(self._settings)
        self._driver.engine = self._engine
        self._take_inside = self._engine.core.inside.take_record
        self._engine.prepare_commits(self._settings)
        self._bridge = AsyncBridge(self._engine, self._driver)
        self.config = self._settings.as_mapping()
        self._wanted_loop: Loop | None = loop
        self._wish = None
        self._groupless = None
        self._tell_wanted(frozenset())  # as in `Consumer`: until somebody reads
        release_in_child(self)
        if names:
            self.subscribe(names)

    def _connect(self, settings: ConsumerConfig) -> Engine:
        """Core, transport and pump for these options; tests hang their own in here."""
        from kcore.consumer.core import ConsumerCore  # noqa: PLC0415 - what it loads is not small

        now_ms, wall_ms = monotonic_ms(), time.time_ns() // 1_000_000
        core = ConsumerCore(settings, ClientRng(), now_ms, wall_ms=wall_ms)
        self._driver = open_driver(core, settings, LoopDriver)
        name = settings.client_id if settings.group_id is None else settings.group_id
        self._guard = LoopGuard()
        return Engine(core, self._driver, self._guard, Reporter(name))

    # Life ---------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Connect; with a subscription, wait for the first assignment (default_api_timeout_ms).

        NoBrokersAvailable, a KafkaConnectionError: nobody answered within bootstrap_timeout_ms.
        What is wrong with the group or its topics is raised, too. After an error, or cancelled, it
        can be tried again. IllegalStateError: started already, or about to be.
        ConsumerStoppedError: stopped meanwhile.
        """
        self._guard.enter()
        with self._guard.place.starting():
            await self._begin()

    async def _begin(self) -> None:
        if self._driver.loop is None:
            await begin_at_names(self._engine.core, self._settings)
        self._bind(here())
        limit = self._settings.bootstrap_timeout_ms
        try:
            await self._answer(self._ask_release(limit))
        except KafkaTimeoutError as error:
            raise self._nobody_answered(limit) from error
        self._note_release()
        if self._wish in ("topics", "pattern"):
            await self._assigned(self._settings.default_api_timeout_ms)

    def _bind(self, loop: Loop) -> None:
        if self._wanted_loop not in (None, loop):
            raise ConcurrentUseError("the consumer was given another event loop than the running")
        if self._driver.loop is None:
            self._called_at = self._driver.now_ms()
            self._engine.core.inside.belong_here()  # `_read` refuses others
            self._guard.bind(loop)
            self._driver.attended_by(weakref.WeakMethod(self._attend))
            self._driver.bind(loop)

    async def _assigned(self, limit_ms: float) -> None:
        """Wait until there is an assignment, the listener knows it, and it is known where reading
        begins: with `latest` whatever comes from now on is read.
        """
        engine = self._engine
        at_end = self._settings.auto_offset_reset == "latest"

        def done() -> bool:
            engine.raise_pending()
            groupless = self._groupless
            there = engine.assignments if groupless is None else groupless.answered
            return self._stopping or self._wish is None or bool(there and not self._bridge.busy)

        def placed() -> bool:
            core = engine.core
            groupless = self._groupless
            if groupless is not None and not groupless.complete and at_end:
                return self._stopping  # a topic is being made, and its first records are wanted
            offsets = core.positions(core.assignment()).values()
            return done() and (core.has_records or all(offset >= 0 for offset in offsets))

        self._attend()
        if await self._driver.until(done, limit_ms):
            if at_end and self._wish == "topics" and not self._are_there():
                await self._made(min(limit_ms, _PLACED_MS))
            await self._driver.until(placed, min(limit_ms, _PLACED_MS))
        if self._stopping:
            raise ConsumerStoppedError("the consumer was stopped before it had partitions")

    def _are_there(self) -> bool:
        """Whether there are partitions of each topic that is named."""
        if self._groupless is not None:
            return self._groupless.complete
        known = self._engine.core.cluster.partitions
        return all(known(topic) for topic in self.subscription() or ())

    async def _made(self, limit_ms: float) -> None:
        """Topics are being made: wait for them, and in a group for an assignment that has them."""
        before = self._engine.assignments

        def there() -> bool:
            return self._stopping or self._wish is None or self._are_there()

        def assigned() -> bool:
            anew = self._engine.assignments > before and not self._bridge.busy
            return self._stopping or self._wish is None or anew

        for _ in range(max(1, int(limit_ms / _LOOK_MS))):
            self._attend()  # no deadline of the core's says when to look for them anew
            if await self._driver.until(there, _LOOK_MS):
                break
        else:
            return
        if self._groupless is None:
            await self._driver.until(assigned, limit_ms)

    async def stop(self, group_membership_operation: str = "default") -> None:
        """Commit (if auto commit is on), leave the group, close all connections. Twice is harmless.

        group_membership_operation: see `Consumer.close`.
        Tasks that wait for records get a ConsumerStoppedError, loops over the consumer end. It
        takes at most request_timeout_ms; what goes wrong is logged. Cancelled, it leaves the group
        without waiting for anything, and closes.
        """
        operation = arguments.membership_operation(group_membership_operation)
        await self._stop(autocommit=True, operation=operation)

    async def _stop(
        self,
        *,
        autocommit: bool,
        operation: GroupMembershipOperation = GroupMembershipOperation.DEFAULT,
    ) -> None:
        guard, driver = self._guard, self._driver
        if not guard.usable or self._stopping:
            return
        loop = driver.loop
        if loop is not None and not loop.is_closed():
            guard.check_place()
        try:
            self._stopping = True
            driver.stay()
            if loop is not None and loop is running():
                driver.wake()  # whoever reads has nothing to wait for
                autocommit = autocommit and self._settings.enable_auto_commit
                begin = partial(self._engine.core.close, autocommit=autocommit, operation=operation)
                await driver.ways.see_out(partial(self._close_core, begin))
        finally:
            self._bridge.abandon()
            release(self._engine, self._settings)

    async def _close_core(self, begin: Callable[[int, float], None]) -> None:
        engine, driver = self._engine, self._driver
        engine.recover()
        until = driver.now_ms() + self._settings.request_timeout_ms
        try:
            await self._close_until(until, begin)
        finally:
            if engine.closing is None:  # cancelled: what can be said without waiting is said
                begin(driver.now_ms(), 0)
            engine.pump.drain()  # the last words: leaving the group, closing fetch sessions
        engine.run_callbacks()
        try:
            engine.raise_pending()
        except KafkaError as error:
            log.warning("while stopping: %s", error)

    async def _close_until(self, until: int, begin: Callable[[int, float], None]) -> None:
        engine, driver, bridge = self._engine, self._driver, self._bridge
        if bridge.inside:
            bridge.abandon()
            bridge.acknowledge()
        else:  # else the core would take a listener that is at work to have heard what follows
            bridge.serve()
            await driver.until(lambda: not bridge.busy, until - driver.now_ms())
        left = engine.left(until)
        begin(driver.now_ms(), left)
        driver.drain()
        engine.collect()
        bridge.serve()
        await driver.until(lambda: engine.closing is not None, left)

    async def _give_up(self) -> None:
        await self._stop(autocommit=False)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._stop(autocommit=kind is None)

    def _begin_membership(self) -> None:
        self._called_at = self._driver.now_ms()

    # Questions ----------------------------------------------------------------------------------

    async def _answer(self, question: Question) -> Any:
        begin, limit_ms, read = question
        engine, driver = self._engine, self._driver
        self._need_started()
        if begin is None:
            return read({})
        with engine.guard:
            future = engine.later(begin(driver.now_ms()))
        if not await driver.until(lambda: future.is_done, limit_ms + GRACE_MS):
            if driver.closed:
                raise ConsumerStoppedError("the consumer was stopped before the answer came")
            raise KafkaTimeoutError(f"no answer in {limit_ms:.0f} ms", timeout_ms=limit_ms)
        if future.exception is not None:
            raise future.exception
        return read(future.value)

    async def commit(self, offsets: Mapping[Any, Any] | None = None) -> None:
        """Commit these, or the position of everything returned so far, and wait for the answer.

        offsets: {TopicPartition: offset, (offset, metadata) or OffsetAndMetadata}, the offset being
        the next one to read. Cancelled, the commit may still be made. CommitFailedError: the group
        has moved on. RebalanceInProgressError: read first. KafkaTimeoutError. NoGroupIdError.
        """
        given = offsets
        if isinstance(offsets, Mapping):
            given = {tp: (at, "") if type(at) is int else at for tp, at in offsets.items()}
        await self._answer(self._ask_commit(given))

    @overload
    async def committed(
        self, partition: Several, metadata: bool = False
    ) -> dict[TopicPartition, Any]: ...

    @overload
    async def committed(
        self, partition: tuple[str, int], metadata: Literal[False] = ...
    ) -> int | None: ...

    @overload
    async def committed(self, partition: tuple[str, int], metadata: bool) -> Any: ...

    async def committed(self, partition: Any, metadata: bool = False) -> Any:
        """The offset the group has committed for any partition, None if there is none. Of a list or
        set of partitions, which are asked for at once: {partition: that}.

        metadata: OffsetAndMetadata in place of offsets.
        """
        return await self._answer(self._ask_committed_of(partition, metadata=metadata))

    async def client_instance_id(self, timeout_ms: float | None = None) -> str:
        """The id that brokers know this client's metrics by: see `Consumer.client_instance_id`."""
        return str(await self._answer(self._ask_client_instance_id(timeout_ms)))

    async def topics(self) -> set[str]:
        """All topics this client may see, asked anew; Kafka's own are left out."""
        found: set[str] = await self._answer(self._ask_topics())
        return found

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        """Partition numbers of a topic, as far as is known; None: nothing is known of it."""
        known = self._engine.core.cluster.partitions(arguments.topic_name(topic))
        return set(known) if known else None

    async def fetch_partitions(self, topics: Iterable[str]) -> dict[str, set[int]]:
        """Partition numbers of topics as they are now, whatever is known already; one question for
        all. Those that do not exist are left out. For `assign`, which needs them before.
        """
        found: dict[str, set[int]] = await self._answer(self._ask_partitions(topics))
        return found

    async def beginning_offsets(self, partitions: Iterable[Any]) -> dict[TopicPartition, int]:
        """The first offset of each; they need not be assigned."""
        found: dict[TopicPartition, int] = await self._answer(self._ask_ends(partitions, EARLIEST))
        return found

    async def end_offsets(self, partitions: Iterable[Any]) -> dict[TopicPartition, int]:
        """The offset behind the last record of each (with read_committed: the last stable one)."""
        found: dict[TopicPartition, int] = await self._answer(self._ask_ends(partitions, LATEST))
        return found

    async def offsets_for_times(
        self, timestamps: Mapping[Any, int]
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """For each the first offset whose time is at or after the given one (ms), else None."""
        found: dict[TopicPartition, OffsetAndTimestamp | None]
        found = await self._answer(self._ask_times(timestamps))
        return found

    def last_poll_timestamp(self, partition: Any) -> int | None:
        """When a broker last told of the partition, which it does when there is news (ms since
        1970); None before the first fetch.
        """
        tp = arguments.partition_of(partition)
        self._need_assigned([tp])
        told_at: int | None = self._engine.core.told_at(tp)
        if told_at is None:
            return None
        return int(time.time() * 1000) - (self._driver.now_ms() - told_at)

    # Positions ----------------------------------------------------------------------------------

    async def position(self, partition: Any) -> int:
        """The offset of the next record to be handed over; waits until it is known.

        UnassignedPartitionError. KafkaTimeoutError after default_api_timeout_ms.
        """
        tp = arguments.partition_of(partition)
        self._need_started()
        self._need_assigned([tp])
        limit = self._settings.default_api_timeout_ms
        await self._driver.until(lambda: self._is_placed(tp), limit)
        found = self._found_position(tp, limit, needed=True)
        assert found is not None
        return found

    async def seek_to_beginning(self, *partitions: Any) -> bool:
        """Go on at the first offset there is; of all assigned partitions if none is named.

        Waits until the new positions are known: whether they are, within request_timeout_ms.
        """
        return await self._seek_and_wait(partitions, "seek_to_beginning")

    async def seek_to_end(self, *partitions: Any) -> bool:
        """Go on behind the last record, else as `seek_to_beginning`."""
        return await self._seek_and_wait(partitions, "seek_to_end")

    async def _seek_and_wait(self, partitions: tuple[Any, ...], verb: str) -> bool:
        self._need_started()
        self._seek_to(partitions, verb)
        wanted = arguments.chosen(partitions) or self.assignment()
        return await self._driver.until(
            lambda: all(map(self._is_placed, wanted)), self._settings.request_timeout_ms
        )

    async def seek_to_committed(self, *partitions: Any) -> dict[TopicPartition, int | None]:
        """Go on where the group has committed; partitions without a commit stay where they are.

        What was committed, None for nothing; of all assigned partitions if none is named.
        """
        wanted = arguments.chosen(partitions) or sorted(self.assignment())
        self._need_assigned(wanted)
        found = await self._answer(self._ask_committed(wanted))
        mine = self.assignment()  # some may have gone meanwhile
        for tp in wanted:
            if found.get(tp) is not None and tp in mine:
                self.seek(tp, found[tp])
        return {tp: None if found.get(tp) is None else found[tp].offset for tp in wanted}


def _ours(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of aiokafka as ConsumerConfig knows them. KafkaConfigurationError."""
    ours = dict(options)
    if ours.pop("transport", None) is not None:
        raise KafkaConfigurationError(
            "transport: an AsyncConsumer is driven by the running event loop", option="transport"
        )
    # None is aiokafka's word for the default; the wait of its background task has nothing to say.
    for name in ("max_poll_records", "client_rack"):
        if ours.get(name, ...) is None:
            del ours[name]
    if ours.pop("rebalance_timeout_ms", None) is not None:
        raise KafkaConfigurationError(
            "rebalance_timeout_ms: give max_poll_interval_ms, which is what a rebalance waits for",
            option="rebalance_timeout_ms",
        )
    ours.pop("consumer_timeout_ms", None)
    return ours
