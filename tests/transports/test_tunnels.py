"""Connections through a proxy, under every driver: what is asked for, what goes through, and how
one that is not made ends.
"""

from __future__ import annotations

import socket
import threading
import time
from dataclasses import replace

import pytest
from certificates import Certificates, missing
from proxy_server import ProxyServer, exactly, until_empty_line
from stepped_asyncio import make_transport
from tls_front import trusting
from toy_core import ToyCore, echo, frame

from kcore.settings.proxies import parse_proxy
from kcore.transports import Address, Pump
from kcore.transports.tls import TlsOptions

LIMIT_S = 10.0
SCHEMES = ["socks5", "socks5h", "http", "https"]
SECRET = "s3cr3t-word"


class Tunnelled:
    """A toy core whose connections go through a proxy."""

    def __init__(self, driver, url, tls=None, trusted=trusting):
        self.core = ToyCore()
        self.proxy = proxy = parse_proxy("proxy_url", url)
        if proxy.scheme == "https" and trusted is not None:
            self.proxy = proxy = replace(proxy, tls=trusted())
        self.transport = make_transport(driver)
        self.looked_up = []
        resolve = self.transport.resolve
        self.transport.resolve = lambda *name: self.looked_up.append(name) or resolve(*name)
        self.pump = Pump(self.core, self.transport, tls=tls, proxy=proxy)

    def trust_by_any_name(self):
        if self.proxy.tls is not None:
            self.proxy.tls.check_hostname = False

    def until(self, done):
        end = time.monotonic() + LIMIT_S
        while not done():
            assert time.monotonic() < end, f"not reached: {vars(self.core)}"
            self.pump.step(20)

    def connect(self, host, port):
        link = self.core.connect(host, port)
        self.until(lambda: link in self.core.connected or self.core.closed)
        return link

    def ended(self, host="127.0.0.1", port=9, index=0):
        """Why a connection is not made."""
        link = self.core.connect(host, port, index)
        self.until(lambda: self.core.closed)
        assert self.core.connected == []
        [(ended, why, _)] = self.core.closed
        assert ended == link
        assert SECRET not in why
        return why


@pytest.fixture
def through(driver):
    made = []

    def make(url, tls=None):
        made.append(Tunnelled(driver, url, tls))
        return made[-1]

    yield make
    for one in made:
        one.pump.close()


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("piece", [None, 1])
def test_echo(through, serve, scheme, piece):
    server = serve()
    with ProxyServer(piece=piece) as proxy:
        rig = through(proxy.url(scheme))
        link = rig.connect("127.0.0.1", server.port)
        for size in (1, 300_000):
            rig.core.send(link, frame(b"x" * size))
            rig.until(lambda: rig.core.frames)
            assert rig.core.frames.pop() == (link, b"x" * size)
        assert proxy.asked == [("127.0.0.1", server.port)]
    assert rig.looked_up[0] == ("127.0.0.1", int(proxy.url(scheme).rpartition(":")[2]))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_what_is_sent_before_waits_for_the_way(through, serve, scheme):
    server = serve()
    with ProxyServer() as proxy:
        rig = through(proxy.url(scheme))
        link = rig.core.connect("localhost", server.port)
        for number in range(20):
            rig.core.send(link, frame(b"%d" % number))
        rig.until(lambda: len(rig.core.frames) == 20)
        assert [body for _, body in rig.core.frames] == [b"%d" % n for n in range(20)]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_who_looks_names_up(through, serve, scheme):
    server = serve()
    with ProxyServer(names={"broker.invalid": "127.0.0.1"}) as proxy:
        rig = through(proxy.url(scheme).replace("127.0.0.1", "localhost"))
        rig.connect("broker.invalid", server.port)
        if scheme == "socks5":
            assert rig.core.closed
            assert not rig.core.by_proxy  # the broker's name, looked up here
            assert rig.looked_up[-1] == ("broker.invalid", server.port)
        else:
            assert rig.core.connected
            assert {host for host, _ in rig.looked_up} == {"localhost"}
            assert proxy.asked == [("broker.invalid", server.port)]
        rig.core.closed.clear()
        rig.connect("localhost", server.port)
        numeric = {("127.0.0.1", server.port), ("::1", server.port)}
        assert proxy.asked[-1] in (numeric if scheme == "socks5" else {("localhost", server.port)})


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("user", [f"me:{SECRET}@", "me:wrong@", ""])
def test_who_is_let_in(through, serve, scheme, user):
    server = serve()
    with ProxyServer(user="me", password=SECRET) as proxy:
        rig = through(proxy.url(scheme, user))
        if SECRET in user:
            assert rig.connect("127.0.0.1", server.port) in rig.core.connected
            return
        why = rig.ended(port=server.port)
        assert "refused the name and the password" in why if user else "wants a name" in why
        assert rig.core.by_proxy == rig.core.untrusted == [1]
        assert proxy.refused == 1


