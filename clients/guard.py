"""Who may touch the core now: one thread (or greenlet) of the user's, else the keeper.

The lock is re-entrant, because listeners call back into the consumer. The keeper holds it for a
moment at a time, so waiting for it is short; another of the user's threads may hold it for a whole
blocking call, so meeting that one is an error and not a wait (Java does the same).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from kcore.errors import ConcurrentUseError, ConsumerStoppedError, ForkedError
from kcore.transports.background import make_lock

# How often a thread that waits for the keeper looks whether it is the keeper it waits for.
_LOOK_S = 0.05

CLOSED = "the consumer is closed"
FORKED = (
    "the consumer was made before a fork: its connections belong to the parent process; "
    "make another one in the child"
)


class Guard:
    """`with guard:` around every call of the user's; `visit` and `leave_visit` by the keeper.

    barred: closed, or left behind by a fork. acquire, release: the lock's own, for a part of a call
    that is over at once and runs nothing of the user's; what stands in its way is for `with guard`
    to say.
    """

    def __init__(self, lock: Any) -> None:
        self._hold(lock)
        self._depth = 0  # of the user's calls inside each other
        self._closed = False
        self._forked = False
        self.barred = False  # one flag on the fast path for both of them

    def _hold(self, lock: Any) -> None:
        self._lock = lock
        self.acquire: Callable[[bool], bool] = lock.acquire
        self.release: Callable[[], None] = lock.release

    @classmethod
    def for_transport(cls, name: str) -> Guard:
        """One that tells apart what the transport runs in: threads, or greenlets."""
        return cls(make_lock(name))

    @property
    def closed(self) -> bool:
        """Whether `bar` was called."""
        return self._closed

    @property
    def usable(self) -> bool:
        """Neither closed nor left behind by a fork."""
        return not self.barred

    def enter(self) -> None:
        """Begin a call of the user's.

        ConsumerStoppedError after `bar`, ForkedError in a forked child, ConcurrentUseError while
        another thread is inside a call.
        """
        if self.barred:
            self.refuse()
        if not self._lock.acquire(False):
            self._wait_for_keeper()
        self._depth += 1

    def enter_unbarred(self) -> None:
        """`enter` for the one call that is allowed on a closed consumer: close itself."""
        if not self._lock.acquire(False):
            self._wait_for_keeper()
        self._depth += 1

    def leave(self) -> None:
        """End the call."""
        self._depth -= 1
        self._lock.release()

    __enter__ = enter

    def __exit__(self, *_: object) -> None:
        self._depth -= 1  # `leave`, without the price of another call
        self._lock.release()

    def visit(self) -> bool:
        """The keeper's way in: False, at once, if anybody is inside."""
        if self.barred or not self._lock.acquire(False):
            return False
        if self._depth or self.barred:  # a call of this very thread, made from within the visit
            self._lock.release()
            return False
        return True

    def leave_visit(self) -> None:
        """The keeper's way out."""
        self._lock.release()

    def bar(self) -> None:
        """Refuse every later call."""
        self._closed = self.barred = True

    def forked(self) -> None:
        """In the child of a fork: the lock may be held by a thread that does not exist here."""
        self._forked = self.barred = True
        self._hold(threading.RLock())
        self._depth = 0

    def refuse(self) -> None:
        """Raise why calls are refused."""
        if self._forked:
            raise ForkedError(FORKED)
        raise ConsumerStoppedError(CLOSED)

    def _wait_for_keeper(self) -> None:
        while True:
            if self._depth:
                raise ConcurrentUseError(
                    "the consumer is in use by another thread: it serves one at a time; "
                    "only wakeup(), assignment(), group_metadata() and the like may be called "
                    "from others"
                )
            if self._lock.acquire(True, _LOOK_S):
                return
