"""TLS under every driver: good peers, wrong certificates, peers that speak something else."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time

import certificates
import pytest
from certificates import Certificates
from toy_core import echo, frame

from kcore.errors import KafkaConfigurationError
from kcore.transports import Step
from kcore.transports.tls import TlsOptions, TlsSocket

pytestmark = pytest.mark.skipif(
    certificates.missing() is not None, reason=str(certificates.missing())
)


@pytest.fixture(scope="session")
def pems(tmp_path_factory):
    return Certificates(tmp_path_factory.mktemp("certificates"))


def server_side(pems, name="broker", handler=echo, **settings):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pems.folder / f"{name}.pem", pems.key(name))
    for setting, value in settings.items():
        setattr(context, setting, value)
    if context.verify_mode is ssl.CERT_REQUIRED:
        context.load_verify_locations(pems.ca)

    def handle(sock):
        with context.wrap_socket(sock.dup(), server_side=True) as tls:
            handler(tls)

    return handle


def trusting(pems, **options):
    return TlsOptions(cafile=str(pems.ca), **options).make_context()


VERSIONS = [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3]


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.name)
def test_echo(make_rig, serve, pems, version):
    rig = make_rig(tls=trusting(pems))
    link = rig.connect(serve(server_side(pems, maximum_version=version)))
    for size in (1, 100, 16_384, 16_385, 300_000):
        rig.core.send(link, frame(b"x" * size))
        rig.until(lambda: rig.core.frames)
        assert rig.core.frames.pop() == (link, b"x" * size)
    assert rig.core.closed == []


def test_what_is_sent_before_the_handshake_goes_out_in_order(make_rig, serve, pems):
    rig = make_rig(tls=trusting(pems))
    link = rig.core.connect("localhost", serve(server_side(pems)).port)
    for number in range(20):
        rig.core.send(link, frame(b"%d" % number))
    rig.until(lambda: len(rig.core.frames) == 20)
    assert [body for _, body in rig.core.frames] == [b"%d" % n for n in range(20)]


def test_megabytes_both_ways_through_full_buffers(make_rig, serve, pems):
    rig = make_rig(tls=trusting(pems))
    link = rig.connect(serve(server_side(pems)))
    bodies = [bytes([number]) * 3_000_000 for number in range(4)]
    for body in bodies:
        rig.core.send(link, frame(body))
    rig.until(lambda: len(rig.core.frames) == len(bodies))
    assert [body for _, body in rig.core.frames] == bodies


def test_decrypted_bytes_are_never_left_lying(make_rig, serve, pems):
    # One record with more frames than a step reads: the kernel has nothing left to be ready with.
    burst = b"".join(frame(b"%d" % number) for number in range(1_000))

    def say(tls):
        tls.recv(4)
        tls.sendall(burst)
        tls.recv(1)

    rig = make_rig(tls=trusting(pems))
    link = rig.connect(serve(server_side(pems, handler=say)))
    rig.core.send(link, b"go!!")
    rig.until(lambda: rig.core.frames)
    while len(rig.core.frames) < 1_000:  # what drives it by callbacks of a loop has to know
        assert rig.pump.restless
        rig.pump.step(0)
    rig.until(lambda: not rig.pump.restless)


def test_the_first_words_of_the_peer_may_come_with_the_handshake(make_rig, serve, pems):
    def speak_first(tls):
        tls.sendall(frame(b"hello"))
        tls.recv(1)

    rig = make_rig(tls=trusting(pems))
    link = rig.connect(serve(server_side(pems, handler=speak_first)))
    rig.until(lambda: rig.core.frames)
    assert rig.core.frames == [(link, b"hello")]


def test_the_first_words_of_the_peer_may_come_with_its_last_of_the_handshake(make_rig, serve, pems):
    """In one piece, behind which the socket tells of nothing more."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pems.folder / "broker.pem", pems.key("broker"))
    context.maximum_version = ssl.TLSVersion.TLSv1_2

    def speak_at_once(sock):
        told, said = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = context.wrap_bio(told, said, server_side=True)
        while True:
            try:
                tls.do_handshake()
            except ssl.SSLWantReadError:
                sock.sendall(said.read())
                told.write(sock.recv(1 << 16))
            else:
                break
        tls.write(frame(b"hello"))
        sock.sendall(said.read())
        sock.recv(1)

    rig = make_rig(tls=trusting(pems))
    link = rig.connect(serve(speak_at_once))
    rig.until(lambda: rig.core.frames, 5)
    assert rig.core.frames == [(link, b"hello")]


