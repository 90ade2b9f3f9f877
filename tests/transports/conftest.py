"""Servers in threads, and a rig of a toy core under each driver."""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from stepped_asyncio import make_transport
from toy_core import ToyCore, echo

from kcore.transports import NAMES, Pump, SocketOptions, Step

LIMIT_S = 10.0  # no case takes this long; it only ends what would hang


class Rig:
    """A toy core, the pump that drives it, and a loop with an end."""

    def __init__(
        self,
        driver: str,
        options: SocketOptions | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.driver = driver
        self.core = ToyCore()
        self.pump = Pump(self.core, make_transport(driver, options), tls=tls)

    def until(self, done: Callable[[], object], limit_s: float = LIMIT_S) -> None:
        end = time.monotonic() + limit_s
        while not done():
            assert time.monotonic() < end, f"not reached: {vars(self.core)}"
            self.pump.step(200)

    def connect(self, server: Server) -> int:
        link = self.core.connect("127.0.0.1", server.port)
        self.until(lambda: link in self.core.connected)
        return link

    def filled(self) -> int:
        """How much of the frames under way has been read, told to the core or not."""
        poured = sum(link.poured for link in self.pump._links.values())
        return self.core.filled() + poured

    def wait_for(self, link: int, events: int) -> None:
        """Until the kernel says one of these of the link's socket; nothing is read."""
        poll = select.poll()
        poll.register(self.pump._links[link].fd, events)
        end = time.monotonic() + LIMIT_S
        while not any(said & events for _, said in poll.poll(200)):
            assert time.monotonic() < end, "not reached"

    def step_all(self, times: int, timeout_ms: int) -> list[Step]:
        return [self.pump.step(timeout_ms) for _ in range(times)]


class Server:
    """Accepts on 127.0.0.1 and runs `handler(sock)` in a thread for each connection."""

    def __init__(self, handler: Callable[[socket.socket], None]) -> None:
        self._handler = handler
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port: int = self._listener.getsockname()[1]
        self._threads: list[threading.Thread] = []
        self._socks: list[socket.socket] = []
        self._start(self._accept)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._threads[0].join(LIMIT_S)  # which may be accepting one more
        for sock in self._socks:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(LIMIT_S)
        self._listener.close()
        for sock in self._socks:
            sock.close()

    def _start(self, run: Callable[..., None], *args: object) -> None:
        thread = threading.Thread(target=run, args=args, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                sock, _ = self._listener.accept()
                self._socks.append(sock)
                self._start(self._serve, sock)

    def _serve(self, sock: socket.socket) -> None:
        with contextlib.suppress(OSError):
            self._handler(sock)


@pytest.fixture(params=[*NAMES, "asyncio"])
def driver(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def make_rig(driver: str) -> Iterator[Callable[..., Rig]]:
    made: list[Rig] = []

    def make(options: SocketOptions | None = None, tls: ssl.SSLContext | None = None) -> Rig:
        made.append(Rig(driver, options, tls))
        return made[-1]

    yield make
    for rig in made:
        rig.pump.close()


@pytest.fixture
def rig(make_rig: Callable[..., Rig]) -> Rig:
    return make_rig()


@pytest.fixture
def serve() -> Iterator[Callable[[Callable[[socket.socket], None]], Server]]:
    servers: list[Server] = []

    def start(handler: Callable[[socket.socket], None] = echo) -> Server:
        servers.append(Server(handler))
        return servers[-1]

    yield start
    for server in servers:
        server.close()
