"""The way through a proxy, for the pump: a handshake (`handshakes.py`) on a socket that is
connected to it.

Nothing here waits, and no byte behind the handshake is taken from the socket: so what the broker
says at once is read by whoever reads the link, TLS or the core.
"""

from __future__ import annotations

import socket

from kcore.settings.proxies import Proxy
from kcore.transports.core import Address
from kcore.transports.handshakes import start_handshake
from kcore.transports.sockets import ProxyFaultError, describe


class Tunnel:
    """One. gate: the proxy's address. unsent: bytes wait for the socket to be writable.
    ValueError: see Handshake.
    """

    __slots__ = ("_handshake", "_unsent", "gate")

    def __init__(self, proxy: Proxy, gate: Address, host: str, port: int) -> None:
        self.gate = gate
        self._handshake = start_handshake(proxy, host, port)
        self._unsent = memoryview(b"")

    @property
    def unsent(self) -> bool:
        """See the class."""
        return bool(self._unsent)

    def advance(self, sock: socket.socket, flags: int) -> bool:
        """Go on as far as the socket allows; True when the way is open. ProxyFaultError."""
        handshake = self._handshake
        try:
            while not handshake.is_open:
                self._unsent = self._unsent or memoryview(handshake.take())
                while self._unsent:
                    self._unsent = self._unsent[sock.send(self._unsent, flags) :]
                room = memoryview(bytearray(handshake.wants))
                count = sock.recv_into(room, 0, flags)
                if not count:
                    handshake.end()
                handshake.feed(room[:count])
        except (BlockingIOError, InterruptedError):
            return False
        except ProxyFaultError:
            raise
        except OSError as error:
            raise ProxyFaultError(
                f"the connection to the proxy broke: {describe(error)}"
            ) from error
        return True
