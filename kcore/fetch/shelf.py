"""What was fetched and not yet handed over, bounded in bytes; whose turn it is to be handed over.

Each partition keeps its entries in order; partitions that may be handed over stand in a ring, and a
partition goes to the back when an entry is through, so a busy one never keeps the others out. The
ones that may not (paused, about to be given up) keep what they hold, outside of the ring.

Memory is counted by answers: record bytes are views into the frame they came in, so a frame is
there until the last of its partitions is through. `held_bytes` counts whole frames; `Node.waiting`
counts what can still be handed over, which says when to ask for more. When only parked entries
are left of a frame, and they are its smaller part, they get a copy of their own.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Container, Iterable

from kcore.errors import KafkaError
from kcore.fetch.config import ENTRY_OVERHEAD_BYTES
from kcore.fetch.partition import Partition
from kcore.hints import TYPE_CHECKING
from kcore.structs import TopicPartition

if TYPE_CHECKING:
    from kcore.fetch.planner import NodePlan
    from kcore.fetch.reading import Opener, Slice
    from kcore.records import RecordReader


class Frame:
    """One answer's memory: its size, who looks into it, and how many of those are not parked."""

    __slots__ = ("entries", "live", "size")

    def __init__(self, size: int) -> None:
        self.size = size
        self.entries: set[Entry] = set()
        self.live = 0


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
        "slice",
        "standing",
    )

    def __init__(self, node: NodePlan, frame: Frame, offset: int) -> None:
        self.node = node
        self.frame = frame
        self.offset = self.end_offset = offset
        self.reader: RecordReader | None = None
        self.slice: Slice | None = None
        self.error: KafkaError | None = None
        self.standing = False
        self.size = 0
        self.parked = False

    def with_records(self, reader: RecordReader, found: Slice) -> Entry:
        """The entry, of records."""
        self.reader = reader
        self.slice = found
        self.end_offset = reader.end_offset
        self.size = reader.size_bytes
        return self

    def with_error(self, error: KafkaError, *, standing: bool = False) -> Entry:
        """The entry, of an error."""
        self.error = error
        self.standing = standing
        return self


def _no_one() -> None:
    """Before anybody is told."""


