"""What a way is found by, and gone on with, without a socket."""

import errno
import socket

import pytest

from kcore.actions import Connect
from kcore.settings.proxies import parse_proxy
from kcore.transports import Address, routes
from kcore.transports.routes import Routes
from kcore.transports.sockets import ProxyFaultError
from kcore.transports.tunnel import Tunnel


class Names:
    """A resolver that knows two addresses of every name."""

    def __init__(self):
        self.asked = []

    def resolve(self, host, port):
        self.asked.append(host)
        return [Address(socket.AF_INET, (f"10.0.0.{number}", port)) for number in (1, 2)]


def test_names_are_forgotten_before_there_are_too_many(monkeypatch):
    monkeypatch.setattr(routes, "NAMES_MAX", 3)
    names = Names()
    found = Routes(names, None)
    for number in range(10):
        assert found.find(Connect(number, f"b{number}", 9092, 0)).more
        assert len(found._walks) <= 3
    last = found.find(Connect(10, "b9", 9092, 1))
    assert (last.address.sockaddr, last.more) == (("10.0.0.2", 9092), False)
    assert names.asked == [f"b{number}" for number in range(10)]  # the walk goes on
    found.find(Connect(11, "b0", 9092, 1))  # forgotten meanwhile
    assert names.asked[10:] == ["b0"]
    for name in ("b9", "b0", "b9"):
        assert not found.find(Connect(12, name, 9092, 1)).more
    assert names.asked[11:] == []  # those that there is room for are not


class LateNames(Names):
    """One that may not wait: it knows each name when it is asked a second time."""

    def __init__(self):
        super().__init__()
        self.known = set()

    def resolve(self, host, port):
        if (host, port) in self.known:
            self.known.remove((host, port))
            return super().resolve(host, port)
        self.known.add((host, port))
        return None


def test_the_addresses_of_a_proxy_are_kept_until_those_of_the_broker_are_there():
    names = LateNames()
    found = Routes(names, parse_proxy("proxy_url", "socks5://proxy:1080"))
    wanted = Connect(1, "b", 9092, 0)
    assert found.find(wanted) is None
    assert found.find(wanted) is None
    route = found.find(wanted)
    assert (route.address.sockaddr, route.beyond) == (("10.0.0.1", 1080), ("10.0.0.1", 9092))
    assert names.asked == ["proxy", "b"]
    assert not found._begun
    for _ in range(2):
        assert found.find(Connect(2, "b", 9092, 0)) is None
    assert found._begun
    found.forget(2)
    assert not found._begun


def test_as_many_routes_are_walked_as_there_are_pairs():
    names = Names()
    found = Routes(names, parse_proxy("proxy_url", "socks5://proxy:1080"))
    routes_ = [found.find(Connect(1, "b", 9092, index)) for index in range(5)]
    assert [route.more for route in routes_] == [True, True, True, False, False]
    assert names.asked == ["proxy", "b"] * 2  # anew behind the last


class Narrow:
    """A socket that takes so many bytes in each call of `send`, 0: none now."""

    def __init__(self, *room):
        self.room = list(room)
        self.sent = b""
        self.answer = b""

    def send(self, data, _flags):
        count = self.room.pop(0)
        if not count:
            raise BlockingIOError
        taken = bytes(data[:count])
        self.sent += taken
        return len(taken)

    def recv_into(self, room, _size, _flags):
        if not self.answer:
            raise BlockingIOError
        count = min(len(room), len(self.answer))
        room[:count], self.answer = self.answer[:count], self.answer[count:]
        return count


def tunnel_of(url):
    gate = Address(socket.AF_INET, ("10.0.0.1", 1080))
    return Tunnel(parse_proxy("proxy_url", url), gate, "b", 9092)


def test_what_is_said_to_a_proxy_waits_for_room():
    tunnel, sock = tunnel_of("socks5h://proxy:1080"), Narrow(0, 2, 0, 9, 9, 9)
    for sent, waits in [(b"", True), (b"\5\1", True), (b"\5\1\0", False), (b"\5\1\0", False)]:
        assert not tunnel.advance(sock, 0)
        assert (sock.sent, tunnel.unsent) == (sent, waits)
    sock.answer = b"\5\0"
    assert not tunnel.advance(sock, 0)
    assert sock.sent == b"\5\1\0" + b"\5\1\0\3\1b\x23\x84"
    sock.answer = b"\5\0\0\1" + bytes(6) + b"the broker's"
    assert tunnel.advance(sock, 0)
    assert tunnel.way is sock
    assert sock.answer == b"the broker's"


def test_tls_with_a_proxy_waits_for_room_as_long_as_it_has_something_to_say():
    tunnel, sock = tunnel_of("https://proxy:1080"), Narrow(0, 10, 0, 9_000)
    for sent, waits in [(0, True), (10, True), (None, False), (None, False)]:
        assert not tunnel.advance(sock, 0)
        assert tunnel.unsent is waits
        assert sent in (None, len(sock.sent))


@pytest.mark.parametrize("url", ["socks5h://proxy:1080", "http://proxy:1080"])
def test_a_connection_to_a_proxy_that_breaks_is_the_proxys_fault(url):
    tunnel, sock = tunnel_of(url), Narrow(9_000)
    assert not tunnel.advance(sock, 0)

    def reset(*_):
        raise ConnectionResetError(errno.ECONNRESET, "reset")

    sock.recv_into = reset
    with pytest.raises(ProxyFaultError, match="the connection to the proxy broke: reset"):
        tunnel.advance(sock, 0)
