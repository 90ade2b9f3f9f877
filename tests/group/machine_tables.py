"""What is tried of every state table, cell by cell and as a whole."""

from __future__ import annotations

from enum import Enum
from typing import Any

import pytest

from kcore.errors import IllegalStateError
from kcore.group.machine import Machine


def move(table: dict[Any, Any], state: Enum, what: Enum) -> Enum | None:
    """Where an input leads; None: it is refused, and nothing has changed."""
    machine: Machine[Any, Any] = Machine(table, state)
    if what not in table[state]:
        with pytest.raises(IllegalStateError, match=f"{what.name} .* {state.name}"):
            machine.move(what)
        assert machine.state is state
        return None
    assert machine.move(what) is state
    return machine.state


def reached(table: dict[Any, Any], start: Enum) -> set[Enum]:
    """The states that inputs lead to from here."""
    seen, todo = {start}, [start]
    while todo:
        for following in table[todo.pop()].values():
            if following not in seen:
                seen.add(following)
                todo.append(following)
    return seen