@pytest.mark.parametrize("scheme", SCHEMES)
def test_first_words_of_the_broker_that_come_with_the_answer(through, serve, scheme):
    server = serve()
    with ProxyServer(behind=frame(b"hello")) as proxy:
        rig = through(proxy.url(scheme))
        link = rig.connect("127.0.0.1", server.port)
        rig.until(lambda: rig.core.frames)
        assert rig.core.frames == [(link, b"hello")]
        rig.core.send(link, frame(b"and more"))
        rig.until(lambda: len(rig.core.frames) == 2)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_what_came_before_the_end_counts(through, serve, scheme):
    # A proxy that has no more to say closes its half with the answer.
    def talk(sock):
        if scheme in {"http", "https"}:
            until_empty_line(sock)
            answer = b"HTTP/1.1 200 Yes\r\n\r\n"
        else:
            exactly(sock, 3)
            sock.sendall(b"\5\0")
            exactly(sock, 10)
            answer = b"\5\0\0\1" + bytes(6)
        sock.sendall(answer + frame(b"last words"))
        sock.shutdown(socket.SHUT_WR)
        sock.recv(1)

    with ProxyServer(talk=talk) as proxy:
        rig = through(proxy.url(scheme))
        link = rig.core.connect("127.0.0.1", 9)
        rig.until(lambda: rig.core.closed)
        assert rig.core.frames == [(link, b"last words")]
        assert rig.core.closed == [(link, "closed by the peer", False)]
        assert not rig.core.by_proxy  # the way was open


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("lasts", [0, 1])
def test_a_proxy_that_hangs_up(through, scheme, lasts):
    with ProxyServer(talk=lambda sock: sock.recv(lasts)) as proxy:
        rig = through(proxy.url(scheme))
        assert "proxy" in rig.ended()
        assert rig.core.by_proxy == [1]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_proxy_that_nobody_is(through, scheme):
    with ProxyServer() as proxy:
        url = proxy.url(scheme, f"me:{SECRET}@")
    rig = through(url)
    assert rig.ended() == "the proxy was not reached: Connection refused"
    assert rig.core.by_proxy == [1]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_proxy_whose_name_is_not_found(through, scheme):
    rig = through(f"{scheme}://no-such-proxy.invalid:1080")
    assert rig.ended().startswith("the proxy's name was not found: ")
    assert rig.core.by_proxy == [1]


@pytest.mark.parametrize(
    ("scheme", "code", "said"),
    [
        ("socks5", 2, "its rules do not allow the connection (SOCKS reply 2)"),
        ("socks5h", 4, "the broker's host is unreachable (SOCKS reply 4)"),
        ("http", 403, "forbidden (HTTP status 403)"),
    ],
)
def test_a_broker_that_is_refused(through, scheme, code, said):
    with ProxyServer(refuse=lambda _host, _port: code) as proxy:
        rig = through(proxy.url(scheme))
        assert rig.ended() == f"the proxy says: {said}"
        assert rig.core.by_proxy == [1]
        assert rig.core.untrusted == []


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_proxy_that_says_nothing_is_given_up_by_the_core(through, scheme):
    heard = []
    with ProxyServer(talk=lambda sock: heard.append(sock.recv(99)) or sock.recv(1)) as proxy:
        rig = through(proxy.url(scheme))
        link = rig.core.connect("127.0.0.1", 9)
        rig.until(lambda: heard)
        waits, wait = [], rig.transport.wait
        rig.transport.wait = lambda timeout_ms: waits.append(timeout_ms) or wait(timeout_ms)
        for _ in range(5):
            rig.pump.step(20)
        assert len(waits) <= 15  # nothing keeps it awake
        rig.core.disconnect(link)
        rig.pump.step(0)
        assert not rig.pump._links
        assert rig.core.closed == []


