"""What a way is found by, and gone on with, without a socket."""

import socket

from kcore.actions import Connect
from kcore.settings.proxies import parse_proxy
from kcore.transports import Address, routes
from kcore.transports.routes import Routes
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


def test_what_is_said_to_a_proxy_waits_for_room():
    proxy = parse_proxy("proxy_url", "socks5h://proxy:1080")
    gate = Address(socket.AF_INET, ("10.0.0.1", 1080))
    tunnel, sock = Tunnel(proxy, gate, "b", 9092), Narrow(0, 2, 0, 9, 9, 9)
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
