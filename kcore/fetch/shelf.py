"""What was fetched and not yet handed over, bounded in bytes; whose turn it is to be handed over.

Each partition keeps its entries in order; partitions that may be handed over stand in a ring, and a
partition goes to the back when an entry is through, so a busy one never keeps the others out. The
ones that may not (paused, about to be given up) keep what they hold, outside of the ring.

Memory is counted by answers: record bytes are views into the frame they came in, so a frame is
there until the last of its partitions is through. `held_bytes` counts whole frames; `Node.waiting`
counts what can still be handed over, which says when to ask for more.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING

from kcore.errors import KafkaError
from kcore.fetch.config import ENTRY_OVERHEAD_BYTES
from kcore.fetch.partition import Partition

if TYPE_CHECKING:
    from kcore.fetch.planner import NodePlan
    from kcore.records import RecordReader


class Frame:
    """One answer's memory: its size, and how many entries still look into it."""

    __slots__ = ("entries", "size")

    def __init__(self, size: int) -> None:
        self.size = size
        self.entries = 0


class Entry:
    """One partition's part of one answer: a reader over its bytes, or the error it brought.

    offset: what had been asked for. end_offset: what to ask for behind it. size: bytes not yet
    handed over. standing: the error stays until the application seeks. parked: its partition is
    not in the ring.
    """

    __slots__ = (
        "end_offset",
        "error",
        "frame",
        "node",
        "offset",
        "parked",
        "reader",
        "size",
        "standing",
    )

    def __init__(
        self,
        node: NodePlan,
        frame: Frame,
        offset: int,
        reader: RecordReader | None,
        error: KafkaError | None,
        *,
        standing: bool = False,
    ) -> None:
        self.node = node
        self.frame = frame
        self.offset = offset
        self.reader = reader
        self.error = error
        self.standing = standing
        self.end_offset = offset if reader is None else reader.end_offset
        self.size = 0 if reader is None else reader.size_bytes
        self.parked = False


class Shelf:
    """See the module's text.

    drained: called with a node when what waits of it fell to `low_bytes` or below. freed: called
    when memory was given back.
    """

    def __init__(
        self, low_bytes: int, drained: Callable[[NodePlan], None], freed: Callable[[], None]
    ) -> None:
        self.held_bytes = 0
        self._low_bytes = low_bytes
        self._drained = drained
        self._freed = freed
        self._ring: OrderedDict[Partition, None] = OrderedDict()
        self._parked: OrderedDict[Partition, None] = OrderedDict()

    def __bool__(self) -> bool:
        """Whether something can be handed over (or raised) now."""
        return bool(self._ring)

    def head(self) -> Partition | None:
        """Whose turn it is."""
        for partition in self._ring:
            return partition
        return None

    # -- in ----------------------------------------------------------------------------------------

    def add(self, partition: Partition, entry: Entry) -> None:
        """Put an entry behind the partition's others."""
        frame = entry.frame
        if not frame.entries:
            self.held_bytes += frame.size
        frame.entries += 1
        frame.size += ENTRY_OVERHEAD_BYTES
        self.held_bytes += ENTRY_OVERHEAD_BYTES
        partition.entries.append(entry)
        partition.next_offset = entry.end_offset
        if partition.deliverable:
            entry.node.waiting += entry.size
            self._ring[partition] = None
        else:
            entry.parked = True
            self._parked[partition] = None

    # -- out ---------------------------------------------------------------------------------------

    def took(self, entry: Entry, size: int) -> None:
        """Records of a first entry were handed over; `size` bytes of it are left."""
        node = entry.node
        before = node.waiting
        node.waiting = before + size - entry.size
        entry.size = size
        if node.waiting <= self._low_bytes < before:
            self._drained(node)

    def finish(self, partition: Partition) -> None:
        """The first entry is through; the next partition's turn."""
        self._release(partition.entries.popleft())
        if partition.entries:
            self._ring.move_to_end(partition)
        else:
            del self._ring[partition]

    def pass_turn(self, partition: Partition) -> None:
        """The next partition's turn, though this one's entry is not through."""
        self._ring.move_to_end(partition)

    def drop(self, partition: Partition, *, keep: int = 0) -> None:
        """Throw away what a partition holds, but for its first `keep` entries."""
        entries = partition.entries
        while len(entries) > keep:
            self._release(entries.pop())
        if entries:
            partition.next_offset = entries[-1].end_offset
        else:
            partition.next_offset = partition.offset
            self._ring.pop(partition, None)
            self._parked.pop(partition, None)

    def _release(self, entry: Entry) -> None:
        node, frame = entry.node, entry.frame
        if not entry.parked and entry.size:
            before = node.waiting
            node.waiting = before - entry.size
            if node.waiting <= self._low_bytes < before:
                self._drained(node)
        frame.entries -= 1
        if not frame.entries:
            self.held_bytes -= frame.size
            self._freed()

    # -- turns -------------------------------------------------------------------------------------

    def sort(self, partition: Partition) -> None:
        """Put a partition that holds something in or out of the ring, as its flags say now."""
        entries = partition.entries
        if not entries or entries[0].parked is not partition.deliverable:
            return
        for entry in entries:
            entry.parked = not entry.parked
            if entry.parked:
                before = entry.node.waiting
                entry.node.waiting = before - entry.size
                if entry.node.waiting <= self._low_bytes < before:
                    self._drained(entry.node)
            else:
                entry.node.waiting += entry.size
        if partition.deliverable:
            del self._parked[partition]
            self._ring[partition] = None
        else:
            del self._ring[partition]
            self._parked[partition] = None

    # -- room --------------------------------------------------------------------------------------

    def evict(self) -> Partition | None:
        """Drop what the partition parked longest holds; None if nothing is parked.

        Only for when the bound is reached and nothing else can be handed over: what the
        application will not take now must not keep it from what it would take.
        """
        for partition in self._parked:
            self.drop(partition)
            return partition
        return None