@pytest.mark.parametrize("politely", [True, False])
def test_what_came_before_the_end_counts(make_rig, serve, pems, politely):
    def leave(tls):
        tls.sendall(frame(b"last words"))
        if politely:
            tls.unwrap()

    rig = make_rig(tls=trusting(pems))
    link = rig.connect(serve(lambda sock: (server_side(pems, handler=leave)(sock), sock.close())))
    if politely:  # the server waits for an answer that never comes
        rig.until(lambda: rig.core.frames)
    rig.until(lambda: rig.core.closed)
    assert rig.core.frames == [(link, b"last words")]
    assert rig.core.closed == [(link, "closed by the peer", False)]
    assert rig.core.untrusted == []


# Trust ------------------------------------------------------------------------------------------


def refused(rig, server, host="127.0.0.1"):
    link = rig.core.connect(host, server.port)
    rig.until(lambda: rig.core.closed)
    [(closed, why, more)] = rig.core.closed
    assert (closed, more) == (link, False)
    assert rig.core.frames == []
    return why


def test_an_unknown_authority(make_rig, serve, pems):
    rig = make_rig(tls=TlsOptions(cafile=str(pems.stranger)).make_context())
    why = refused(rig, serve(server_side(pems)))
    assert "certificate is not trusted" in why
    assert "ssl_cafile" in why
    assert rig.core.untrusted
    assert rig.core.connected == []


def test_a_certificate_for_another_host(make_rig, serve, pems):
    rig = make_rig(tls=trusting(pems))
    assert "not trusted" in refused(rig, serve(server_side(pems, "elsewhere")))
    assert rig.core.untrusted


def test_another_host_is_fine_when_asked_for(make_rig, serve, pems):
    rig = make_rig(tls=trusting(pems, check_hostname=False))
    rig.connect(serve(server_side(pems, "elsewhere")))
    rig = make_rig(tls=TlsOptions(cafile=str(pems.stranger), check_hostname=False).make_context())
    assert "not trusted" in refused(rig, serve(server_side(pems)))  # of the name only


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.name)
def test_a_peer_that_wants_our_certificate(make_rig, serve, pems, version):
    wanting = server_side(pems, verify_mode=ssl.CERT_REQUIRED, maximum_version=version)
    ours = {"certfile": str(pems.client), "keyfile": str(pems.key("client"))}
    rig = make_rig(tls=trusting(pems, **ours))
    rig.connect(serve(wanting))
    rig = make_rig(tls=trusting(pems))
    link = rig.core.connect("127.0.0.1", serve(wanting).port)
    rig.until(lambda: rig.core.closed)
    [(_, why, _)] = rig.core.closed
    assert "the broker refused" in why
    assert rig.core.untrusted == [link]


def test_no_version_in_common(make_rig, serve, pems):
    context = trusting(pems)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    rig = make_rig(tls=context)
    newer = server_side(pems, minimum_version=ssl.TLSVersion.TLSv1_3)
    assert "protocol version" in refused(rig, serve(newer))
    assert rig.core.untrusted


# Peers that speak something else ------------------------------------------------------------------


def test_a_peer_that_hangs_up_may_be_tried_again(make_rig, serve):
    rig = make_rig(tls=TlsOptions().make_context())
    assert "TLS" in refused(rig, serve(lambda sock: sock.shutdown(socket.SHUT_RDWR)))
    assert rig.core.untrusted == []


def test_a_peer_that_answers_in_plain(make_rig, serve):
    rig = make_rig(tls=TlsOptions().make_context())
    answer = b"HTTP/1.1 400 Bad Request\r\n\r\n"
    assert "does not speak TLS" in refused(rig, serve(lambda sock: sock.sendall(answer)))
    assert rig.core.untrusted


def test_a_silent_peer_is_the_cores_to_end(make_rig, serve):
    rig = make_rig(tls=TlsOptions().make_context())
    link = rig.core.connect("127.0.0.1", serve(lambda sock: sock.recv(1) and time.sleep(0.5)).port)
    for _ in range(3):
        rig.pump.step(20)
    assert rig.core.connected == []
    rig.core.disconnect(link)
    rig.pump.drain()
    assert rig.core.closed == []


def test_a_host_that_cannot_be_one(make_rig, serve, pems):
    rig = make_rig(tls=trusting(pems))
    refused(rig, serve(server_side(pems)), host="\x00")


