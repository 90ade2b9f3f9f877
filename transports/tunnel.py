"""The way through a proxy, for the pump: a handshake (`handshakes.py`) on a socket that is
connected to it, or on TLS with the proxy over that.

Nothing here waits, and no byte behind the handshake is taken from the way: so what the broker says
at once is read by whoever reads the link, TLS or the core.
"""

from __future__ import annotations

import socket
from functools import cache
from typing import TYPE_CHECKING

from kcore.settings.proxies import Proxy
from kcore.transports.core import Address
from kcore.transports.handshakes import start_handshake
from kcore.transports.sockets import (
    ProxyFaultError,
    ProxyRefusedError,
    UntrustedError,
    describe,
)

if TYPE_CHECKING:
    import ssl

    from kcore.transports.tls import TlsSocket


class Tunnel:
    """One. gate: the proxy's address. way: what is written to and read from, once `advance` was
    called; with TLS it is the driver's from then on to see to what it has not sent or read.
    ValueError: see Handshake.
    """

    __slots__ = ("_handshake", "_proxy", "_tls", "_unsent", "gate", "way")

    def __init__(self, proxy: Proxy, gate: Address, host: str, port: int) -> None:
        self.gate = gate
        self.way: socket.socket | TlsSocket
        self._proxy = proxy
        self._tls: TlsSocket | None = None
        self._handshake = start_handshake(proxy, host, port)
        self._unsent = memoryview(b"")

    @property
    def unsent(self) -> bool:
        """Whether bytes wait for the socket to be writable."""
        return bool(self._unsent) or (self._tls is not None and self._tls.unsent)

    def advance(self, sock: socket.socket, flags: int) -> bool:
        """Go on as far as the socket allows; True when the way is open. ProxyFaultError."""
        handshake = self._handshake
        try:
            if self._proxy.scheme == "https" and not self._secured(sock, flags):
                return False
            way = self.way = sock if self._tls is None else self._tls
            while not handshake.is_open:
                self._unsent = self._unsent or memoryview(handshake.take())
                while self._unsent:
                    self._unsent = self._unsent[way.send(self._unsent, flags) :]
                room = memoryview(bytearray(handshake.wants))
                count = way.recv_into(room, 0, flags)
                if not count:
                    handshake.end()
                handshake.feed(room[:count])
        except (BlockingIOError, InterruptedError):
            return False
        except ProxyFaultError:
            raise
        except UntrustedError as error:
            raise ProxyRefusedError(f"TLS with the proxy failed: {describe(error)}") from error
        except OSError as error:
            raise ProxyFaultError(
                f"the connection to the proxy broke: {describe(error)}"
            ) from error
        return True

    def _secured(self, sock: socket.socket, flags: int) -> bool:
        """Go on with TLS, if it does not stand; whether it does."""
        if self._tls is None:
            from kcore.transports.tls import TlsSocket  # noqa: PLC0415 - few proxies want it

            context = self._proxy.tls or _trusting()
            self._tls = TlsSocket(sock, context, self._proxy.host, flags, "proxy")
        return self._tls.handshake()


@cache
def _trusting() -> ssl.SSLContext:
    """For who has made a Proxy without a context: the system's authorities."""
    from kcore.transports.tls import TlsOptions  # noqa: PLC0415 - as above

    return TlsOptions().make_context()
