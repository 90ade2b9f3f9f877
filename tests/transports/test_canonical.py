"""What names stand for, by their canonical names (KIP-235), as a resolver of the test's says."""

import logging
import socket

import pytest

from kcore.transports.canonical import canonical_servers


class Resolver:
    """forward: name -> addresses. back: address -> name."""

    def __init__(self, forward, back):
        self.forward, self.back = forward, back

    def getaddrinfo(self, host, port, type):  # noqa: A002 - theirs
        assert type is socket.SOCK_STREAM
        host = host.decode() if isinstance(host, bytes) else host
        numeric = host[0].isdigit() or ":" in host
        found = [host] if numeric else self.forward.get(host)
        if found is None:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [self.row(address, port) for address in found for _ in range(2)]  # as some say twice

    def row(self, address, port):
        if ":" in address:
            return socket.AF_INET6, type, 6, "", (address, port, 0, 0)
        return socket.AF_INET, type, 6, "", (address, port)

    def getnameinfo(self, sockaddr, flags):
        assert flags == socket.NI_NAMEREQD
        if sockaddr[0] not in self.back:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return self.back[sockaddr[0]], str(sockaddr[1])


THREE = {
    "alias": ["10.0.0.1", "10.0.0.2", "fd00::3"],
    "b1": ["10.0.0.1"],
    "b2": ["10.0.0.7", "10.0.0.2"],
    "b3": ["fd00::3"],
}
NAMES = {"10.0.0.1": "b1", "10.0.0.2": "b2", "fd00::3": "b3"}
ALL = [("b1", 9), ("b2", 9), ("b3", 9)]


@pytest.mark.parametrize(
    ("servers", "found"),
    [
        ([("alias", 9)], ALL),
        ([("alias", 9), ("b2", 9), ("10.0.0.1", 9)], [*ALL, ("10.0.0.7", 9)]),
        ([("b1", 1), ("b1", 2)], [("b1", 1), ("b1", 2)]),
        ([("10.0.0.9", 9)], [("10.0.0.9", 9)]),  # it has no name
        ([], []),
    ],
)
def test_a_broker_at_each_address(servers, found):
    assert canonical_servers(servers, Resolver(THREE, NAMES)) == found


def test_a_name_that_is_somebody_elses_is_not_believed():
    liar = NAMES | {"10.0.0.1": "b2", "10.0.0.2": "no-such"}
    found = canonical_servers([("alias", 9)], Resolver(THREE, liar))
    assert found == [("10.0.0.1", 9), ("10.0.0.2", 9), ("b3", 9)]


def test_a_name_that_is_not_found_stays(caplog):
    caplog.set_level(logging.WARNING)
    found = canonical_servers([("gone", 9), ("b1", 9)], Resolver(THREE, NAMES))
    assert found == [("gone", 9), ("b1", 9)]
    assert "gone has no canonical name now: Name or service not known" in caplog.text


def test_with_the_systems_resolver():
    [(name, port)] = canonical_servers([("127.0.0.1", 7)])
    assert port == 7
    assert "127.0.0.1" in {at[4][0] for at in socket.getaddrinfo(name, 7)}
