"""Consumers without a group that read all there is: with read_committed, or without."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcore.consumer.config import ConsumerConfig
from kcore.consumer.core import ConsumerCore
from kcore.errors import KafkaError
from kcore.events import Closed, ErrorRaised, Event
from kcore.sim.chance import Chance
from kcore.sim.habits import Habits
from kcore.sim.processes import CLOSE_MS, Process
from kcore.sim.stage import Stage
from kcore.structs import TopicPartition

if TYPE_CHECKING:
    from kcore.sim.exact.judge import ExactJudge
    from kcore.sim.nodes import Brokers


class Reader(Process):
    """One process that reads all partitions from their beginning."""

    core: ConsumerCore

    def __init__(
        self,
        stage: Stage,
        brokers: Brokers,
        judge: ExactJudge,
        habits: Habits,
        chance: Chance,
        process: int,
    ) -> None:
        super().__init__(stage, habits, chance, process)
        self.judge = judge
        self._brokers = brokers
        self._assigned: list[TopicPartition] = []
        self.core = ConsumerCore(self._config(), chance.fork(), self.local_ms)
        self.begin()

    def _config(self) -> ConsumerConfig:
        plan, habits = self.stage.plan, self.habits
        return ConsumerConfig.from_options(
            {
                "bootstrap_servers": list(habits.bootstrap),
                "client_id": habits.name,
                "client_rack": habits.rack,
                "auto_offset_reset": "earliest",
                "enable_auto_commit": False,
                "isolation_level": "read_committed" if habits.committed else "read_uncommitted",
                "request_timeout_ms": plan.request_timeout_ms,
                "metadata_max_age_ms": plan.metadata_max_age_ms,
                "fetch_max_wait_ms": plan.fetch_max_wait_ms,
                "fetch_min_bytes": plan.fetch_min_bytes,
                "max_partition_fetch_bytes": plan.partition_fetch_bytes,
                "enable_incremental_fetch_sessions": plan.fetch_sessions,
            }
        )

    def poll(self) -> None:
        """Take what there is."""
        core, known = self.core, set(self._assigned)
        more = [tp for tp in self._brokers.partitions() if tp not in known]
        if more:
            self._assigned += more
            core.assign(self._assigned, self.local_ms)
        core.poll(self.local_ms)
        try:
            taken = core.take_records(self.max_records, self.local_ms)
        except KafkaError as error:
            self.complain(error)
        else:
            if taken:
                self.judge.delivered(self, taken, committed=self.habits.committed)
        self.drain()

    def left(self, tp: TopicPartition) -> int:
        """How many records it has still to get."""
        return self.judge.left(self, tp, committed=self.habits.committed)

    def follow(self, event: Event) -> None:
        """See Process."""
        if isinstance(event, ErrorRaised):
            self.complain(event.error)
        elif isinstance(event, Closed):
            self.end("left")
        else:
            self.stage.trace.note(self.name, type(event).__name__)

    def subscribe(self, topics: tuple[str, ...]) -> None:
        """It reads everything."""

    def close(self) -> None:
        """It is over."""
        if not self.ended and not self.closing:
            self.closing = True
            self.core.close(self.local_ms, CLOSE_MS)
            self.drain()
