"""Breaking a wait from anywhere: an eventfd that any thread or signal handler may write to.

The kernel's counter is the only state, so no wake-up is lost and many count as one: it stays
readable from the first `wake` until `take`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress


class _EventFd:
    """Closed when nobody holds it."""

    __slots__ = ("number",)

    def __init__(self) -> None:
        self.number = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)

    def __del__(self, _close: Callable[[int], None] = os.close) -> None:
        number = getattr(self, "number", -1)  # none is to be had where descriptors have run out
        if number >= 0:
            _close(number)


class Waker:
    """`fd` is to be watched for reading."""

    __slots__ = ("_eventfd", "fd")

    def __init__(self) -> None:
        self._eventfd: _EventFd | None = _EventFd()
        self.fd = self._eventfd.number

    def wake(self) -> None:
        """Make `fd` readable. From any thread, any signal handler; free of effect once closed."""
        # Held until it is written to: whoever closes this meanwhile, in another thread, would have
        # its number be another descriptor's, a socket's perhaps.
        held = self._eventfd
        if held is not None:
            with suppress(OSError):  # EAGAIN: woken 2**64 times already
                os.eventfd_write(held.number, 1)

    def take(self) -> bool:
        """Whether it was woken since the last time; resets it."""
        try:
            return os.eventfd_read(self.fd) > 0
        except BlockingIOError:
            return False

    def close(self) -> None:
        """Free the fd, as soon as nobody writes to it. Idempotent."""
        self.fd, self._eventfd = -1, None
