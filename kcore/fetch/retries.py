"""When to look at something again: many keys, one due time, cheap while nothing is due."""

from __future__ import annotations

from collections.abc import Hashable

from kcore.hints import Generic, TypeVar
from kcore.timers import NEVER

K = TypeVar("K", bound=Hashable)


class Retries(Generic[K]):
    """Key -> time (ms). Unlike `Timers` it holds hundreds of keys, and is asked every input.

    `due` is the earliest time, or an earlier one that once was: looking then finds nothing and
    learns the right one. So setting and cancelling cost the same however many keys there are.
    """

    __slots__ = ("_at", "due")

    def __init__(self) -> None:
        self._at: dict[K, int] = {}
        self.due = NEVER

    def set(self, key: K, at_ms: int) -> None:
        """Look at `key` at `at_ms`, instead of whenever it was to be looked at."""
        self._at[key] = at_ms
        self.due = min(self.due, at_ms)

    def cancel(self, key: K) -> None:
        """Do not look at `key`."""
        if self._at.pop(key, None) is not None and not self._at:
            self.due = NEVER

    def pop_due(self, now_ms: int) -> list[K]:
        """Take out every key whose time has come, in the order they were set."""
        if now_ms < self.due:
            return []
        found = [key for key, at in self._at.items() if at <= now_ms]
        for key in found:
            del self._at[key]
        self.due = min(self._at.values(), default=NEVER)
        return found
