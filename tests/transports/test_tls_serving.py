"""TLS on the side that is connected to: the serving pump with an echo behind it."""

import random
import socket
import ssl
import struct
import time
from contextlib import suppress

import certificates
import pytest
from certificates import Certificates

from kcore.actions import Disconnect, Send, SendParts
from kcore.errors import KafkaConfigurationError
from kcore.timers import NEVER
from kcore.transports.serve import Server
from kcore.transports.tls import TlsOptions
from kcore.transports.tls_serving import TlsDoor

pytestmark = pytest.mark.skipif(
    certificates.missing() is not None, reason=str(certificates.missing())
)
LIMIT_S = 10


class Echo:
    """Sends back what it reads, in pieces; "q" ends the connection."""

    def __init__(self):
        self.actions, self.told, self.names = [], [], []
        self.reading = True
        self._room = bytearray(1_000)

    def handle_connected(self, link, _host, _now_ms):
        self.told.append("connected")

    def handle_secured(self, _link, name, _now_ms):
        self.told.append("secured")
        self.names.append(name)

    def receive_buffer(self, _link):
        return memoryview(self._room)

    def receive_advance(self, link, n, _now_ms):
        data = bytes(self._room[:n])
        parts = [data[: n // 2], b"", memoryview(data)[n // 2 :]]
        self.actions.append(SendParts(link, parts) if n > 1 else Send(link, data))
        if data == b"q":
            self.actions.append(Disconnect(link))

    def handle_sent(self, _link, _now_ms):
        self.told.append("sent")

    def handle_closed(self, _link, why, _now_ms):
        self.told.append(f"closed: {why}")

    def handle_deadline(self, _now_ms):
        """Nothing is due."""

    def next_action(self):
        return self.actions.pop(0) if self.actions else None

    def deadline(self):
        return NEVER

    def reads(self, _link):
        return self.reading


@pytest.fixture(scope="module")
def pems(tmp_path_factory):
    return Certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture
def serve(pems):
    servers = []

    def start(client_auth="none", **options):
        given = {"certfile": str(pems.broker), "keyfile": str(pems.key("broker"))}
        options = TlsOptions(cafile=str(pems.ca), **given | options)
        core, listener = Echo(), socket.create_server(("127.0.0.1", 0))
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65_536)
        door = TlsDoor(options.make_serving_context(client_auth))
        servers.append(Server([(listener, core)], tls=door))
        servers[-1].start()
        core.server, core.address = servers[-1], listener.getsockname()
        return core

    yield start
    for server in servers:
        server.stop()
        assert not server.faults


def trusting(pems, own=None, version=None):
    context = ssl.create_default_context(cafile=str(pems.ca))
    if own:
        context.load_cert_chain(pems.folder / f"{own}.pem", pems.key(own))
    if version:
        context.maximum_version = version
    return context


def connect(core, context):
    """An end that comes without a goodbye is an error to it."""
    sock = socket.create_connection(core.address, LIMIT_S)
    return context.wrap_socket(sock, server_hostname="localhost", suppress_ragged_eofs=False)


def echoed(tls, data):
    tls.sendall(data)
    return exactly(tls, len(data)) == data


def exactly(tls, size):
    data = b""
    while len(data) < size:
        more = tls.recv(size - len(data))
        assert more
        data += more
    return data


def until(enough):
    end = time.monotonic() + LIMIT_S
    while not enough():
        assert time.monotonic() < end
        time.sleep(0.002)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_what_is_said_comes_back(serve, pems, version):
    core = serve()
    with connect(core, trusting(pems, version=version)) as tls:
        assert tls.version() == version.name.replace("_", ".")
        for size in (1, 2, 1_000, 1_001, 16_385, 100_000):
            assert echoed(tls, b"x" * size)
    assert core.told[:2] == ["connected", "secured"]
    assert core.names == [None]
    until(lambda: core.told[-1].startswith("closed"))


def test_answers_that_are_not_taken_wait_and_go_on(serve, pems):
    """Ciphertext that the socket does not take is written when it does; it is made of no more than
    a part of what waits.
    """
    core = serve()
    data = random.Random(3).randbytes(3_000_000)
    with connect(core, trusting(pems)) as tls:
        tls.settimeout(0.3)
        sent = 0
        with suppress(TimeoutError):
            while sent < len(data):
                sent += tls.send(data[sent : sent + 16_000])
        (client,) = core.server._clients.values()
        until(lambda: core.server.call(lambda _now_ms: sum(map(len, client.out))) > 500_000)
        assert client.tls._outgoing.pending + len(client.tls._rest) < 300_000
        tls.settimeout(LIMIT_S)
        assert exactly(tls, sent) == data[:sent]


def test_what_tls_has_read_is_not_left_lying(serve, pems):
    """One record, of which the core takes a part at a time: the socket tells of nothing more."""
    core = serve()
    with connect(core, trusting(pems)) as tls:
        assert echoed(tls, b"x")
        core.server.call(lambda _now_ms: setattr(core, "reading", False))
        tls.sendall(b"y" * 10_000)
        tls.settimeout(0.05)
        with pytest.raises(TimeoutError):
            tls.recv(1)
        tls.settimeout(LIMIT_S)
        core.reading = True
        core.server.call(lambda _now_ms: core.server.look_again())
        assert exactly(tls, 10_000) == b"y" * 10_000


def test_bytes_in_drops(serve, pems):
    """A handshake that comes a byte at a time is one all the same."""
    core = serve()
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = trusting(pems).wrap_bio(incoming, outgoing, server_hostname="localhost")
    with socket.create_connection(core.address, LIMIT_S) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while True:
            try:
                tls.do_handshake()
            except ssl.SSLWantReadError:
                drops = outgoing.read()
                for at in range(len(drops)):
                    sock.sendall(drops[at : at + 1])
                incoming.write(sock.recv(65_536))
            else:
                break
        tls.write(b"z")
        sock.sendall(outgoing.read())
        data = b""
        while not data:
            incoming.write(sock.recv(65_536))
            with suppress(ssl.SSLWantReadError):
                data = tls.read(10)
        assert data == b"z"


def test_a_server_says_goodbye(serve, pems):
    """So that its end is no error to who looks (OpenSSL: unexpected EOF)."""
    core = serve()
    with connect(core, trusting(pems)) as tls:
        tls.sendall(b"q")
        assert tls.recv(10) == b"q"
        assert tls.recv(10) == b""


# Certificates of clients --------------------------------------------------------------------------


def ends_refused(core, context):
    """TLS 1.3 tells a client later."""
    try:
        with connect(core, context) as tls:
            tls.sendall(b"x")
            return not tls.recv(1)
    except (ssl.SSLError, ConnectionError):
        return True


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
@pytest.mark.parametrize(
    ("asked", "shown", "name"),
    [
        ("none", "client", None),
        ("requested", None, None),
        ("requested", "client", "CN=client"),
        ("required", "client", "CN=client"),
    ],
)
def test_whose_certificate_is_shown(serve, pems, version, asked, shown, name):
    core = serve(asked)
    with connect(core, trusting(pems, shown, version)) as tls:
        assert echoed(tls, b"hello")
    assert core.names == [name]


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
@pytest.mark.parametrize(
    ("asked", "shown"), [("required", None), ("required", "stranger"), ("requested", "stranger")]
)
def test_who_is_not_let_in(serve, pems, version, asked, shown):
    core = serve(asked)
    assert ends_refused(core, trusting(pems, shown, version))
    until(lambda: core.told[-1].startswith("closed"))
    assert "secured" not in core.told
    with connect(core, trusting(pems, "client")) as tls:  # others are
        assert echoed(tls, b"hello")


def test_files_that_are_not_what_they_should_be(pems):
    own = {"certfile": str(pems.broker), "keyfile": str(pems.key("broker"))}
    for options, named in (
        (own | {"certfile": "nowhere.pem"}, "ssl_certfile='nowhere.pem'"),
        ({"certfile": str(pems.broker)}, "ssl_certfile"),
        (own | {"cafile": "nowhere.pem"}, "ssl_cafile='nowhere.pem'"),
        (own | {"cafile": str(pems.ca), "ciphers": "nonsense"}, "ssl_ciphers='nonsense'"),
    ):
        with pytest.raises(KafkaConfigurationError, match=named):
            TlsOptions(**options).make_serving_context("required")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    assert TlsOptions(context=context).make_serving_context("none") is context


# Those who speak something else -------------------------------------------------------------------


@pytest.mark.parametrize(
    "said",
    [struct.pack(">ihhih", 20, 18, 0, 1, -1) + bytes(10), b"GET / HTTP/1.1\r\n\r\n", bytes(100),
     bytes.fromhex("16030100c8010000c40303") + bytes(300), bytes.fromhex("1503010002022a")],
    ids=["kafka", "http", "zeros", "half a hello", "alert"],
)  # fmt: skip
def test_who_does_not_speak_tls_is_sent_away(serve, pems, said):
    core = serve()
    with socket.create_connection(core.address, LIMIT_S) as sock, suppress(ConnectionError):
        sock.sendall(said)
        while sock.recv(1_000):
            pass
    until(lambda: core.told[-1].startswith("closed"))
    assert "secured" not in core.told


def test_who_goes_in_the_middle_is_forgotten(serve, pems):
    core = serve()
    for size in (1, 5, 50):
        with socket.create_connection(core.address, LIMIT_S) as sock:
            sock.sendall(bytes.fromhex("16030100c8010000c40303")[:size])
    until(lambda: sum(told.startswith("closed") for told in core.told) == 3)


def test_who_stands_still_disturbs_nobody_and_ends_when_the_core_says(serve, pems):
    core = serve()
    still = [socket.create_connection(core.address, LIMIT_S) for _ in range(10)]
    for sock in still:
        sock.sendall(bytes.fromhex("16030100c8"))
    with connect(core, trusting(pems)) as tls:
        assert echoed(tls, b"hello")
    numbers = range(1, 11)
    core.server.call(lambda _now_ms: core.actions.extend(map(Disconnect, numbers)))
    for sock in still:
        with sock:
            assert sock.recv(1) == b""
