"""Keyed deadlines: setting a key again moves it, so no timer is ever counted twice. Times are
integer ms.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from kcore.hints import Final, Generic, TypeVar
from kcore.limits import MOMENT_MS

NEVER: Final = (1 << 63) - 1

K = TypeVar("K", bound=Hashable)


class Timers(Generic[K]):
    """A table of key -> deadline. Tables here hold a handful of keys, so a scan beats a heap's
    bookkeeping.
    """

    __slots__ = ("_at",)

    def __init__(self) -> None:
        self._at: dict[K, int] = {}

    def set(self, key: K, at_ms: int) -> None:
        """Arm `key`, or move it if it is armed."""
        self._at[key] = at_ms

    def cancel(self, key: K) -> None:
        """Disarm `key`; harmless if it is not armed."""
        self._at.pop(key, None)

    def clear(self) -> None:
        """Disarm everything."""
        self._at.clear()

    def at(self, key: K) -> int:
        """When `key` fires; NEVER if it is not armed."""
        return self._at.get(key, NEVER)

    def earliest(self, keys: Iterable[K]) -> int:
        """When the first of these fires; NEVER if none of them is armed."""
        at = self._at
        return min([at.get(key, NEVER) for key in keys], default=NEVER)

    def armed(self, key: K) -> bool:
        """Whether `key` is armed."""
        return key in self._at

    def due(self, now_ms: int) -> list[K]:
        """The keys whose time has come; they stay armed."""
        return [key for key, at in self._at.items() if at <= now_ms]

    def deadline(self) -> int:
        """The earliest deadline; NEVER if nothing is armed."""
        return min(self._at.values(), default=NEVER)

    def pop_due(self, now_ms: int) -> K | None:
        """Disarm and give the earliest key whose time has come, else None. Ties: the one armed
        first.
        """
        due: K | None = None
        best = now_ms + 1
        for key, at in self._at.items():
            if at < best:
                due, best = key, at
        if due is not None:
            del self._at[due]
        return due


class Bounded:
    """What is given up at `deadline_ms`."""

    __slots__ = ("_granted", "deadline_ms")

    def __init__(self, deadline_ms: int) -> None:
        self.deadline_ms = deadline_ms
        self._granted = False

    def expired(self, now_ms: int, *, away: bool) -> bool:
        """Whether it is to be given up. away: the program was, as the time ended: a moment is left,
        once, to what was asked right before and to what is asked next.
        """
        if now_ms < self.deadline_ms:
            return False
        if away and not self._granted:
            self._granted = True
            self.deadline_ms = now_ms + MOMENT_MS
            return False
        return True
