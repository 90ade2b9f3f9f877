"""`ProducerCore`: the sans-IO producer. It composes links, metadata and producing, and holds no
rule of its own.

World in and out: `kcore.cluster.client.ClientCore`, docs/BOUNDARY.md. Application in: `append` (or
`append_rows`), `flush`, `close`, and the verbs of transactions. What becomes of records is told by
RecordsDelivered events.

`append` never waits: while a topic is not known, or all memory is in use, it says so by giving
None, and `held_up` says why. The caller drives the core and asks again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from kcore.cluster.client import ClientCore
from kcore.errors import (
    IllegalArgumentError,
    KafkaError,
    ProducerClosed,
    RecordTooLargeError,
    TransactionStateError,
)
from kcore.events import Closed
from kcore.produce.accumulator import BATCH_OVERHEAD, Accumulator
from kcore.produce.batch import Batch, new_builder
from kcore.produce.config import ProduceConfig
from kcore.produce.events import RecordsDelivered
from kcore.produce.feeding import Feed, RowsDelivery
from kcore.produce.intake import Intake, Route, record_bytes
from kcore.produce.lane import Lane
from kcore.produce.measures import Measures
from kcore.produce.partitioning import Partitioning
from kcore.produce.rows import Rows
from kcore.produce.sender import Sender
from kcore.produce.transaction_states import TxnInput, TxnState
from kcore.producer.config import ProducerConfig
from kcore.producer.interest import Interest
from kcore.producer.teller import Teller
from kcore.producer.unlisted import Unlisted
from kcore.records.builder import BatchBuilder
from kcore.structs import ConsumerGroupMetadata, OffsetAndMetadata, Rng, TopicPartition
from kcore.timers import NEVER

if TYPE_CHECKING:
    from kcore.produce.transaction import Transaction

CLOSED = "the producer is closed"


class ProducerCore(ClientCore):
    """See the module's text. `now_ms` is a monotonic clock of the caller's; it never runs back.

    wall_ms: Unix time, when it is `now_ms`: metrics that are pushed have no times without it.
    held_up: why the last `append` gave None: "metadata", "partition" (not known yet) or "memory".
    stirred: something was begun that the driver should know of, though no input was fed; the driver
    sets it back. patient: `append` leaves the sending to the `handle_deadline` that the driver then
    makes soon, so that what is appended until then goes together. intake: the quick way in.
    """

    def __init__(
        self, config: ProducerConfig, rng: Rng, now_ms: int, *, wall_ms: int | None = None
    ) -> None:
        super().__init__(config.links(), config.refresh(), config.bootstrap_servers, rng)
        self.pushes = config.enable_metrics_push
        self.wall_offset_ms = None if wall_ms is None else wall_ms - now_ms
        self.config = config
        self.held_up = ""
        self.stirred = False
        self.patient = False
        options = config.produce()
        self._accumulator = Accumulator(options)
        self._partitioning = Partitioning(options, self._view, self._accumulator, rng)
        self._measures = Measures(now_ms)
        self._sender = Sender(
            options,
            self._links,
            self._view,
            self._accumulator,
            rng,
            self._measures,
            delivered=self._delivered,
            replaced=self._replaced,
        )
        self._interest = Interest(self._refresher, options.metadata_max_idle_ms)
        self._unlisted = Unlisted(self._refresher, config.max_block_ms)
        self._flushes: dict[int, set[Batch]] = {}
        record_bytes_max = min(config.max_request_size, config.buffer_memory) - BATCH_OVERHEAD
        self.intake = Intake(self._accumulator.budget, record_bytes_max)
        self._transaction: Transaction | None = None
        if config.transactional_id is not None:
            self._transaction = self._sender.transaction = self._make_transaction(options, rng)
        self._teller = Teller(config, self._measures, self._accumulator, self._sender, now_ms)
        self._links.measures = self._teller.links
        self._seen_version = self._due = -1  # due: what `deadline` says; -1: to be found out
        self._settle(now_ms)

    def _make_transaction(self, options: ProduceConfig, rng: Rng) -> Transaction:
        from kcore.produce.transaction import Transaction  # noqa: PLC0415 - few producers need it

        sender = self._sender
        return Transaction(
            options,
            self._links,
            sender.identity,
            rng,
            idle=lambda: sender.idle,
            closed=self.intake.routes.clear,  # so that records come by `append`, which refuses them
            finish=self._outbox.finish,
        )

    # -- time --------------------------------------------------------------------------------------

    def deadline(self) -> int:
        """When `handle_deadline` is due; NEVER if it is not."""
        # Whatever makes anything due sooner has the rooms asked, or has stirred.
        if self._due < 0 or self.stirred:
            self._due = self._first_due()
        return self._due

    def _first_due(self) -> int:
        if self._closed:
            return NEVER
        first = min(super().deadline(), self._sender.deadline())
        return first if self._transaction is None else min(first, self._transaction.deadline())

    def _turn(self, now_ms: int) -> None:
        self._due = -1
        if self._view.version != self._seen_version:
            self._seen_version = self._view.version
            self.intake.routes.clear()
            self._sender.leaders_changed()
        self._interest.handle_tick(now_ms, self._busy)
        self._refresher.handle_tick(now_ms)
        self._lookup.handle_tick(now_ms)
        self._sender.handle_tick(now_ms)
        if self._transaction is not None:
            self._transaction.handle_tick(now_ms)
        if self._closing_until is not None:
            self._go_on_closing(now_ms)

    def _busy(self) -> set[str]:
        return {batch.tp.topic for batch in self._accumulator.unfinished}

    # -- struck ------------------------------------------------------------------------------------

    def handle_interrupted(self, now_ms: int) -> None:
        """As all cores. What was taken is delivered, by requests that are made anew: with
        idempotence nothing is written twice.
        """
        self._sender.disown()
        super().handle_interrupted(now_ms)

    def _recover(self, now_ms: int) -> None:
        super()._recover(now_ms)
        self._interest.mend()
        self._view.request_update()
        self._sender.mend()
        if self._transaction is not None:
            self._mend_transaction(self._transaction)
        for operation, waiting in [*self._flushes.items()]:
            leaves = {leaf for batch in waiting for leaf in batch.leaves}
            self._flushes[operation] = leaves & self._accumulator.unfinished.keys()
        self._end_flushes()
        self._seen_version = -1
        if self._closing_until is not None:
            self._accumulator.flush()
        if self._closed:
            self._outbox.emit(Closed())

    # -- records -----------------------------------------------------------------------------------

    def append(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        headers: Any,
        partition: int | None,
        timestamp_ms: int,
        now_ms: int,
        since_ms: int | None = None,
    ) -> tuple[Batch, int] | None:
        """Take a record: its batch and its number there, or None (see the module's text).

        headers: a list or tuple of (str, bytes or None). partition: None: the key decides.
        timestamp_ms: wall time. since_ms: when it was first tried, if this is not the first time.
        RecordTooLargeError; IllegalArgumentError: no such partition; ProducerClosed. Nearly all
        records come in by `intake`, which is quicker.
        """
        self.check_open()
        size = self._size_of(topic, key, value, headers)
        route = self._find_route(topic, now_ms)
        if route is None:
            return None
        keyed = partition is not None or (key is not None and route.by_key)
        number = self._choose(route, topic, key) if partition is None else partition
        lane = route.lanes.get(number) or self._find_lane(
            route, topic, number, now_ms, now_ms if since_ms is None else since_ms
        )
        if lane is None:
            return None
        accumulator = self._accumulator
        due, starved = len(accumulator.due), accumulator.starved
        taken = accumulator.append(lane, size, timestamp_ms, key, value, headers, now_ms)
        if taken is None:
            self._found_no_room(now_ms, is_news=not starved)
            return None
        if not keyed:
            sticky = self._partitioning.sticky(topic, route.numbers)
            sticky.take(size, full=taken[0].data is not None)
        if taken[1] == 0:
            self._begun(lane)
        if len(accumulator.due) != due:
            self._go_on(now_ms)
        return taken

    def new_batch(self) -> BatchBuilder:
        """What the caller may fill with records of one partition, for `append_batch`."""
        return new_builder(self.config.produce())

    def append_batch(
        self,
        builder: BatchBuilder,
        topic: str,
        partition: int | None,
        now_ms: int,
        since_ms: int | None = None,
    ) -> Batch | None:
        """Take records that are a batch already, which goes out as it is; None as of `append`,
        which also says what is raised. partition: None: where records without a key go.

        The builder must have records, and is not touched any more.
        """
        self.check_open()
        route = self._find_route(topic, now_ms)
        if route is None:
            return None
        keyless = partition is None
        if partition is None:
            partition = self._choose(route, topic, None)
        lane = route.lanes.get(partition) or self._find_lane(
            route, topic, partition, now_ms, now_ms if since_ms is None else since_ms
        )
        if lane is None:
            return None
        starved = self._accumulator.starved
        batch = self._accumulator.adopt(lane, builder, now_ms)
        if batch is None:
            self._found_no_room(now_ms, is_news=not starved)
            return None
        if keyless:
            self._partitioning.sticky(topic, route.numbers).move_on(full=True)
        self._begun(lane)
        self._go_on(now_ms)
        return batch

    def _choose(self, route: Route, topic: str, key: bytes | None) -> int:
        number = route.choose(key)
        return self._partitioning.choose_sticky(topic, route.numbers) if number < 0 else number

    def _found_no_room(self, now_ms: int, *, is_news: bool) -> None:
        self.held_up = "memory"
        if is_news:  # what lingers is sent now; later attempts only wait for that
            self._make_room(now_ms)

    def _make_room(self, now_ms: int) -> None:
        """Have what lingers sent. Noted now: before a patient driver's turn a smaller record may
        find room, and nobody would be starved any more.
        """
        self._accumulator.handle_tick(now_ms)
        self._go_on(now_ms)

    def check_open(self) -> None:
        """Raise why nothing can be sent now, if that is so."""
        if self._closing_until is not None:
            raise ProducerClosed(CLOSED)
        if self._transaction is not None:
            self._transaction.check_open()

    def _begun(self, lane: Lane) -> None:
        """A batch was begun, and lingers from now on: longer than one that was begun before."""
        if self._transaction is not None:
            self._transaction.use(lane.tp)
            self.stirred = True
        elif self._accumulator.lingers_alone:
            self.stirred = True

    def _go_on(self, now_ms: int) -> None:
        """There is something to send."""
        if not self.patient:
            self._settle(now_ms)
        self.stirred = True

    def _find_route(self, topic: str, now_ms: int) -> Route | None:
        routes = self.intake.routes
        route = routes.get(topic)
        if route is not None:
            self._interest.use(topic, now_ms)
            return route
        numbers = self._partitions(topic, now_ms)
        if numbers is None:
            return None
        sticky = self._partitioning.sticky(topic, numbers)
        by_key = not self.config.partitioner_ignore_keys
        return routes.setdefault(topic, Route(numbers, sticky, by_key=by_key))

    def _find_lane(
        self, route: Route, topic: str, partition: int, now_ms: int, since_ms: int
    ) -> Lane | None:
        tp = TopicPartition(topic, partition)
        if partition not in route.numbers:
            if self._may_be_new(tp, now_ms, since_ms):
                return None
            raise IllegalArgumentError(
                f"{topic} has no partition {partition}: it has {len(route.numbers)}, from 0"
            )
        lane = route.lanes[partition] = self._accumulator.lane(tp)
        return lane

    def _may_be_new(self, tp: TopicPartition, now_ms: int, since_ms: int) -> bool:
        """Whether brokers are still asked for a partition that metadata does not list."""
        if tp.partition < 0 or not self._unlisted.look_for(tp, now_ms, since_ms):
            return False
        self.held_up = "partition"
        self._view.request_update()
        self._stir(now_ms)
        return True

    def append_rows(
        self,
        rows: Rows,
        topic: str,
        begin: int,
        end: int,
        delivery: RowsDelivery,
        now_ms: int,
        *,
        wall_ms: int,
        since_ms: int | None = None,
    ) -> int:
        """Take rows of columns: the first row that was not taken (see `append` for why).

        wall_ms: the time of rows that have none. since_ms: as of `append`. IllegalArgumentError: a
        row for a partition that does not exist; none of these rows is taken then.
        """
        self.check_open()
        numbers = self._partitions(topic, now_ms)
        if numbers is None:
            return begin
        bad = rows.bad_partition(begin, end, len(numbers))
        if bad is not None:
            since_ms = now_ms if since_ms is None else since_ms
            if self._may_be_new(TopicPartition(topic, bad[1]), now_ms, since_ms):
                return begin
            raise IllegalArgumentError(
                f"row {bad[0]}: {topic} has no partition {bad[1]}: it has {len(numbers)}, from 0"
            )
        if not self.takes_rows:
            return begin
        accumulator = self._accumulator
        accumulator.starved = False
        feed = Feed(
            accumulator,
            self._partitioning,
            delivery,
            topic,
            numbers,
            by_key=not self.config.partitioner_ignore_keys,
            now_ms=now_ms,
            wall_ms=wall_ms,
        )
        try:
            taken = rows.fill(begin, end, feed)
        finally:
            feed.finish()
        if taken < end:
            self.held_up = "memory"
            accumulator.starved = True
            self._make_room(now_ms)
        else:
            self._go_on(now_ms)
        return taken

    @property
    def takes_rows(self) -> bool:
        """False: `append_rows` has found no room, and would not yet: a little of it is not worth a
        turn, because there will be more.
        """
        accumulator = self._accumulator
        return not accumulator.starved or (
            accumulator.room_bytes >= self.config.buffer_memory // 4
            or self._closing_until is not None
        )

    def _size_of(self, topic: str, key: bytes | None, value: bytes | None, headers: Any) -> int:
        size_bytes = record_bytes(key, value, headers)
        if size_bytes <= self.intake.record_bytes_max:
            return size_bytes
        limit = min(self.config.max_request_size, self.config.buffer_memory)
        which = "max_request_size"
        if limit == self.config.buffer_memory:
            which = "buffer_memory"
        raise RecordTooLargeError(
            f"a record for {topic} takes up to {size_bytes + BATCH_OVERHEAD} bytes"
            f"{self.config.measured}: more than {which}={limit} (the topic's max.message.bytes "
            "counts, too)"
        )

    def _partitions(self, topic: str, now_ms: int) -> list[int] | None:
        new = self._interest.use(topic, now_ms)
        numbers = self._view.partitions(topic)
        # A broker that leaves a number out contradicts itself: keys would go elsewhere.
        if not numbers or numbers[-1] != len(numbers) - 1:
            self.held_up = "metadata"
            self._refresher.request_topic(topic)  # it may be there meanwhile, or be allowed
            self._due = -1
            if new:
                self._stir(now_ms)
            return None
        return numbers

    def flush(self, now_ms: int) -> int:
        """Send everything now. An operation: it ends when all that was taken before is over."""
        operation = self._outbox.begin()
        self._accumulator.flush()
        self._flushes[operation] = set(self._accumulator.unfinished)
        self._end_flushes()
        self._stir(now_ms)
        return operation

    def hurry(self, batches: Iterable[Batch], now_ms: int) -> None:
        """Somebody waits for these: they linger no longer, if `linger_ms` was not given."""
        if self._accumulator.hurry_awaited(batches):
            self._go_on(now_ms)

    def partitions_for(self, topic: str, now_ms: int) -> list[int] | None:
        """The partition numbers of a topic; None while they are not known: they are asked for."""
        return self._partitions(topic, now_ms)

    def available_partitions(self, topic: str) -> list[int]:
        """Those of a topic that have a leader, as far as is known."""
        return self._partitioning.available(topic, self._view.partitions(topic) or [])

    @property
    def held_bytes(self) -> int:
        """What records that are not over hold of `buffer_memory`."""
        return self._accumulator.held_bytes

    def verb_took(self, verb: str, elapsed_ns: int) -> None:
        """Whoever called a verb of transactions has waited so long for its good end: `metrics` has
        the sums, which a clock of ms would leave at nothing for the quick ones.
        """
        self._measures.verb_took(verb, elapsed_ns)

    # -- transactions ------------------------------------------------------------------------------

    def init_transactions(self, now_ms: int) -> int:
        """Get a producer id, fence whoever had the transactional id, and end what it left open. An
        operation.

        Of all five: TransactionStateError: there is no transactional id, or not now; the verbs that
        are operations may be begun again while nobody has heard the end of the last such (see
        `heard_of_transaction`). TransactionAbortableError: the transaction has failed. What else
        has made the producer useless, of its own class.
        """
        transaction = self._need_transaction(TxnInput.INITIALIZE)
        operation = self._outbox.begin()
        transaction.initialize(operation)
        self._stir(now_ms)
        return operation

    def begin_transaction(self, now_ms: int) -> None:
        """What is appended from now on is in one transaction."""
        self._need_transaction(TxnInput.BEGIN).begin()
        self._stir(now_ms)

    def send_offsets_to_transaction(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        group: ConsumerGroupMetadata,
        now_ms: int,
    ) -> int:
        """Commit a group's offsets with the transaction. An operation."""
        transaction = self._need_transaction(TxnInput.OFFSETS)
        operation = self._outbox.begin()
        transaction.send_offsets(operation, group, dict(offsets))
        self._stir(now_ms)
        return operation

    def commit_transaction(self, now_ms: int) -> int:
        """Send everything now, and make it visible when all of it is written. An operation."""
        transaction = self._need_transaction(TxnInput.COMMIT)
        operation = self._outbox.begin()
        transaction.commit(operation)
        self._accumulator.flush()
        self._stir(now_ms)
        return operation

    def abort_transaction(self, now_ms: int) -> int:
        """Drop what was not sent, and have nobody see the rest. An operation."""
        transaction = self._need_transaction(TxnInput.ABORT)
        operation = self._outbox.begin()
        transaction.abort(operation)
        self._stir(now_ms)
        return operation

    def heard_of_transaction(self) -> None:
        """The application knows how the last verb has ended: it is not told again."""
        if self._transaction is not None:
            self._transaction.heard()

    @property
    def transaction_unheard(self) -> bool:
        """Whether a verb has ended, or `close` has aborted, and nobody was told."""
        return self._transaction is not None and self._transaction.unheard

    @property
    def transaction_hindrance(self) -> KafkaError | None:
        """What the request that is tried again died of, if one is."""
        return None if self._transaction is None else self._transaction.hindrance

    @property
    def transaction_state(self) -> TxnState | None:
        """Where the transactions stand; None: the producer has no transactional id."""
        return None if self._transaction is None else self._transaction.state

    def _need_transaction(self, verb: TxnInput) -> Transaction:
        if self._closing_until is not None:
            raise ProducerClosed(CLOSED)
        if self._transaction is None:
            raise TransactionStateError(f"{verb.value}: the producer has no transactional_id")
        return self._transaction

    def _stir(self, now_ms: int) -> None:
        self._settle(now_ms)
        self.stirred = True

    def _mend_transaction(self, transaction: Transaction) -> None:
        transaction.mend()
        if transaction.state is TxnState.COMMITTING:
            self._accumulator.flush()
        if self._closing_until is not None:
            transaction.close()

    # -- the end -----------------------------------------------------------------------------------

    def close(self, now_ms: int, timeout_ms: int) -> None:
        """Deliver what was taken, in at most `timeout_ms`, and give up the rest; ends in Closed.

        A transaction that is open is aborted; one that is being ended, is ended.
        """
        before, until = self._closing_until, now_ms + timeout_ms
        self._closing_until = until if before is None else min(before, until)
        self.intake.routes.clear()
        if self._transaction is not None:
            self._transaction.close()
        self._accumulator.flush()
        self._stir(now_ms)

    def _go_on_closing(self, now_ms: int) -> None:
        assert self._closing_until is not None
        transaction = self._transaction
        if self._accumulator.unfinished or not (transaction is None or transaction.over):
            if now_ms < self._closing_until:
                return
            error = ProducerClosed("the producer was closed before the records were delivered")
            self._sender.fail_everything(error, now_ms)
        if transaction is not None:
            transaction.give_up(ProducerClosed(CLOSED))
        self._end(now_ms)

    def give_up(self, error: KafkaError) -> list[Batch]:
        """The core cannot be driven on, and its rooms may contradict each other: what it holds has
        failed, whatever the sender thinks of it. Those batches, for who waits.
        """
        held = [*self._accumulator.unfinished]
        for batch in held:
            batch.error = error
            batch.finish()
        return held

    def _replaced(self, batch: Batch, parts: list[Batch]) -> None:
        """A batch was split: whoever waited for it waits for its parts."""
        for waiting in self._flushes.values():
            if batch in waiting:
                waiting.discard(batch)
                waiting.update(parts)

    def _delivered(self, batch: Batch) -> None:
        self._outbox.emit(RecordsDelivered(batch))
        for waiting in self._flushes.values():
            waiting.discard(batch)
        self._end_flushes()

    def _end_flushes(self) -> None:
        for operation in [number for number, waiting in self._flushes.items() if not waiting]:
            self._outbox.finish(operation, None, None)
            del self._flushes[operation]
