"""Native gevent: the hub watches the sockets, and other greenlets run while a step waits.

Neither needs monkey patching nor minds it: the sockets are the standard library's own,
non-blocking, so their calls return at once in any world; waiting is the hub's. A watcher stops
itself when it fires and is started again by the
next wait: readiness of a socket that nobody reads yet would otherwise keep the hub awake while the
application is busy elsewhere.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from gevent import get_hub, monkey
from gevent import socket as gevent_socket
from gevent.hub import Waiter

from kcore.errors import UsageError
from kcore.transports.core import READABLE, WRITABLE, Address
from kcore.transports.sockets import SocketOptions, addresses, start_connect

# The loop's bits (libev and libuv alike) and the pump's, both ways.
_TO_LOOP = {READABLE: 1, WRITABLE: 2, READABLE | WRITABLE: 3}
_TO_BITS = {loop: bits for bits, loop in _TO_LOOP.items()}

# A signal handler that raises in the hub, where the loop says what a socket is ready for, takes
# that news away, and the loop stops the watcher: no wait is longer, and each starts them all.
_LOOK_MS = 500

_original_socket: Callable[[int, int], socket.socket] = monkey.get_original("socket", "socket")


class _Watch:
    """One fd and its watcher in the hub's loop."""

    __slots__ = ("events", "fd", "fired", "watcher")

    def __init__(self, fd: int, events: int, watcher: Any, fired: Callable[..., None]) -> None:
        self.fd = fd
        self.events = events
        self.watcher = watcher
        self.fired = fired

    def arm(self) -> None:
        if not self.watcher.active:
            self.watcher.start(self.fired, self, pass_events=True)


class GeventTransport:
    """For greenlets. It belongs to the hub of the thread that first uses it."""

    name = "gevent"
    io_flags = 0

    def __init__(self, options: SocketOptions | None = None) -> None:
        self._options = options or SocketOptions()
        self._hub: Any = None
        self._watches: dict[int, _Watch] = {}
        self._ready: dict[int, int] = {}
        self._waiter: Any = None

    def resolve(self, host: str, port: int) -> Sequence[Address]:
        """The hub's resolver: this greenlet waits, others run."""
        return addresses(gevent_socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))

    def connect(self, address: Address) -> socket.socket:
        """A non-blocking socket on its way."""
        return start_connect(_original_socket, address, self._options)

    def established(self, sock: socket.socket, _host: str, /) -> socket.socket:
        """As it is."""
        return sock

    def watch(self, fd: int, events: int) -> None:
        """Make a watcher, or one for other events in its place."""
        known = self._watches.get(fd)
        if known is not None:
            if known.events == events:
                return
            self.unwatch(fd)
        watch = _Watch(fd, events, self._loop().io(fd, _TO_LOOP[events]), self._fired)
        self._watches[fd] = watch

    def unwatch(self, fd: int) -> None:
        """Stop and free the watcher."""
        watch = self._watches.get(fd)
        if watch is not None:
            # First: a signal handler may raise behind it, and libev ends the process when it is to
            # watch a socket that is closed.
            watch.watcher.stop()
            self._ready.pop(fd, None)
            del self._watches[fd]
            watch.watcher.close()

    def wait(self, timeout_ms: int | None) -> Sequence[tuple[int, int]]:
        """Switch to the hub until something fires, at most _LOOK_MS. With a timeout of 0
        it still makes one turn, so others run.
        """
        loop = self._loop()
        for watch in self._watches.values():
            watch.arm()
        timeout_ms = _LOOK_MS if timeout_ms is None else min(timeout_ms, _LOOK_MS)
        if self._ready:
            timeout_ms = 0
        waiter = self._waiter = Waiter(self._hub)
        # Below the sockets' priority: of what is ready in one turn of the loop, the end of time
        # comes last.
        timer = loop.timer(timeout_ms / 1000, priority=-1)
        try:
            timer.start(waiter.switch, None, update=True)
            waiter.get()
        finally:
            self._waiter = None
            timer.stop()
            timer.close()
        ready = [(fd, _TO_BITS[events]) for fd, events in self._ready.items()]
        self._ready.clear()
        return ready

    def close(self) -> None:
        """Free the watchers. Idempotent."""
        for fd in list(self._watches):
            self.unwatch(fd)

    def abandon(self) -> None:
        """Stop the watchers in this process's books; the kernel hears of it only through a loop of
        the child's own.
        """
        # A child that has not reinitialised its hub may refuse; there is nothing left to free then.
        with suppress(Exception):
            self.close()

    def _loop(self) -> Any:
        hub = get_hub()
        if hub is not self._hub:
            if self._hub is not None:
                raise UsageError(
                    "a gevent transport belongs to the hub of the thread that first used it"
                )
            self._hub = hub
        return hub.loop

    def _fired(self, events: int, watch: _Watch) -> None:
        """Called by the loop, in the hub."""
        watch.watcher.stop()
        # The loop reports errors as both bits; a bit nobody asked for is a hint to try all the
        # same.
        self._ready[watch.fd] = events & 3 or 3
        if self._waiter is not None:
            self._waiter.switch(None)
