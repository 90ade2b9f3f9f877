"""How bugs are planted that do not show each time, and which of a table are in `make test`."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from typing import Any

import pytest


def every(
    count: int, patch: pytest.MonkeyPatch, owner: type, name: str, instead: Callable[..., Any]
) -> None:
    """Plant: each so many calls of a method are another one's. instead(original, self, ...)."""
    original = getattr(owner, name)
    calls = 0

    def call(self: Any, *arguments: Any, **more: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls % count:
            return original(self, *arguments, **more)
        return instead(original, self, *arguments, **more)

    patch.setattr(owner, name, call)


def planted(rows: Iterable[tuple[Any, ...]], quick: Container[Any]) -> list[Any]:
    """Parameters of a test; a row begins with its bug, a function. Those not quick are slow."""
    return [
        pytest.param(*row, id=row[0].__name__, marks=() if row[0] in quick else pytest.mark.slow)
        for row in rows
    ]
