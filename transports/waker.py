"""Breaking a wait from anywhere: an eventfd that any thread or signal handler may write to.

The kernel's counter is the only state, so no wake-up is lost and many count as one: it stays
readable from the first `wake` until `take`.
"""

from __future__ import annotations

import os
from contextlib import suppress


class Waker:
    """`fd` is to be watched for reading."""

    __slots__ = ("fd",)

    def __init__(self) -> None:
        self.fd = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)

    def wake(self) -> None:
        """Make `fd` readable. From any thread, any signal handler; free of effect once closed."""
        # EBADF, ValueError: closed, so no wait is left to break. EAGAIN: woken 2**64 times already.
        with suppress(OSError, ValueError):
            os.eventfd_write(self.fd, 1)

    def take(self) -> bool:
        """Whether it was woken since the last time; resets it."""
        try:
            return os.eventfd_read(self.fd) > 0
        except BlockingIOError:
            return False

    def close(self) -> None:
        """Free the fd. Idempotent."""
        fd, self.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)
