"""Which of a node's partitions to ask for, where many of them hold more than one answer brings.

A broker looks through every partition that it is asked for, also those for which an answer has no
room left: with hundreds of them that takes about as long as sending 4 MiB of records. So while more
are known to be behind than an answer has room for, only as many of them are asked for as will fill
it, those first that were served longest ago, as the broker does by itself. The others leave the
fetch session (KIP-227) and come back to it; every few seconds all are asked for, because how far
behind they are is told with the answers. A request that leaves some out is not parked at the
broker, which may be wrong about what there is. Partitions that are not known to be behind are
always asked for: new records of theirs are there at once, whatever the others have to catch up
with.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from itertools import islice

from kcore.hints import Final
from kcore.limits import MAX_INT32
from kcore.structs import TopicPartition

# So few cost a broker nothing to look through, however little of them an answer has room for.
_LEAST: Final = 4

# A partition's end (its lag, and when that was told) is not known for longer than this, unless so
# many answers take longer: over a slow link asking for all costs more than it tells.
_WIDE_MS: Final = 5_000
_WIDE_TURNS: Final = 10

# What "behind" was concluded from: the next offset to ask for, and the end that was told.
Mark = tuple[int, int]


class Window:
    """narrow: whether the request under way, or the last one, leaves any out."""

    __slots__ = ("_behind", "_dry", "_inside", "_size", "_turns", "_wide_at", "narrow")

    def __init__(self) -> None:
        self.narrow = False
        self._behind: OrderedDict[TopicPartition, Mark] = OrderedDict()  # longest unserved first
        # Of those, while narrow, who is asked for, and how often in vain.
        self._inside: dict[TopicPartition, int] = {}
        self._dry: dict[TopicPartition, Mark] = {}  # behind, and yet nothing comes
        self._size = MAX_INT32  # how many fill an answer; as good as all until one was full
        self._wide_at = 0  # when all were asked for
        self._turns = 0  # since then

    def __contains__(self, tp: TopicPartition) -> bool:
        """Whether it is asked for (if it is wanted at all)."""
        return not self.narrow or tp in self._inside or tp not in self._behind

    def put(self, tp: TopicPartition, offset: int, end: int) -> None:
        """What is known of a partition now; one that was behind before keeps its place."""
        mark = (offset, end)
        if offset >= end or self._dry.get(tp) == mark:
            self._leave(tp)
        else:
            self._behind[tp] = mark
            self._dry.pop(tp, None)

    def drop(self, tp: TopicPartition) -> None:
        """It is not wanted."""
        self._leave(tp)
        self._dry.pop(tp, None)

    def _leave(self, tp: TopicPartition) -> None:
        if self._behind.pop(tp, None) is not None:
            self._inside.pop(tp, None)

    def turn(self, now_ms: int) -> Iterable[TopicPartition]:
        """Choose for the next request; returns those that may be in another place than before."""
        behind, before = self._behind, self._inside
        tired = now_ms - self._wide_at >= _WIDE_MS and self._turns >= _WIDE_TURNS
        if tired or len(behind) <= self._size:
            self._wide_at = now_ms
            self._turns = 0
            if not self.narrow:
                return ()
            self.narrow = False
            self._inside = {}
            return behind
        self._turns += 1
        self._inside = {tp: before.get(tp, 0) for tp in islice(behind, self._size)}
        if self.narrow:
            gone = [tp for tp in before if tp not in self._inside]
            return gone + [tp for tp in self._inside if tp not in before]
        self.narrow = True
        return behind

    def answered(
        self, sizes: Mapping[TopicPartition, int], asked_bytes: int, *, full: bool
    ) -> None:
        """An answer came, with so many bytes of records each; full: some may have had no room."""
        inside, behind = self._inside, self._behind
        served = [tp for tp in sizes if tp in inside or not self.narrow]
        size = sum(sizes[tp] for tp in served)
        if size:
            self._size = max(len(served) * asked_bytes // size + 1, _LEAST)
        elif self.narrow and not full:
            self._size *= 2
        # An answer has room for one at least. Who came away with nothing as often as there are
        # others, or where there was room, has no batch there (compaction), or a wrong end was
        # told: it is asked for like those that are not behind, until something changes.
        patience = 0 if not full else len(inside)
        for tp in [one for one in inside if one not in sizes]:
            inside[tp] += 1
            if inside[tp] > patience:
                self._dry[tp] = behind[tp]
                self._leave(tp)
        for tp in served:
            if tp in behind:
                behind.move_to_end(tp)
