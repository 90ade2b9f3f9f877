"""Appends on their way to one partition's journal, and what waits for them.

Appends are answered in their order, so what has to come after the writes before it (a delete, a
fetch that must see what is stable) just waits in the same line. An entry takes effect when it has
been appended, never before: a failed append leaves nothing to take back here.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from kcore.coordinator.journal import Append, Item
from kcore.errors import IllegalStateError
from kcore.wire.codes import ErrorCode

# Called when an append is through, with how it went (NONE: replayed) and the time.
Done = Callable[[ErrorCode, int], None]


class Replay(Protocol):
    """Lets entries take effect; `position` counts the entries of the journal."""

    def __call__(self, item: Item, position: int, now_ms: int) -> None: ...


class _Waiting:
    __slots__ = ("done", "items", "number")

    def __init__(self, number: int | None, items: tuple[Item, ...], done: Done) -> None:
        self.number = number  # None: not an append, only its turn is awaited
        self.items = items
        self.done = done


class Appends:
    """One partition's appends. `immediate`: each is taken as appended the moment it is given out,
    for an owner whose journal cannot fail.
    """

    __slots__ = (
        "_first",
        "_immediate",
        "_line",
        "_numbers",
        "_out",
        "_replay",
        "partition",
        "position",
    )

    def __init__(
        self,
        partition: int,
        replay: Replay,
        out: deque[Append],
        numbers: Iterator[int],
        *,
        immediate: bool,
    ) -> None:
        self.partition = partition
        self.position = 0
        self._replay = replay
        self._out = out
        self._immediate = immediate
        self._line: deque[_Waiting] = deque()
        self._numbers = numbers
        self._first = next(numbers)  # lower ones are from before this node had the partition

    def append(self, items: Iterable[Item], done: Done, now_ms: int) -> None:
        """Give entries out to be appended; `done` is called once."""
        number = next(self._numbers)
        append = Append(self.partition, number, tuple(items))
        self._out.append(append)
        self._line.append(_Waiting(number, append.entries, done))
        if self._immediate:
            self.handle_appended(number, ErrorCode.NONE, now_ms)

    def after(self, done: Done, now_ms: int) -> None:
        """Call `done` when every append before this is through; at once if there is none."""
        self._line.append(_Waiting(None, (), done))
        self._settle(now_ms)

    def handle_appended(self, number: int, error: ErrorCode, now_ms: int) -> None:
        """The oldest append is through; IllegalStateError if that is not this one."""
        if number < self._first:
            return
        first = self._line[0] if self._line else None
        if first is None or first.number != number:
            raise IllegalStateError(
                f"append {number} of partition {self.partition} is not the one whose turn it is"
            )
        self._line.popleft()
        if not error:
            self.load(first.items, now_ms)
        first.done(error, now_ms)
        self._settle(now_ms)

    def load(self, items: Iterable[Item], now_ms: int) -> None:
        """Entries that are in the journal take effect."""
        for item in items:
            self.position += 1
            self._replay(item, self.position, now_ms)

    def abandon(self, error: ErrorCode, now_ms: int) -> None:
        """The partition is led elsewhere: whatever waits is told so."""
        line, self._line = self._line, deque()
        for waiting in line:
            waiting.done(error, now_ms)

    @property
    def idle(self) -> bool:
        """Whether nothing is on its way."""
        return not self._line

    def _settle(self, now_ms: int) -> None:
        while self._line and self._line[0].number is None:
            self._line.popleft().done(ErrorCode.NONE, now_ms)


_APPEND_ERRORS = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.INVALID_FETCH_SIZE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.NETWORK_EXCEPTION: ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
}


def answered(error: ErrorCode) -> ErrorCode:
    """What a member is told of a failed append (Kafka: CoordinatorOperationExceptionHelper)."""
    return _APPEND_ERRORS.get(error, error)
