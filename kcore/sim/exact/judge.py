"""The judge of producers and of who reads what they write: what applications were told, against
what logs hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kcore.sim.exact.copies import Copies, Deal, Fate, Item, at, judge_told
from kcore.sim.referee import GroupOf, Referee
from kcore.sim.trace import Trace, What
from kcore.sim.violations import Rule, ViolationError
from kcore.structs import TopicPartition
from kcore.timers import NEVER

if TYPE_CHECKING:
    from kcore.broker.partitions import Partition
    from kcore.sim.exact.movers import Mover
    from kcore.sim.exact.readers import Reader
    from kcore.sim.plan import Plan
    from kcore.sim.processes import Process


class ExactJudge(Referee):
    """All rules of producers but those about the end (see `settle`)."""

    def __init__(
        self,
        plan: Plan,
        trace: Trace,
        group_of: GroupOf,
        now: Callable[[], int],
        partition_of: Callable[[TopicPartition], Partition],
        partitions: Callable[[], list[TopicPartition]],
    ) -> None:
        super().__init__(plan, trace, group_of, now)
        self._now = now
        # When a transaction began is a time of day: a coordinator on another node may take it for
        # older, or younger, by as much as their clocks differ.
        skews = [time.skew_ms for time in plan.node_times] or [0]
        self._patience_ms = plan.transaction_timeout_ms // 2 - (max(skews) - min(skews))
        self.copies = Copies(partition_of, partitions)
        self.positions: dict[Process, dict[TopicPartition, int]] = {}  # of readers
        # Who has asked for a transactional id, when last, and when it had it first.
        self._asked_ms: dict[str, dict[Process, int]] = {}
        self._had_ms: dict[Process, int] = {}
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
        slow = deal is not None and self._now() - deal.begun_ms >= self._patience_ms
        if not others and not slow:
            raise ViolationError(
                Rule.FENCED, f"{process.name} is told {why}, and nobody else has {transactional_id}"
            )

    def promise(self, item: Item, offset: int) -> None:
        """A producer is told that its record is in the log; -1: it is not told where."""
        item.promised = offset
        self.promised += 1
        copy = self.copies.read(item.tp)
        if item.offset is None:
            if 0 <= offset < copy.end:
                raise ViolationError(
                    Rule.WRITTEN_ONCE, f"{item} was promised at {offset}, and is not there"
                )
        elif offset not in {-1, item.offset}:
            raise ViolationError(
                Rule.WRITTEN_ONCE, f"{item} is at {item.offset}, {offset} was promised"
            )

    def told(self, process: Process, deal: Deal, fate: Fate) -> None:
        """An application is told how its transaction has ended."""
        deal.told = fate
        lost = next((item for item in deal.items if item.promised is None), None)
        if fate is Fate.COMMITTED and lost is not None:
            raise ViolationError(
                Rule.TOLD, f"{deal.name} is told that {deal} is committed, and not that {lost} is"
            )
        judge_told(deal)
        process.say(What.ENDED, number=deal.number, fate=fate.value)

    # Readers -------------------------------------------------------------------------------------

    def delivered(
        self, reader: Reader, taken: Mapping[TopicPartition, Sequence[Any]], *, committed: bool
    ) -> None:
        """A reader gets records: all that there are for it, one behind the other."""
        positions = self.positions.setdefault(reader, {})
        for tp, records in taken.items():
            self.copies.read(tp)
            since = positions.get(tp, 0)
            shown = self.copies.shown(tp, since, committed=committed)
            for record in records:
                item = next(shown, None)
                if item is None or item.offset != record.offset or item.value != record.value:
                    self._judge_shown(reader, tp, record, item, committed=committed)
                positions[tp] = record.offset + 1
            self.handed += len(records)
        spans = {at(tp): (each[0].offset, each[-1].offset) for tp, each in taken.items()}
        self._trace.event(What.DELIVERED, reader.name, spans=spans)

    def _judge_shown(
        self, reader: Reader, tp: TopicPartition, record: Any, item: Item | None, *, committed: bool
    ) -> None:
        """It is not what is next."""
        there = self.copies.copies[tp].items.get(record.offset)
        if there is None or there.value != record.value:
            raise ViolationError(
                Rule.NEVER_SKIPS,
                f"{reader.name} got {record.value!r} at {record.offset} of {at(tp)}, which has"
                f" {there} there",
            )
        if committed and not there.visible:
            assert there.deal is not None
            raise ViolationError(
                Rule.READ_COMMITTED,
                f"{reader.name} got {there} at {record.offset}, and {there.deal} is"
                f" {there.deal.fate.value}",
            )
        missing = f"{item.offset}, {item}" if item is not None else "nothing"
        raise ViolationError(
            Rule.NEVER_SKIPS,
            f"{reader.name} got {record.offset} of {at(tp)}, and {missing} is next",
        )

    def left(self, reader: Reader, tp: TopicPartition, *, committed: bool) -> int:
        """How much a reader has not got yet."""
        since = self.positions.get(reader, {}).get(tp, 0)
        return sum(1 for _ in self.copies.shown(tp, since, committed=committed))
