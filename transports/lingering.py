"""Sockets that are closed a little later, because brokers still have answers for them.

An answer that meets a closed socket is answered by a reset. The broker reads on what had arrived
before, one request at a time; but its next answer cannot be written any more, and a broker whose
answer cannot be written reads nothing more of that connection (Kafka's `Selector`, and the embedded
one). So of what a client says last, without waiting for anything, the third request and all behind
it may never be looked at: that a member leaves, behind a heartbeat and a commit. The others of its
group then wait for its session to end.

Such a socket says that nothing more comes (`SHUT_WR`), and is kept until the broker has closed it,
too, but not for long. All of them share one thread of the system's, which is there as long as there
are any. At the end of the program nobody waits for it.
"""

from __future__ import annotations

import _socket
from collections import deque
from contextlib import suppress

from kcore.hints import TYPE_CHECKING, Final
from kcore.transports.background import native_lock, run_in_thread
from kcore.transports.core import monotonic_ms
from kcore.transports.forking import release_in_child

if TYPE_CHECKING:
    import socket

# Answers up to which all requests are read, whenever the socket is closed.
HARMLESS: Final = 2
LINGER_MS: Final = 10_000
# At a time; more are closed at once.
SOCKETS_MAX: Final = 1_000
_PIECE: Final = 65_536


class Lingering:
    """See the module's text."""

    def __init__(self) -> None:
        self._kept: deque[tuple[_socket.socket, int]] = deque()  # until when; the first is drained
        self._lock = native_lock()
        release_in_child(self)

    def keep(self, sock: socket.socket) -> bool:
        """Take over a connected socket, which is closed for its owner; False: it is the owner's to
        close, as it has ended, or there are too many.
        """
        with self._lock:
            if len(self._kept) >= SOCKETS_MAX:
                return False
            try:
                sock.shutdown(_socket.SHUT_WR)
                if not self._kept:
                    run_in_thread(self._drain_all)  # it waits for the lock
            except (OSError, RuntimeError):  # it has ended, or there is no thread to be had
                return False
            # As the C library has it: gevent's would wait for a hub.
            own = _socket.socket(fileno=sock.detach())
            self._kept.append((own, monotonic_ms() + LINGER_MS))
        return True

    def forked(self) -> None:
        """In the child of a fork: its copies are closed; the parent's go on."""
        self._lock = native_lock()
        for sock, _ in self._kept:
            sock.close()
        self._kept.clear()

    def _drain_all(self) -> None:
        """One behind the other: what the others' brokers say has room in the kernel meanwhile."""
        while True:
            with self._lock:
                if not self._kept:
                    return
                sock, until = self._kept[0]
            with suppress(OSError):  # a reset, or time is over
                left_ms = until - monotonic_ms()
                while left_ms > 0:
                    sock.settimeout(left_ms / 1000)
                    if not sock.recv(_PIECE):
                        break
                    left_ms = until - monotonic_ms()
            sock.close()
            with self._lock:
                self._kept.popleft()


lingering: Final = Lingering()
