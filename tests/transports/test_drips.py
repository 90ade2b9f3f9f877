"""Sockets that take and give next to nothing at a time, and nothing every other time: at each place
of a handshake, a request and an answer.
"""

from __future__ import annotations

import ssl
import time
from dataclasses import replace

import certificates
import pytest
from certificates import Certificates
from proxy_server import ProxyServer
from stepped_asyncio import make_transport
from tls_front import trusting as trusting_proxies
from toy_core import ToyCore, echo, frame

from kcore.settings.proxies import parse_proxy
from kcore.transports import Pump
from kcore.transports.tls import TlsOptions

pytestmark = pytest.mark.skipif(
    certificates.missing() is not None, reason=str(certificates.missing())
)
LIMIT_S = 10.0


class Dripping:
    """A socket of which each other call would block, and that takes and gives a few bytes."""

    def __init__(self, sock, size):
        self._sock = sock
        self._size = size
        self._blocked = set()
        self.family = sock.family
        self.close = sock.close
        self.fileno = sock.fileno

    def _pass(self, call):
        self._blocked ^= {call}
        if call not in self._blocked:
            raise BlockingIOError

    def send(self, data, flags):
        self._pass("send")
        return self._sock.send(data[: self._size], flags)

    def sendmsg(self, buffers, _ancillary, flags):
        return self.send(b"".join(buffers), flags)

    def recv_into(self, room, _size, flags):
        self._pass("recv")
        return self._sock.recv_into(room, min(len(room), self._size), flags)


@pytest.fixture(scope="session")
def pems(tmp_path_factory):
    return Certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture
def dripping(driver):
    """A toy core whose sockets are such."""
    pumps = []

    def make(size, tls=None, proxy=None):
        core, transport = ToyCore(), make_transport(driver)
        established = transport.established
        transport.established = lambda sock, host: Dripping(established(sock, host), size)
        pumps.append(Pump(core, transport, tls=tls, proxy=proxy))
        return core, pumps[-1]

    yield make
    for pump in pumps:
        pump.close()


def speaks(core, pump, server, size):
    """Something that is sent comes back."""
    link = core.connect("localhost", server.port)
    core.send(link, frame(b"early"))
    core.send(link, frame(b"x" * size))
    end = time.monotonic() + LIMIT_S
    while len(core.frames) < 2:
        assert time.monotonic() < end
        pump.step(50)
    assert core.closed == []
    assert [len(body) for _, body in core.frames] == [5, size]


@pytest.mark.parametrize("size", [1, 7])
def test_in_plain(dripping, serve, size):
    core, pump = dripping(size)
    speaks(core, pump, serve(echo), 500)


@pytest.mark.parametrize("size", [40, 700])
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_with_tls(dripping, serve, pems, version, size):
    context = TlsOptions(
        certfile=str(pems.folder / "broker.pem"), keyfile=str(pems.key("broker"))
    ).make_serving_context("none")
    context.maximum_version = version

    def handle(sock):
        with context.wrap_socket(sock.dup(), server_side=True) as tls:
            echo(tls)

    core, pump = dripping(size, TlsOptions(cafile=str(pems.ca)).make_context())
    speaks(core, pump, serve(handle), 20_000)


@pytest.mark.parametrize("scheme", ["socks5h", "http", "https"])
def test_through_a_proxy(dripping, serve, scheme):
    with ProxyServer() as server:
        proxy = parse_proxy("proxy_url", server.url(scheme))
        if scheme == "https":
            proxy = replace(proxy, tls=trusting_proxies())
        core, pump = dripping(40, proxy=proxy)
        speaks(core, pump, serve(echo), 500)
