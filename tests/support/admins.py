"""One face over `Admin` and `AsyncAdmin`, so that what holds for the one is asked of the other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import kcore


class LoopedAdmin:
    """An AsyncAdmin whose methods wait: each call runs the loop until it ends."""

    def __init__(self, **options: Any) -> None:
        self.loop = asyncio.new_event_loop()
        self.admin = kcore.AsyncAdmin(**options)
        try:
            self.loop.run_until_complete(self.admin.start())
        except BaseException:
            self.close()
            raise

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self.admin, name)

        def call(*args: Any, **options: Any) -> Any:
            return self.loop.run_until_complete(method(*args, **options))

        return call

    def close(self) -> None:
        if not self.loop.is_closed():
            self.loop.run_until_complete(self.admin.close())
            self.loop.close()


ADMINS: dict[str, Callable[..., Any]] = {"blocking": kcore.Admin, "asyncio": LoopedAdmin}
