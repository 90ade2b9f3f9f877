"""`Consumer`: kafka-python's KafkaConsumer over the sans-IO core.

The user's thread drives the pump inside a call; the keeper drives it while the user is away. Every
call goes through the guard, so the core sees one thread at a time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType

from kcore import transports
from kcore.clients import arguments
from kcore.clients.consumer.batches import Batches
from kcore.clients.consumer.bounded import Bounded, Only
from kcore.clients.consumer.closing import close_engine
from kcore.clients.consumer.groupless import warn_of_auto_commit
from kcore.clients.consumer.keeper import Keeper, Pace
from kcore.clients.consumer.polling import KEEPER_MS
from kcore.clients.consumer.rebalance import INSIDE, Bridge
from kcore.clients.consumer.reins import Reins
from kcore.clients.engine import Engine
from kcore.clients.guard import Guard
from kcore.clients.iteration import FIRST_BATCH, Batch, ShutDoor, next_size
from kcore.clients.opening import begin_at_names, open_proxy, open_sasl, open_tls, open_transport
from kcore.clients.randomness import ClientRng
from kcore.clients.reporting import Reporter
from kcore.errors import IllegalStateError
from kcore.hints import TYPE_CHECKING, Any, Self, TypeVar
from kcore.structs import OffsetAndMetadata, TopicPartition
from kcore.transports.forking import release_in_child

if TYPE_CHECKING:
    from kcore.consumer.config import ConsumerConfig
    from kcore.records import ConsumerRecord

T = TypeVar("T")
R = TypeVar("R")


class Consumer(Bounded, Batches):
    """Reads topics of a Kafka cluster, alone or as a member of a group.

    Topics to subscribe to are positional; options are keywords under kafka-python's names (Java's
    dotted ones in a mapping: `Consumer(**{"group.id": "g"})`), listed in `kcore.consumer.config`.
    With `api_version` given the constructor does not connect; without, it finds out which release
    the brokers are within `bootstrap_timeout_ms`.

    One thread at a time may call it; `wakeup`, `assignment`, `group_metadata`, `subscription`,
    `paused`, `highwater`, `health` and `config` are free for all threads.

    KafkaConfigurationError: options. NoBrokersAvailable: nobody answers.
    """

    _bridge: Bridge

    def __init__(self, *topics: str, **options: Any) -> None:
        # With the first consumer: it has all rooms of the core behind it, and who only imports this
        # class, or one that is made of it, need not wait for them.
        from kcore.consumer.config import ConsumerConfig  # noqa: PLC0415

        names = arguments.topic_names(topics)
        self._settings = ConsumerConfig.from_options(options, await_acknowledgement=True)
        warn_of_auto_commit(self._settings, options)
        self._engine = self._connect(self._settings)
        self.config: dict[str, object] = self._settings.as_mapping()
        self._bridge = Bridge(self._engine)
        self._engine.prepare_commits(self._settings)
        pace = Pace(self._settings.heartbeat_interval_ms)
        self._keeper = Keeper(self._engine, pace, self._transport_name())
        self._wish = None
        self._groupless = None
        self._inside = self._engine.core.inside
        if self._engine.interceptors is not None:
            self._inside = ShutDoor(self._inside)
        self._arrived = 0  # of what `_inside` has counted as taken: all, but in a call
        self._batch: Batch | None = None
        self._batch_size = min(FIRST_BATCH, self._settings.max_poll_records)
        self._records: Iterator[Any] = iter(())
        self._wanted: Only = None  # what the core was told of whose records are waited for
        self._want(frozenset())  # until somebody reads, no fetch is kept that questions wait behind
        release_in_child(self)
        try:
            # In this order: the first request then names the topics, and the coordinator is looked
            # up beside it.
            if names:
                self.subscribe(names)
            if self._settings.api_version is None:
                self._find_release(self._settings.bootstrap_timeout_ms)
        except BaseException:
            self.close(autocommit=False, timeout_ms=0)
            raise

    def _connect(self, settings: ConsumerConfig) -> Engine:
        """Core, transport and pump for these options; tests hang their own in here."""
        from kcore.consumer.core import ConsumerCore  # noqa: PLC0415 - what it loads is not small

        tls, sasl, proxy = open_tls(settings), open_sasl(settings), open_proxy(settings)
        transport = open_transport(settings, settings.transport)
        now_ms, wall_ms = transports.monotonic_ms(), time.time_ns() // 1_000_000
        core = ConsumerCore(settings, ClientRng(), now_ms, wall_ms=wall_ms)
        begin_at_names(core, settings, transport.name)
        guard = Guard.for_transport(transport.name)
        name = settings.client_id if settings.group_id is None else settings.group_id
        pump = transports.Pump(core, transport, tls=tls, sasl=sasl, proxy=proxy)
        return Engine(core, pump, guard, Reporter(name))

    def _transport_name(self) -> str:
        transport = getattr(self._engine.pump, "transport", None)
        return str(getattr(transport, "name", ""))

    # Life ------------------------------------------------------------------------------------

    def bootstrap(self, timeout_ms: float | None = None, refresh: bool = False) -> None:
        """Wait until a broker has answered; `refresh` asks again even if one has.

        NoBrokersAvailable, which is a KafkaTimeoutError and a KafkaConnectionError.
        """
        limit = arguments.timeout(timeout_ms, self._settings.bootstrap_timeout_ms)
        if self.config["api_version"] is None or refresh or not self._engine.core.connected:
            self._find_release(limit)

    def close(
        self,
        autocommit: bool = True,
        timeout_ms: float | None = None,
        group_membership_operation: str = "default",
    ) -> None:
        """Commit (if auto commit is on), leave the group, close all connections. Twice is harmless.

        group_membership_operation (KIP-1092): "leave_group", also as a static member;
        "remain_in_group", so that nobody has the partitions before the session is over; "default":
        a static member remains, any other leaves.
        The record that a loop is handling right now is not committed. `timeout_ms` bounds it all
        (default and maximum: request_timeout_ms). What goes wrong with the cluster is logged; an
        error of a rebalance listener is raised at the end. Struck by Ctrl-C, it can be called
        again, and goes on: only that has the group know at once.
        """
        operation = arguments.membership_operation(group_membership_operation)
        limit = arguments.timeout(timeout_ms, self._settings.request_timeout_ms)
        engine, guard = self._engine, self._engine.guard
        if engine.released:
            return
        limit = min(limit, self._settings.request_timeout_ms)
        until = engine.pump.now_ms() + limit
        with guard.even_barred(max(limit, KEEPER_MS) / 1000):
            if not engine.released:
                # Kept until all is closed: who is struck calls again.
                batch, self._records = self._batch, iter(())
                unfinished = None if batch is None else batch.positions(finished=False)
                self._keeper.stop()
                close_engine(
                    engine,
                    self._bridge,
                    self._settings,
                    unfinished,
                    autocommit=autocommit,
                    operation=operation,
                    timeout_ms=engine.left(until),
                )
        self._batch = None

    def reins(self) -> Reins:
        """For who drives it in its user's place: see `kcore.clients.consumer.workers`."""
        return Reins(self._engine, self._bridge, self._settings, self._transport_name(), self._poll)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close(autocommit=kind is None)

    def forked(self) -> None:
        """In the child of a fork (called by itself): every later call raises ForkedError."""
        self._engine.guard.forked()
        self._keeper.forked()
        self._drop_loop()  # the parent goes on with that
        self._engine.released = True  # it closes them, too

    # Reading ---------------------------------------------------------------------------------

    def poll(
        self,
        timeout_ms: float = 0,
        max_records: int | None = None,
        update_offsets: bool = True,  # noqa: ARG002 - kafka-python's, internal there
    ) -> dict[TopicPartition, list[ConsumerRecord]]:
        """Records that are here, or come within `timeout_ms`; {} if none do.

        Also lives the group's life: joins, calls the rebalance listener, commits what earlier polls
        returned. At most `max_records` (default: max_poll_records) are returned, and no more once
        they make 1 MiB.

        IllegalStateError: nothing is subscribed or assigned. WakeupError. Whatever is wrong with a
        partition or the group: OffsetOutOfRangeError, NoOffsetForPartitionError,
        CorruptRecordError, GroupAuthorizationFailedError, ...
        """
        if max_records is None:
            limit = self._settings.max_poll_records
        else:
            limit = arguments.record_count(max_records)
        if limit == 1 and type(timeout_ms) is int and timeout_ms >= 0:
            one = self._take_inside()
            if one is not None:
                return one
        wait_ms = arguments.timeout(timeout_ms, 0)
        return self._hand_over(lambda: self._poll_records(wait_ms, limit))

    def _take_inside(self) -> dict[TopicPartition, list[ConsumerRecord]] | None:
        """One record, if a poll has nothing else to do."""
        engine, inside = self._engine, self._inside
        let_in = False
        try:  # as in `_hand_over`
            with engine.guard:
                let_in = True
                if (
                    engine.pump.now_ms() != engine.polled_at  # as below
                    or self._batch is not None
                    or engine.woken
                ):
                    return None
                one: dict[TopicPartition, list[ConsumerRecord]] | None = inside.take()
                taken = inside.taken
            self._arrived = taken
            return one
        except BaseException:
            if let_in and inside.taken != self._arrived:
                self._take_back(engine.core.take_back_one)
            raise

    def _poll_records(
        self, wait_ms: float, limit: int
    ) -> dict[TopicPartition, list[ConsumerRecord]]:
        """Inside the guard: what `poll` gives."""
        engine = self._engine
        core, now = engine.core, engine.pump.now_ms()
        if now == engine.polled_at and self._batch is None and not engine.woken:
            # A poll in the same millisecond as the one before, with nothing between: there is
            # nothing to be done but to hand over.
            core.hand_over()
            more: dict[TopicPartition, list[ConsumerRecord]] = core.take_records(limit, now)
            if core.unsent:
                engine.pump.drain()
            if more:
                return self._looked_at(more)
        taken = self._poll_until(wait_ms, lambda now: core.take_records(limit, now))
        return self._looked_at(taken) if taken else {}

    def _looked_at(
        self, taken: dict[TopicPartition, list[ConsumerRecord]]
    ) -> dict[TopicPartition, list[ConsumerRecord]]:
        """What interceptors, if there are any, leave of it."""
        interceptors = self._engine.interceptors
        return taken if interceptors is None else interceptors.on_consume(taken)

    def _poll(self, wait_ms: float, take: Callable[[int], T], shape: Callable[[T | None], R]) -> R:
        """`shape` of what `take(now)` gives as soon as that is not empty; of None at the end of
        `wait_ms`.
        """
        return self._hand_over(lambda: shape(self._poll_until(wait_ms, take)))

    def _begin_poll(self) -> None:
        if self._batch is not None or self._wanted is not None:
            self._leave_loops()
        if self._wish is None:
            raise IllegalStateError("nothing is subscribed or assigned: there is nothing to poll")

    def _drop_loop(self) -> None:
        self._batch, self._records = None, iter(())

    def _leave_loops(self) -> None:
        """What a loop has not come to is handed back, and no partition is left aside any more."""
        if self._batch is not None:
            self._drop_batch()
        if self._wanted is not None:
            self._want(None)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> ConsumerRecord:
        for record in self._records:
            return record  # type: ignore[no-any-return]
        if not self._engine.guard.closed:
            self._hand_over(self._next_batch)
            for record in self._records:
                return record  # type: ignore[no-any-return]
        raise StopIteration

    def _next_batch(self) -> None:
        """The last record is done with: poll for more."""
        if self._bridge.inside:  # the group waits for it, and the record for the group
            raise IllegalStateError(INSIDE)
        pump = self._engine.pump
        if self._batch is not None:
            self._finish_batch()
        core, size = self._engine.core, self._batch_size
        taken: dict[TopicPartition, list[ConsumerRecord]] | None
        # Of the mapping: programs written for kafka-python set it there at any time.
        wait: Any = self.config["consumer_timeout_ms"]
        if wait is not self._settings.consumer_timeout_ms:
            from kcore.settings.parsers import wait_ms  # noqa: PLC0415 - not for an import alone

            wait = wait_ms("consumer_timeout_ms", wait)
        while taken := self._poll_until(wait, lambda now: core.take_records(size, now)):
            left = self._looked_at(taken)
            if left:
                self._batch = Batch(left, pump.now_ms(), self._engine.remade.since_now())
                self._records = self._batch.records
                return

    def _finish_batch(self) -> None:
        """All of it was yielded, and handled; or it is still to be handed back."""
        batch = self._batch
        assert batch is not None
        if len(batch):
            self._drop_batch()
            return
        took_ms = self._engine.pump.now_ms() - batch.made_at
        self._batch_size = next_size(self._batch_size, took_ms, self._settings.max_poll_records)
        self._batch = None

    def _want(self, only: Only) -> None:
        """Leave all but these aside; None: nothing."""
        if only is self._wanted:
            return
        self._wanted = frozenset()  # whatever strikes meanwhile: in doubt, so told again
        self._engine.core.want(only, self._engine.pump.now_ms())
        self._wanted = only

    def _begin_membership(self) -> None:
        self._keeper.start()

    def _drop_batch(self) -> None:
        """Hand back what a loop has not come to: the next poll starts there."""
        batch = self._batch
        if batch is None:
            return
        # Struck in the middle (Ctrl-C), the batch is still there: the next call hands it back.
        self._records = iter(())
        if len(batch):
            for tp, at in batch.positions(finished=True).items():
                self._go_back(tp, at)
        self._batch = None

    def _go_back(self, tp: TopicPartition, at: OffsetAndMetadata) -> None:
        core = self._engine.core
        if tp in core.assignment():
            core.go_back(tp, at.offset, self._engine.pump.now_ms(), at.leader_epoch)

    # Positions -------------------------------------------------------------------------------

    def position(self, partition: Any, timeout_ms: float | None = None) -> int | None:
        """The offset of the next record to be handed over; waits until it is known.

        With `timeout_ms` None at its end; without, KafkaTimeoutError after default_api_timeout_ms.
        """
        tp = arguments.partition_of(partition)
        limit = arguments.timeout(timeout_ms, self._settings.default_api_timeout_ms)
        with self._engine.guard:
            self._need_assigned([tp])
            ahead = self._place_in_batch(tp)
            if ahead is not None:
                return ahead
            known = self._engine.wait(lambda: self._is_placed(tp), limit)
            return self._found_position(tp, limit, needed=not known and timeout_ms is None)

    def _place(self, tp: TopicPartition) -> int | None:
        ahead = self._place_in_batch(tp)
        return super()._place(tp) if ahead is None else ahead

    def _place_in_batch(self, tp: TopicPartition) -> int | None:
        """Where a loop stands in a partition of which it has records in hand."""
        if self._batch is None:
            return None
        ahead = self._batch.positions(finished=True).get(tp)
        return None if ahead is None else ahead.offset

    def seek_to_beginning(self, *partitions: Any) -> None:
        """Go on at the first offset there is; of all assigned partitions if none is named."""
        self._seek_to(partitions, "seek_to_beginning")

    def seek_to_end(self, *partitions: Any) -> None:
        """Go on behind the last record; of all assigned partitions if none is named."""
        self._seek_to(partitions, "seek_to_end")

    def _hold_batch(self) -> None:
        self._records = iter(())  # struck from here on, it is handed back as in `_drop_batch`

    def _cut_batch(self, partitions: Iterable[TopicPartition], *, go_back: bool) -> None:
        """Yield nothing more of these from the batch in hand."""
        batch = self._batch
        if batch is None:
            return
        ahead = batch.positions(finished=True)
        self._hold_batch()
        for tp in partitions:
            if tp in ahead and go_back:
                self._go_back(tp, ahead[tp])
            # Paused, the record in hand is not done with; sought, that is no place any more.
            batch.give_back(tp, whole=not go_back)
        self._records = batch.records
