"""A `ProducerCore` at work for an application: records that it takes, verbs of transactions, and
what becomes of both.

Verbs are said again now and then while they are not over, as by an application whose wait has timed
out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kcore.errors import KafkaError
from kcore.events import OperationCompleted
from kcore.produce.batch import Batch
from kcore.produce.events import RecordsDelivered
from kcore.produce.transaction_states import TxnInput, TxnState
from kcore.producer.config import ProducerConfig
from kcore.producer.core import ProducerCore
from kcore.sim.exact.copies import Deal, Fate, Item, Source
from kcore.sim.trace import What
from kcore.structs import ConsumerGroupMetadata, OffsetAndMetadata, TopicPartition

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcore.events import Event
    from kcore.sim.exact.judge import ExactJudge
    from kcore.sim.peers import Peer
    from kcore.sim.processes import Process

_WALL_MS: Final = 1_700_000_000_000

# How often a verb that is not over is said again in a turn.
_SAID_AGAIN: Final = 0.05


class Producing:
    """See the module's text. `peer` drives the core: the process itself, or one arm of it.

    deal: the transaction that is open, or being ended. held: records that were not taken yet.
    finished: transactions that were committed, or without any records that were delivered.
    """

    def __init__(self, process: Process, peer: Peer, judge: ExactJudge) -> None:
        self._process = process
        self._peer = peer
        self._judge = judge
        self._chance = process.chance.fork()
        self.transactional_id = process.habits.transactional_id
        self.core = ProducerCore(self._config(), process.chance.fork(), peer.local_ms)
        self.deal: Deal | None = None
        self.held: list[Item] = []
        self.finished = 0
        self.last: Fate | None = None  # how the last transaction has ended
        self.offsets_taken = False  # of the transaction that is open
        self._deals = 0
        self._batches: dict[Batch, list[tuple[int, Item]]] = {}
        self._verbs: dict[int, TxnInput] = {}

    def _config(self) -> ProducerConfig:
        process, plan = self._process, self._process.stage.plan
        # Batches of a record each, one after the other, have to be done in a transaction's time.
        sizes = (120, 16_384) if plan.latency_ms[1] < 20 else (16_384,)
        options: dict[str, object] = {
            "bootstrap_servers": list(process.habits.bootstrap),
            "client_id": process.name,
            "linger_ms": self._chance.one_of((0, 0, 5, 200)),
            "batch_size": self._chance.one_of(sizes),
            "compression_type": self._chance.one_of(plan.codecs),
            "max_in_flight_requests_per_connection": self._chance.one_of((1, 2, 5)),
            "request_timeout_ms": plan.request_timeout_ms,
            "delivery_timeout_ms": plan.delivery_timeout_ms,
            "metadata_max_age_ms": plan.metadata_max_age_ms,
        }
        if self.transactional_id is not None:
            options["transactional_id"] = self.transactional_id
            options["transaction_timeout_ms"] = plan.transaction_timeout_ms
        return ProducerConfig.from_options(options)

    # What the application asks -------------------------------------------------------------------

    @property
    def busy(self) -> bool:
        """Whether a verb is not over, or records are not."""
        return bool(self._verbs or self.held or (self._batches and self.transactional_id is None))

    @property
    def unfinished(self) -> int:
        """How many batches are not over."""
        return len(self._batches)

    @property
    def idle(self) -> bool:
        """Whether nothing is open."""
        return not self.busy and self.deal is None and not self._batches

    def advance(self) -> bool:
        """Do what has to be done before anything else; whether the application may go on."""
        core, now_ms = self.core, self._peer.local_ms
        state = core.transaction_state
        if state is TxnState.UNINITIALIZED and not self._verbs:
            assert self.transactional_id is not None
            self._judge.claims(self._process, self.transactional_id)
            self._say(TxnInput.INITIALIZE, core.init_transactions(now_ms))
        elif self._verbs and self._chance.happens(_SAID_AGAIN):
            self._say_again()
        elif state is TxnState.ABORTABLE_ERROR and not self._verbs:
            self.abort()
        self._take_held()
        self._peer.drain()
        return not self._peer.ended and not self._verbs and not self.held

    def begin(self) -> None:
        """A transaction; nothing, if there are none."""
        if self.transactional_id is not None:
            self._deals += 1
            self.offsets_taken = False
            self.deal = Deal(self._process.name, self._deals, self._process.stage.now())
            self.core.begin_transaction(self._peer.local_ms)
            self._process.say(What.BEGUN, number=self._deals)

    def append(self, tp: TopicPartition, source: Source | None = None) -> None:
        """A record more; one that there is no room for waits in `held`."""
        process = self._process
        item = self._judge.copies.add(tp, process.process, process.name, self.deal, source)
        self.held.append(item)
        self._take_held()

    def _take_held(self) -> None:
        while self.held:
            item = self.held[0]
            now_ms = self._peer.local_ms
            wall_ms = _WALL_MS + self._process.stage.now()
            try:
                taken = self.core.append(
                    item.tp.topic, None, item.value, (), item.tp.partition, wall_ms, now_ms
                )
            except KafkaError as error:
                self._give_up_held()
                self._hear(error)
                return
            if taken is None:
                return
            batch, number = taken
            self._batches.setdefault(batch, []).append((number, self.held.pop(0)))

    def _give_up_held(self) -> None:
        for item in self.held:
            item.failed = item.refused = True
        self.held.clear()

    def send_offsets(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], group: ConsumerGroupMetadata
    ) -> None:
        """Commit a group's offsets with the transaction."""
        self._try(
            TxnInput.OFFSETS,
            lambda now_ms: self.core.send_offsets_to_transaction(offsets, group, now_ms),
        )

    def commit(self) -> None:
        """Have it seen."""
        assert self.deal is not None
        self.deal.asked = Fate.COMMITTED
        self._try(TxnInput.COMMIT, self.core.commit_transaction)

    def abort(self) -> None:
        """Have nobody see it."""
        self._give_up_held()
        if self._try(TxnInput.ABORT, self.core.abort_transaction) and self.deal is not None:
            self.deal.asked = Fate.ABORTED

    def close(self, timeout_ms: int) -> None:
        """Deliver what was taken, abort what is open."""
        self._give_up_held()
        if self.deal is not None and self.core.transaction_state is not TxnState.COMMITTING:
            self.deal.asked = Fate.ABORTED
        self.core.close(self._peer.local_ms, timeout_ms)

    def _say(self, verb: TxnInput, operation: int) -> None:
        self._verbs[operation] = verb

    def _try(self, verb: TxnInput, call: Any) -> bool:
        try:
            self._say(verb, call(self._peer.local_ms))
        except KafkaError as error:
            self._hear(error)
            return False
        return True

    def _say_again(self) -> None:
        """Of verbs that take time, while they do."""
        core = self.core
        again = {
            TxnState.INITIALIZING: (TxnInput.INITIALIZE, core.init_transactions),
            TxnState.COMMITTING: (TxnInput.COMMIT, core.commit_transaction),
            TxnState.ABORTING: (TxnInput.ABORT, core.abort_transaction),
        }.get(core.transaction_state or TxnState.READY)
        if again is not None:
            self._try(*again)

    # News ----------------------------------------------------------------------------------------

    def follow(self, event: Event) -> bool:
        """What the core says; False if it is nothing of its own."""
        if isinstance(event, RecordsDelivered):
            self._delivered(event.batch.origin)
        elif isinstance(event, OperationCompleted):
            verb = self._verbs.pop(event.operation)
            if event.error is not None:
                self._hear(event.error)
            else:
                self._done(verb)
        else:
            return False
        return True

    def _delivered(self, batch: Batch) -> None:
        if not batch.done:
            return
        for number, item in self._batches.pop(batch):
            outcome = batch.outcome(number)
            assert outcome is not None
            if outcome.error is None:
                self._judge.promise(item, outcome.offset)
                self.finished += self.transactional_id is None
            else:
                item.failed = True
                if self.transactional_id is None:
                    self._process.complain(outcome.error)

    def _done(self, verb: TxnInput) -> None:
        if verb is TxnInput.INITIALIZE:
            assert self.transactional_id is not None
            self._judge.claimed(self._process, self.transactional_id)
        elif verb is TxnInput.OFFSETS:
            self.offsets_taken = True
        elif self.deal is not None:  # else it was said twice
            self.last = Fate.COMMITTED if verb is TxnInput.COMMIT else Fate.ABORTED
            self.finished += verb is TxnInput.COMMIT
            self._judge.told(self._process, self.deal, self.last)
            self.deal = None
        self.core.heard_of_transaction()

    def _hear(self, error: KafkaError) -> None:
        """Something has failed; if nothing is left to be done with the producer, its process ends,
        and a supervisor starts it again.
        """
        process, state = self._process, self.core.transaction_state
        process.complain(error)
        if state is TxnState.FATAL_ERROR and not process.ended:
            assert self.transactional_id is not None
            why = f"{type(error).__name__}: {error}"
            self._judge.fenced(process, self.transactional_id, self.deal, why)
            process.end("fenced")
            process.stage.start_again(process.habits)
