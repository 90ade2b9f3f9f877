"""Many who begin a TLS handshake, and stand still: what they cost is bounded, and so are they."""

import socket
import time

import certificates
import pytest

from kcore.broker import BrokerConfig
from kcore.broker.crowd import CrowdLimits
from kcore.embedded import EmbeddedBroker

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(certificates.missing() is not None, reason=str(certificates.missing())),
]


def test_no_more_than_so_many_begin_a_handshake():
    limits = CrowdLimits(max_connections_per_ip=20)
    with EmbeddedBroker(security_protocol="SSL", config=BrokerConfig(crowd=limits)) as broker:
        host, port = broker.bootstrap.split(":")
        found = [socket.create_connection((host, int(port)), 10) for _ in range(30)]
        for sock in found:
            sock.settimeout(0.02)
            sock.sendall(bytes.fromhex("1603010200010001fc0303") + bytes(100))
        end = time.monotonic() + 10
        while sum(map(is_open, found)) > 20 and time.monotonic() < end:
            time.sleep(0.01)
        assert sum(map(is_open, found)) == 20
        for sock in found:
            sock.close()


def is_open(sock):
    try:
        return bool(sock.recv(1))
    except TimeoutError:
        return True
    except OSError:
        return False
