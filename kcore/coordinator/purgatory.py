"""Operations that wait: for a condition, at most until a time. Each has a key and ends once.

Watching a key again replaces what waited under it. Time is a heap of deadlines; an operation whose
deadline moves further away (every heartbeat moves one) keeps its place until that comes up, and is
then put where it belongs, so that the move itself costs nothing.

Below are the four that a group has (Kafka: DelayedJoin, InitialDelayedJoin, DelayedSync,
DelayedHeartbeat). What they do when they end is decided by the rules of the group (`Outcomes`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Final, Protocol

from kcore.timers import NEVER

if TYPE_CHECKING:
    from kcore.coordinator.group import Group

Key = tuple[Hashable, ...]


class Delayed:
    """An operation that waits. It ends by `complete` or by `expire`, never by both."""

    __slots__ = ()

    def can_complete(self) -> bool:
        """Whether what it waits for has happened."""
        return False

    def complete(self, now_ms: int) -> None:
        """It has happened; the operation is not in the purgatory any more."""

    def expire(self, now_ms: int) -> None:
        """Time is up; the operation is not in the purgatory any more."""


class _Place:
    """An operation in the purgatory: when it is due, and where in the heap it is found."""

    __slots__ = ("at_ms", "key", "operation", "order", "queued")

    def __init__(self, key: Key, operation: Delayed) -> None:
        self.key = key
        self.operation = operation
        self.at_ms = self.order = 0
        self.queued: tuple[int, int] | None = None


class Purgatory:
    """Keyed operations with deadlines. They fire in the order of these, ties as they were set."""

    __slots__ = ("_heap", "_order", "_places")

    def __init__(self) -> None:
        self._places: dict[Key, _Place] = {}
        self._heap: list[tuple[int, int, _Place]] = []
        self._order = 0

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, key: Key) -> bool:
        return key in self._places

    def __iter__(self) -> Iterator[Key]:
        return iter(tuple(self._places))

    def watch(self, key: Key, operation: Delayed, at_ms: int) -> None:
        """Let `operation` wait until `at_ms`, in place of what waited under `key`."""
        place = self._places.get(key)
        if place is None:
            place = self._places[key] = _Place(key, operation)
        place.operation = operation
        self._order += 1
        place.at_ms, place.order = at_ms, self._order
        if place.queued is None or place.queued[0] > at_ms:
            self._queue(place)

    def cancel(self, key: Key) -> None:
        """Nothing waits under `key` any more; harmless if nothing did."""
        place = self._places.pop(key, None)
        if place is not None:
            place.queued = None
            if len(self._heap) > 64 and len(self._heap) > 4 * len(self._places):
                self._compact()

    def check(self, key: Key, now_ms: int) -> None:
        """Complete what waits under `key` if it can; harmless if nothing does."""
        place = self._places.get(key)
        if place is not None and place.operation.can_complete():
            self.cancel(key)
            place.operation.complete(now_ms)

    def at(self, key: Key) -> int:
        """When what waits under `key` is due; NEVER if nothing does."""
        place = self._places.get(key)
        return NEVER if place is None else place.at_ms

    def deadline(self) -> int:
        """The earliest time at which something is due; NEVER if nothing waits."""
        heap = self._heap
        while heap:
            at_ms, order, place = heap[0]
            if place.queued == (at_ms, order):
                if place.at_ms == at_ms and place.order == order:
                    return at_ms
                heappop(heap)
                self._queue(place)
            else:
                heappop(heap)
        return NEVER

    def expire(self, now_ms: int) -> None:
        """Fire all that is due, also what becomes due by that."""
        while self.deadline() <= now_ms:
            _, _, place = heappop(self._heap)
            place.queued = None
            del self._places[place.key]
            place.operation.expire(now_ms)

    def _queue(self, place: _Place) -> None:
        place.queued = (place.at_ms, place.order)
        heappush(self._heap, (place.at_ms, place.order, place))

    def _compact(self) -> None:
        """Drop what was cancelled, so that it does not outgrow what waits."""
        self._heap.clear()
        for place in self._places.values():
            self._queue(place)


# What a group waits for ---------------------------------------------------------------------------

_JOIN: Final = "join"
_SYNC: Final = "sync"
_HEARTBEAT: Final = "heartbeat"


def join_key(group: Group) -> Key:
    """The join phase of a group: at most one operation."""
    return (_JOIN, group.group_id)


def sync_key(group: Group) -> Key:
    """The members' SyncGroups of a generation: at most one operation."""
    return (_SYNC, group.group_id)


