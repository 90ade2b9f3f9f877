"""Reading up to given ends: `read_until` of both consumers, and where it stands.

What counts is the position. A log may end in markers, in an aborted transaction or in offsets that
compaction has taken: no record is there to tell that the end has come.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from kcore.clients import arguments
from kcore.clients.consumer.calls import Calls
from kcore.clients.consumer.polling import Polling
from kcore.clients.consumer.rebalance import INSIDE, Bridge
from kcore.clients.engine import Engine
from kcore.clients.iteration import Batch
from kcore.errors import IllegalStateError, KafkaTimeoutError
from kcore.hints import TYPE_CHECKING, Any, Self, TypeVar
from kcore.structs import TopicPartition

if TYPE_CHECKING:
    from kcore.records import ConsumerRecord

# An error names so many partitions.
_NAMED_MAX = 10

Only = frozenset[TopicPartition] | None
T = TypeVar("T")


class Ends:
    """The ends of one read, and which partitions have not come to theirs.

    regains: whether a partition that goes may be given back. As of the last `look`: behind, those
    that are read on, with their ends; only, the same without ends; left, how many they were.
    """

    def __init__(
        self, engine: Engine, ends: Mapping[TopicPartition, int], regains: Callable[[], bool]
    ) -> None:
        self._engine = engine
        self._ends = dict(ends)
        self._regains = regains
        # How often the group had assigned when each was last seen here. Eager members give up
        # everything in a rebalance: only the next assignment tells what is lost.
        self._heard = dict.fromkeys(self._ends, engine.assignments)
        # What was below an end went with its topic.
        self._remade = engine.remade.since_now()
        self.behind: dict[TopicPartition, int] = {}
        self.only: frozenset[TopicPartition] = frozenset()
        self.left = 0

    def look(self) -> int:
        """Find out who is behind; how many are. What was lost to a rebalance or made anew since is
        forgotten.
        """
        heard = self._engine.assignments
        offsets: dict[TopicPartition, int] = self._engine.core.positions(self._ends)
        behind, lost = {}, []
        for tp, end in self._ends.items():
            offset = offsets.get(tp)
            if tp in self._remade:
                lost.append(tp)
            elif offset is not None:
                self._heard[tp] = heard
                if offset < end:
                    behind[tp] = end
            elif self._regains() and self._heard[tp] == heard:
                behind[tp] = end
            else:
                lost.append(tp)
        for tp in lost:
            del self._ends[tp]
        self.behind = behind
        if len(self.only) != len(behind) or not self.only >= behind.keys():
            self.only = frozenset(behind)
        self.left = len(behind)
        return self.left

    def changed(self) -> bool:
        """Whether another `look` finds more or fewer: positions have moved without a record."""
        before = self.left
        return self.look() != before

    def timed_out(self, timeout_ms: float) -> KafkaTimeoutError:
        """The error of a wait in vain."""
        offsets = self._engine.core.positions(self.behind)
        named = [
            f"{tp.topic}-{tp.partition} is at {_place(offsets.get(tp, -1))} of {end}"
            for tp, end in sorted(self.behind.items())[:_NAMED_MAX]
        ]
        more = len(self.behind) - len(named)
        return KafkaTimeoutError(
            f"nothing more came in {timeout_ms:.0f} ms, and the ends are not reached: "
            + ", ".join(named)
            + (f" and {more} more" if more else ""),
            timeout_ms=timeout_ms,
        )


def _place(offset: int) -> str:
    return "an unknown position" if offset < 0 else str(offset)


class ReadUntil:
    """The records of one `Consumer.read_until`.

    batch: the last one taken for it. over: every end was reached.
    """

    def __init__(
        self, take: Callable[[ReadUntil], ConsumerRecord], ends: Ends, limit_ms: float
    ) -> None:
        self._take = take
        self.ends = ends
        self.limit_ms = limit_ms
        self.batch: Batch | None = None
        self.over = False

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> ConsumerRecord:
        return self._take(self)


class Bounded(Calls, Polling):
    """The part of Consumer that reads up to given ends. The attributes are the consumer's."""

    _bridge: Bridge
    _batch_size: int
    _records: Iterator[Any]

    def _want(self, only: Only) -> None:
        raise NotImplementedError

    def _finish_batch(self) -> None:
        raise NotImplementedError

    def read_until(
        self, ends: Mapping[Any, int] | None = None, *, timeout_ms: float | None = None
    ) -> Iterator[ConsumerRecord]:
        """The records below `ends`, one by one; it is over when every position has come there.

        ends: {TopicPartition: offset} of assigned partitions; None: `end_offsets` of all that is
        assigned now (with read_committed a transaction that is open is beyond them). Where nothing
        of a subscription is assigned yet, it waits for that. What ends in markers, aborted
        transactions or compacted offsets ends like any other. Nothing beyond the ends is taken: the
        next `poll` or loop goes on there. Partitions that are through, or not named, are left aside
        until then. One that is lost to a rebalance is not waited for, nor one whose topic is
        deleted and made anew: what was below its end is gone.

        timeout_ms: how long one step may wait for a record or the end, which may be beyond the log;
        then KafkaTimeoutError, behind which it can go on. Without it there is no limit
        (consumer_timeout_ms does not count), but for an assignment: default_api_timeout_ms. All
        else is as in a loop over the consumer, commits and errors, too.

        UnassignedPartitionError: one of `ends` is not assigned; without `ends`, nothing is.
        """
        limit = arguments.timeout(timeout_ms, float("inf"))
        wanted = None if ends is None else arguments.ends_of(ends)
        with self._engine.guard:
            if self._wish in ("topics", "pattern") and not self.assignment():
                self._await_assignment(timeout_ms)
            found = self._ends_of(wanted)
        if found is None:
            found = self.end_offsets(self.assignment())
        return ReadUntil(self._next_below, Ends(self._engine, found, self._regains), limit)

    def _await_assignment(self, timeout_ms: float | None) -> None:
        """Poll until something is assigned; nothing is read meanwhile. KafkaTimeoutError."""
        if self._bridge.inside:  # the group waits for it
            raise IllegalStateError(INSIDE)
        limit = arguments.timeout(timeout_ms, self._settings.default_api_timeout_ms)
        engine, pump = self._engine, self._engine.pump
        self._begin_poll()
        self._want(frozenset())
        until = pump.now_ms() + limit
        while not self.assignment():
            engine.raise_pending()
            now = pump.now_ms()
            if not self._live(now):
                return
            if now >= until:
                names = ", ".join(sorted(self.subscription() or ())) or "a pattern"
                raise KafkaTimeoutError(
                    f"nothing of {names} was assigned within {limit:.0f} ms: is there such a topic,"
                    " and not all of it with other members of the group?",
                    timeout_ms=limit,
                )
            engine.step(until - now)

    def _next_below(self, read: ReadUntil) -> ConsumerRecord:
        """The next record of a read; StopIteration."""
        if self._batch is read.batch:  # else another call has taken records since
            for record in self._records:
                return record  # type: ignore[no-any-return]
        if not read.over and not self._engine.guard.closed:
            self._hand_over(lambda: self._next_batch_below(read))
            if self._batch is read.batch:
                for record in self._records:
                    return record  # type: ignore[no-any-return]
        raise StopIteration

    def _put_down(self) -> None:
        """Be done with the records that were taken last."""
        if self._bridge.inside:  # the group waits for it, and the record for the group
            raise IllegalStateError(INSIDE)
        if self._batch is not None:
            self._finish_batch()
        if self._wish is None:
            raise IllegalStateError("nothing is subscribed or assigned: there is nothing to read")

    def _next_batch_below(self, read: ReadUntil) -> None:
        """Inside the guard: the last record is done with, take more; or the read is over."""
        self._put_down()
        engine, ends, size = self._engine, read.ends, self._batch_size
        core, pump = engine.core, engine.pump
        now = pump.now_ms()
        until = now + read.limit_ms
        looked = False  # at the sockets, in this call
        while True:
            engine.raise_pending()
            if not self._live(now):
                return
            if not ends.look():
                read.over = True
                self._want(None)
                return
            self._want(ends.only)
            taken = self._take(lambda now: core.take_until(size, now, ends.behind), now)
            if taken and engine.interceptors is not None:
                taken = engine.interceptors.on_consume(taken)
                if not taken:
                    now = pump.now_ms()
                    continue
            if taken:
                self._batch = read.batch = Batch(taken, pump.now_ms(), engine.remade.since_now())
                self._records = self._batch.records
                return
            if not ends.changed():
                if looked and now >= until:
                    raise ends.timed_out(read.limit_ms)
                engine.step(until - now)
                looked = True
            now = pump.now_ms()
