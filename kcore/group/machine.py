"""A state and its table: the one place that writes a state."""

from __future__ import annotations

from enum import Enum

from kcore.errors import IllegalStateError
from kcore.hints import Generic, TypeVar

S = TypeVar("S", bound=Enum)
I = TypeVar("I", bound=Enum)  # noqa: E741


class Machine(Generic[S, I]):
    """Holds `state`; only `move` changes it, and only as the table says."""

    __slots__ = ("_table", "state")

    def __init__(self, table: dict[S, dict[I, S]], state: S) -> None:
        self._table = table
        self.state = state

    def move(self, what: I) -> S:
        """Take an input; answers the state left. IllegalStateError if the table has no such
        cell.
        """
        before = self.state
        to = self._table[before].get(what)
        if to is None:
            raise IllegalStateError(f"{what.name} cannot happen in {before.name}")
        self.state = to
        return before