def test_hosts_that_are_none_never_reach_the_proxy(through):
    with ProxyServer() as proxy:
        rig = through(proxy.url("http"))
        assert "not a name" in rig.ended("evil\r\nX: y")
        assert proxy.asked == []


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_core_walks_through_every_pair_of_addresses(through, serve, scheme):
    server = serve()
    with ProxyServer() as proxy:
        rig = through(proxy.url(scheme).replace("127.0.0.1", "proxy.invalid"))
        rig.trust_by_any_name()
        # The first of either is somebody else's: nobody listens there.
        found = {
            "proxy.invalid": ["127.0.0.2", "127.0.0.1"],
            "broker.invalid": ["127.0.0.3", "127.0.0.1"],
        }
        rig.transport.resolve = lambda host, port: [
            Address(socket.AF_INET, (numeric, port)) for numeric in found[host]
        ]
        pairs = 4 if scheme == "socks5" else 2
        for index in range(pairs):
            link = rig.core.connect("broker.invalid", server.port, index)
            rig.until(lambda link=link: link in [*rig.core.connected, *rig.core.by_proxy])
        more = [(link, more) for link, _, more in rig.core.closed]
        if scheme == "socks5":
            assert more == [(1, True), (2, True), (3, True)]
            assert rig.core.connected == [4]
            assert proxy.asked == [("127.0.0.3", server.port), ("127.0.0.1", server.port)]
        else:  # the name is the proxy's to look up, and nobody's
            assert more == [(1, True), (2, False)]
            assert proxy.asked == [("broker.invalid", server.port)]


def test_an_address_of_the_proxy_that_works_is_the_first_from_then_on(through, serve):
    server = serve()
    with ProxyServer() as proxy:
        rig = through(f"socks5h://proxy.invalid:{proxy.port}")
        rig.transport.resolve = lambda _host, port: [
            Address(socket.AF_INET, (numeric, port)) for numeric in ("127.0.0.2", "127.0.0.1")
        ]
        rig.core.connect("127.0.0.1", server.port)
        rig.until(lambda: rig.core.closed)
        assert rig.core.closed.pop()[2]  # there is another one
        rig.core.connect("127.0.0.1", server.port, 1)
        rig.until(lambda: 2 in rig.core.connected)
        rig.core.connect("127.0.0.1", server.port)  # of whichever broker: from the start again
        rig.until(lambda: 3 in rig.core.connected)
        assert rig.core.closed == []


def test_who_is_given_up_before_the_broker_is_found_leaves_nothing(through):
    with ProxyServer() as proxy:
        rig = through(proxy.url("socks5"))
        resolve = rig.transport.resolve
        rig.transport.resolve = lambda *name: None if name[0] == "later" else resolve(*name)
        link = rig.core.connect("later", 9092)
        rig.pump.step(0)
        assert link in rig.pump._routes._begun
        rig.core.disconnect(link)
        rig.pump.step(0)
        assert not rig.pump._routes._begun
        assert not rig.pump._resolving
        assert rig.core.closed == []


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_proxy_by_its_address_of_ipv6(through, serve, scheme):
    server = serve()
    with ProxyServer(host="::1") as proxy:
        rig = through(proxy.url(scheme))
        link = rig.connect("127.0.0.1", server.port)
        rig.core.send(link, frame(b"x"))
        rig.until(lambda: rig.core.frames)
        assert proxy.asked == [("127.0.0.1", server.port)]


