"""The transactions of AsyncProducer: aiokafka's verbs over the core's."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, Self

from kcore.clients import arguments
from kcore.clients.producer.transactions import OPEN, limit_of, log, offsets_to_commit, timed_out
from kcore.errors import KafkaError, ProducerFencedError, TransactionAbortableError
from kcore.events import OperationCompleted
from kcore.produce.transaction_states import TxnState

if TYPE_CHECKING:
    from kcore.clients.producer.loop_courier import LoopCourier
    from kcore.producer.config import ProducerConfig


class AsyncTransactions:
    """The part of AsyncProducer that begins and ends transactions; `start` registers the
    transactional id. Errors are those of `Transactions`; a verb that is cancelled goes on as one
    that has timed out does.
    """

    _courier: LoopCourier
    _core: Any
    _settings: ProducerConfig

    def _enter(self) -> None:
        raise NotImplementedError

    async def _ended(
        self, operation: int, limit_ms: float, check: Callable[[], object] | None = None
    ) -> OperationCompleted | None:
        raise NotImplementedError

    async def begin_transaction(self) -> None:
        """What is sent from now on is in one transaction, by whichever task."""
        began_at = perf_counter_ns()
        self._enter()
        with self._courier.work:
            self._core.begin_transaction(self._courier.now_ms())
        self._core.verb_took("begin_transaction", perf_counter_ns() - began_at)

    async def send_offsets_to_transaction(
        self, offsets: Mapping[Any, Any], group_id: Any, timeout: float | None = None
    ) -> None:
        """Commit a group's offsets with the transaction.

        offsets: {TopicPartition: OffsetAndMetadata or int}, the next ones to read. group_id: that,
        or `AsyncConsumer.group_metadata()`, so that a member the group has gone on without is
        fenced (CommitFailedError).
        """
        wanted, group = offsets_to_commit(offsets), arguments.group_of(group_id)

        def begin(now_ms: int) -> int:
            found: int = self._core.send_offsets_to_transaction(wanted, group, now_ms)
            return found

        self._enter()
        await self._run("send_offsets_to_transaction", begin, timeout)

    async def commit_transaction(self, timeout: float | None = None) -> None:
        """Send everything that is left, wait until it is written, and make it visible.

        A record that was not delivered makes the transaction fail: TransactionAbortableError.
        """
        self._enter()
        await self._run("commit_transaction", self._core.commit_transaction, timeout)

    async def abort_transaction(self, timeout: float | None = None) -> None:
        """Drop what was not sent (TransactionAbortedError), and have nobody see the rest."""
        self._enter()
        await self._run("abort_transaction", self._core.abort_transaction, timeout)

    @asynccontextmanager
    async def transaction(self, timeout: float | None = None) -> AsyncIterator[Self]:
        """`async with producer.transaction():` begins one, and commits it; aborts it where an
        exception leaves the block, or where it cannot be committed. timeout: of each end.

        ProducerFencedError: another producer has the transactional_id now; stop this one.
        """
        await self.begin_transaction()
        try:
            yield self
        except BaseException as error:
            await self._abort_quietly(error, timeout)
            raise
        if self._core.transaction_state is TxnState.READY:
            if self._core.transaction_unheard:
                self._enter()  # ended by whoever has stopped the producer: aborted
            return  # it was ended in the block
        try:
            await self.commit_transaction(timeout)
        except TransactionAbortableError as error:
            await self._abort_quietly(error, timeout)
            raise

    async def _abort_quietly(self, why: BaseException, timeout: float | None) -> None:
        """Because of `why`, which is about to be raised and says more; but no other error of
        Kafka's says more than that somebody else has taken over.
        """
        if self._core.transaction_state in OPEN:
            try:
                await self._courier.ways.see_out(partial(self.abort_transaction, timeout))
            except KafkaError as error:
                if isinstance(error, ProducerFencedError) and isinstance(why, KafkaError):
                    raise error from why
                log.warning("a transaction was left that could not be aborted: %s", error)

    async def _initialize(self) -> None:
        """Register the transactional id; part of `start`."""
        await self._run("start", self._core.init_transactions, None)

    async def _run(self, verb: str, begin: Callable[[int], int], timeout: float | None) -> None:
        """Begin an operation and wait for its end."""
        courier, core, began_at = self._courier, self._core, perf_counter_ns()
        limit_ms = limit_of(timeout, self._settings)
        seen = courier.errors_seen

        def check() -> None:
            if core.transaction_state is TxnState.INITIALIZING:
                courier.raise_errors(seen)  # nobody lets us in

        with courier.work:
            operation = begin(courier.now_ms())
        ended = await self._ended(operation, limit_ms, check)
        if ended is None:
            courier.check()
            raise timed_out(verb, limit_ms, core.transaction_hindrance)
        if ended.error is not None:
            raise ended.error
        took_ns = perf_counter_ns() - began_at
        core.verb_took("init_transactions" if verb == "start" else verb, took_ns)
        core.heard_of_transaction()
