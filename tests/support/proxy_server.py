"""A proxy for tests: SOCKS5 and HTTP CONNECT on one port, as far as clients need it, and with the
odd habits that a test asks for.

    with ProxyServer(names={"broker.invalid": "127.0.0.1"}) as proxy:
        Consumer(proxy_url=proxy.url("socks5h"), bootstrap_servers="broker.invalid:9092")
        proxy.asked  # [("broker.invalid", 9092)]
"""

from __future__ import annotations

import base64
import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Self

from tls_front import tls_to

Address = tuple[str, int]


class ProxyServer:
    """See the module's text.

    user, password: who is let in; None: everybody. names: what it takes names for.
    refuse: host and port -> a SOCKS reply or an HTTP status that says no; 0: it connects.
    behind: sent in one segment with the last byte of the handshake, as if the broker had said it.
    piece: how many bytes it sends at once while it shakes hands; None: all.
    talk: in place of all of this, what is done with a connection.
    """

    def __init__(
        self,
        *,
        user: str | None = None,
        password: str = "",
        names: Mapping[str, str] | None = None,
        refuse: Callable[[str, int], int] = lambda _host, _port: 0,
        behind: bytes = b"",
        piece: int | None = None,
        talk: Callable[[socket.socket], None] | None = None,
        host: str = "127.0.0.1",
    ) -> None:
        self.asked: list[Address] = []  # as the client has put it
        self.refused = 0  # who could not say who they are
        self._user, self._password = user, password
        self._names = dict(names or {})
        self._refuse, self._behind, self._piece = refuse, behind, piece
        self._talk = talk or self._serve
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._listener = socket.create_server((host, 0), family=family, backlog=128)
        self.host, self.port = self._listener.getsockname()[:2]
        self._socks: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._closed = False
        self._front: ProxyServer | None = None

    def url(self, scheme: str, user: str = "") -> str:
        """By "https" it is reached by TLS, which another one takes off."""
        host, port = f"[{self.host}]" if ":" in self.host else self.host, self.port
        if scheme == "https":
            if self._front is None:
                self._front = ProxyServer(talk=tls_to(self.host, self.port), host=self.host)
                self._front.__enter__()
            port = self._front.port
        return f"{scheme}://{user}{host}:{port}"

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        self._closed = True
        if self._front is not None:
            self._front.__exit__()
        self.cut()
        for sock in [self._listener, *self._socks]:
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
        for thread in [*self._threads]:
            thread.join(10)
        for sock in [self._listener, *self._socks]:
            sock.close()

    def cut(self) -> None:
        """End every connection there is."""
        for sock in [*self._socks]:
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    def _start(self, run: Callable[..., None], *args: object) -> None:
        thread = threading.Thread(target=run, args=args, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with suppress(OSError):
            while not self._closed:
                sock, _ = self._listener.accept()
                self._socks.append(sock)
                self._start(self._meet, sock)

    def _meet(self, sock: socket.socket) -> None:
        with suppress(OSError, EOFError):
            self._talk(sock)
        with suppress(OSError):
            sock.shutdown(socket.SHUT_RDWR)

    def _serve(self, sock: socket.socket) -> None:
        shake = self._socks5 if sock.recv(1, socket.MSG_PEEK) == b"\5" else self._http
        shake(sock)

    # Handshakes -----------------------------------------------------------------------------

    def say(self, sock: socket.socket, data: bytes) -> None:
        size = self._piece or len(data)
        for at in range(0, len(data), size):
            sock.sendall(data[at : at + size])

    def _socks5(self, sock: socket.socket) -> None:
        methods = exactly(sock, exactly(sock, 2)[1])
        method = 0 if self._user is None else 2
        if method not in methods:
            self.refused += 1
            self.say(sock, b"\5\xff")
            return
        self.say(sock, bytes((5, method)))
        if method:
            user = exactly(sock, exactly(sock, 2)[1]).decode()
            password = exactly(sock, exactly(sock, 1)[0]).decode()
            wrong = (user, password) != (self._user, self._password)
            self.refused += wrong
            self.say(sock, bytes((1, wrong)))
            if wrong:
                return
        _, _, _, kind = exactly(sock, 4)
        if kind == 3:
            host = exactly(sock, exactly(sock, 1)[0]).decode()
        else:
            family = socket.AF_INET if kind == 1 else socket.AF_INET6
            host = socket.inet_ntop(family, exactly(sock, 4 if kind == 1 else 16))
        port = int.from_bytes(exactly(sock, 2))
        self.asked.append((host, port))
        code, beyond = self._connect(host, port, 5)
        self.say(sock, bytes((5, code, 0)) + b"\3\x05bound\0\1" + (b"" if code else self._behind))
        self._pass_on(sock, beyond)

    def _http(self, sock: socket.socket) -> None:
        lines = until_empty_line(sock).decode().split("\r\n")
        method, where, _ = lines[0].split(" ")
        assert (method, f"Host: {where}") == ("CONNECT", lines[1])
        host, _, port_text = where.rpartition(":")
        host, port = host.strip("[]"), int(port_text)
        if self._user is not None:
            pair = base64.b64encode(f"{self._user}:{self._password}".encode()).decode()
            if f"Proxy-Authorization: Basic {pair}" not in lines:
                self.refused += 1
                self.say(sock, b"HTTP/1.1 407 x\r\nProxy-Authenticate: Basic realm=x\r\n\r\n")
                return
        self.asked.append((host, port))
        code, beyond = self._connect(host, port, 502)
        if code:
            self.say(sock, b"HTTP/1.1 %d No\r\nConnection: close\r\n\r\nwhy" % code)
        else:
            self.say(sock, b"HTTP/1.1 200 Yes\r\nProxy-Agent: test\r\n\r\n" + self._behind)
        self._pass_on(sock, beyond)

    def _connect(self, host: str, port: int, failed: int) -> tuple[int, socket.socket | None]:
        code = self._refuse(host, port)
        if code:
            return code, None
        try:
            beyond = socket.create_connection((self._names.get(host, host), port), 10)
        except OSError:
            return failed, None
        beyond.settimeout(None)
        self._socks.append(beyond)
        return 0, beyond

    def _pass_on(self, sock: socket.socket, beyond: socket.socket | None) -> None:
        if beyond is not None:
            self._start(pour, beyond, sock)
            pour(sock, beyond)


def pour(source: socket.socket, target: socket.socket) -> None:
    """Whatever comes, and then the end."""
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)


def exactly(sock: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = sock.recv(size - len(data))
        if not more:
            raise EOFError
        data += more
    return data


def until_empty_line(sock: socket.socket) -> bytes:
    data = b""
    while not data.endswith(b"\r\n\r\n"):
        data += exactly(sock, 1)
    return data
