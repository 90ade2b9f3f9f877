"""Records become batches here: memory is counted, full and lingering batches are told apart.

Rules:
* A record is taken whole or not at all. If there is no room for it, `append` says so, and the
  caller waits: nothing is queued beyond `buffer_memory`.
* A batch is due when it is full, when it has lingered, when records wait for room, when somebody
  flushes, or waits for one of its records.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any, Final

from kcore.limits import MAX_BATCH_BYTES
from kcore.produce.batch import Batch, BatchState
from kcore.produce.config import ProduceConfig
from kcore.produce.intake import RECORD_OVERHEAD, Budget
from kcore.produce.lane import Lane
from kcore.records.builder import BatchBuilder
from kcore.structs import TopicPartition
from kcore.timers import NEVER

BATCH_OVERHEAD: Final = 61

# Java's CompressionRatioEstimator: worse is believed at once, better step by step.
_RATIO_STEP: Final = 0.005
_RATIO_MARGIN: Final = 1.05
# Of the records of one compressed batch, however well they pack: readers bound what a batch may
# unpack to (ours to MAX_BATCH_BYTES), and what is larger packs no better.
_PACKED_BYTES_MAX: Final = MAX_BATCH_BYTES // 4


class Accumulator:
    """See the module's text.

    budget: what records may hold, and do. lanes: by partition. due: lanes with something to send
    now, in the order they became so. starved: an append found no room since the last one that did.
    """

    def __init__(self, config: ProduceConfig) -> None:
        self.lanes: dict[TopicPartition, Lane] = {}
        self.due: dict[Lane, None] = {}
        self.starved = False
        self.unfinished: dict[Batch, None] = {}
        self._config = config
        self._ratio = 1.0  # compressed / raw, as last seen
        self.budget = Budget(config.buffer_memory, self._full_bytes())
        self._lingering: deque[Batch] = deque()  # open, by age

    # In ------------------------------------------------------------------------------------------

    def lane(self, tp: TopicPartition) -> Lane:
        """A partition's lane."""
        lane = self.lanes.get(tp)
        if lane is None:
            lane = self.lanes[tp] = Lane(tp)
        return lane

    def append(
        self,
        lane: Lane,
        size_bytes: int,
        timestamp_ms: int,
        key: bytes | None,
        value: bytes | None,
        headers: Any,
        now_ms: int,
    ) -> tuple[Batch, int] | None:
        """Take a record of at most this size: its batch and its number there; None: there is no
        room now.
        """
        batch = self.room(lane, size_bytes, now_ms)
        if batch is None:
            return None
        before = batch.raw_bytes
        try:
            number = batch.append(timestamp_ms, key, value, headers)
        except BaseException:
            self.withdraw(batch)
            raise
        self.grew(batch, batch.raw_bytes - before)
        return batch, number

    @property
    def held_bytes(self) -> int:
        """What records that are not over hold."""
        return self.budget.held_bytes

    @property
    def raw_limit(self) -> int:
        """Bytes of a full batch, uncompressed, as far as that can be foretold."""
        return int(self.budget.full_bytes)

    @property
    def room_bytes(self) -> int:
        """What may be taken now."""
        return self.budget.limit_bytes - self.budget.held_bytes

    def room(self, lane: Lane, size_bytes: int, now_ms: int) -> Batch | None:
        """The open batch for another record of at most this size; None: no memory is left."""
        batch = self._filling(lane)
        fits = batch is not None and batch.raw_bytes + size_bytes <= self.budget.full_bytes
        if not self._has_room(size_bytes if fits else size_bytes + BATCH_OVERHEAD):
            return None
        if fits:
            return batch
        if batch is not None:
            self.close(lane)
        return self._open(lane, now_ms)

    def adopt(self, lane: Lane, builder: BatchBuilder, now_ms: int) -> Batch | None:
        """Take a batch that was filled elsewhere, to be sent as it is; None: no memory is left."""
        if not self._has_room(builder.size_bytes):
            return None
        if self._filling(lane) is not None:
            self.close(lane)
        batch = self._open(lane, now_ms, builder)
        self.budget.held_bytes += batch.raw_bytes
        self.close(lane)
        return batch

    def _filling(self, lane: Lane) -> Batch | None:
        batch = lane.queue[-1] if lane.queue else None
        return batch if batch is not None and batch.state is BatchState.OPEN else None

    def _has_room(self, size_bytes: int) -> bool:
        self.starved = size_bytes > self.room_bytes and bool(self.unfinished)
        return not self.starved

    def grew(self, batch: Batch, size_bytes: int) -> None:
        """Records of this size were appended."""
        self.budget.held_bytes += size_bytes
        if batch.raw_bytes + RECORD_OVERHEAD >= self.budget.full_bytes:
            self.close(self.lanes[batch.tp])

    def withdraw(self, batch: Batch) -> None:
        """What it was opened for cannot be taken: an empty batch must not be sent."""
        if batch.record_count == 0:
            self.lanes[batch.tp].queue.remove(batch)
            batch.finish()
            self.release(batch)

    def _open(self, lane: Lane, now_ms: int, builder: BatchBuilder | None = None) -> Batch:
        lane.opened += 1
        batch = Batch(lane.tp, self._config, now_ms, (lane.opened,), builder)
        self.unfinished[batch] = None  # first: see `mend`
        lane.queue.append(batch)
        lane.filling = batch
        if self._config.linger_ms:
            self._lingering.append(batch)
        else:
            self.due[lane] = None
        return batch

    # Due -----------------------------------------------------------------------------------------

    def close(self, lane: Lane) -> None:
        """The lane's open batch is full: compress it, and send it when its turn comes."""
        self.seal(lane.queue[-1])
        self.due[lane] = None

    def seal(self, batch: Batch) -> None:
        """Compress a batch, count what it holds now, and learn how well records pack."""
        self.lanes[batch.tp].filling = None
        batch.seal()
        assert batch.data is not None
        size = len(batch.data)
        self.budget.held_bytes += size - batch.held_bytes
        batch.held_bytes = size
        if batch.codec != "none":
            seen = size / max(1, batch.raw_bytes) * _RATIO_MARGIN
            self._ratio = seen if seen > self._ratio else max(seen, self._ratio - _RATIO_STEP)
            self.budget.full_bytes = self._full_bytes()

    def _full_bytes(self) -> float:
        """Of a full batch, uncompressed, as far as that can be foretold."""
        size = self._config.batch_size / self._ratio
        return size if self._config.codec == "none" else min(size, _PACKED_BYTES_MAX)

    def handle_tick(self, now_ms: int) -> None:
        """Make due what has lingered, or everything if room is needed."""
        lingering = self._lingering
        limit = now_ms - self._config.linger_ms
        while lingering:
            batch = lingering[0]
            if batch.state is BatchState.OPEN:
                if batch.created_at > limit and not self.starved:
                    return
                self._hurry(batch)
            lingering.popleft()

    def flush(self) -> None:
        """Make everything due."""
        for batch in self._lingering:
            if batch.state is BatchState.OPEN:
                self._hurry(batch)
        self._lingering.clear()

    def hurry_awaited(self, batches: Iterable[Batch]) -> bool:
        """Somebody waits for these. Whether one of them is due by that."""
        if self._config.awaited_linger:
            return False
        lingered = len(self._lingering)
        for batch in batches:
            if batch.lingers:
                self._hurry(batch)
                self._lingering.remove(batch)
        return len(self._lingering) < lingered

    def _hurry(self, batch: Batch) -> None:
        batch.hurried = True
        self.due[self.lanes[batch.tp]] = None

    @property
    def lingers_alone(self) -> bool:
        """Whether the batch that was begun last is the first to have lingered."""
        return len(self._lingering) == 1

    def deadline(self) -> int:
        """When a batch has lingered; NEVER if none does."""
        while self._lingering and self._lingering[0].state is not BatchState.OPEN:
            self._lingering.popleft()
        if not self._lingering:
            return NEVER
        return self._lingering[0].created_at + self._config.linger_ms

    # Out -----------------------------------------------------------------------------------------

    def release(self, batch: Batch) -> None:
        """A batch is over: its memory is free."""
        self.budget.held_bytes -= batch.held_bytes
        batch.held_bytes = 0
        self.unfinished.pop(batch, None)
        lane = self.lanes[batch.tp]
        if lane.filling is batch:
            lane.filling = None

    def mend(self) -> list[Batch]:
        """Something was struck, perhaps in the middle of a change: all that follows from which
        batches there are is found anew. Those that are over, and perhaps nobody was told of.

        `unfinished` has every batch from before its first record until it was told to be over.
        """
        self.unfinished = {leaf: None for batch in self.unfinished for leaf in batch.leaves}
        found: dict[TopicPartition, list[Batch]] = {tp: [] for tp in self.lanes}
        held, over = 0, []
        for batch in [*self.unfinished]:
            batch.mend()
            if batch.state is BatchState.DONE:
                over.append(batch)
                batch.held_bytes = 0
            else:
                found[batch.tp].append(batch)
                batch.held_bytes = 0 if batch.data is None else len(batch.data)
                held += batch.held_bytes or batch.raw_bytes
        for tp, batches in found.items():
            self.lanes[tp].mend(sorted(batches, key=lambda batch: batch.serial))
        self.budget.held_bytes = held
        self.starved = False
        lanes = [*self.due, *(lane for lane in self.lanes.values() if lane not in self.due)]
        self.due = {lane: None for lane in lanes if lane.due}
        waiting = [one for one in self.unfinished if one.state is BatchState.OPEN]
        self._lingering = deque(batch for batch in waiting if not batch.hurried)
        return over

    def replace(self, batch: Batch, parts: list[Batch]) -> None:
        """A batch was split: its parts are counted from now on, in its place."""
        unfinished: dict[Batch, None] = {}
        for one in self.unfinished:
            unfinished |= dict.fromkeys(parts if one is batch else [one])
        self.unfinished = unfinished
        self.budget.held_bytes += sum(part.held_bytes for part in parts) - batch.held_bytes
        batch.held_bytes = 0
