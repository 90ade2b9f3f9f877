"""The share-partitions of one node: those that it leads and somebody reads.

What a share-partition is is kept with every change of it that matters to another leader; so one
that is led elsewhere now, or whose offsets have been altered, is read anew where it is needed next.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from kcore.broker.batches import CONTROL, TRANSACTIONAL, Batch, RefusedError, read_header
from kcore.broker.lookup import offset_for_time
from kcore.broker.share.archiving import DeadLetters
from kcore.broker.share.keeping import UNINITIALIZED, Kept, ShareKey
from kcore.broker.share.partition import (
    Acknowledgement,
    Acquired,
    Demand,
    SharePartition,
)
from kcore.broker.share.sessions import ShareSession, ShareSessions
from kcore.coordinator.share.options import (
    BY_DURATION,
    EARLIEST,
    READ_COMMITTED,
    ShareOptions,
    duration_ms,
)
from kcore.timers import NEVER
from kcore.tuples import NamedTuple
from kcore.wire.codes import ErrorCode

if TYPE_CHECKING:
    from kcore.broker.log import PartitionLog
    from kcore.broker.node import Node
    from kcore.broker.partitions import Partition


class Found(NamedTuple):
    """A share-partition, and the partition below it."""

    key: ShareKey
    partition: Partition
    share: SharePartition


class Got(NamedTuple):
    """What a fetch gets of one: record batches, and which of their offsets are its own."""

    batches: list[bytes]
    size: int
    acquired: list[Acquired]


class Shares:
    """The share-partitions and share sessions of one node."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._cluster = node.cluster
        self._clock = node.cluster.clock_of(node.node_id)
        self.sessions = ShareSessions(node.cluster.config.share_sessions_max)
        self._letters = DeadLetters(node)
        self._live: dict[ShareKey, SharePartition] = {}
        self._alarms: dict[ShareKey, int] = {}  # when a lock may be over
        self._heap: list[tuple[int, ShareKey]] = []

    # Finding -------------------------------------------------------------------------------------

    def find(self, key: ShareKey) -> Found:
        """A share-partition that is led here. RefusedError if it is not."""
        partition = self._partition(key)
        kept = self._cluster.share_states.get(key)
        options = self._cluster.share_options(key[0])
        share = self._live.get(key)
        if (
            share is None
            or share.leader_epoch != partition.leader_epoch
            or (kept is not None and kept.state_epoch != share.state_epoch)
        ):
            share = self._load(partition, kept or Kept(), options)
            self._live[key] = share
            self._letters.take(key, share, self._now_ms())  # in its own time: who asks is waiting
        share.options = options
        share.advance_start(partition.log.start_offset)
        return Found(key, partition, share)

    def _partition(self, key: ShareKey) -> Partition:
        """The partition below, if it is led here. RefusedError."""
        _, topic_id, number = key
        topic = self._cluster.topics.get(None, topic_id)
        if topic is None:
            raise RefusedError(
                ErrorCode.UNKNOWN_TOPIC_ID, "This server does not host this topic ID."
            )
        return self._cluster.lead(self._node.node_id, topic, number)

    def _load(self, partition: Partition, kept: Kept, options: ShareOptions) -> SharePartition:
        log = partition.log
        start = kept.start_offset
        if start == UNINITIALIZED:
            start = self._first_offset(log, options)
        # A log that lost its end has nothing there to be in flight.
        start = min(max(start, log.start_offset), log.end_offset)
        batches = [run for run in kept.batches if run.last < log.end_offset]
        return SharePartition(
            start, Kept(kept.state_epoch, batches=batches), partition.leader_epoch, options
        )

    def _first_offset(self, log: PartitionLog, options: ShareOptions) -> int:
        """Where a group begins that has never read here."""
        end = log.last_stable_offset
        if options.isolation_level != READ_COMMITTED:
            end = log.high_watermark
        if options.auto_offset_reset == EARLIEST:
            return log.start_offset
        if options.auto_offset_reset.startswith(BY_DURATION):
            back_ms = duration_ms(options.auto_offset_reset)
            found = offset_for_time(log, self._wall_ms() - back_ms)
            return end if found is None else min(found.offset, end)
        return end

    def readable_to(self, found: Found) -> int:
        """Up to where the group may read."""
        log = found.partition.log
        if found.share.options.isolation_level == READ_COMMITTED:
            return log.last_stable_offset
        return log.high_watermark

    # Records -------------------------------------------------------------------------------------

    def bytes_ready(self, key: ShareKey, enough: int) -> int:
        """How much there is to acquire, counted up to `enough` or so. RefusedError."""
        found = self.find(key)
        if not found.share.can_acquire:
            return 0
        return found.partition.log.bytes_from(
            found.share.next_offset, enough, self.readable_to(found)
        )

    def acquire(self, key: ShareKey, demand: Demand, max_bytes: int, *, at_least_one: bool) -> Got:
        """Take records for a member. RefusedError.

        at_least_one: the first record batch is looked at whatever its size.
        """
        found = self.find(key)
        share, log = found.share, found.partition.log
        nothing = Got([], 0, [])
        if demand.records_max <= 0 or not share.can_acquire:
            return nothing
        up_to = self.readable_to(found)
        offset = share.next_offset
        if offset > log.end_offset:
            return nothing
        read = log.read(offset, max_bytes, at_least_one=at_least_one, up_to=up_to)
        if not read.batches:
            return nothing
        # What is behind that cannot be acquired, however much fits the answer.
        behind = share.end_offset + demand.records_max
        headers = []
        for data in read.batches:
            headers.append(read_header(data))
            if headers[-1].last_offset >= behind:
                break
        before = share.start_offset
        spans = [(batch.base_offset, batch.last_offset) for batch in headers]
        acquired = share.acquire(demand, spans, self._now_ms())
        aborted = []
        if share.options.isolation_level == READ_COMMITTED and acquired:
            aborted = _aborted(log, offset, headers)
            acquired = share.drop_aborted(acquired, aborted)
        if aborted or share.start_offset != before:
            self._keep(found)
        self._watch(found)
        if not acquired:
            return nothing
        first, last = acquired[0].first, acquired[-1].last
        batches = [
            data
            for data, (base, end) in zip(read.batches, spans, strict=False)
            if base <= last and end >= first
        ]
        return Got(batches, sum(map(len, batches)), acquired)

    def acknowledge(self, key: ShareKey, member: str, said: Sequence[Acknowledgement]) -> None:
        """Take a member's word. RefusedError if it is not taken, and then nothing of it is."""
        found = self._find_live(key)
        found.share.acknowledge(member, said, self._now_ms())
        self._settle(found)
        self._watch(found)

    def release(self, session: ShareSession) -> None:
        """A member's session is over: what it has acquired here is free again."""
        self.sessions.remove(session.key)
        group_id, member = session.key
        of_group = [key for key in self._live if key[0] == group_id]
        for key in of_group:
            if key in self._live and self._live[key].release(member):
                self._released(key)
        for key in of_group:
            self._forget_unread(key)

    def _forget_unread(self, key: ShareKey) -> None:
        """Where nobody reads and nothing is acquired, what is kept is enough for who comes next."""
        share = self._live.get(key)
        if (
            share is not None
            and share.deadline == NEVER
            and not self.sessions.any_of(key[0])
            and not self._letters.waits(key)
        ):
            del self._live[key]

    def _find_live(self, key: ShareKey) -> Found:
        """Only what somebody has fetched from can be acknowledged, at the node that leads it. What
        is said of other partitions is what a Kafka says.
        """
        try:
            self._partition(key)
        except RefusedError as refused:
            self._live.pop(key, None)
            if refused.code is not ErrorCode.NOT_LEADER_OR_FOLLOWER:
                raise RefusedError(refused.code, "") from None
        if key not in self._live:
            raise RefusedError(
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                "This server does not host this topic-partition.",
            )
        return self.find(key)

    def _released(self, key: ShareKey) -> None:
        """Somebody else may have records now, unless this node has no say any more."""
        try:
            found = self.find(key)
        except RefusedError:
            del self._live[key]
            return
        self._settle(found)

    def _settle(self, found: Found) -> None:
        """Something came to an end: it is written down, kept, and others may have records now."""
        now_ms = self._now_ms()
        self._letters.take(found.key, found.share, now_ms)
        if self._letters.waits(found.key):
            wall_ms = now_ms + self._clock.wall_offset_ms
            self._letters.write(found.key, found.share, found.partition, now_ms, wall_ms)
        self._keep(found)
        self._letters.tell()
        self._recheck(found)

    def _keep(self, found: Found) -> None:
        self._cluster.share_states.put(found.key, found.share.kept(), self._wall_ms())

    def _recheck(self, found: Found) -> None:
        self._node.fetches.recheck([(found.partition.topic, found.partition.number)])

    # Time ----------------------------------------------------------------------------------------

    def _watch(self, found: Found) -> None:
        """Look again when a lock is over."""
        at_ms = found.share.deadline
        if at_ms < self._alarms.get(found.key, NEVER):
            self._alarms[found.key] = at_ms
            heappush(self._heap, (at_ms, found.key))

    def expire(self, now_ms: int) -> None:
        """Time has come: locks are over, or dead letters are tried again."""
        local_ms = self._clock.read(now_ms)
        while self._heap and self._heap[0][0] <= local_ms:
            at_ms, key = heappop(self._heap)
            if self._alarms.get(key) != at_ms:
                continue
            del self._alarms[key]
            share = self._live.get(key)
            if share is None:
                continue
            if share.expire(local_ms):
                self._released(key)
                self._forget_unread(key)
            share = self._live.get(key)
            if share is not None and share.deadline != NEVER:
                self._alarms[key] = share.deadline
                heappush(self._heap, (share.deadline, key))
        for key in self._letters.due(local_ms):
            if key in self._live:
                self._released(key)
                self._forget_unread(key)
            else:
                self._letters.drop(key)

    def deadline(self) -> int:
        """When `expire` is to be called."""
        while self._heap and self._alarms.get(self._heap[0][1]) != self._heap[0][0]:
            heappop(self._heap)
        at_ms = min(self._heap[0][0] if self._heap else NEVER, self._letters.deadline())
        return self._clock.when(at_ms)

    def _now_ms(self) -> int:
        return self._clock.read(self._cluster.now_ms)

    def _wall_ms(self) -> int:
        return self._now_ms() + self._clock.wall_offset_ms

    # Going ---------------------------------------------------------------------------------------

    def handle_closed(self, link: int) -> None:
        """A connection is gone, and with it its sessions."""
        for session in self.sessions.of_link(link):
            self.release(session)

    def forget(self, group_id: str | None, topic_ids: Container[bytes] | None) -> None:
        """Of this group (None: of any) these topics (None: all) are gone."""
        for key in list(self._live):
            if group_id in {None, key[0]} and (topic_ids is None or key[1] in topic_ids):
                del self._live[key]
                self._alarms.pop(key, None)
                self._letters.drop(key)

    def clear(self) -> None:
        """The node went down: what is kept is all there is."""
        self.sessions.clear()
        self._letters.clear()
        self._live.clear()
        self._alarms.clear()
        self._heap.clear()

    def look(self, key: ShareKey) -> SharePartition | None:
        """A share-partition as it is now, to look at; None if nobody reads it here."""
        return self._live.get(key)


def _aborted(log: PartitionLog, offset: int, batches: Sequence[Batch]) -> list[tuple[int, int]]:
    """The record batches, by first and last offset, that belong to aborted transactions."""
    gone = log.transactions.aborted(offset, batches[-1].last_offset + 1)
    return [
        (batch.base_offset, batch.last_offset)
        for batch in batches
        if batch.attributes & (TRANSACTIONAL | CONTROL) == TRANSACTIONAL
        and any(
            one.producer_id == batch.producer_id
            and one.first_offset <= batch.base_offset <= one.last_offset
            for one in gone
        )
    ]
