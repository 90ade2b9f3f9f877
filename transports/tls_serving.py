"""TLS on the side that is connected to: between the serving pump's sockets and its cores.

A `TlsDoor` makes an end of it of each connection that is accepted. As with clients (`tls.py`) it is
in memory, and blocks nowhere; unlike them a server says goodbye (close_notify), as a Kafka does.
What one connection can have unread here is a read of the kernel.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterable
from contextlib import suppress
from itertools import islice
from typing import Any, Final, cast

from kcore.transports.distinguished import subject
from kcore.transports.tls import TlsSocket

# A read of the kernel: a few TLS records (16 KiB each).
_CIPHERTEXT_BYTES: Final = 65_536
# What one write encrypts at most, and of how many buffers.
_PLAINTEXT_BYTES: Final = 262_144
_BUFFERS_MAX: Final = 256


class TlsDoor:
    """What connections to one server are wrapped with; for one thread."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self._context = context
        self._scratch = memoryview(bytearray(_CIPHERTEXT_BYTES))

    def __call__(self, sock: Any) -> TlsEnd:
        """Our end of a connection that was accepted."""
        return TlsEnd(sock, self._context, self._scratch)


class TlsEnd(TlsSocket):
    """A connection's end. ready: the handshake is done."""

    __slots__ = ("ready",)

    def __init__(self, sock: Any, context: ssl.SSLContext, scratch: memoryview) -> None:
        self._sock = sock
        self._outer = None
        self._peer = "client"
        self._flags = 0
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self._decrypt = cast("Any", self._tls.read)
        self._fault = None
        self._rest = memoryview(b"")
        self._scratch = scratch
        self.unread = False
        self.ready = False

    def handshake(self) -> bool:
        """As `TlsSocket.handshake`."""
        self.ready = super().handshake()
        return self.ready

    def peer_name(self) -> str | None:
        """Whose certificate the client has shown, as Kafka writes it; None if it has none."""
        certificate = self._tls.getpeercert(binary_form=True)
        return None if certificate is None else subject(certificate)

    def sendmsg(self, buffers: Iterable[bytes | memoryview]) -> int:
        """`send` of several in a row: how much of them was taken, at least one byte."""
        if not self.flush():
            raise BlockingIOError
        parts, left = [], _PLAINTEXT_BYTES
        for buffer in islice(buffers, _BUFFERS_MAX):
            parts.append(memoryview(buffer)[:left])
            left -= len(parts[-1])
            if not left:
                break
        data = b"".join(parts)
        taken = self._tls.write(data) if data else 0
        self.flush()
        return taken

    def close(self) -> None:
        """Say goodbye, as far as the socket takes it, and close it."""
        if self.ready:
            # ssl.SSLError is an OSError: it waits for the client's goodbye, which we do not.
            with suppress(OSError):
                self._tls.unwrap()
            with suppress(OSError):
                self.flush()
        super().close()
