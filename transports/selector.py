"""Non-blocking sockets under the `selectors` module: epoll on Linux, or any selector of the
caller's.
"""

from __future__ import annotations

import selectors
import socket
from collections.abc import Sequence
from contextlib import suppress

from kcore.transports.core import READABLE, WRITABLE, Address
from kcore.transports.sockets import SocketOptions, addresses, as_ascii, start_connect

# selectors' masks (1, 2) and the pump's bits (1, 4), both ways.
_TO_MASK = {
    READABLE: selectors.EVENT_READ,
    WRITABLE: selectors.EVENT_WRITE,
    READABLE | WRITABLE: selectors.EVENT_READ | selectors.EVENT_WRITE,
}
_TO_BITS = {mask: bits for bits, mask in _TO_MASK.items()}


class SelectorTransport:
    """Many links at the price of few. `selector` is for tests and exotic platforms; it is closed
    with the transport.
    """

    name = "selectors"
    io_flags = 0

    def __init__(
        self,
        options: SocketOptions | None = None,
        selector: selectors.BaseSelector | None = None,
    ) -> None:
        self._options = options or SocketOptions()
        self._selector = selector or selectors.DefaultSelector()
        self._watched: dict[int, int] = {}  # fd -> bits

    def resolve(self, host: str, port: int) -> Sequence[Address]:
        """The system's resolver, in this thread."""
        return addresses(socket.getaddrinfo(as_ascii(host), port, type=socket.SOCK_STREAM))

    def connect(self, address: Address) -> socket.socket:
        """A non-blocking socket on its way."""
        return start_connect(socket.socket, address, self._options)

    def established(self, sock: socket.socket, _host: str, /) -> socket.socket:
        """As it is."""
        return sock

    def watch(self, fd: int, events: int) -> None:
        """Register, or change what is asked."""
        known = self._watched.get(fd)
        if known is None:
            self._selector.register(fd, _TO_MASK[events])
        elif known != events:
            self._selector.modify(fd, _TO_MASK[events])
        self._watched[fd] = events

    def unwatch(self, fd: int) -> None:
        """Unregister."""
        # Whatever is noted: a signal handler may have raised in the middle of it, or of a `watch`.
        with suppress(KeyError):
            self._selector.unregister(fd)
        self._watched.pop(fd, None)

    def wait(self, timeout_ms: int | None) -> Sequence[tuple[int, int]]:
        """One select. A selector folds errors and hang-ups into the readiness they cause."""
        timeout = None if timeout_ms is None else timeout_ms / 1000
        return [(key.fd, _TO_BITS[mask]) for key, mask in self._selector.select(timeout)]

    def close(self) -> None:
        """Close the selector. Idempotent."""
        self._watched.clear()
        self._selector.close()

    def abandon(self) -> None:
        """`close`, in the child of a fork."""
        # Closing the epoll fd says nothing to the kernel about the fds in it, which an unregister
        # would: parent and child share one interest list. A kqueue has no fd there.
        with suppress(OSError):
            self.close()
