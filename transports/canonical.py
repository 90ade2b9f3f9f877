"""The canonical names of what a few names stand for (KIP-235): a broker at each of their addresses.

As Java does: the name that an address has, if that has this address in turn; else the address.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterable
from typing import Any

from kcore.transports.core import Address
from kcore.transports.sockets import addresses, as_ascii, describe

log = logging.getLogger("kcore.transports")

_Server = tuple[str, int]


def canonical_servers(servers: Iterable[_Server], resolver: Any = socket) -> list[_Server]:
    """(host, port) of each address of each name, in order, each once. It waits.

    resolver: what has `getaddrinfo` and `getnameinfo`. A name that is not found stays as it is: it
    is looked up again when it is connected to.
    """
    found: list[_Server] = []
    for host, port in servers:
        try:
            known = _addresses(resolver, host, port)
        except (OSError, ValueError) as error:
            log.warning("%s has no canonical name now: %s", host, describe(error))
            found.append((host, port))
        else:
            found += [(_name(resolver, address), port) for address in known]
    return [*dict.fromkeys(found)]


def _name(resolver: Any, address: Address) -> str:
    numeric = str(address.sockaddr[0])
    try:
        name, _ = resolver.getnameinfo(address.sockaddr, socket.NI_NAMEREQD)
        back = {at.sockaddr[0] for at in _addresses(resolver, name, address.sockaddr[1])}
    except (OSError, ValueError):
        return numeric
    return str(name) if numeric in back else numeric


def _addresses(resolver: Any, host: str, port: int) -> list[Address]:
    return addresses(resolver.getaddrinfo(as_ascii(host), port, type=socket.SOCK_STREAM))