def heartbeat_key(group: Group, member_id: str) -> Key:
    """A member's session, or the life of an id that was handed out."""
    return (_HEARTBEAT, group.group_id, member_id)


class Outcomes(Protocol):
    """What follows when a wait ends."""

    def complete_join(self, group: Group, now_ms: int) -> None:
        """The join phase is over, with the members that have joined."""

    def extend_initial_delay(
        self, group: Group, delay_ms: int, remaining_ms: int, now_ms: int
    ) -> None:
        """More members came during the initial delay: wait on."""

    def expire_syncs(self, group: Group, generation: int, now_ms: int) -> None:
        """Who has not synced this generation by now will not."""

    def expire_session(self, group: Group, member_id: str, now_ms: int) -> None:
        """A member, or an id that was handed out, has been silent for too long."""


class DelayedJoin(Delayed):
    """Waits for every known member to join, at most for the largest rebalance timeout."""

    __slots__ = ("_group", "_outcomes")

    def __init__(self, group: Group, outcomes: Outcomes) -> None:
        self._group = group
        self._outcomes = outcomes

    def can_complete(self) -> bool:
        """Nobody is missing."""
        return self._group.all_joined()

    def complete(self, now_ms: int) -> None:
        """Everybody is here."""
        self._outcomes.complete_join(self._group, now_ms)

    def expire(self, now_ms: int) -> None:
        """Whoever is not here is not part of it."""
        self._outcomes.complete_join(self._group, now_ms)


class InitialDelayedJoin(Delayed):
    """An empty group's first members: waits its time, so that the rest of a deployment arrives.

    As long as new members come, it is extended by the delay, up to `remaining_ms` in all. It is
    never over early because all that are known have joined: all there is to know is not known yet.
    """

    __slots__ = ("_delay_ms", "_group", "_outcomes", "_remaining_ms")

    def __init__(self, group: Group, outcomes: Outcomes, delay_ms: int, remaining_ms: int) -> None:
        self._group = group
        self._outcomes = outcomes
        self._delay_ms = delay_ms
        self._remaining_ms = remaining_ms

    def expire(self, now_ms: int) -> None:
        """Another round of waiting if somebody new came, else it is complete."""
        if self._group.new_member_added and self._remaining_ms > 0:
            self._outcomes.extend_initial_delay(
                self._group, self._delay_ms, self._remaining_ms, now_ms
            )
        else:
            self._outcomes.complete_join(self._group, now_ms)


class DelayedSync(Delayed):
    """Waits for every member of a generation to ask for its assignment."""

    __slots__ = ("_generation", "_group", "_outcomes")

    def __init__(self, group: Group, outcomes: Outcomes) -> None:
        self._group = group
        self._generation = group.generation
        self._outcomes = outcomes

    def can_complete(self) -> bool:
        """Nobody is missing."""
        return not self._group.pending_sync

    def expire(self, now_ms: int) -> None:
        """Whoever is missing is out."""
        self._outcomes.expire_syncs(self._group, self._generation, now_ms)


class DelayedHeartbeat(Delayed):
    """A session: every sign of life moves its end."""

    __slots__ = ("_group", "_member_id", "_outcomes")

    def __init__(self, group: Group, member_id: str, outcomes: Outcomes) -> None:
        self._group = group
        self._member_id = member_id
        self._outcomes = outcomes

    def expire(self, now_ms: int) -> None:
        """No sign of life."""
        self._outcomes.expire_session(self._group, self._member_id, now_ms)
