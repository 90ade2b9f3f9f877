"""SIGALRM for a test's own purposes: its clock is also the one that ends a test that hangs."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def alarm(handler: Callable[..., object], after_s: float = 0) -> Iterator[None]:
    """Who calls `handler` when the alarm goes off, within `with`; behind it pytest-timeout's own
    clock goes on from where it was. after_s: when it does; 0: somebody else will set it.
    """
    before = signal.signal(signal.SIGALRM, handler)
    left_s, _ = signal.setitimer(signal.ITIMER_REAL, after_s)
    ends = time.monotonic() + left_s
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if left_s:
            signal.setitimer(signal.ITIMER_REAL, max(0.001, ends - time.monotonic()))
