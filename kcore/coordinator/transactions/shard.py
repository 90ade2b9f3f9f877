"""One partition of `__transaction_state`: its transactional ids, its journal, what it waits for."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol

from kcore.coordinator.appends import Appends, answered
from kcore.coordinator.front import BaseShard
from kcore.coordinator.journal import Append, Item, Marker
from kcore.coordinator.purgatory import Delayed, Key, Purgatory
from kcore.coordinator.transactions.config import RETRY_MS, TRANSACTIONS_MAX, TransactionConfig
from kcore.coordinator.transactions.journal import (
    read_transaction,
    tombstone,
    transaction_entry,
)
from kcore.coordinator.transactions.states import (
    AT_REST,
    DECIDED,
    TABLE,
    TransactionInput,
    TransactionState,
)
from kcore.coordinator.transactions.transaction import (
    NO_PRODUCER_ID,
    TV_BUMPS,
    Transaction,
    exhausted,
)
from kcore.structs import TopicPartition
from kcore.wire.codes import ErrorCode

# Called with how a write went and the time.
Done = Callable[[ErrorCode, int], None]


class ProducerIds(Protocol):
    """Where producer ids come from; the owner sees that none is given twice."""

    def new_producer_id(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Markers:
    """What the owner is to write to the logs of these partitions: how a transaction ended.

    partition: of the journal that says so. It says with `handle_marked` what has been written, all
    at once or part by part.
    """

    partition: int
    transactional_id: str
    producer_id: int
    producer_epoch: int
    committed: bool
    coordinator_epoch: int
    transaction_version: int
    partitions: tuple[TopicPartition, ...]


class Shard(BaseShard):
    """Everything about the transactional ids whose journal is one partition.

    epoch: of this election; markers of older ones are refused by the logs.
    """

    def __init__(
        self,
        config: TransactionConfig,
        partition: int,
        epoch: int,
        ids: ProducerIds,
        purgatory: Purgatory,
        out: tuple[deque[Append], deque[Markers]],
        numbers: Iterator[int],
        *,
        wall_offset_ms: int,
        immediate: bool,
    ) -> None:
        super().__init__()
        self.config = config
        self.epoch = epoch
        self.ids = ids
        self.wall_offset_ms = wall_offset_ms
        self.transactions: dict[str, Transaction] = {}
        # What no entry says, and is lost with the coordinator: markers that are not written, what
        # is on its way to the journal.
        self.marking: dict[str, set[TopicPartition]] = {}
        self._pending: dict[str, TransactionState] = {}
        self._purgatory = purgatory
        appends, self._markers = out
        self.appends = Appends(partition, self._replay, appends, numbers, immediate=immediate)

    def wall_ms(self, now_ms: int) -> int:
        """The time of day."""
        return now_ms + self.wall_offset_ms

    # Questions -----------------------------------------------------------------------------------

    def get(self, transactional_id: str) -> Transaction | None:
        """What holds of an id; None if it has never been heard of."""
        return self.transactions.get(transactional_id)

    def busy(self, transactional_id: str) -> bool:
        """Whether something about the id is on its way to the journal, or to the logs."""
        return transactional_id in self._pending or transactional_id in self.marking

    def dying(self, transactional_id: str) -> bool:
        """Whether its tombstone is on its way."""
        return self._pending.get(transactional_id) is TransactionState.DEAD

    @property
    def full(self) -> bool:
        """Whether one more id would be too many."""
        return len(self.transactions) + len(self._pending) >= TRANSACTIONS_MAX

    # Coming and going ----------------------------------------------------------------------------

    def start(self, now_ms: int) -> None:
        """The whole journal is loaded: what was decided is carried out, what is open times out."""
        self.loading = False
        self._schedule_sweep(now_ms)
        for transaction in list(self.transactions.values()):
            self._arm(transaction, now_ms)
            if transaction.state in DECIDED:
                self._mark(transaction.transactional_id, now_ms)

    def resign(self, error: ErrorCode, now_ms: int) -> None:
        """Another node has the partition now. Whoever waits is to look for it."""
        self._purgatory.cancel(self._sweep_key())
        for transactional_id in self.transactions:
            self._purgatory.cancel(_timeout_key(transactional_id))
        for transactional_id in self.marking:
            self._purgatory.cancel(_retry_key(transactional_id))
        self.transactions = {}
        self.marking = {}
        self.appends.abandon(error, now_ms)

    def is_ahead(self, client_version: int) -> bool:
        """Whether a client goes by rules that the journal has no room for at level 0. A Kafka finds
        out when it writes, and nothing more can be done with the id; here nothing has happened.
        """
        return client_version > 0 and self.config.transaction_version == 0

    # Writing -------------------------------------------------------------------------------------

    def write(self, after: Transaction, done: Done, now_ms: int) -> None:
        """Let `after` hold of its id once it is in the journal."""
        transactional_id = after.transactional_id
        # What has begun at a higher level keeps its form: another has no room for it.
        version = min(max(self.config.transaction_version, after.client_version), 1)
        self._pending[transactional_id] = after.state

        def written(error: ErrorCode, now_ms: int) -> None:
            self._pending.pop(transactional_id, None)
            if not error:
                self._remember(after)
            elif transactional_id in self.transactions:
                # What its timeout found on the way is not.
                self._arm(self.transactions[transactional_id], now_ms, RETRY_MS)
            done(answered(error), now_ms)

        self.appends.append([transaction_entry(after, version)], written, now_ms)

    def decide(self, after: Transaction, done: Done, now_ms: int) -> None:
        """As `write`, and then let the markers be written; `done` comes before that."""

        def written(error: ErrorCode, now_ms: int) -> None:
            if not error:
                self.marking[after.transactional_id] = set()
            done(error, now_ms)
            if not error:
                self._mark(after.transactional_id, now_ms)

        self.write(after, written, now_ms)

    def fence(self, transaction: Transaction, done: Done, now_ms: int) -> None:
        """Abort an open transaction whose producer is not asked."""
        version = self.config.transaction_version
        after = transaction.fenced(
            version, self.id_after(transaction, version), self.wall_ms(now_ms)
        )
        self.decide(after, done, now_ms)

    def id_after(self, transaction: Transaction, version: int) -> int:
        """The producer id with which to go on after the end of a transaction; NO_PRODUCER_ID: the
        same.
        """
        if version >= TV_BUMPS and exhausted(transaction.epoch):
            return self.ids.new_producer_id()
        return NO_PRODUCER_ID

    # Markers -------------------------------------------------------------------------------------

    def marked(self, transactional_id: str, written: Iterable[TopicPartition], now_ms: int) -> None:
        """Markers are in these logs, or will never be needed there."""
        left = self.marking.get(transactional_id)
        if left is not None:
            left.difference_update(written)
            if not left:
                self._complete(transactional_id, now_ms)

    def _mark(self, transactional_id: str, now_ms: int) -> None:
        transaction = self.transactions[transactional_id]
        self.marking[transactional_id] = set(transaction.partitions)
        if not transaction.partitions:
            self._complete(transactional_id, now_ms)
            return
        self._markers.append(
            Markers(
                partition=self.appends.partition,
                transactional_id=transactional_id,
                producer_id=transaction.producer_id,
                producer_epoch=transaction.epoch,
                committed=transaction.committing,
                coordinator_epoch=self.epoch,
                transaction_version=transaction.client_version,
                partitions=tuple(sorted(transaction.partitions)),
            )
        )

    def _complete(self, transactional_id: str, now_ms: int) -> None:
        transaction = self.transactions.get(transactional_id)
        if transaction is None or transactional_id in self._pending:
            return

        def completed(error: ErrorCode, now_ms: int) -> None:
            if error and transactional_id in self.marking:
                again = _Again(lambda now_ms: self._complete(transactional_id, now_ms))
                self._purgatory.watch(_retry_key(transactional_id), again, now_ms + RETRY_MS)

        self.write(transaction.completed(self.wall_ms(now_ms)), completed, now_ms)

    # Time ----------------------------------------------------------------------------------------

    def _arm(self, transaction: Transaction, now_ms: int, delay_ms: int = 0) -> None:
        """A transaction that is open ends by its timeout, but not before the delay is over."""
        key = _timeout_key(transaction.transactional_id)
        if transaction.state is not TransactionState.ONGOING:
            self._purgatory.cancel(key)
            return
        wall_ms = transaction.started_ms + transaction.timeout_ms + 1
        at_ms = max(wall_ms - self.wall_offset_ms, now_ms + delay_ms)
        late = _Again(lambda now_ms: self._time_out(transaction.transactional_id, now_ms))
        self._purgatory.watch(key, late, at_ms)

    def _time_out(self, transactional_id: str, now_ms: int) -> None:
        transaction = self.transactions.get(transactional_id)
        # What is on its way arms the timeout again.
        if transaction is not None and not self.busy(transactional_id):
            self.fence(transaction, lambda _error, _now_ms: None, now_ms)

    def _sweep_key(self) -> Key:
        return ("transactional ids", self.appends.partition)

    def _schedule_sweep(self, now_ms: int) -> None:
        interval_ms = self.config.transaction_remove_expired_cleanup_interval_ms
        self._purgatory.watch(self._sweep_key(), _Again(self._sweep), now_ms + interval_ms)

    def _sweep(self, now_ms: int) -> None:
        """Forget the ids that nobody has used for long."""
        self._schedule_sweep(now_ms)
        oldest_ms = self.wall_ms(now_ms) - self.config.transactional_id_expiration_ms
        for transaction in list(self.transactions.values()):
            transactional_id = transaction.transactional_id
            if (
                transaction.state in AT_REST
                and transaction.updated_ms <= oldest_ms
                and not self.busy(transactional_id)
            ):
                self._expire(transaction, now_ms)

    def _expire(self, transaction: Transaction, now_ms: int) -> None:
        transactional_id = transaction.transactional_id
        self._pending[transactional_id] = TABLE[transaction.state][TransactionInput.EXPIRED]

        def gone(_error: ErrorCode, _now_ms: int) -> None:
            self._pending.pop(transactional_id, None)

        self.appends.append([tombstone(transactional_id)], gone, now_ms)

    # Replay --------------------------------------------------------------------------------------

    def _replay(self, item: Item, position: int, now_ms: int) -> None:
        """An entry is in the journal: what it says holds. Nothing else makes it hold."""
        del position
        read = None if isinstance(item, Marker) else read_transaction(item)
        if read is None:
            return
        transactional_id, transaction = read
        self.marking.pop(transactional_id, None)
        if transaction is None:
            self.transactions.pop(transactional_id, None)
            return
        self.transactions[transactional_id] = transaction
        if not self.loading:
            self._arm(transaction, now_ms)

    def _remember(self, after: Transaction) -> None:
        """What no entry says of an id, and is lost with the coordinator: the epoch before the
        current one, and before version 1 the producer id before.
        """
        self.transactions[after.transactional_id] = replace(
            self.transactions[after.transactional_id],
            last_epoch=after.last_epoch,
            previous_producer_id=after.previous_producer_id,
        )


class _Again(Delayed):
    """Something to do at a time."""

    __slots__ = ("_run",)

    def __init__(self, run: Callable[[int], None]) -> None:
        self._run = run

    def expire(self, now_ms: int) -> None:
        """It is time."""
        self._run(now_ms)


def _timeout_key(transactional_id: str) -> Key:
    return ("transaction", transactional_id)


def _retry_key(transactional_id: str) -> Key:
    return ("completion", transactional_id)
