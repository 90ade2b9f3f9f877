"""The orders that Java's collections have: where a rule of Kafka's says "whoever comes first", its
hash maps and priority queues say who that is. With them the same members get the same tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, Generic, TypeVar

T = TypeVar("T")

_CAPACITY: Final = 16
_UINT32: Final = 0xFFFFFFFF
_UINT64: Final = 0xFFFFFFFFFFFFFFFF
_STIRRER: Final = -7_046_029_254_386_353_131  # Java: BaseHashTable.findSlot


def hash_ordered(
    names: Iterable[str], capacity: int = _CAPACITY, *, computed: bool = False
) -> list[str]:
    """Different names as a HashMap goes over them: by bucket, in a bucket as they were put in.

    capacity: what the map was made for; it doubles when it is more than three quarters full.
    computed: they were put in by computeIfAbsent, which puts them before those of their bucket, and
    looks how full the map is before that.
    """
    ordered = list(names)
    count = len(ordered)
    if computed:
        ordered.reverse()
        count -= 1
    size = 1
    while size < capacity:
        size *= 2
    while count > size * 3 // 4:
        size *= 2
    return sorted(ordered, key=lambda name: _spread(name) & (size - 1))


def timeline_ordered(names: Iterable[str], most: int) -> list[str]:
    """Different names as a TimelineHashMap goes over them: by slot, in a slot as they were put in.

    most: how many there have been at a time; it doubles when it is more than full by a third, and
    is never made smaller.
    """
    bits = 1
    while most * 3 > 4 << bits:
        bits += 1
    return sorted(names, key=lambda name: (_signed_hash(name) * _STIRRER & _UINT64) >> (64 - bits))


def _hash(name: str) -> int:
    """Java's String.hashCode, without its sign."""
    value = 0
    units = name.encode("utf-16-be", "surrogatepass")
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = (31 * value + (high << 8 | low)) & _UINT32
    return value


def _signed_hash(name: str) -> int:
    value = _hash(name)
    return value - (value >> 31 << 32)


def _spread(name: str) -> int:
    value = _hash(name)
    return value ^ (value >> 16)


class PriorityQueue(Generic[T]):
    """A binary heap that breaks ties as java.util.PriorityQueue does (heapq does otherwise)."""

    def __init__(self, items: Iterable[T], key: Callable[[T], float]) -> None:
        self._key = key
        self._heap: list[T] = []
        for item in items:
            self.add(item)

    def __bool__(self) -> bool:
        return bool(self._heap)

    def add(self, item: T) -> None:
        """Put one in."""
        heap, key = self._heap, self._key
        heap.append(item)
        at, value = len(heap) - 1, key(item)
        while at:
            parent = (at - 1) // 2
            if value >= key(heap[parent]):
                break
            heap[at] = heap[parent]
            at = parent
        heap[at] = item

    def poll(self) -> T:
        """Take the least one out. IndexError if there is none."""
        heap, key = self._heap, self._key
        last = heap.pop()
        if not heap:
            return last
        least = heap[0]
        at, value = 0, key(last)
        while (child := 2 * at + 1) < len(heap):
            if child + 1 < len(heap) and key(heap[child]) > key(heap[child + 1]):
                child += 1
            if value <= key(heap[child]):
                break
            heap[at] = heap[child]
            at = child
        heap[at] = last
        return least
