"""A connection as the pump sees it."""

from __future__ import annotations

import socket
from collections import deque
from itertools import islice

from kcore.actions import Connect
from kcore.hints import TYPE_CHECKING, Final
from kcore.transports.lingering import lingering
from kcore.transports.sockets import describe

if TYPE_CHECKING:
    from kcore.transports.tls import TlsSocket
    from kcore.transports.tunnel import Tunnel

# Buffers handed to the kernel in one go (Linux: UIO_MAXIOV).
BUFFERS_MAX: Final = 1_024

Out = deque[bytes | memoryview]


class PumpedLink:
    """A connection of the core: its socket and what is not written yet.

    rest: what is not filled yet of a buffer that was lent for the rest of a frame; until it is, the
    core has nothing to say. poured: what is. A large answer comes in a hundred pieces.
    dialled: the other end of `raw` is reached. tunnel: what is to be said there first, if that is a
    proxy, until it is.
    """

    __slots__ = (
        "connected",
        "dialled",
        "fault",
        "fd",
        "host",
        "more",
        "number",
        "out",
        "poured",
        "raw",
        "rest",
        "since",
        "sock",
        "tls",
        "tunnel",
    )

    def __init__(self, connect: Connect, sock: socket.socket, more: bool, since: int) -> None:
        self.number = connect.link
        self.host = connect.host
        self.raw = sock
        self.sock: socket.socket | TlsSocket = sock  # what is read and written: `raw` or `tls`
        self.tls: TlsSocket | None = None
        self.fd = sock.fileno()
        self.tunnel: Tunnel | None = None
        self.dialled = self.connected = False
        self.fault = ""  # of a write: what has arrived is read all the same, up to the end
        self.more = more  # the name has further addresses
        self.since = since  # the round it was opened in
        self.out: Out = deque()
        self.rest: memoryview | None = None
        self.poured = 0

    def linger(self) -> bool:
        """Have it closed when its broker has, or a little later; False: it is to be closed now."""
        whole = self.connected and not self.fault and not self.unsent
        return whole and hasattr(self.raw, "detach") and lingering.keep(self.raw)  # in memory: not

    @property
    def unsent(self) -> bool:
        """Whether anything waits for the socket to be writable."""
        # What is to be sent waits for the handshake first, which may wait for the peer.
        return (self.connected and bool(self.out)) or (self.tls is not None and self.tls.unsent)

    def write(self, flags: int) -> bool:
        """Write what waits, in order, until the kernel takes no more; True if nothing is left, or
        never will be. OSError, ValueError: the link is to end.
        """
        out = self.out
        try:
            while out:
                if len(out) == 1 or self.tls is not None:
                    sent = self.sock.send(out[0], flags)
                else:
                    sent = self.raw.sendmsg(islice(out, BUFFERS_MAX), (), flags)
                while out and sent >= len(out[0]):
                    sent -= len(out.popleft())
                if sent:
                    out[0] = memoryview(out[0])[sent:]
                    if self.tls is None:
                        return False  # the kernel has taken what it could
            return self.tls is None or self.tls.flush()
        except (BlockingIOError, InterruptedError):
            return False
        except ConnectionError as error:
            self.fault = self.fault or describe(error)
            out.clear()
            return True
