"""The judge of producers and of who reads what they write: what applications were told, against
what logs hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from kcore.sim.exact.copies import Copies, Deal, Fate, Item, Source, at
from kcore.sim.referee import GroupOf, Referee
from kcore.sim.trace import Trace, What
from kcore.sim.violations import Rule, ViolationError
from kcore.structs import TopicPartition
from kcore.timers import NEVER
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import InitProducerIdResponse

if TYPE_CHECKING:
    from kcore.broker.partitions import Partition
    from kcore.sim.exact.movers import Mover
    from kcore.sim.exact.readers import Reader
    from kcore.sim.ledger import Asked, Ledger
    from kcore.sim.network import Wire
    from kcore.sim.plan import Plan
    from kcore.sim.processes import Process
    from kcore.wire.message import Message

# A life of a topic, and an offset in that.
Place: TypeAlias = tuple[int, int]
_FIRST: Final[list[Place]] = [(0, 0)]


class ExactJudge(Referee):
    """All rules of producers but those about the end (see `settle`)."""

    def __init__(
        self,
        plan: Plan,
        ledger: Ledger,
        trace: Trace,
        group_of: GroupOf,
        now: Callable[[], int],
        partition_of: Callable[[TopicPartition], Partition | None],
        partitions: Callable[[], list[TopicPartition]],
    ) -> None:
        super().__init__(plan, trace, group_of, now)
        self._now = now
        # When a transaction began is a time of day: a coordinator on another node may take it for
        # older, or younger, by as much as their clocks differ.
        skews = [time.skew_ms for time in plan.node_times] or [0]
        self._patience_ms = plan.transaction_timeout_ms // 2 - (max(skews) - min(skews))
        self.copies = Copies(
            partition_of,
            partitions,
            # Who adds partitions to transactions beforehand names topics as it produces, too.
            named=not plan.has_epochs,
            by_ids=plan.consumer_share > 0,
        )
        # Of readers: where they are; in several places, if what they got fits into all of them.
        self.positions: dict[Process, dict[TopicPartition, list[Place]]] = {}
        self._read_in: dict[tuple[Process, TopicPartition], int] = {}  # of movers: the life
        # Who has asked for a transactional id, when last, and when it had it first.
        self._asked_ms: dict[str, dict[Process, int]] = {}
        self._had_ms: dict[Process, int] = {}
        # Who was given another epoch than it had, and may not know; and who may lose its id for no
        # doing of its own.
        self._raised: set[object] = set()
        self._forgotten: set[object] = set()
        ledger.answered_watchers.append(self._answered)
        self.handed = 0
        self.promised = 0

    def look(self, living: Iterable[Process]) -> None:
        """From time to time: logs are read."""
        super().look(living)
        self.copies.read_all()

    def counts(self) -> dict[str, int]:
        """See Referee."""
        return {
            "records": self.promised,
            "delivered": self.handed,
            "moved": len(self.copies.moved),
            "transactions": self.copies.committed,
            "aborted": self.copies.aborted,
        }

    def joined(self, mover: Mover, generation: int) -> None:
        """It is in a generation of its group."""
        self.generation_seen(mover.group_id, self.groups[mover.group_id], generation)

    # Producers -----------------------------------------------------------------------------------

    def claims(self, process: Process, transactional_id: str) -> None:
        """A process asks for a transactional id."""
        self._asked_ms.setdefault(transactional_id, {})[process] = self._now()

    def claimed(self, process: Process, transactional_id: str) -> None:
        """It has it: whoever had it before that writes no more."""
        asked_ms = self._asked_ms[transactional_id]
        for other in asked_ms:
            if self._had_ms.get(other, NEVER) < asked_ms[process]:
                self.copies.fence(other.process)
        self._had_ms.setdefault(process, self._now())

    def fenced(self, process: Process, transactional_id: str, deal: Deal | None, why: str) -> None:
        """It is told that it may not go on: another process has the id, or it took too long."""
        asked_ms = self._asked_ms[transactional_id]
        others = any(
            self._had_ms.get(other, NEVER) >= asked_ms[process]
            for other in asked_ms
            if other is not process
        )
        others = others or process in self._forgotten
        slow = deal is not None and self._now() - deal.begun_ms >= self._patience_ms
        if not others and not slow:
            raise ViolationError(
                Rule.FENCED, f"{process.name} is told {why}, and nobody else has {transactional_id}"
            )

    def promise(self, item: Item, offset: int) -> None:
        """A producer is told that its record is in the log; -1: it is not told where."""
        self.promised += 1
        self.copies.promise(item, offset)

    def told(self, process: Process, deal: Deal, fate: Fate) -> None:
        """An application is told how its transaction has ended."""
        self._raised.discard(process)
        self._forgotten.discard(process)
        deal.told = fate
        taken = (item for item in deal.items if not item.refused)
        lost = next((item for item in taken if item.promised is None), None)
        if fate is Fate.COMMITTED and lost is not None:
            raise ViolationError(
                Rule.TOLD, f"{deal.name} is told that {deal} is committed, and not that {lost} is"
            )
        self.copies.told(deal)
        process.say(What.ENDED, number=deal.number, fate=fate.value)

    def _answered(self, wire: Wire, asked: Asked, answer: Message) -> None:
        """A producer is given its next epoch, which it may not hear. Who asks again is given that,
        but by no other coordinator: that it was asked for is in no journal.
        """
        request: Any = asked.message
        if not isinstance(answer, InitProducerIdResponse):
            return
        if not answer.error_code and not wire.client_open:
            self._forgotten.add(wire.client.owner)  # it has asked again, and may have the id
        elif request.producer_epoch < 0:
            return
        elif not answer.error_code:
            self._raised.add(wire.client.owner)
        elif answer.error_code == ErrorCode.CONCURRENT_TRANSACTIONS:
            # A coordinator, a Kafka's too, aborts what is open under an id for anybody who had it
            # once: it looks at the epoch when that is done, and then nobody has the id.
            asked_ms = self._asked_ms.get(request.transactional_id, {})
            self._forgotten.update(other for other in asked_ms if other is not wire.client.owner)

    def coordinators_moved(self) -> None:
        """See Referee."""
        super().coordinators_moved()
        self._forgotten |= self._raised

    # Readers -------------------------------------------------------------------------------------

    def delivered(
        self, reader: Reader, taken: Mapping[TopicPartition, Sequence[Any]], *, committed: bool
    ) -> None:
        """A reader gets records: all that there are for it, one behind the other."""
        positions = self.positions.setdefault(reader, {})
        for tp, records in taken.items():
            self.copies.read(tp)
            known = positions.get(tp, _FIRST)
            later = range(min(known)[0] + 1, self.copies.life(tp) + 1)
            refused: dict[Place, ViolationError] = {}
            fit: dict[Place, None] = {}
            for place in (*known, *((life, 0) for life in later)):
                try:
                    fit[self._follow(reader, tp, place, records, committed=committed)] = None
                except ViolationError as error:
                    refused[place] = error
            if not fit:
                lives = self.copies.lives_of(tp, records)
                place = next((place for place in refused if place[0] in lives), known[0])
                raise refused[place]
            positions[tp] = list(fit)
            self.handed += len(records)
        spans = {at(tp): (each[0].offset, each[-1].offset) for tp, each in taken.items()}
        self._trace.event(What.DELIVERED, reader.name, spans=spans)

    def _follow(
        self,
        reader: Reader,
        tp: TopicPartition,
        place: Place,
        records: Sequence[Any],
        *,
        committed: bool,
    ) -> Place:
        """Where a reader is that got these there. ViolationError: they are not what is next."""
        life, since = place
        shown = self.copies.shown(tp, life, since, committed=committed)
        for record in records:
            offset, item = next(shown, (-1, None))
            if item is None or offset != record.offset or item.value != record.value:
                raise self._not_next(reader, tp, life, record, (offset, item), committed=committed)
            since = offset + 1
        return life, since

    def _not_next(
        self,
        reader: Reader,
        tp: TopicPartition,
        life: int,
        record: Any,
        following: tuple[int, Item | None],
        *,
        committed: bool,
    ) -> ViolationError:
        """What is wrong with it."""
        there = self.copies.copy(tp, life).items.get(record.offset)
        if there is None or there.value != record.value:
            return ViolationError(
                Rule.NEVER_SKIPS,
                f"{reader.name} got {record.value!r} at {record.offset} of {at(tp)}, which has"
                f" {there} there{_in_life(life)}",
            )
        if committed and not there.readable:
            assert there.deal is not None
            return ViolationError(
                Rule.READ_COMMITTED,
                f"{reader.name} got {there} at {record.offset}, and {there.deal} is"
                f" {there.deal.fate.value}",
            )
        offset, item = following
        missing = f"{offset}, {item}" if item is not None else "nothing"
        return ViolationError(
            Rule.NEVER_SKIPS,
            f"{reader.name} got {record.offset} of {at(tp)}, and {missing} is next{_in_life(life)}",
        )

    def left(self, reader: Reader, tp: TopicPartition, *, committed: bool) -> int:
        """How much a reader has not got yet."""
        now = self.copies.life(tp)
        known = self.positions.get(reader, {}).get(tp, _FIRST)
        since = max((since for life, since in known if life == now), default=0)
        return sum(1 for _ in self.copies.shown(tp, now, since, committed=committed))

    # Movers --------------------------------------------------------------------------------------

    def read(self, mover: Mover, tp: TopicPartition, record: Any) -> Source:
        """A mover gets a record: which one that is."""
        self.copies.read(tp)
        self.copies.goes_on(mover.process, tp)
        found, known = self.copies.lives_of(tp, [record]), self._read_in.get((mover, tp), 0)
        lives = [life for life in found if life >= known]
        if not lives:
            raise ViolationError(
                Rule.NEVER_SKIPS,
                f"{mover.name} got {record.value!r} at {record.offset} of {at(tp)}, which is there"
                f" in lives {found}, and it was in {known}",
            )
        sources = [(tp, life, record.offset) for life in lives]
        if len(sources) > 1:
            self.copies.doubt(sources)
        self._read_in[mover, tp] = lives[0]
        return sources[0]

    def names(self, deal: Deal, ends: Mapping[TopicPartition, tuple[int, int]]) -> None:
        """It commits offsets, each of a life of the topic."""
        for tp, (life, end) in ends.items():
            self.copies.names(deal, tp, life, end)

    def topic_made(self, name: str, topic_id: bytes) -> None:
        """See Referee."""
        self.copies.topic_made(name)
        super().topic_made(name, topic_id)

    def topic_gone(self, name: str) -> None:
        """See Referee."""
        self.copies.topic_gone(name)
        super().topic_gone(name)


def _in_life(life: int) -> str:
    return f" (it was deleted {life} times before)" if life else ""
