"""Calls that may wait long, each in a thread of its own, whatever drives the client: heartbeats go
on meanwhile, and the core gives up in time.

The thread that is waited for by nobody any more ends when its call does; there is a bound to how
many may be under way.
"""

from __future__ import annotations

from collections.abc import Callable

from kcore.actions import CallGssapi, FetchToken
from kcore.transports.background import native_lock, run_in_thread
from kcore.transports.sasl import Found, Take, failed


class Aside:
    """Those of one client. most: how many may be under way. whose: what they wait for. hint: what
    to look at where it gives no answer. under_way: how many are.
    """

    def __init__(self, most: int, whose: str, hint: str) -> None:
        self._most, self._whose, self._hint = most, whose, hint
        self._lock = native_lock()  # around what is told, and the end
        self._closed = False
        self.under_way = 0

    def ask(
        self,
        action: FetchToken | CallGssapi,
        work: Callable[[], Found],
        take: Take,
        wake: Callable[[], None],
    ) -> None:
        """Have `work` done, and tell what comes of it, or what it raises."""
        with self._lock:
            if self.under_way >= self._most:
                why = f"{self.under_way} calls of {self._whose} have not come back"
                take(failed(action, f"{why}: {self._hint}"))
                return
            self.under_way += 1

        def run() -> None:
            try:
                found = work()
            except BaseException as error:  # noqa: BLE001 - a CancelledError, say: it is told, too
                found = failed(action, f"{type(error).__name__}: {error}")
            with self._lock:
                self.under_way -= 1
                if not self._closed:
                    take(found)
                    wake()

        try:
            run_in_thread(run)
        except RuntimeError as error:
            with self._lock:
                self.under_way -= 1
            take(failed(action, f"there is no thread to ask {self._whose} in: {error}"))

    def close(self) -> None:
        """Nobody waits any more."""
        with self._lock:
            self._closed = True