def test_gevent_monkey_patching_does_not_disturb(serve, pems):
    server = serve(server_side(pems))
    code = f"""
import gevent.monkey
gevent.monkey.patch_all()
from toy_core import ToyCore, frame
from kcore.transports import Pump, create
from kcore.transports import Step
from kcore.transports.tls import TlsOptions, TlsSocket
core = ToyCore()
pump = Pump(core, create("blocking"), tls=TlsOptions(cafile={str(pems.ca)!r}).make_context())
link = core.connect("127.0.0.1", {server.port})
core.send(link, frame(b"x" * 500_000))
while not core.frames and not core.closed:
    pump.step(200)
assert core.frames == [(link, b"x" * 500_000)], core.closed
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr


# Options ------------------------------------------------------------------------------------------


def encrypted_key(pems):
    locked = pems.folder / "locked.key"
    command = ["openssl", "ec", "-in", str(pems.key("client")), "-aes256", "-passout", "pass:open"]
    subprocess.run([*command, "-out", str(locked)], check=True, capture_output=True)
    return str(locked)


@pytest.mark.parametrize("password", ["open", b"open", lambda: "open"])
def test_the_password_of_a_key(pems, password):
    TlsOptions(
        certfile=str(pems.client), keyfile=encrypted_key(pems), password=password
    ).make_context()


@pytest.mark.parametrize("in_memory", [True, False])
@pytest.mark.parametrize("where", ["apart", "together", "a file"])
def test_texts_in_place_of_files(pems, monkeypatch, in_memory, where, tmp_path):
    if not in_memory:
        monkeypatch.delattr(os, "memfd_create")
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    key = pems.key("client").read_text()
    own = {"certdata": pems.client.read_text()}
    if where == "apart":
        own["keydata"] = key
    elif where == "together":
        own["certdata"] = key + own["certdata"]
    else:
        own["keyfile"] = str(pems.key("client"))
    options = TlsOptions(cadata=pems.ca.read_text(), **own)
    assert len(options.make_context().get_ca_certs()) == 1
    assert list(tmp_path.iterdir()) == []  # nothing is left on a disk
    assert "PRIVATE" not in repr(options)


def test_what_is_wrong_with_a_key_or_ciphers_is_said_in_words(pems):
    client = str(pems.client)
    for wrong, said in (
        ({"certfile": client}, "give ssl_keyfile"),
        (
            {"certfile": client, "keyfile": encrypted_key(pems), "password": "wrong"},
            "is ssl_password the right one",
        ),
        ({"ciphers": "no-such"}, "ssl_ciphers='no-such': No cipher can be selected"),
    ):
        with pytest.raises(KafkaConfigurationError, match=said):
            TlsOptions(**wrong).make_context()


def test_texts_that_cannot_be_used_name_the_option_and_not_the_text(pems):
    with open(encrypted_key(pems)) as file:
        locked = file.read()
    client, stranger = pems.client.read_text(), pems.key("ca").read_text()
    for wrong, option in (
        ({"cadata": "-----BEGIN nothing"}, "ssl_cadata"),
        ({"certdata": client}, "ssl_certdata"),
        ({"certdata": client, "keydata": stranger}, "ssl_certdata"),
        ({"certdata": client, "keydata": locked}, "ssl_certdata"),
        ({"certdata": client, "keydata": locked, "password": "very-secret"}, "ssl_certdata"),
    ):
        with pytest.raises(KafkaConfigurationError, match=option) as caught:
            TlsOptions(**wrong).make_context()
        assert caught.value.option == option
        assert "BEGIN" not in str(caught.value)
        assert "very-secret" not in str(caught.value)
    open_one = TlsOptions(certdata=client, keydata=locked, password="open")
    assert open_one.make_context().check_hostname


def test_files_and_words_that_cannot_be_used_name_the_option(pems):
    client = str(pems.client)
    for wrong, option in (
        ({"cafile": "nowhere.pem"}, "ssl_cafile"),
        ({"cafile": str(pems.key("ca"))}, "ssl_cafile"),
        ({"certfile": "nowhere.pem"}, "ssl_certfile"),
        ({"certfile": client}, "ssl_certfile"),
        ({"certfile": client, "keyfile": str(pems.key("ca"))}, "ssl_certfile"),
        ({"certfile": client, "keyfile": encrypted_key(pems)}, "ssl_certfile"),
        (
            {"certfile": client, "keyfile": encrypted_key(pems), "password": "very-secret"},
            "ssl_certfile",
        ),
        ({"ciphers": "no-such"}, "ssl_ciphers"),
        ({"crlfile": "nowhere.pem"}, "ssl_crlfile"),
    ):
        with pytest.raises(KafkaConfigurationError, match=option) as caught:
            TlsOptions(**wrong).make_context()
        assert caught.value.option == option
        assert "very-secret" not in str(caught.value)


def test_a_context_is_taken_as_it_is():
    context = ssl.create_default_context()
    assert TlsOptions(context=context).make_context() is context
    assert TlsOptions().make_context().verify_mode is ssl.CERT_REQUIRED
    assert "s3cret" not in repr(TlsOptions(password="s3cret"))


def test_threads_are_not_needed(make_rig, serve, pems):
    before = threading.active_count()
    rig = make_rig(tls=trusting(pems))
    rig.connect(serve(server_side(pems)))
    assert threading.active_count() <= before + 2  # the server's


def test_authorities_in_a_folder(pems, tmp_path):
    """As librdkafka takes them, and OpenSSL: by names that say what is in them."""
    hashed = subprocess.run(
        ["openssl", "x509", "-hash", "-noout", "-in", str(pems.ca)],
        check=True,
        capture_output=True,
        text=True,
    )
    shutil.copy(pems.ca, tmp_path / f"{hashed.stdout.strip()}.0")
    context = TlsOptions(cafile=str(tmp_path)).make_context()
    ours, theirs = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = context.wrap_bio(theirs, ours, server_hostname="localhost")
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(pems.broker, pems.key("broker"))
    server = serving.wrap_bio(ours, theirs, server_side=True)
    for side in (client, server, client):
        with contextlib.suppress(ssl.SSLWantReadError):
            side.do_handshake()
    assert client.getpeercert()


# Odd places ---------------------------------------------------------------------------------------


def test_an_answer_that_has_arrived_outlives_a_write_that_fails(make_rig, serve, pems):
    arrived = threading.Event()

    def answer_and_reset(tls):
        tls.recv(1)
        tls.sendall(frame(b"answer"))
        assert arrived.wait(10)  # a reset may overtake what is on its way
        tls.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def handle(sock):
        server_side(pems, handler=answer_and_reset, num_tickets=0)(sock)  # the answer comes first
        sock.close()

    rig = make_rig(tls=trusting(pems))
    link = rig.connect(serve(handle))
    rig.core.send(link, b"?")
    rig.pump.drain()
    rig.wait_for(link, select.POLLIN)
    arrived.set()
    rig.wait_for(link, select.POLLHUP)
    rig.core.send(link, frame(b"more"))
    rig.until(lambda: rig.core.closed)
    assert rig.core.frames == [(link, b"answer")]
    assert rig.core.untrusted == []


def test_what_is_to_be_sent_does_not_keep_a_handshake_awake(driver, make_rig, serve, pems):
    slow = threading.Event()

    def handle(sock):
        slow.wait(10)
        server_side(pems)(sock)

    rig = make_rig(tls=trusting(pems))
    rig.core.connect("127.0.0.1", serve(handle).port)
    rig.core.send(1, frame(b"early"))
    rig.until(lambda: rig.pump.step(100) is Step.IDLE)
    waits = []
    wait = rig.pump.transport.wait
    rig.pump.transport.wait = lambda ms: waits.append(ms) or wait(ms)
    rig.pump.step(200)
    slow.set()
    rig.until(lambda: rig.core.frames)
    assert len(waits) < 20


def test_what_came_before_a_fault_lends_nothing_on(pems):
    """The buffer that was filled is the core's again, which may make it another size."""
    server, client = socket.socketpair()
    peer = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    peer.load_cert_chain(pems.folder / "broker.pem", pems.key("broker"))
    told, said = ssl.MemoryBIO(), ssl.MemoryBIO()
    other = peer.wrap_bio(told, said, server_side=True)
    client.setblocking(False)
    ours = TlsSocket(client, trusting(pems), "localhost", 0)
    while not ours.handshake():
        told.write(server.recv(1 << 16))
        with contextlib.suppress(ssl.SSLWantReadError):
            other.do_handshake()
        server.sendall(said.read())
    told.write(server.recv(1 << 16))
    other.do_handshake()
    other.write(b"last words")
    server.sendall(said.read() + b"no TLS at all")
    room = bytearray(100)
    assert ours.recv_into(memoryview(room)) == 10
    room += b"more"  # BufferError while any view of it is left
    with pytest.raises(ConnectionResetError):
        ours.recv_into(memoryview(room))
    ours.close()
    server.close()
