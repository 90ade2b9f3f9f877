"""`AsyncConsumer.read_until`: up to given ends, one by one (see `bounded.py`).

A record is taken when it is asked for and not before, so positions and commits are right between
any two, and a task that is cancelled has taken nothing.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Self

from kcore.clients import arguments
from kcore.clients.consumer.async_reading import AsyncReading
from kcore.clients.consumer.bounded import Ends
from kcore.clients.consumer.questions import LATEST, Question
from kcore.clients.consumer.rebalance import INSIDE
from kcore.errors import ConsumerStoppedError, IllegalStateError
from kcore.structs import TopicPartition

if TYPE_CHECKING:
    from kcore.records import ConsumerRecord


class AsyncReadUntil:
    """The records of one `AsyncConsumer.read_until`.

    ends: None until they are known. of: whose ends are to be asked. over: every end was reached.
    """

    def __init__(
        self,
        take: Callable[[AsyncReadUntil], Awaitable[ConsumerRecord]],
        ends: Ends | None,
        of: set[TopicPartition],
        timeout_ms: float | None,
    ) -> None:
        self._take = take
        self.ends = ends
        self.of = of
        self.timeout_ms = timeout_ms
        self.over = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> ConsumerRecord:
        return await self._take(self)


class AsyncBounded(AsyncReading):
    """The part of AsyncConsumer that reads up to given ends."""

    async def _answer(self, question: Question) -> Any:
        raise NotImplementedError

    def read_until(
        self, ends: Mapping[Any, int] | None = None, *, timeout_ms: float | None = None
    ) -> AsyncIterator[ConsumerRecord]:
        """The records below `ends`, for `async for`; it is over when every position has come there.

        ends: {TopicPartition: offset} of assigned partitions; None: `end_offsets` of all that is
        assigned now, asked when the first record is. Everything else is as in
        `Consumer.read_until`, and as in a loop over this consumer: tasks may share it, and what
        another reads meanwhile moves positions, too.
        """
        arguments.timeout(timeout_ms, 0)
        self._may_read()
        assigned = self.assignment()
        given = self._ends_of(None if ends is None else arguments.ends_of(ends))
        found = None if given is None else Ends(self._engine, given, self._regains)
        return AsyncReadUntil(self._next_below, found, assigned, timeout_ms)

    async def _next_below(self, read: AsyncReadUntil) -> ConsumerRecord:
        if self._burst_of is read:
            record = self._take_inside()
            if record is not None:
                return record
        if read.over:
            raise StopAsyncIteration
        if self._bridge.inside:  # the group waits for it, and the record for the group
            raise IllegalStateError(INSIDE)
        try:
            ends = read.ends
            if ends is None:
                found = await self._answer(self._ask_ends(read.of, LATEST))
                ends = read.ends = Ends(self._engine, found, self._regains)
            limit_ms = arguments.timeout(read.timeout_ms, float("inf"))
            record = await self._read_below(ends, limit_ms)
        except ConsumerStoppedError:
            raise StopAsyncIteration from None
        if record is None:
            read.over = True
            raise StopAsyncIteration
        self._burst_of = read
        return record

    async def _read_below(self, ends: Ends, limit_ms: float) -> ConsumerRecord | None:
        """The next record; None: there is none below the ends."""
        core, driver = self._engine.core, self._driver

        def take(now_ms: int) -> list[ConsumerRecord]:
            taken: dict[TopicPartition, list[ConsumerRecord]]
            taken = core.take_until(1, now_ms, ends.behind)
            for records in taken.values():
                return records
            return []

        until = driver.now_ms() + limit_ms
        while True:
            left = ends.look()
            if not left:
                # What was returned is done with: the group hears of it, as of any other read.
                await self._read(lambda _now: [], 0, None)
                return None
            self._leave_aside(ends.only)
            wait_ms = max(until - driver.now_ms(), 0)
            found = await self._read(take, wait_ms, ends.only, ends.changed)
            if found:
                record = self._handed_over(found[0])
                if record is not None:
                    return record
                continue
            if ends.left == left and driver.now_ms() >= until:
                raise ends.timed_out(limit_ms)
