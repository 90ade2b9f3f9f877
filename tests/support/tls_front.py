"""TLS in front of whatever listens on a port of this machine: a proxy that is an https:// one then.

with ProxyServer(talk=tls_to("127.0.0.1", port)) as front: ...
"""

from __future__ import annotations

import select
import socket
import ssl
from collections.abc import Callable
from functools import cache

from kcore.embedded.certificates import Authority
from kcore.transports.tls import TlsOptions


@cache
def authority() -> Authority:
    """Who signs for all fronts."""
    return Authority(())


def trusting() -> ssl.SSLContext:
    """What to go to a front with."""
    return TlsOptions(cafile=authority().cafile).make_context()


@cache
def _serving() -> ssl.SSLContext:
    pair = authority().broker
    options = TlsOptions(certfile=pair.certfile, keyfile=pair.keyfile)
    return options.make_serving_context("none")


def tls_to(host: str, port: int) -> Callable[[socket.socket], None]:
    """What passes a connection on, by TLS on its side alone, until either side ends."""

    def talk(sock: socket.socket) -> None:
        with (
            _serving().wrap_socket(sock.dup(), server_side=True) as tls,
            socket.create_connection((host, port), 10) as beyond,
        ):
            beyond.settimeout(None)
            pass_on(tls, beyond)

    return talk


def pass_on(tls: ssl.SSLSocket, beyond: socket.socket) -> None:
    """In one thread: OpenSSL's connections are not for two."""
    while True:
        ready = [tls] if tls.pending() else select.select([tls, beyond], [], [])[0]
        for source in ready:
            data = source.recv(65_536)
            if not data:
                return
            (beyond if source is tls else tls).sendall(data)
