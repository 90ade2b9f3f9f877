"""`kcore.Consumer` over real sockets against peers that are not what they should be."""

import re
import socket
import threading
import time
from contextlib import contextmanager, suppress

import pytest

import kcore
from kcore.errors import AuthenticationMethodNotSupported, KafkaError, NoBrokersAvailable

TRANSPORTS = ("blocking", "selectors", "gevent")


@contextmanager
def server(serve):
    """A TCP server on 127.0.0.1 that runs `serve(connection)` for each connection; its address."""
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(0.1)
    stop = threading.Event()
    threads = []

    def one(connection):
        with connection:
            try:
                connection.settimeout(10)
                serve(connection, stop)
            except OSError:
                pass

    def accept():
        while not stop.is_set():
            try:
                connection, _ = listener.accept()
            except OSError:
                continue
            thread = threading.Thread(target=one, args=(connection,), daemon=True)
            threads.append(thread)
            thread.start()

    main = threading.Thread(target=accept, daemon=True)
    main.start()
    try:
        yield f"127.0.0.1:{listener.getsockname()[1]}"
    finally:
        stop.set()
        main.join(5)
        for thread in threads:
            thread.join(5)
        listener.close()


def frame(body):
    return len(body).to_bytes(4, "big") + body


def http(connection, stop):
    connection.recv(4096)
    connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
    stop.wait(5)


def tls_alert(connection, stop):
    connection.recv(4096)
    connection.sendall(b"\x15\x03\x03\x00\x02\x02\x50")
    stop.wait(5)


def silent(connection, stop):
    stop.wait(10)


def hang_up(connection, stop):
    connection.recv(4096)


def negative(connection, stop):
    connection.recv(4096)
    connection.sendall(b"\xff\xff\xff\xfe")
    stop.wait(5)


def huge(connection, stop):
    connection.recv(4096)
    connection.sendall(b"\x7f\xff\xff\xff")
    stop.wait(5)


def unasked(connection, stop):
    connection.sendall(frame(b"\x00\x00\x00\x63" + b"\x00" * 12))
    stop.wait(5)


def chatter(connection, stop):
    """Never ends, never makes sense."""
    while not stop.is_set():
        connection.sendall(b"\x00\x00\x00\x10" + b"?" * 16)


def speaks_nothing_of_ours(connection, stop):
    """Greets, but every version range is inverted."""
    request = connection.recv(4096)
    correlation = request[8:12]
    ranges = b"".join(
        api.to_bytes(2, "big") + b"\x00\x09" + b"\x00\x01" + b"\x00" for api in (1, 2, 3, 9, 10, 18)
    )
    connection.sendall(frame(correlation + b"\x00\x00" + b"\x07" + ranges + b"\x00" * 4 + b"\x00"))
    stop.wait(5)


PEERS = {
    f.__name__: f
    for f in (
        http,
        tls_alert,
        silent,
        hang_up,
        negative,
        huge,
        unasked,
        chatter,
        speaks_nothing_of_ours,
    )
}


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("peer", PEERS)
def test_a_constructor_that_asks_ends_with_a_typed_error(peer, transport):
    with server(PEERS[peer]) as address:
        began = time.monotonic()
        # A peer that says it wants TLS will not stop wanting it: that ends the search at once.
        wanted = AuthenticationMethodNotSupported if peer == "tls_alert" else NoBrokersAvailable
        with pytest.raises(wanted, match=address.replace(".", r"\.")):
            kcore.Consumer(bootstrap_servers=address, bootstrap_timeout_ms=200, transport=transport)
        assert time.monotonic() - began < 5


@pytest.mark.parametrize("peer", PEERS)
def test_polling_such_a_peer_gives_nothing_and_close_is_bounded(peer):
    with server(PEERS[peer]) as address:
        consumer = kcore.Consumer(
            "t",
            bootstrap_servers=address,
            group_id="g",
            api_version=(3, 9),
            request_timeout_ms=46_000,
        )
        cpu = time.process_time()
        end = time.monotonic() + 0.6
        while time.monotonic() < end:
            with suppress(KafkaError):
                assert consumer.poll(timeout_ms=200) == {}
        assert time.process_time() - cpu < 0.3  # it backs off: a spin takes 0.6
        began = time.monotonic()
        consumer.close(timeout_ms=500)
        assert time.monotonic() - began < 3


def test_nobody_listens_there():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(NoBrokersAvailable, match="refused"):
        kcore.Consumer(bootstrap_servers=f"127.0.0.1:{port}", bootstrap_timeout_ms=300)


def test_a_name_that_does_not_resolve():
    with pytest.raises(NoBrokersAvailable, match="no-such-host"):
        kcore.Consumer(bootstrap_servers="no-such-host.invalid:9092", bootstrap_timeout_ms=300)


def test_blocking_questions_time_out_with_the_reason():
    with server(hang_up) as address:
        consumer = kcore.Consumer(bootstrap_servers=address, api_version=(3, 9))
        with pytest.raises(KafkaError):
            consumer.end_offsets([("t", 0)], timeout_ms=500)
        consumer.close(timeout_ms=100)


@pytest.mark.parametrize("client", [kcore.Consumer, kcore.Producer, kcore.Admin])
def test_what_may_be_wrong_with_a_peer_that_says_nothing(client):
    """Nothing was said of it, as nothing had failed yet."""
    with server(silent) as address:
        said = f"tried {address} (neither an answer nor a refusal: does it want TLS"
        with pytest.raises(NoBrokersAvailable, match=re.escape(said)):
            client(bootstrap_servers=address, bootstrap_timeout_ms=300)
