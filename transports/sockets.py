"""What all drivers share about sockets: options, the start of a connection, names to addresses."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress

from kcore.hints import Any, Final
from kcore.transports.core import Address
from kcore.values import Value

# connect(2) that goes on in the background. EINTR counts: the attempt is not undone by a signal.
UNDER_WAY: Final = frozenset({0, errno.EINPROGRESS, errno.EWOULDBLOCK, errno.EINTR})

# When a link on which nothing happens is probed (s), and how often in vain until it counts as dead.
# Load balancers, firewalls and NATs forget such a one after some minutes, and say nothing: whoever
# asks there next waits for request_timeout_ms. By itself Linux asks after two hours.
_PROBES: Final = (
    ("TCP_KEEPIDLE", 60),
    ("TCP_KEEPALIVE", 60),  # macOS's name of that
    ("TCP_KEEPINTVL", 15),
    ("TCP_KEEPCNT", 4),
)

# Congestion control that sends by timers, at the pace it has measured; and what every Linux has.
_PACING: Final = b"bbr"
_PLAIN: Final = b"reno"
_NAME_BYTES: Final = 16  # Linux: TCP_CA_NAME_MAX


class UntrustedError(OSError):
    """TLS failed in a way that trying again will not cure."""


class ProxyFaultError(OSError):
    """The proxy was not reached, refused, or is none. The text is for people, without secrets."""


class ProxyRefusedError(ProxyFaultError, UntrustedError):
    """It does not take who we are: trying again will not cure that."""


class SocketOptions(Value):
    """How sockets are set up before they connect.

    send_buffer_bytes, receive_buffer_bytes: SO_SNDBUF, SO_RCVBUF; None or -1 leaves the system's
    own tuning.
    socket_options: (level, name, value) triples for setsockopt, applied last.
    Always set: TCP_NODELAY (requests are small and waited for) and SO_KEEPALIVE, which probes
    after a minute without traffic, where the system can.
    """

    send_buffer_bytes: int | None = None
    receive_buffer_bytes: int | None = None
    socket_options: Sequence[tuple[int, int, int | bytes]] = ()

    def apply(self, sock: socket.socket) -> None:
        """Set everything on `sock`. OSError from the system."""
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for probe, amount in _PROBES:
            option = getattr(socket, probe, None)
            if option is not None:  # not every system has each of them, or even a name for it
                with suppress(OSError):
                    sock.setsockopt(socket.IPPROTO_TCP, option, amount)
        if self.send_buffer_bytes is not None and self.send_buffer_bytes >= 0:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, self.send_buffer_bytes)
        if self.receive_buffer_bytes is not None and self.receive_buffer_bytes >= 0:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self.receive_buffer_bytes)
        for level, name, value in self.socket_options:
            sock.setsockopt(level, name, value)


def start_connect(
    make: Callable[[int, int], socket.socket], address: Address, options: SocketOptions
) -> socket.socket:
    """A non-blocking socket made by `make(family, type)`, its connection begun. OSError if it
    cannot begin.
    """
    sock = make(address.family, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        if is_loopback(address.sockaddr[0]):
            unpace(sock)
        options.apply(sock)
        code = sock.connect_ex(address.sockaddr)
        if code not in UNDER_WAY:
            raise OSError(code, os.strerror(code))
    except BaseException:
        sock.close()
        raise
    return sock


def is_loopback(host: str) -> bool:
    """Whether a numeric address is this machine's own."""
    return host.startswith(("127.", "::ffff:127.")) or host == "::1"


def unpace(sock: socket.socket) -> None:
    """For a peer on this machine: send at once, even where the system's congestion control is BBR.

    BBR holds back what is above the pace at which it has seen data arrive, and keeps asking whether
    there is more. Here nothing can be congested, and the price is a third of what could be sent.
    """
    try:
        chosen = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, _NAME_BYTES)
        if chosen.startswith(_PACING):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, _PLAIN)
    except (OSError, AttributeError):  # no TCP, or not Linux's
        return


def as_ascii(host: str) -> str | bytes:
    """A name as getaddrinfo need not encode it: the codec for others is a millisecond to load."""
    return host.encode() if host.isascii() else host


def addresses(answers: Sequence[tuple[Any, ...]]) -> list[Address]:
    """What getaddrinfo said, without repeats, in its order. OSError if it said nothing."""
    found = dict.fromkeys(Address(int(family), at) for family, _, _, _, at in answers)
    if not found:
        raise OSError(errno.EADDRNOTAVAIL, "the name has no address")
    return list(found)


def connect_fault(sock: socket.socket) -> str | None:
    """Why the attempt on a socket that became writable failed; None if it is connected."""
    code = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    if code:
        return os.strerror(code)
    try:
        peer = sock.getpeername()
    except OSError as error:
        return describe(error)
    # A port of the ephemeral range with nobody listening can be dialled from itself (TCP
    # simultaneous open): then the socket is its own peer, and would keep the port from the broker
    # that comes back.
    if peer == sock.getsockname():
        return "connected to itself: nobody listens there"
    return None


def unreached(why: str) -> str:
    """Why there is no connection to the proxy, for people."""
    return f"the proxy was not reached: {why}"


def describe(error: BaseException) -> str:
    """A short reason for people."""
    if isinstance(error, OSError) and error.strerror:
        return str(error.strerror)
    return str(error) or type(error).__name__
