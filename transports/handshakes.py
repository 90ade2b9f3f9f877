"""What is said to a proxy before it passes bytes on, as pure steps: bytes in, bytes out.

Kafka knows nothing of proxies: all that a core asks for is a connection to an address (`Connect`),
and how one is come by is for the drivers, as names and TLS are. What is here does no I/O all the
same, and `tunnel.py` runs it on a socket. `socks.py` and `http_connect.py` are the two that there
are; each move is in this table, and nowhere else.

A handshake takes at most the bytes it says it wants, and never says more than are its own: whatever
comes behind the proxy's last byte is left in the socket, where it belongs to the link.
"""

from __future__ import annotations

from typing import Final

from kcore.enums import Enum
from kcore.errors import UsageError
from kcore.settings.proxies import Proxy
from kcore.transports.sockets import ProxyFaultError


class State(Enum):
    """Where a handshake stands: what the proxy is to say next."""

    # SOCKS: which of the methods that were offered it takes. CHOSEN -> ASKED, or -> PROVING.
    OFFERED = "offered"
    PROVING = "proving"  # SOCKS: whether it takes name and password. ACCEPTED -> ASKED.
    # Whether it has reached the broker. REACHED -> ENDING; HTTP: WAITS -> WAITING, WANTS_NAME ->
    # REFUSED.
    ASKED = "asked"
    WAITING = "waiting"  # HTTP: the rest of an interim answer. ENDED -> ASKED.
    REFUSED = (
        "refused"  # HTTP: the rest of a refusal, for what is wanted. It is an error in the end.
    )
    ENDING = "ending"  # the rest of the answer, of which nothing follows. ENDED -> OPEN.
    OPEN = "open"  # whatever comes now is the broker's.


class Said(Enum):
    """What the proxy can have said; all else is a ProxyFaultError."""

    CHOSE_NOTHING = "chose nothing"  # no name is asked for
    CHOSE_PASSWORD = "chose password"  # noqa: S105 - that it wants one
    ACCEPTED = "accepted"
    REACHED = "reached"
    WAITS = "waits"
    WANTS_NAME = "wants name"
    ENDED = "ended"


TRANSITIONS: Final[dict[State, dict[Said, State]]] = {
    State.OFFERED: {Said.CHOSE_NOTHING: State.ASKED, Said.CHOSE_PASSWORD: State.PROVING},
    State.PROVING: {Said.ACCEPTED: State.ASKED},
    State.ASKED: {
        Said.REACHED: State.ENDING,
        Said.WAITS: State.WAITING,
        Said.WANTS_NAME: State.REFUSED,
    },
    State.WAITING: {Said.ENDED: State.ASKED},
    State.REFUSED: {},
    State.ENDING: {Said.ENDED: State.OPEN},
    State.OPEN: {},
}


class Handshake:
    """One, from our first byte to the proxy's last.

    host, port: where the proxy is to connect to; host is a name or a numeric address.
    wants: how many bytes it takes next; 0 when it is open.
    ValueError: the host is none that can be asked for.
    """

    first = State.ASKED

    def __init__(self, proxy: Proxy, host: str, port: int) -> None:
        self.state = self.first
        self._proxy = proxy
        self._host = host
        self._port = port
        self._outgoing = bytearray()
        self._said = bytearray()  # what the proxy has said since the last move
        self._begin()

    def _begin(self) -> None:
        """Say the first words."""
        raise NotImplementedError

    def _look(self) -> None:
        """Something was added to what was said."""
        raise NotImplementedError

    @property
    def wants(self) -> int:
        """See the class."""
        raise NotImplementedError

    @property
    def is_open(self) -> bool:
        """Whether what comes next is the broker's."""
        return self.state is State.OPEN

    def take(self) -> bytes:
        """What is to be sent now; empty when it is the proxy's turn."""
        taken = bytes(self._outgoing)
        self._outgoing.clear()
        return taken

    def feed(self, data: bytes | memoryview) -> None:
        """Bytes that the proxy has sent, at most `wants`. ProxyFaultError: nothing comes of it."""
        if len(data) > self.wants:
            raise UsageError(f"{len(data)} bytes for a handshake that takes {self.wants}")
        self._said += data
        self._look()

    def end(self) -> None:
        """The proxy has closed the connection. ProxyFaultError, always."""
        raise ProxyFaultError("the proxy closed the connection before it had answered")

    def _say(self, data: bytes) -> None:
        self._outgoing += data

    def _move(self, said: Said, taken: int) -> None:
        """The one place that changes the state; taken: how many bytes said so."""
        self.state = TRANSITIONS[self.state][said]
        del self._said[:taken]


def start_handshake(proxy: Proxy, host: str, port: int) -> Handshake:
    """What is to be said to this proxy. ValueError: see Handshake."""
    if proxy.scheme in {"http", "https"}:
        from kcore.transports.http_connect import HttpConnect  # noqa: PLC0415 - one of the two

        return HttpConnect(proxy, host, port)
    from kcore.transports.socks import Socks5  # noqa: PLC0415

    return Socks5(proxy, host, port)


def as_name(host: str) -> str:
    """A name in ASCII, as others are asked for it. ValueError: it is no name.

    Where brokers are, a broker says: what it says is not to become a header of ours.
    """
    name = host if host.isascii() else host.encode("idna").decode()
    if not 1 <= len(name) <= 255 or not all(char.isalnum() or char in "-._" for char in name):
        raise ValueError("the broker's host is not a name or an address")
    return name
