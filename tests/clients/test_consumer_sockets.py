"""The consumer over real sockets: what needs no broker, and waits that are broken off."""

import contextlib
import socket
import threading

import pytest

from kcore import errors
from kcore.clients.consumer.consumer import Consumer


@contextlib.contextmanager
def peer(serve):
    """A server on 127.0.0.1 that hands each connection to `serve` in a thread of its own."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def accept():
            with contextlib.suppress(OSError):
                while True:
                    sock, _ = listener.accept()
                    threading.Thread(target=attend, args=(sock,), daemon=True).start()

        def attend(sock):
            with sock, contextlib.suppress(OSError):
                serve(sock)

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


def silent(sock):
    while sock.recv(4096):
        pass


def test_with_api_version_given_nothing_is_needed():
    with peer(silent) as port:
        consumer = Consumer(
            "t",
            group_id="g",
            bootstrap_servers=f"127.0.0.1:{port}",
            api_version=(4, 0),
            request_timeout_ms=600,
            fetch_max_wait_ms=100,
        )
        assert consumer.poll(timeout_ms=50) == {}
        with pytest.raises(errors.KafkaTimeoutError):
            consumer.committed(("t", 0), timeout_ms=50)
        consumer.close(timeout_ms=100)


def test_wakeup_from_a_thread_ends_a_real_wait():
    with peer(silent) as port:
        consumer = Consumer(
            "t", group_id="g", bootstrap_servers=f"127.0.0.1:{port}", api_version=(4, 0)
        )
        timer = threading.Timer(0.05, consumer.wakeup)
        timer.start()
        with pytest.raises(errors.WakeupError):
            consumer.poll(timeout_ms=60_000)
        timer.join()
        consumer.close(timeout_ms=0)


@pytest.mark.parametrize("transport", ["carrier pigeon", "blockin"])
def test_unknown_transport(transport):
    with pytest.raises(errors.KafkaConfigurationError, match="blocking") as caught:
        Consumer(transport=transport, api_version=(4, 0))
    assert caught.value.option == "transport"
