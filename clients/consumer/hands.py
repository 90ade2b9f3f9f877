"""Records between the poll that took them and the commit that covers them, in the hands of threads.

A lane is the records of one key in one partition (of all those without a key): one of them at a
time is handled, in their order. A lane with something to do is in the queue of the ready ones,
once; a worker takes a lane, handles its first record, and puts the lane back behind the others.

A window is what was taken of one partition, in the order it was handed out, from the first record
that is not finished on. What has been popped from its front is the prefix: its end may be
committed. Offsets are never counted on, so gaps of the log are no gaps here.

One thread feeds; it is the one that signal handlers strike. Whatever they leave half done: a record
is in its window before it is in its lane, so one that nobody will handle keeps the prefix back.
"""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from kcore.errors import IllegalStateError
from kcore.structs import OffsetAndMetadata, TopicPartition
from kcore.tuples import NamedTuple

# So many times the bound of unfinished records may be taken of one partition behind its first that
# is not finished: what is finished there is kept (a few words each), and handled again by others
# after a crash.
WINDOW_FACTOR = 10

_UNHASHABLE = object()

Lane = tuple[TopicPartition, Any]


class Slot:
    """One record in hand. record: None once it is finished."""

    __slots__ = ("done", "epoch", "lane", "offset", "record", "share")

    def __init__(self, share: Share, record: Any) -> None:
        self.share = share
        self.record = record
        self.offset: int = record.offset
        self.epoch: int | None = record.leader_epoch
        self.lane = lane_of(share.partition, record.key)
        self.done = False


class Share:
    """What is in hand of one partition, from when it came until it goes.

    running: how many of its records are being handled. given_up: no more of them is begun. bygone:
    its topic was made anew since, so no offset of its records is a place of the partition.
    end: of the prefix, None while nothing is finished. committed: what the coordinator has of it.
    """

    __slots__ = (
        "bygone",
        "committed",
        "end",
        "given_up",
        "partition",
        "running",
        "unfinished",
        "window",
    )

    def __init__(self, partition: TopicPartition) -> None:
        self.partition = partition
        self.window: deque[Slot] = deque()
        self.unfinished = 0
        self.running = 0
        self.given_up = self.bygone = False
        self.end: OffsetAndMetadata | None = None
        self.committed: OffsetAndMetadata | None = None

    def advance(self) -> None:
        """Move what is finished at the front into the prefix."""
        last: Slot | None = None
        while self.window and self.window[0].done:
            last = self.window.popleft()
        if last is not None:
            self.end = OffsetAndMetadata(last.offset + 1, "", _known(last.epoch))

    @property
    def resumes_at(self) -> OffsetAndMetadata | None:
        """Where somebody would go on who skips nothing; None: where nothing was taken."""
        if self.bygone:
            return None
        if not self.window:
            return self.end
        return OffsetAndMetadata(
            self.window[0].offset, "", -1 if self.end is None else self.end.leader_epoch
        )


class Failure(NamedTuple):
    """A record that was not handled, and why."""

    record: Any
    error: BaseException


