"""What a client needs of its runtime beside sockets: a lock, and something that runs on the side.

Threads, or greenlets where the transport is gevent's: greenlets share a thread, so a thread's lock
would let them all in, and a thread would never see the hub's time.
"""

from __future__ import annotations

import _thread
import sys
import threading
from collections.abc import Callable
from contextlib import suppress

from kcore.hints import Any, Protocol
from kcore.locks import GreenletLock, ThreadLock

# Work that fails by itself, each time, is not to keep the others from theirs.
_AGAIN_S = 0.01


class Stop(Protocol):
    """The two methods of an event that matter here."""

    def wait(self, timeout: float | None = None) -> Any:
        """True once set; else False after `timeout` seconds."""

    def set(self) -> Any:
        """End every wait."""


class _Bell:
    """`Stop` for threads, and an event for one waiter, by a lock that is held until it is set.

    threading.Event makes a lock for each wait, in a dozen functions: half of what it costs to wake
    up once in a while and see that there is nothing to do. And where Ctrl-C strikes a waiter there,
    its own lock stays closed, before whoever sets it.
    """

    __slots__ = ("_lock",)

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lock.acquire()

    def wait(self, timeout: float | None = None) -> bool:
        if not self._lock.acquire(True, -1 if timeout is None else timeout):
            return False
        self.set()  # for whoever waits as well
        return True

    def set(self) -> None:
        with suppress(RuntimeError):  # set before
            self._lock.release()

    def clear(self) -> None:
        self._lock.acquire(False)


def make_event(transport: str) -> Any:
    """An event with `set()`, `clear()` and `wait(timeout_s)`, for one waiter of the transport's
    kind.
    """
    if transport == "gevent":
        from gevent.event import Event  # noqa: PLC0415 - only if gevent is in use

        return Event()
    return _Bell()


def current(transport: str) -> object:
    """Who is running: this thread, or this greenlet."""
    if transport == "gevent":
        from gevent import getcurrent  # noqa: PLC0415 - only if gevent is in use

        return getcurrent()
    return threading.get_ident()


def make_lock(transport: str) -> Any:
    """A re-entrant lock with `acquire(blocking, timeout)` and `release()`."""
    if transport == "gevent":
        from gevent import getcurrent, sleep  # noqa: PLC0415 - only if gevent is in use

        return GreenletLock(getcurrent, sleep)
    lock = threading.RLock()
    # Else greenlets have been put in the place of threads, by gevent or eventlet.
    return ThreadLock() if type(lock) is _thread.RLock else lock


def _native(name: str) -> Any:
    """What `_thread` has, though gevent may have put greenlets in its place."""
    monkey = sys.modules.get("gevent.monkey")
    return getattr(_thread, name) if monkey is None else monkey.get_original("_thread", name)


def native_lock() -> Any:
    """A lock between threads of the system's, to be held for a moment. Re-entrant: whoever has it
    may be made to collect garbage, and so to close what it guards.
    """
    return _native("RLock")()


def run_in_thread(function: Callable[[], None]) -> None:
    """Call what may wait inside a library of C, where greenlets cannot go on, in a thread of the
    system's. At the end of the program nobody waits for it. RuntimeError: there is none to be had.
    """
    _native("start_new_thread")(function, ())


def run_aside(transport: str, name: str, function: Callable[..., None], *args: Any) -> Stop:
    """Run `function(stop, *args)` in a daemon thread or a greenlet; it ends when `stop` is set."""
    if transport == "gevent":
        import gevent  # noqa: PLC0415 - only if gevent is in use
        from gevent.event import Event  # noqa: PLC0415

        bell: Stop = Event()

        def run() -> None:
            try:
                function(bell, *args)
            except gevent.GreenletExit:
                raise
            except BaseException:
                # Ctrl-C, or a handler that raises, strikes whichever greenlet runs. The hub tells
                # (of Ctrl-C and SystemExit the main one) when it leaves here, and the work on the
                # side goes on, as that of a thread would.
                gevent.spawn_later(_AGAIN_S, run)
                raise

        gevent.spawn(run)
        return bell
    stop = _Bell()
    threading.Thread(target=function, args=(stop, *args), name=name, daemon=True).start()
    return stop