class Shelf:
    """See the module's text.

    drained: called with a node when what waits of it fell to `low_bytes` or below. freed: called
    when memory was given back, or can be. turned: called when it may be another's turn, or what the
    first one holds is not what it held. consumed: called with an entry when no more of its reader
    will be handed over; None: nobody measures.
    """

    def __init__(
        self,
        low_bytes: int,
        opener: Opener,
        drained: Callable[[NodePlan], None],
        freed: Callable[[], None],
    ) -> None:
        self.held_bytes = 0
        self._open = opener
        self._low_bytes = low_bytes
        self._drained = drained
        self._freed = freed
        self.turned: Callable[[], None] = _no_one
        self.consumed: Callable[[Entry], None] | None = None
        self.ring: OrderedDict[Partition, None] = OrderedDict()  # in order of turns
        self._parked: OrderedDict[Partition, None] = OrderedDict()
        self._turns = 0

    def __bool__(self) -> bool:
        """Whether something can be handed over (or raised) now."""
        return bool(self.ring)

    def head(self, only: Container[TopicPartition] | None = None) -> Partition | None:
        """Whose turn it is (of these)."""
        for partition in self.ring:
            if only is None or partition.tp in only:
                return partition
        return None

    # -- in ----------------------------------------------------------------------------------------

    def add(self, partition: Partition, entry: Entry) -> None:
        """Put an entry behind the partition's others."""
        self._attach(entry, entry.frame)
        partition.entries.append(entry)
        partition.next_offset = entry.end_offset
        if partition.deliverable:
            entry.frame.live += 1
            entry.node.waiting += entry.size
            self.ring[partition] = None
        else:
            entry.parked = True
            self._parked[partition] = None

    def _attach(self, entry: Entry, frame: Frame) -> None:
        if not frame.entries:
            self.held_bytes += frame.size
        frame.entries.add(entry)
        frame.size += ENTRY_OVERHEAD_BYTES
        self.held_bytes += ENTRY_OVERHEAD_BYTES

    def _detach(self, entry: Entry) -> None:
        frame = entry.frame
        frame.entries.discard(entry)
        if not frame.entries:
            self.held_bytes -= frame.size
            self._freed()

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
        self._had_its_turn(partition)
        self._release(partition.entries.popleft())
        if partition.entries:
            self.ring.move_to_end(partition)
        else:
            del self.ring[partition]

    def begin_at(self, partition: Partition, offset: int) -> None:
        """Have the first entry handed over (anew) from `offset` on."""
        self.turned()
        entry = partition.entries[0]
        assert entry.slice is not None  # or nothing could have been read of it
        if self.consumed is not None:
            self.consumed(entry)
        try:
            entry.reader = self._open(entry.slice, offset)
        except KafkaError:
            self.drop(partition)  # what follows cannot be read: whoever asks for it hears of that
            return
        self.took(entry, entry.reader.size_bytes)

    def refuse(self, partition: Partition) -> None:
        """A deserializer does not take its next record: what it holds waits for nobody's turn."""
        partition.refused = True
        for entry in partition.entries:
            self.took(entry, 0)

    def accept(self, partition: Partition) -> None:
        """It has taken one."""
        partition.refused = False
        for entry in partition.entries:
            self.took(entry, 0 if entry.reader is None else entry.reader.size_bytes)

    def pass_turn(self, partition: Partition) -> None:
        """The next partition's turn, though this one's entry is not through."""
        self._had_its_turn(partition)
        self.ring.move_to_end(partition)

    def _had_its_turn(self, partition: Partition) -> None:
        self.turned()
        self._turns += 1
        partition.turn = self._turns

    def drop(self, partition: Partition) -> None:
        """Throw away what a partition holds."""
        self.turned()
        while partition.entries:
            self._release(partition.entries.pop())
        partition.next_offset = partition.offset
        partition.refused = False
        self.ring.pop(partition, None)
        self._parked.pop(partition, None)

    def replace(self, partition: Partition, error: KafkaError) -> None:
        """Hold nothing but this error of a partition, until the application seeks."""
        node = partition.entries[0].node
        self.drop(partition)
        entry = Entry(node, Frame(0), partition.offset)
        self.add(partition, entry.with_error(error, standing=True))

    def clear(self, partitions: Iterable[Partition]) -> None:
        """Throw away what all hold, whatever the books say; these are all there are."""
        self.turned()
        self.ring.clear()
        self._parked.clear()
        self.held_bytes = 0
        for partition in partitions:
            partition.entries.clear()
            partition.next_offset = partition.offset
            partition.refused = False

    def _release(self, entry: Entry) -> None:
        if self.consumed is not None:
            self.consumed(entry)
        if not entry.parked:
            self._lower(entry)
        self._detach(entry)
        self._thin(entry.frame)

    def _lower(self, entry: Entry) -> None:
        """Count an entry no longer among what can be handed over."""
        entry.frame.live -= 1
        node = entry.node
        before = node.waiting
        node.waiting = before - entry.size
        if node.waiting <= self._low_bytes < before:
            self._drained(node)

    # -- turns -------------------------------------------------------------------------------------

    def sort(self, partition: Partition) -> None:
        """Put a partition that holds something in or out of the ring, as its flags say now."""
        entries = partition.entries
        if not entries or entries[0].parked is not partition.deliverable:
            return
        if partition.deliverable:
            for entry in entries:
                entry.parked = False
                entry.frame.live += 1
                entry.node.waiting += entry.size
            del self._parked[partition]
            self.ring[partition] = None
            return
        for entry in entries:
            self._lower(entry)
            entry.parked = True
        del self.ring[partition]
        self._parked[partition] = None
        for entry in entries:
            self._thin(entry.frame)
        if not self.ring:
            self._freed()  # nothing will be by handing over: who waits for memory may `evict`

    def _thin(self, frame: Frame) -> None:
        """Of a frame that only parked entries hold, keep no more than they need."""
        if frame.live or not frame.entries:
            return
        needed = sum(entry.slice.size for entry in frame.entries if entry.slice is not None)
        if 2 * needed > frame.size:
            return
        for entry in list(frame.entries):
            if entry.slice is not None and entry.reader is not None:
                own = entry.slice.copy()
                try:
                    entry.reader = self._open(own, entry.reader.next_offset)
                except KafkaError:
                    continue  # what follows cannot be read: the old reader says so in its turn
                entry.slice = own
            self._detach(entry)
            entry.frame = Frame(0 if entry.slice is None else entry.slice.size)
            self._attach(entry, entry.frame)

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
