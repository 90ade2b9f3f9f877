"""Breaking a wait from anywhere: an eventfd that any thread or signal handler may write to; a pipe
where there is none (it is Linux's).

What the kernel keeps is the only state, so no wake-up is lost and many count as one: it stays
readable from the first `wake` until `take`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress

_ONE = (1).to_bytes(8, sys.byteorder)  # what is added to an eventfd; a pipe takes anything
_READ_BYTES = 4_096


class _Held:
    """Closed when nobody holds it. number: what is watched and read; end: what is written to."""

    __slots__ = ("end", "number")

    def __init__(self) -> None:
        if hasattr(os, "eventfd"):
            self.number = self.end = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
            return
        self.number, self.end = os.pipe()
        os.set_blocking(self.number, False)
        os.set_blocking(self.end, False)

    def __del__(self, _close: Callable[[int], None] = os.close) -> None:
        # There are none where descriptors have run out.
        for number in {getattr(self, "number", -1), getattr(self, "end", -1)} - {-1}:
            _close(number)


class Waker:
    """`fd` is to be watched for reading."""

    __slots__ = ("_held", "fd")

    def __init__(self) -> None:
        self._held: _Held | None = _Held()
        self.fd = self._held.number

    def wake(self) -> None:
        """Make `fd` readable. From any thread, any signal handler; free of effect once closed."""
        # Held until it is written to: whoever closes this meanwhile, in another thread, would have
        # its number be another descriptor's, a socket's perhaps.
        held = self._held
        if held is not None:
            with suppress(OSError):  # EAGAIN: woken as often as can be counted
                os.write(held.end, _ONE)

    def take(self) -> bool:
        """Whether it was woken since the last time; resets it."""
        woken = False
        with suppress(BlockingIOError):
            while True:
                count = len(os.read(self.fd, _READ_BYTES))
                woken = True
                if count < _READ_BYTES:
                    break
        return woken

    def close(self) -> None:
        """Free the fd, as soon as nobody writes to it. Idempotent."""
        self.fd, self._held = -1, None
