"""How tasks of an event loop take records: one by one, many at once, as columns.

Between a look at what is there and handing it over nothing is awaited, so a task that is cancelled
while it waits has taken nothing. Before more than RECORDS_PER_TURN are handed over, or TURN_MS have
passed, the loop has its turn.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, Any, Self, TypeVar

from kcore.clients import arguments
from kcore.clients.consumer.async_rebalance import AsyncBridge
from kcore.clients.consumer.batches import ArrowWish
from kcore.clients.consumer.questions import Questions
from kcore.clients.consumer.rebalance import INSIDE
from kcore.clients.guard import CLOSED
from kcore.clients.looping import LoopDriver, LoopGuard
from kcore.clients.turns import RECORDS_PER_TURN
from kcore.errors import ConsumerStoppedError, IllegalStateError, KafkaError
from kcore.structs import TopicPartition

if TYPE_CHECKING:
    from kcore.records import ConsumerRecord
    from kcore.records.arrow import ArrowBatch

# What `getmany_arrow` takes unless told otherwise: about a millisecond of the loop's time.
ARROW_ROWS = 8_192
ARROW_BYTES = 1 << 20

Only = frozenset[TopicPartition] | None
T = TypeVar("T", bound=Collection[Any])


class AsyncReading(Questions):
    """The part of AsyncConsumer that reads. The attributes are the consumer's.

    _burst_of: the `read_until` whose records may be taken inside; None: any are.
    _in_hand: the last read has returned records, and no other has begun: nobody but the application
    knows whether it is done with them, so the group is not told that it is.
    """

    _bridge: AsyncBridge
    _driver: LoopDriver
    _guard: LoopGuard
    _take_inside: Callable[[], ConsumerRecord | None]

    def __init__(self) -> None:
        self._stopping = False
        self._in_hand = False
        self._burst_of: object = None
        self._called_at = 0
        self._waiting: list[Only] = []  # what each task that reads now wants
        self._wanted: Only = None  # what the core was told of it

    # The verbs ----------------------------------------------------------------------------------

    async def getone(self, *partitions: Any) -> ConsumerRecord:
        """The next record (of these partitions, if any are named), as soon as there is one.

        Cancelled, it has taken nothing. ConsumerStoppedError once `stop` was called, and whatever
        `Consumer.poll` raises.
        """
        if not partitions:
            record = self._take_inside()
            if record is not None:
                return record
        return await self._read_one(_only(partitions))

    async def getmany(
        self, *partitions: Any, timeout_ms: float = 0, max_records: int | None = None
    ) -> dict[TopicPartition, list[ConsumerRecord]]:
        """Records that are here, or come within `timeout_ms`; {} if none do.

        Of these partitions, if any are named. At most `max_records` (default: max_poll_records),
        and no more once they make 1 MiB. Cancelled, it has taken nothing. Raises what `getone`
        raises.
        """
        if max_records is None:
            limit = self._settings.max_poll_records
        else:
            limit = arguments.record_count(max_records)
        wait_ms = arguments.timeout(timeout_ms, 0)
        core, only = self._engine.core, _only(partitions)

        def take(now_ms: int) -> dict[TopicPartition, list[ConsumerRecord]]:
            taken: dict[TopicPartition, list[ConsumerRecord]]
            taken = core.take_records(limit, now_ms, only)
            self._driver.passed(sum(map(len, taken.values())))
            return taken

        found = await self._read(take, wait_ms, only) or {}
        interceptors = self._engine.interceptors
        return found if interceptors is None or not found else interceptors.on_consume(found)

    async def getmany_arrow(
        self,
        *partitions: Any,
        timeout_ms: float = 0,
        max_rows: int | None = None,
        max_bytes: int | None = None,
        views: bool = False,
        include_headers: bool = False,
        dictionary: bool = False,
        columns: Iterable[str] | None = None,
    ) -> ArrowBatch:
        """`getmany` as one Arrow record batch; see `Consumer.poll_arrow` for the options.

        max_rows, max_bytes: ARROW_ROWS and ARROW_BYTES unless given, so that the loop is not held
        up for long.
        """
        wish = ArrowWish.of(
            ARROW_ROWS if max_rows is None else max_rows,
            ARROW_BYTES if max_bytes is None else max_bytes,
            views=views,
            include_headers=include_headers,
            dictionary=dictionary,
            columns=columns,
        )
        wait_ms, only = arguments.timeout(timeout_ms, 0), _only(partitions)
        if self._engine.interceptors is not None:
            self._engine.interceptors.pass_by("getmany_arrow")

        def take(now_ms: int) -> Any:
            taken = wish.take(self._engine, now_ms, only)
            self._driver.passed(RECORDS_PER_TURN if taken.rows else 0)
            return taken

        return wish.batch(await self._read(take, wait_ms, only))

    def __aiter__(self) -> Self:
        if self._guard.closed:
            self._guard.refuse()
        return self

    async def __anext__(self) -> ConsumerRecord:
        record = self._take_inside()
        if record is not None:
            return record
        try:
            return await self._read_one(None)
        except ConsumerStoppedError:
            raise StopAsyncIteration from None

    async def _read_one(self, only: Only) -> ConsumerRecord:
        core = self._engine.core

        def take(now_ms: int) -> list[ConsumerRecord]:
            taken: dict[TopicPartition, list[ConsumerRecord]]
            taken = core.take_records(1, now_ms, only)
            for records in taken.values():
                return records
            return []

        if self._bridge.inside:  # the group waits for it, and the record for the group
            raise IllegalStateError(INSIDE)
        while True:
            found = await self._read(take, float("inf"), only)
            if found:
                record = self._handed_over(found[0])
                if record is not None:
                    self._burst_of = None
                    return record

    def _handed_over(self, record: ConsumerRecord) -> ConsumerRecord | None:
        """What was taken one by one, and the next few may come at once; None: interceptors have
        left it out.
        """
        interceptors, driver = self._engine.interceptors, self._driver
        if interceptors is None:
            driver.passed(driver.grant())
            return record
        driver.passed(1)
        found: ConsumerRecord | None = interceptors.on_record(record)
        return found

    # Reading ------------------------------------------------------------------------------------

    async def _read(
        self,
        take: Callable[[int], T],
        wait_ms: float,
        only: Only,
        done: Callable[[], bool] | None = None,
    ) -> T | None:
        """What `take(now)` gives as soon as that is not empty; None at the end of `wait_ms`, or if
        it gives nothing and `done()`.
        """
        driver, engine = self._driver, self._engine
        self._may_read()
        self._in_hand = False
        self._waiting.append(only)
        try:
            wanted = self._wanted
            if wanted is not None and wanted is not only and (only is None or not only <= wanted):
                self._want()  # it was left aside for others
            looked = driver.spent
            if looked:
                await driver.breathe()
            until = driver.now_ms() + wait_ms
            while True:
                self._may_read()
                now = driver.now_ms()
                taken = self._look(take, now)
                if taken:
                    self._in_hand = True
                    return taken
                if done is not None and done():
                    return None
                if self._want():
                    continue
                if now < until:
                    await driver.news(until - now)
                    engine.core.idle_ms += driver.now_ms() - now
                elif looked:
                    return None
                else:
                    await driver.breathe()
                looked = True
        finally:
            self._waiting.remove(only)
            self._called_at = driver.now_ms()

    def _look(self, take: Callable[[int], T], now_ms: int) -> T | None:
        """One look, with all that a poll does for the group."""
        engine = self._engine
        with engine.guard:
            try:
                engine.raise_pending()
                self._live(now_ms)
                self._may_read()  # a callback may have stopped it
                return take(now_ms) if engine.core.has_records else None
            finally:
                self._driver.obey()  # the next fetch leaves before these records are looked at

    def _want(self) -> bool:
        """Tell the core for which partitions tasks wait; whether that is news to it.

        Others are left aside only where what is buffered of them may be in the way.
        """
        wanted = self._wishes(frozenset())
        if wanted is not None and not self._engine.core.has_records:
            wanted = None if self._wanted is None else wanted | self._wanted
        if wanted == self._wanted:
            return False
        self._tell_wanted(wanted)
        return True

    def _leave_aside(self, only: frozenset[TopicPartition]) -> None:
        """Fetch nothing but these, and what other tasks wait for, whatever is buffered."""
        if only is self._wanted and not self._waiting:
            return
        wanted = self._wishes(only)
        if wanted != self._wanted:
            self._tell_wanted(wanted)

    def _tell_wanted(self, wanted: Only) -> None:
        with self._engine.guard:
            self._engine.core.want(wanted, self._driver.now_ms())
            self._wanted = wanted  # behind it: who was struck tells it again

    def _wishes(self, wanted: Only) -> Only:
        """`wanted`, and what each task that reads now wants."""
        for only in self._waiting:
            wanted = None if only is None or wanted is None else wanted | only
        return wanted

    def _may_read(self) -> None:
        """ConsumerStoppedError; IllegalStateError: not started, or nothing is to be read."""
        if self._stopping:
            raise ConsumerStoppedError(CLOSED)
        self._need_started()
        if self._wish is None:
            raise IllegalStateError("nothing is subscribed or assigned: there is nothing to read")

    def _need_started(self) -> None:
        self._guard.enter()
        if self._driver.loop is None:
            raise IllegalStateError("the consumer is not started: `await consumer.start()` first")

    # While nobody reads -------------------------------------------------------------------------

    def _attend(self) -> None:
        """A turn has brought something. Tasks that read see to it; where there is none, and the
        application has no records in hand, the group goes on as if it polled: as long as it might
        be away.
        """
        if self._waiting or self._in_hand or self._wish is None or self._stopping:
            self._bridge.serve()
            return
        engine, now = self._engine, self._driver.now_ms()
        if now - self._called_at >= self._settings.max_poll_interval_ms:
            return
        try:
            self._live(now)
        except KafkaError as error:
            engine.keep(error)
        if engine.guard.usable:
            self._driver.obey()


def _only(partitions: tuple[Any, ...]) -> Only:
    return frozenset(arguments.partitions_of(partitions)) if partitions else None
