"""Who may touch the core now: one thread (or greenlet) of the user's, else the keeper.

The keeper is inside for a moment at a time, so waiting for it is short; another of the user's
threads may be inside for a whole blocking call, so meeting that one is an error and not a wait
(Java does the same). Listeners and callbacks may call back into the consumer, which lends them its
place; a signal handler that does so while the consumer is in the middle of something is refused.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from kcore.errors import (
    ConcurrentUseError,
    ConsumerStoppedError,
    ForkedError,
    KafkaError,
    KafkaTimeoutError,
)
from kcore.hints import Any, NoReturn
from kcore.locks import Turnstile
from kcore.transports.background import make_lock

CLOSED = "the consumer is closed"
FORKED = (
    "the consumer was made before a fork: its connections belong to the parent process; "
    "make another one in the child"
)


class Guard(Turnstile):
    """`with guard:` around every call of the user's; `visit` by the keeper.

    ConsumerStoppedError after `bar`, ForkedError in a forked child, ConcurrentUseError while
    another thread is inside a call, or this one is in the middle of one. barred: closed, or left
    behind by a fork. struck: a call was ended from outside (Ctrl-C, a signal handler that raises):
    what ends one by itself is a KafkaError, and none of a call that came midway.
    """

    _closed = False
    _forked = False
    _mend: Callable[[], object] | None = None

    def __init__(self, lock: Any) -> None:
        super().__init__(lock, KafkaError, ConcurrentUseError)

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

    def mends(self, mend: Callable[[], object]) -> None:
        """Have this called before anything else is done behind a call that was struck."""
        self._mend = mend

    def mend(self) -> None:
        """Begin anew what a call was struck in the middle of."""
        if self._mend is not None:
            self._mend()
        self.struck = False

    def bar(self) -> None:
        """Refuse every later call."""
        self._closed = self.barred = True

    def forked(self) -> None:
        """In the child of a fork: the lock may be held by a thread that does not exist here."""
        self._forked = self.barred = True
        self.hold(threading.RLock())

    def check_process(self) -> None:
        """ForkedError: this is the child of a fork."""
        if self._forked:
            self.refuse()

    def refuse(self) -> NoReturn:
        """Raise why calls are refused."""
        if self._forked:
            raise ForkedError(FORKED)
        raise ConsumerStoppedError(CLOSED)

    def refuse_busy(self) -> NoReturn:
        """Another of the user's threads is inside."""
        raise ConcurrentUseError(
            "the consumer is in use by another thread: it serves one at a time; "
            "only wakeup(), assignment(), group_metadata() and the like may be called from others"
        )

    def refuse_midway(self) -> NoReturn:
        """A call of this very thread is under way, and has not lent its place."""
        raise ConcurrentUseError(
            "the consumer is in the middle of another call of this thread, which this one would "
            "break (a signal handler, a deserializer, an observer?): wakeup() may be called from "
            "anywhere and ends a poll with WakeupError; do the rest behind that"
        )

    def refuse_late(self) -> NoReturn:
        """The keeper does not come out: something of the user's that it calls (a provider of
        tokens) takes its time.
        """
        raise KafkaTimeoutError("the consumer's own thread was not done in time; close it again")