class Hands:
    """See the module's text. `put`, `give_up`, `end` and the like are for the thread that feeds;
    `take`, `finish` and `fail` for workers.

    most: how many records may be unfinished. wake: called (with the lock held) when the thread that
    feeds is to look: there is room again, what it waits for is no longer handled, or all is over.
    in_flight: records unfinished. long: partitions whose window is too long to take more.
    """

    def __init__(self, most: int, wake: Callable[[], object]) -> None:
        self._lock = threading.RLock()  # a signal handler may come in where its thread has it
        self._wake = wake
        self._half = most // 2
        self._window_most = most * WINDOW_FACTOR
        # Whichever is there by now: gevent or eventlet may have put its own in the place of it.
        self._ready: queue.SimpleQueue[Lane | None] = queue.SimpleQueue()
        self._lanes: dict[Lane, deque[Slot]] = {}
        self._shares: dict[TopicPartition, Share] = {}
        self._bygone: set[Share] = set()  # those with something in hand
        self._running: set[Slot] = set()
        self._ending = False
        self._over = False
        self._needs_room = False
        self.in_flight = 0
        self.long: set[TopicPartition] = set()
        self.failure: Failure | None = None

    # Who feeds ---------------------------------------------------------------------------------

    def put(self, partition: TopicPartition, records: Iterable[Any]) -> None:
        """Have these handled, behind all of their keys that were put before."""
        with self._lock:
            share = self._shares.get(partition)
            if share is None:
                share = self._shares[partition] = Share(partition)
            for record in records:
                slot = Slot(share, record)
                share.window.append(slot)
                share.unfinished += 1
                self.in_flight += 1
                lane = self._lanes.get(slot.lane)
                if lane is None:
                    self._lanes[slot.lane] = deque((slot,))
                    self._ready.put(slot.lane)
                else:
                    lane.append(slot)
            if len(share.window) >= self._window_most:
                self.long.add(partition)

    def need_room(self) -> bool:
        """Whether more than half of what may be unfinished is; `wake` tells when it is not."""
        with self._lock:
            self._needs_room = self.in_flight > self._half
            return self._needs_room

    def give_up(self, partitions: Iterable[TopicPartition]) -> list[Share]:
        """Begin no more records of these, and forget them; those being handled go on."""
        with self._lock:
            gone = {*partitions}
            shares = [self._shares.pop(tp) for tp in gone if tp in self._shares]
            shares += [share for share in self._bygone if share.partition in gone]
            self._bygone.difference_update(shares)
            for share in shares:
                share.given_up = True
                self.in_flight -= share.unfinished
            self.long -= gone
            return shares

    def detach(self, partitions: Iterable[TopicPartition]) -> None:
        """Their topics were made anew: what was put of them is handled, and what is put from now on
        has nothing to do with it.
        """
        with self._lock:
            for tp in partitions:
                share = self._shares.pop(tp, None)
                self.long.discard(tp)
                if share is not None:
                    share.bygone = True
                    if share.unfinished:
                        self._bygone.add(share)

    def end(self, workers: int) -> None:
        """Begin nothing more, and have the workers end."""
        with self._lock:
            self._ending = True
        for _ in range(workers):
            self._ready.put(None)

    def be_over(self) -> None:
        """Never call `wake` again."""
        with self._lock:
            self._over = True

    def running(self) -> list[Slot]:
        """What is being handled now."""
        with self._lock:
            return [*self._running]

    def positions(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """Where each partition that something was taken of would go on, nothing skipped."""
        with self._lock:
            found = {tp: share.resumes_at for tp, share in self._shares.items()}
        return {tp: at for tp, at in found.items() if at is not None}

    def unfinished(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """The same for partitions that have something in hand."""
        with self._lock:
            found = {tp: share.resumes_at for tp, share in self._shares.items() if share.window}
        return {tp: at for tp, at in found.items() if at is not None}

    def uncommitted(
        self, shares: Iterable[Share] | None = None
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        """Ends of prefixes (of all partitions, or of these) that `note_committed` has not had."""
        with self._lock:
            return {
                share.partition: share.end
                for share in (self._shares.values() if shares is None else shares)
                if share.end not in (None, share.committed) and not share.bygone
            }

    def untouched(self, partitions: Iterable[TopicPartition]) -> set[TopicPartition]:
        """Those of them that nothing was taken of."""
        with self._lock:
            return {tp for tp in partitions if tp not in self._shares}

    def pass_gaps(
        self,
        consumed: dict[TopicPartition, OffsetAndMetadata],
        shares: Iterable[Share] | None = None,
    ) -> None:
        """What stands behind the last record of a partition may be none: a marker, an aborted
        transaction. Where nothing is in hand, the prefix ends where the consumer stands.

        consumed: where that is, of partitions of which all that was taken has been put.
        """
        with self._lock:
            for share in self._shares.values() if shares is None else shares:
                at = consumed.get(share.partition)
                if at is None or share.window or share.end is None:
                    continue
                if at.offset > share.end.offset:
                    share.end = at

    def note_committed(self, offsets: dict[TopicPartition, OffsetAndMetadata]) -> None:
        """The coordinator has these."""
        with self._lock:
            for tp, at in offsets.items():
                if tp in self._shares:
                    self._shares[tp].committed = at

    # Workers -----------------------------------------------------------------------------------

    def take(self) -> Slot | None:
        """The next record to be handled, once there is one; None: the worker is to end."""
        while True:
            lane = self._ready.get()
            with self._lock:
                if lane is None or self._ending:
                    return None
                waiting = self._lanes[lane]
                while waiting and waiting[0].share.given_up:
                    waiting.popleft()
                if waiting:
                    slot = waiting[0]  # there it stays: its lane has one worker
                    slot.share.running += 1
                    self._running.add(slot)
                    return slot
                del self._lanes[lane]

    def finish(self, slot: Slot) -> None:
        """It was handled. IllegalStateError: it cannot be told any more whose turn it is."""
        with self._lock:
            if slot.lane not in self._lanes:
                raise IllegalStateError(
                    "its key is another than when it came (another hash): what handles a record, or"
                    " goes on with its key elsewhere, must not change that"
                )
            slot.done, slot.record = True, None
            share = slot.share
            share.unfinished -= 1
            share.advance()
            if not share.given_up:
                self.in_flight -= 1
            self._put_down(slot)
            lane = self._lanes[slot.lane]
            lane.popleft()
            if lane:
                self._ready.put(slot.lane)
            else:
                del self._lanes[slot.lane]
            room = self._needs_room and self.in_flight <= self._half
            # Given up, or bygone, it says nothing of what came of the partition since.
            mine = self._shares.get(share.partition) is share and share.partition in self.long
            short = mine and len(share.window) * 2 <= self._window_most
            if not share.unfinished:
                self._bygone.discard(share)
            if room:
                self._needs_room = False
            if short:
                self.long.discard(share.partition)
            if room or short or self._is_waited_for(share):
                self._tell()

    def fail(self, slot: Slot, error: BaseException) -> None:
        """It was not, and everything ends."""
        with self._lock:
            if self.failure is None:
                self.failure = Failure(slot.record, error)
            self._ending = True
            self._put_down(slot)
            self._tell()

    def _put_down(self, slot: Slot) -> None:
        """It is handled no longer."""
        slot.share.running -= 1
        self._running.discard(slot)

    def _is_waited_for(self, share: Share) -> bool:
        return (share.given_up and not share.running) or (self._ending and not self._running)

    def nudge(self) -> None:
        """`wake`, unless all is over. From any thread or signal handler."""
        with self._lock:
            self._tell()

    def _tell(self) -> None:
        if not self._over:
            self._wake()


def lane_of(partition: TopicPartition, key: Any) -> Lane:
    """Keys that cannot be told apart by hash (a dict, say, out of a deserializer) share a lane."""
    try:
        hash(key)
    except TypeError:
        return (partition, _UNHASHABLE)
    return (partition, key)


def _known(epoch: int | None) -> int:
    return -1 if epoch is None else epoch
