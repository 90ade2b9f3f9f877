"""Which of a node's partitions to ask for, where many of them hold more than one answer brings.

A broker looks through every partition that it is asked for, also those for which an answer has no
room left: with hundreds of them that takes longer than sending 4 MiB of records. So while more are
known to be behind than an answer has room for, only as many of them are asked for as will fill it,
those first that were served longest ago, as the broker does by itself. The others leave the fetch
session (KIP-227) and come back to it; every few seconds all are asked for, because how far behind
they are is told with the answers. Partitions that are not known to be behind are always asked
for: new records of theirs are there at once, whatever the others have to catch up with.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Final

from kcore.limits import MAX_INT32
from kcore.structs import TopicPartition

# So few cost a broker nothing to look through, however little of them an answer has room for.
_LEAST: Final = 4

# A partition's end (its lag, and when that was told) is never known for longer than this.
_WIDE_MS: Final = 5_000


class Window:
    """narrow: whether the next request leaves any out, as `turn` has decided."""

    __slots__ = ("_behind", "_inside", "_size", "_wide_at", "narrow")

    def __init__(self) -> None:
        self.narrow = False
        self._behind: OrderedDict[TopicPartition, None] = OrderedDict()  # longest unserved first
        self._inside: dict[TopicPartition, None] = {}  # of those, while narrow, who is asked for
        self._size = MAX_INT32  # how many fill an answer; as good as all until one was full
        self._wide_at = 0  # when all were asked for

    def __contains__(self, tp: TopicPartition) -> bool:
        """Whether it is asked for (if it is wanted at all)."""
        return not self.narrow or tp in self._inside or tp not in self._behind

    def put(self, tp: TopicPartition, *, behind: bool) -> None:
        """What is known of a partition now; one that was behind before keeps its place."""
        if behind:
            self._behind[tp] = None
        else:
            self.drop(tp)

    def drop(self, tp: TopicPartition) -> None:
        """It is not behind, or not wanted."""
        if self._behind.pop(tp, self) is None:
            self._inside.pop(tp, None)

    def turn(self, now_ms: int) -> Iterable[TopicPartition]:
        """Choose for the next request; returns those that may be in another place than before."""
        behind, before = self._behind, self._inside
        if len(behind) <= self._size or now_ms - self._wide_at >= _WIDE_MS:
            self._wide_at = now_ms
            if not self.narrow:
                return ()
            self.narrow = False
            self._inside = {}
            return behind
        self._inside = dict.fromkeys(islice(behind, self._size))
        if self.narrow:
            return before.keys() ^ self._inside.keys()
        self.narrow = True
        return behind

    def answered(
        self, sizes: Mapping[TopicPartition, int], asked_bytes: int, *, full: bool
    ) -> None:
        """An answer came, with so many bytes of records each; full: some may have had no room."""
        served = sizes.keys() & self._inside.keys() if self.narrow else sizes.keys()
        size = sum(sizes[tp] for tp in served)
        if size:
            self._size = max(len(served) * asked_bytes // size + 1, _LEAST)
        if self.narrow and not full:
            # There was room, and nothing came: whatever the broker said of them, ask as of others.
            for tp in self._inside.keys() - served:
                self.drop(tp)
        for tp in served:
            if tp in self._behind:
                self._behind.move_to_end(tp)
