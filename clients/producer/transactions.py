"""The room of transactions: kafka-python's and confluent's verbs over the core's."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, Self

from kcore.clients import arguments
from kcore.clients.log import Log
from kcore.errors import (
    KafkaError,
    KafkaTimeoutError,
    ProducerFencedError,
    TransactionAbortableError,
)
from kcore.limits import MAX_TIMEOUT_MS
from kcore.produce.transaction_states import TxnState
from kcore.structs import OffsetAndMetadata, TopicPartition

if TYPE_CHECKING:
    from kcore.clients.producer.courier import Courier
    from kcore.producer.config import ProducerConfig

log = Log("kcore.producer")

# What can be aborted.
OPEN = (TxnState.IN_TRANSACTION, TxnState.ABORTABLE_ERROR)


class Transactions:
    """The part of Producer that begins and ends transactions.

    Of all verbs: TransactionStateError: not now, or the producer has no transactional_id.
    TransactionAbortableError: the transaction has failed (its cause says why), and can only be
    aborted. ProducerFencedError, and others of their own class: the producer is of no use any more.
    KafkaTimeoutError: it was not over in time, and goes on: the same verb called again tells how it
    ended. `timeout` is seconds, None `max_block_ms`.
    """

    _courier: Courier
    _core: Any
    _settings: ProducerConfig

    def init_transactions(self, timeout: float | None = None) -> None:
        """Register the transactional id: once, before anything else. Whoever had it before is
        fenced, and what that left open is aborted.
        """
        self._run("init_transactions", self._core.init_transactions, timeout)

    def begin_transaction(self) -> None:
        """What is sent from now on is in one transaction, by whichever thread."""
        courier, began_at = self._courier, perf_counter_ns()
        with courier.lock:
            courier.check()
            self._core.begin_transaction(courier.now_ms())
            self._core.verb_took("begin_transaction", perf_counter_ns() - began_at)

    def send_offsets_to_transaction(
        self,
        offsets: Mapping[Any, Any],
        group_metadata: Any,
        timeout: float | None = None,
    ) -> None:
        """Commit a group's offsets with the transaction.

        offsets: {TopicPartition: OffsetAndMetadata or int}, the next ones to read. group_metadata:
        `Consumer.group_metadata()`, so that a member the group has gone on without is fenced; or a
        group id. CommitFailedError: it has. GroupAuthorizationFailedError. Behind both: abort.
        """
        wanted, group = offsets_to_commit(offsets), arguments.group_of(group_metadata)

        def begin(now_ms: int) -> int:
            found: int = self._core.send_offsets_to_transaction(wanted, group, now_ms)
            return found

        self._run("send_offsets_to_transaction", begin, timeout)

    def commit_transaction(self, timeout: float | None = None) -> None:
        """Send everything that is left, wait until it is written, and make it visible.

        A record that was not delivered makes the transaction fail: TransactionAbortableError.
        """
        self._run("commit_transaction", self._core.commit_transaction, timeout)

    def abort_transaction(self, timeout: float | None = None) -> None:
        """Drop what was not sent (TransactionAbortedError), and have nobody see the rest."""
        self._run("abort_transaction", self._core.abort_transaction, timeout)

    @contextmanager
    def transaction(self, timeout: float | None = None) -> Iterator[Self]:
        """`with producer.transaction():` begins one, and commits it; aborts it where an exception
        leaves the block, or where it cannot be committed. timeout: of each end.

        ProducerFencedError: another producer has the transactional_id now; close this one.
        """
        self.begin_transaction()
        try:
            yield self
        except BaseException as error:
            self._abort_quietly(error, timeout)
            raise
        if self._core.transaction_state is TxnState.READY:
            if self._core.transaction_unheard:
                self._courier.check()  # ended by whoever has closed the producer: aborted
            return  # it was ended in the block
        try:
            self.commit_transaction(timeout)
        except TransactionAbortableError as error:
            self._abort_quietly(error, timeout)
            raise

    def _abort_quietly(self, why: BaseException, timeout: float | None) -> None:
        """Because of `why`, which is about to be raised and says more; but no other error of
        Kafka's says more than that somebody else has taken over.
        """
        if self._core.transaction_state in OPEN:
            try:
                self.abort_transaction(timeout)
            except KafkaError as error:
                if isinstance(error, ProducerFencedError) and isinstance(why, KafkaError):
                    raise error from why
                log.warning("a transaction was left that could not be aborted: %s", error)

    def _run(self, verb: str, begin: Callable[[int], int], timeout: float | None) -> None:
        """Begin an operation and wait for its end."""
        courier, core, began_at = self._courier, self._core, perf_counter_ns()
        limit_ms = limit_of(timeout, self._settings)
        ended: list[Any] = []
        with courier.lock:
            courier.check()
            seen = courier.errors_seen
            operation = begin(courier.now_ms())
            courier.nudge()

        def done() -> bool:
            found = courier.result(operation)
            if found is not None:
                ended.append(found)
            elif core.transaction_state is TxnState.INITIALIZING:
                courier.raise_errors(seen)  # nobody lets us in
            return bool(ended)

        try:
            courier.wait(done, limit_ms / 1000)
        finally:
            if not ended:
                with courier.lock:
                    courier.forget(operation)
        if not ended:
            raise timed_out(verb, limit_ms, core.transaction_hindrance)
        if ended[0].error is not None:
            raise ended[0].error
        with courier.lock:
            core.verb_took(verb, perf_counter_ns() - began_at)
            core.heard_of_transaction()  # last: who is struck before can ask again


def limit_of(timeout: float | None, settings: ProducerConfig) -> float:
    """How long a verb may take, ms. TypeError, IllegalArgumentError."""
    given = arguments.timeout(timeout, settings.max_block_ms / 1000, "timeout")
    return settings.max_block_ms if timeout is None else min(given * 1000, MAX_TIMEOUT_MS)


def timed_out(verb: str, limit_ms: float, hindrance: KafkaError | None) -> KafkaTimeoutError:
    """What is said of a verb that was not over in time. hindrance: what it is tried again for."""
    why = "" if hindrance is None else f" (it is tried again: {hindrance})"
    error = KafkaTimeoutError(
        f"{verb} was not over within {limit_ms / 1000:g} s{why}; it goes on, and {verb} called "
        "again tells how it ends",
        timeout_ms=limit_ms,
    )
    error.__cause__ = hindrance
    return error


def offsets_to_commit(offsets: object) -> dict[TopicPartition, OffsetAndMetadata]:
    """{partition: OffsetAndMetadata} from that, plain tuples or offsets. TypeError, ValueError."""
    if isinstance(offsets, Mapping):
        offsets = {
            tp: (at, "") if isinstance(at, int) and not isinstance(at, bool) else at
            for tp, at in offsets.items()
        }
    return arguments.offsets_of(offsets)
