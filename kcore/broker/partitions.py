"""One partition: the logs of its replicas, who leads, who is in sync, what is replicated.

    leader      start ------------------ high watermark ------ end
    synced      has every batch as soon as the leader (a reference to the same bytes)
    late        gets it after its lag, or when its link is up again; in the ISR for a while longer

The high watermark is the least end of the in-sync replicas. With one replica, or with all of them
synced, that is the leader's end at once. Source of the rules: Java's Partition, and
AbstractFetcherThread for what a follower cuts off (KIP-101, KIP-279).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kcore.broker.batches import Batch, RefusedError, read_header
from kcore.broker.log import Appended, PartitionLog
from kcore.broker.sequences import ANY_ORIGIN, Origin
from kcore.coordinator.journal import INTERNAL_TOPICS
from kcore.timers import NEVER
from kcore.wire.codes import ErrorCode

if TYPE_CHECKING:
    from kcore.broker.options import LogConfig
    from kcore.broker.replication import Replication

NOBODY: Final = -1

# What a follower takes over in one step, so that a long log does not hold up the other requests.
_STEP_BYTES: Final = 8_388_608


@dataclass(slots=True)
class Late:
    """A follower that does not get everything at once.

    due_ms: when it takes over what there is, NEVER if there is nothing, or no way to it. behind_ms:
    since when it lacks something, None if it does not. aligned: whether it has been compared with
    the leader of this epoch.
    """

    due_ms: int = NEVER
    behind_ms: int | None = None
    aligned: bool = False


class Partition:
    """One partition. `log` is the leader's; while nobody leads, the last leader's."""

    __slots__ = (
        "adding",
        "home",
        "isr",
        "late",
        "leader",
        "leader_epoch",
        "log",
        "logs",
        "noted",
        "number",
        "removing",
        "replicas",
        "scheduled_ms",
        "synced",
        "topic",
    )

    def __init__(
        self, topic: str, number: int, config: LogConfig, replicas: list[int], home: Replication
    ) -> None:
        self.topic = topic
        self.number = number
        self.home = home
        self.replicas = replicas
        self.isr = list(replicas)
        self.leader_epoch = 0
        self.logs = {node_id: PartitionLog(topic, number, config) for node_id in replicas}
        self.leader = home.first_live(replicas)
        self.log = self.logs[self.leader if self.leader != NOBODY else replicas[0]]
        self.log.begin_epoch(0)
        self.synced: list[PartitionLog] = []
        self.late: dict[int, Late] = {}
        self.scheduled_ms = NEVER
        self.adding: list[int] = []  # replicas that are to come, or to go: see reassignment.py
        self.removing: list[int] = []
        self.noted: tuple[int, ...] = ()  # what the store was told last
        home.led(self)
        if len(replicas) > 1:
            self.isr = [one for one in replicas if home.is_live(one)] or [replicas[0]]
            self.settle(0)

    # Writing -------------------------------------------------------------------------------------

    def append(self, data: memoryview | None, now_ms: int, origin: Origin = ANY_ORIGIN) -> Appended:
        """Keep the one batch a producer sent. RefusedError if it may not be kept."""
        if data is not None:
            self.home.check_room(len(data), now_ms)
        appended = self.log.append(data, self.leader_epoch, self.home.wall_ms(now_ms), origin)
        if appended.batch is not None and appended.data is not None:
            self._spread(appended.data, appended.batch, now_ms)
        return appended

    def add(self, data: bytes, now_ms: int) -> Appended:
        """Keep a batch this cluster made, such as a marker; who waits for it is told. While nobody
        leads, the last leader alone has it, for when it is back.
        """
        wall_ms = self.home.wall_ms(now_ms)
        appended = self.log.add(data, read_header(data), self.leader_epoch, wall_ms)
        assert appended.batch is not None
        assert appended.data is not None
        if self.leader != NOBODY:
            self._spread(appended.data, appended.batch, now_ms)
        self.home.changed(self)
        return appended

    def _spread(self, data: bytes, batch: Batch, now_ms: int) -> None:
        if self.synced:
            wall_ms = self.home.wall_ms(now_ms)
            for log in self.synced:
                log.follow(data, batch, wall_ms)
        if self.late:
            self._fall_behind(now_ms)
        if self.advance() and self.late:
            self._spread_watermark(now_ms)
            self._schedule()

    def behind_since(self, node_id: int) -> int:
        """Since when (ms) a follower lacks something; NEVER if it does not."""
        late = self.late.get(node_id)
        return NEVER if late is None or late.behind_ms is None else late.behind_ms

    def check_min_isr(self) -> None:
        """RefusedError (NOT_ENOUGH_REPLICAS) if a write for all replicas cannot be done now."""
        if self.under_min_isr:
            raise RefusedError(
                ErrorCode.NOT_ENOUGH_REPLICAS,
                f"{len(self.isr)} replicas are in sync, {self._min_isr} have to be",
            )

    @property
    def _min_isr(self) -> int:
        return min(self.log.config.min_insync_replicas, len(self.replicas))

    @property
    def under_min_isr(self) -> bool:
        """Whether fewer replicas are in sync than the topic demands."""
        return len(self.isr) < self._min_isr

    def delete_before(self, offset: int, now_ms: int) -> int:
        """Move the start of the leader's log, and of those synced with it; see `low_watermark`.

        RefusedError if that cannot be.
        """
        if not self.log.config.delete:
            raise RefusedError(ErrorCode.POLICY_VIOLATION, "a topic that is compacted only")
        start = self.log.delete_before(offset)
        for log in self.synced:
            log.advance_start(start)
        for node_id, late in self.late.items():
            if self._reaches(node_id):
                due_ms = now_ms + self._lag_ms(node_id)
                late.due_ms = min(late.due_ms, due_ms)
        self._schedule()
        return start

    @property
    def low_watermark(self) -> int:
        """The least start of the live replicas' logs."""
        return min(
            log.start_offset
            for node_id, log in self.logs.items()
            if node_id == self.leader or self.home.is_live(node_id)
        )

    # What is replicated --------------------------------------------------------------------------

    def advance(self) -> bool:
        """Move the high watermark if it can be; whether it moved."""
        log = self.log
        end = log.end_offset
        if self.late:
            # KIP-966: what too few replicas have is not shown.
            if self.leader == NOBODY or self.under_min_isr:
                return False
            for node_id in self.isr:
                late = self.late.get(node_id)
                if late is not None:
                    if not late.aligned:  # a new leader does not know yet what it has
                        return False
                    end = min(end, self.logs[node_id].end_offset)
        if end <= log.high_watermark:
            return False
        log.high_watermark = end
        for follower in self.synced:
            follower.high_watermark = end
        return True

    def _spread_watermark(self, now_ms: int) -> None:
        """Followers that get things later hear later, too, what may be read."""
        for node_id, late in self.late.items():
            log = self.logs[node_id]
            known = log.high_watermark >= min(self.log.high_watermark, log.end_offset)
            if not known and late.due_ms == NEVER and self._reaches(node_id):
                late.due_ms = now_ms + self._lag_ms(node_id)

    def _fall_behind(self, now_ms: int) -> None:
        for node_id, late in self.late.items():
            if late.behind_ms is None:
                late.behind_ms = now_ms
            if late.due_ms == NEVER and self._reaches(node_id):
                late.due_ms = now_ms + self._lag_ms(node_id)
        self._schedule()

    def settle(self, now_ms: int) -> None:
        """The leader, a node or a link has changed: find out who gets what, and when."""
        before, self.late, self.synced = self.late, {}, []
        for node_id in self.replicas:
            if node_id == self.leader:
                continue
            known = before.get(node_id)
            late = self.late[node_id] = Late()
            if known is not None and known.behind_ms is not None:
                late.behind_ms = known.behind_ms
            elif self.logs[node_id].end_offset != self.log.end_offset:
                late.behind_ms = now_ms
            if self.leader != NOBODY and self._reaches(node_id):
                late.due_ms = now_ms + self._lag_ms(node_id)
        self.tick(now_ms)
        self._note()

    def _note(self) -> None:
        """Have the store know who leads, who is in sync, and who has a replica."""
        if self.home.store is not None:
            state = (self.leader, self.leader_epoch, *self.isr, NOBODY, *self.replicas)
            if state != self.noted:
                self.noted = state
                self.home.store.partition_changed(self)

    def tick(self, now_ms: int) -> None:
        """Do what is due: followers take over batches, join the ISR or fall out of it."""
        if self.leader == NOBODY:
            return
        isr, moved = list(self.isr), False
        for node_id, late in list(self.late.items()):
            if late.due_ms <= now_ms:
                log = self.logs[node_id]
                before = log.start_offset, log.high_watermark
                self._take_over(node_id, late, now_ms)
                moved |= (log.start_offset, log.high_watermark) != before
        for node_id, late in self.late.items():
            if self._shrinks_ms(node_id, late) <= now_ms:
                self.isr.remove(node_id)
        advanced = self.advance()
        self._spread_watermark(now_ms)
        if advanced or moved or self.isr != isr:
            self.home.changed(self)
        if self.isr != isr:
            self._note()
        self._schedule()
        if self.adding or self.removing:
            self.home.reassigned(self, now_ms)

    def _shrinks_ms(self, node_id: int, late: Late) -> int:
        """When a follower is out of sync."""
        if late.behind_ms is None or node_id not in self.isr:
            return NEVER
        return late.behind_ms + self.home.lag_max_ms

    def _schedule(self) -> None:
        due_ms = NEVER
        for node_id, late in self.late.items():
            due_ms = min(due_ms, late.due_ms, self._shrinks_ms(node_id, late))
        if due_ms < self.scheduled_ms:
            self.home.schedule(self, due_ms)

    def _take_over(self, node_id: int, late: Late, now_ms: int) -> None:
        """A follower gets what it lacks, up to a bound."""
        if not self._reaches(node_id):
            late.due_ms = NEVER
            return
        leader, log = self.log, self.logs[node_id]
        if not late.aligned:
            align(log, leader)
            late.aligned = True
        if log.end_offset < leader.start_offset:
            log.restart_at(leader.start_offset)
        wall_ms = self.home.wall_ms(now_ms)
        found = leader.read(log.end_offset, _STEP_BYTES, at_least_one=True, up_to=leader.end_offset)
        for data in found.batches:
            log.follow(data, read_header(data), wall_ms)
        log.high_watermark = max(log.high_watermark, min(leader.high_watermark, log.end_offset))
        log.advance_start(min(leader.start_offset, log.high_watermark))
        lag_ms = self._lag_ms(node_id)
        if log.end_offset < leader.end_offset:
            late.due_ms = now_ms + lag_ms
            return
        late.due_ms, late.behind_ms = NEVER, None
        if node_id not in self.isr and log.end_offset >= leader.epochs.latest_start:
            self.isr.append(node_id)
        if not lag_ms:
            self.synced.append(log)
            del self.late[node_id]

    def _reaches(self, node_id: int) -> bool:
        """Whether a follower gets what the leader has."""
        if self.topic in INTERNAL_TOPICS:
            return self.home.is_live(self.leader) and self.home.is_live(node_id)
        return self.home.reach(self.leader, node_id)

    def _lag_ms(self, node_id: int) -> int:
        """How much later."""
        return 0 if self.topic in INTERNAL_TOPICS else self.home.lag_ms(self.leader, node_id)

    # Leading -------------------------------------------------------------------------------------

    def lead(self, node_id: int, now_ms: int) -> None:
        """A new leader, or NOBODY, and with it a new epoch.

        A node that is not in sync takes the others out of sync with it: what it lacks is lost.
        """
        self.leader = node_id
        self.leader_epoch += 1
        self.scheduled_ms = NEVER  # the old leader's
        if node_id != NOBODY:
            if node_id not in self.isr:
                self.isr = [node_id]
            self.log = self.logs[node_id]
            self.log.begin_epoch(self.leader_epoch)
            self.late = {}
        self.home.led(self)
        self.settle(now_ms)
        self.home.changed(self)  # who reads at a follower knows the epoch before this one

    def replace(self, node_id: int, now_ms: int) -> None:
        """Put a node in the place of the leader, with what that has, and let it lead."""
        old = self.leader if self.leader != NOBODY else self.replicas[0]
        log = PartitionLog(self.topic, self.number, self.log.config, self.log.start_offset)
        log.load(list(self.log.batches()), self.log.start_offset, self.home.wall_ms(now_ms))
        log.high_watermark = self.log.high_watermark
        self.replicas = [node_id, *(one for one in self.replicas if one != old)]
        self.isr = [node_id, *(one for one in self.isr if one != old)]
        gone = self.logs.pop(old)
        self.logs[node_id] = log
        self.lead(node_id, now_ms)
        gone.let_go()


def align(log: PartitionLog, leader: PartitionLog) -> None:
    """Cut off what the leader does not have, by epochs (Java: getOffsetTruncationState)."""
    while log.epochs.latest >= 0:
        latest = log.epochs.latest
        end = leader.end_of_epoch(latest)
        if end.epoch < 0:
            log.truncate(log.high_watermark)
            break
        if end.epoch == latest:
            log.truncate(end.end_offset)
            break
        mine = log.end_of_epoch(end.epoch)
        log.truncate(min(mine.end_offset, end.end_offset))
        if mine.epoch == end.epoch:
            break
    log.truncate(leader.end_offset)
