"""Last words behind requests whose answers are still to come."""

import os
import socket
import threading
from contextlib import suppress

import pytest
from descriptors import descriptors, wait_for_descriptors

from kcore.transports import lingering as room
from kcore.transports.lingering import Lingering

pytestmark = pytest.mark.usefixtures("in_time")


@pytest.fixture
def in_time(monkeypatch):
    """What nobody closes is closed within the test."""
    monkeypatch.setattr(room, "LINGER_MS", 3_000)


def pair():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = socket.create_connection(listener.getsockname(), 10)
        peer, _ = listener.accept()
    peer.settimeout(10)
    return client, peer


def serve(peer, answers):
    """A broker: reads a byte, answers it, and stops at what cannot be written. What it has read."""
    read = b""
    with peer, suppress(ConnectionError):
        while byte := peer.recv(1):
            read += byte
            if len(read) <= answers:
                peer.sendall(b"answer")
    return read


def test_all_that_was_said_is_read_though_nobody_waits_for_the_answers():
    before = descriptors()
    client, peer = pair()
    client.sendall(b"heartbeat, commit, leave")
    assert Lingering().keep(client)
    assert serve(peer, answers=20) == b"heartbeat, commit, leave"
    wait_for_descriptors(before)


def test_where_the_socket_is_closed_at_once_the_third_request_is_not_read():
    """Why there is such a thing."""
    client, peer = pair()
    client.sendall(b"hcl")
    client.close()
    assert serve(peer, answers=20) == b"hc"


def test_one_that_its_peer_does_not_close_is_closed_in_the_end(monkeypatch):
    monkeypatch.setattr(room, "LINGER_MS", 50)
    before = descriptors()
    kept = Lingering()
    pairs = [pair() for _ in range(3)]
    for client, _ in pairs:
        assert kept.keep(client)
    wait_for_descriptors([*before, *("its peer" for _ in pairs)])
    for _, peer in pairs:
        assert peer.recv(1) == b""
        peer.close()
    client, peer = pair()  # and another thread is there for the next one
    assert kept.keep(client)
    peer.close()
    wait_for_descriptors(before)


def test_one_that_has_ended_is_left_to_its_owner():
    client, peer = pair()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    peer.close()
    assert not Lingering().keep(client)
    client.close()


def test_there_are_not_too_many(monkeypatch):
    monkeypatch.setattr(room, "SOCKETS_MAX", 1)
    kept = Lingering()
    (client, peer), (other, its_peer) = pair(), pair()
    assert kept.keep(client)
    assert not kept.keep(other)
    for sock in (peer, other, its_peer):
        sock.close()


def test_where_there_is_no_thread_to_be_had_it_is_the_owners(monkeypatch):
    def refuse(_function):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(room, "run_in_thread", refuse)
    client, peer = pair()
    assert not Lingering().keep(client)
    client.close()
    peer.close()


def test_the_child_of_a_fork_lets_go_of_them():
    client, peer = pair()
    kept = Lingering()
    assert kept.keep(client)
    held = kept._kept[0][0].fileno()
    child = os.fork()
    if child == 0:
        code = 1
        with suppress(OSError):
            os.fstat(held)
            code = 2
        os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
    peer.sendall(b"answer")  # the parent's is there
    peer.close()


def test_those_who_come_from_many_threads_are_all_closed():
    before = descriptors()
    kept = Lingering()
    pairs = [pair() for _ in range(24)]

    def keep(some):
        for client, _ in some:
            assert kept.keep(client)

    threads = [threading.Thread(target=keep, args=(pairs[one::4],)) for one in range(4)]
    for thread in threads:
        thread.start()
    for _, peer in pairs:
        peer.close()
    for thread in threads:
        thread.join()
    wait_for_descriptors(before)