def test_addresses_of_ipv6(through):
    try:
        listener = socket.create_server(("::1", 0), family=socket.AF_INET6)
    except OSError:
        pytest.fail("this machine has no IPv6 loopback")
    with listener, ProxyServer() as proxy:
        port = listener.getsockname()[1]
        for scheme in SCHEMES:
            rig = through(proxy.url(scheme))
            assert rig.connect("::1", port) in rig.core.connected
        assert proxy.asked == [("::1", port)] * len(SCHEMES)


# TLS with the proxy, and inside ------------------------------------------------------------------


@pytest.fixture(scope="session")
def pems(tmp_path_factory):
    return Certificates(tmp_path_factory.mktemp("certificates"))


def test_a_proxy_whose_certificate_is_not_trusted(driver):
    with ProxyServer() as proxy:
        rig = Tunnelled(driver, proxy.url("https", f"me:{SECRET}@"), trusted=None)
        why = rig.ended()
        rig.pump.close()
    assert why.startswith("TLS with the proxy failed: the proxy's certificate is not trusted: ")
    assert rig.core.by_proxy == rig.core.untrusted == [1]


def test_a_proxy_whose_certificate_is_for_another_name(through):
    with ProxyServer() as proxy:
        rig = through(proxy.url("https").replace("127.0.0.1", "proxy.invalid"))
        rig.transport.resolve = lambda _host, port: [Address(socket.AF_INET, ("127.0.0.1", port))]
        assert "is not valid for 'proxy.invalid'" in rig.ended()


def test_tls_where_it_is_not_spoken(through):
    def talk(sock):
        sock.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n" if sock.recv(1_000) else b"")

    with ProxyServer(talk=talk) as proxy:
        rig = through(proxy.url("http").replace("http", "https"))
        assert "TLS with the proxy failed: " in rig.ended()


@pytest.mark.parametrize("behind", [False, True])
def test_a_broker_that_does_not_read_for_a_while(through, serve, pems, behind):
    """What waits in either TLS goes on when there is room; behind: with TLS in TLS."""
    context = TlsOptions(
        certfile=str(pems.folder / "broker.pem"), keyfile=str(pems.key("broker"))
    ).make_serving_context("none")
    go = threading.Event()

    def handle(sock):
        if behind:
            sock = context.wrap_socket(sock.dup(), server_side=True)
        with sock:
            go.wait(LIMIT_S)
            echo(sock)

    server = serve(handle)
    trusting = TlsOptions(cafile=str(pems.ca)).make_context() if behind else None
    with ProxyServer() as proxy:
        rig = through(proxy.url("https"), trusting)
        link = rig.connect("localhost", server.port)
        for number in range(8):
            rig.core.send(link, frame(bytes([number]) * 1_000_000))
        rig.pump.step(0)
        rig.pump.step(0)
        go.set()
        rig.until(lambda: len(rig.core.frames) == 8)
    assert [body[:1] * 1_000_000 == body for _, body in rig.core.frames] == [True] * 8


@pytest.mark.skipif(missing() is not None, reason=str(missing()))
@pytest.mark.parametrize(
    ("host", "scheme"),
    [*(("localhost", scheme) for scheme in SCHEMES), ("other.invalid", "socks5h")],
)
def test_tls_is_the_brokers_and_so_is_its_name(through, serve, pems, scheme, host):
    context = TlsOptions(
        certfile=str(pems.folder / "broker.pem"), keyfile=str(pems.key("broker"))
    ).make_serving_context("none")
    asked_for = []
    context.sni_callback = lambda _sock, name, _context: asked_for.append(name)

    def handle(sock):
        with context.wrap_socket(sock.dup(), server_side=True) as tls:
            echo(tls)

    server = serve(handle)
    trusting = TlsOptions(cafile=str(pems.ca)).make_context()
    with ProxyServer(names={"other.invalid": "127.0.0.1"}, piece=1) as proxy:
        rig = through(proxy.url(scheme), trusting)
        link = rig.connect(host, server.port)
        assert asked_for == [host]
        if host == "localhost":
            rig.core.send(link, frame(b"x" * 300_000))
            rig.until(lambda: rig.core.frames)
        else:
            assert "not trusted" in rig.core.closed[0][1]
            assert rig.core.untrusted
            assert not rig.core.by_proxy
