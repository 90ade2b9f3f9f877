"""Futures that know whether somebody waits for them: such a record lingers no longer."""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import lru_cache
from typing import Any


@lru_cache(maxsize=8)
def awaited(kind: type[Any]) -> type[Any]:
    """Futures of this kind that say `hurry()` to `followers` when somebody begins to wait."""

    class RecordFuture(kind):  # type: ignore[misc]  # whatever the loop makes
        """The future of a record. Callbacks hurry nobody: many records are sent with one."""

        __slots__ = ("followers",)

        def __await__(self) -> Generator[Any, Any, Any]:
            if not self.done():
                self.followers.hurry()
            return super().__await__()  # type: ignore[no-any-return]

        def add_done_callback(self, call: Callable[..., object], **context: Any) -> None:
            if _waits(call) and not self.done():
                self.followers.hurry()
            super().add_done_callback(call, **context)

    return RecordFuture


def _waits(call: Any) -> bool:
    """Whether it is by asyncio's own `gather`, `wait`, `wait_for` or `shield`."""
    function = getattr(call, "func", call)  # it may be a partial
    return getattr(function, "__module__", None) == "asyncio.tasks"
