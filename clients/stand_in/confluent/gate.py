"""Lets threads in one by one where confluent-kafka lets in all at once: who waits for records lets
go when somebody else has come, and goes on waiting behind.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import RLock
from typing import Final

_NAP_S: Final = 0.000_2
_NAPS: Final = 50


class Gate:
    """A lock for the calls of one client. nudge: ends the wait of whoever is inside."""

    def __init__(self, nudge: Callable[[], object]) -> None:
        self._lock = RLock()
        self._nudge = nudge
        self._outside: list[None] = []

    def __enter__(self) -> None:
        if self._lock.acquire(blocking=False):
            return
        self._outside.append(None)
        try:
            self._nudge()
            self._lock.acquire()
        finally:
            self._outside.pop()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def give_way(self) -> None:
        """Outside: let those in who are waiting, a moment at most: locks here are not fair."""
        for _ in range(_NAPS):
            if not self._outside:
                return
            time.sleep(_NAP_S)
