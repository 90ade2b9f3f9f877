"""Blocking sockets: one poll(2) over all links says which call will not block.

Sockets are in blocking mode once connected; MSG_DONTWAIT makes sure that a read or write never
waits even when readiness turns out to be gone. That is Linux's: macOS heeds it in reads alone, so
elsewhere sockets stay as they were made, and do not block. poll and not epoll, because a consumer
has a handful of links: no second set of books in the kernel, and nothing to free.
"""

from __future__ import annotations

import select
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress

from kcore.transports.core import Address
from kcore.transports.sockets import SocketOptions, addresses, as_ascii, start_connect


class BlockingTransport:
    """The default driver. Resolving a name blocks the caller for as long as the system's resolver
    takes.
    """

    name = "blocking"
    io_flags = int(socket.MSG_DONTWAIT) if sys.platform == "linux" else 0

    def __init__(self, options: SocketOptions | None = None) -> None:
        self._options = options or SocketOptions()
        self._poll = select.poll()
        self._watched: set[int] = set()
        self.wait = self._poll.poll  # the pump's bits are poll's own

    def resolve(self, host: str, port: int) -> Sequence[Address]:
        """The system's resolver, in this thread."""
        return addresses(socket.getaddrinfo(as_ascii(host), port, type=socket.SOCK_STREAM))

    def connect(self, address: Address) -> socket.socket:
        """A socket on its way; it blocks neither here nor in the pump."""
        return start_connect(socket.socket, address, self._options)

    def established(self, sock: socket.socket, _host: str, /) -> socket.socket:
        """From here on the socket is a blocking one, if its calls can be told not to."""
        sock.setblocking(bool(self.io_flags))
        return sock

    def watch(self, fd: int, events: int) -> None:
        """Register with poll, or change what is asked."""
        self._poll.register(fd, events)
        self._watched.add(fd)

    def unwatch(self, fd: int) -> None:
        """Take out of poll."""
        # Whatever is noted: a signal handler may have raised in the middle of it, or of a `watch`.
        with suppress(KeyError):
            self._poll.unregister(fd)
        self._watched.discard(fd)

    def close(self) -> None:
        """Nothing is held beside the poll object's list."""
        for fd in list(self._watched):
            self.unwatch(fd)

    abandon = close
