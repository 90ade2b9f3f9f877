"""One face over `Admin` and `AsyncAdmin`, so that what holds for the one is asked of the other."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from functools import partial
from queue import Queue
from typing import Any

import kcore

PATIENCE_S = 30.0


def until(found: Callable[[], object], wanted: object) -> None:
    """Wait for what brokers write, or hear of, a little behind their answers."""
    end = time.monotonic() + PATIENCE_S
    while (last := found()) != wanted and time.monotonic() < end:
        time.sleep(0.05)
    assert last == wanted


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


class TrioAdmin:
    """The same under trio, which runs in a thread: a run cannot be left and gone on with."""

    def __init__(self, **options: Any) -> None:
        self.admin = kcore.AsyncAdmin(**options)
        begun: Queue[Any] = Queue()
        self._thread = threading.Thread(target=self._run, args=(begun,))
        self._thread.start()
        self._token, self._over = begun.get(timeout=PATIENCE_S)
        try:
            self._do(self.admin.start)
        except BaseException:
            self.close()
            raise

    def _run(self, begun: Queue[Any]) -> None:
        import trio  # noqa: PLC0415 - most tests have no use for it

        async def main() -> None:
            over = trio.Event()
            begun.put((trio.lowlevel.current_trio_token(), over))
            await over.wait()

        trio.run(main)

    def _do(self, method: Callable[..., Any], *args: Any, **options: Any) -> Any:
        import trio  # noqa: PLC0415 - most tests have no use for it

        return trio.from_thread.run(partial(method, *args, **options), trio_token=self._token)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return partial(self._do, getattr(self.admin, name))

    def close(self) -> None:
        if self._thread.is_alive():
            self._do(self.admin.close)
            self._token.run_sync_soon(self._over.set)
            self._thread.join()


ADMINS: dict[str, Callable[..., Any]] = {
    "blocking": kcore.Admin,
    "asyncio": LoopedAdmin,
    "trio": TrioAdmin,
}
