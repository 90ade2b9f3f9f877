"""How sockets are set up: nothing within this machine is sent by a timer."""

from __future__ import annotations

import socket
import sys

import pytest

from kcore.transports import SocketOptions, create
from kcore.transports.core import Address
from kcore.transports.sockets import is_loopback, start_connect, unpace

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="TCP_CONGESTION is Linux's")

CONGESTION = (socket.IPPROTO_TCP, 13)  # TCP_CONGESTION


class Wire:
    """A socket of a system whose congestion control is this; None: one without TCP."""

    def __init__(self, control: bytes | None) -> None:
        self.control = control

    def setblocking(self, _flag: bool) -> None:
        pass

    def getsockopt(self, *asked: int) -> bytes:
        if self.control is None:
            raise OSError("no such option")
        assert asked == (*CONGESTION, 16)
        return self.control.ljust(16, b"\0")

    def setsockopt(self, level: int, option: int, value: int | bytes) -> None:
        if (level, option) == CONGESTION:
            assert isinstance(value, bytes)
            self.control = value

    def connect_ex(self, _at: object) -> int:
        return 0


@pytest.mark.parametrize(
    ("before", "after"), [(b"bbr", b"reno"), (b"bbr2", b"reno"), (b"cubic", b"cubic"), (None, None)]
)
def test_only_a_congestion_control_that_paces_is_replaced(before, after):
    wire = Wire(before)
    unpace(wire)
    assert wire.control == after


@pytest.mark.parametrize(
    ("host", "after"),
    [("127.0.0.1", b"reno"), ("127.9.9.9", b"reno"), ("::1", b"reno"), ("10.0.0.1", b"bbr")],
)
def test_only_for_a_peer_on_this_machine(host, after):
    wire = Wire(b"bbr")
    start_connect(lambda *_: wire, Address(2, (host, 9092)), SocketOptions())
    assert wire.control == after


def test_what_the_user_asks_for_counts():
    wire = Wire(b"bbr")
    options = SocketOptions(socket_options=[(*CONGESTION, b"bbr")])
    start_connect(lambda *_: wire, Address(2, ("127.0.0.1", 9092)), options)
    assert wire.control == b"bbr"


@pytest.mark.parametrize("host", ["::ffff:127.0.0.1", "127.0.0.1", "::1"])
def test_an_address_of_this_machine(host):
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["::2", "1.127.0.1", "localhost", ""])
def test_an_address_that_may_be_anybodys(host):
    assert not is_loopback(host)


def test_a_real_connection(driver):
    with socket.create_server(("127.0.0.1", 0)) as server:
        sock = create(driver).connect(Address(socket.AF_INET, server.getsockname()))
        with sock:
            assert not sock.getsockopt(*CONGESTION, 16).startswith(b"bbr")
