"""SOCKS5 (RFC 1928), with name and password (RFC 1929), up to the byte behind which the broker's
begin.

    ours: version, methods               theirs: version, method
    ours: version, name, password        theirs: version, status         (if it chose that)
    ours: version, CONNECT, 0, address   theirs: version, reply, 0, address (of no use here)

An address is 1 and four bytes, 4 and sixteen, or 3, a length and a name; then two bytes of port.
"""

from __future__ import annotations

import socket
from typing import Final

from kcore.transports.handshakes import (
    Handshake,
    Said,
    State,
    as_name,
)
from kcore.transports.sockets import ProxyFaultError, ProxyRefusedError

_VERSION: Final = 5
_PASSWORD_VERSION: Final = 1
_NO_METHOD: Final = 0xFF
_NOTHING, _PASSWORD = 0, 2  # methods
_CONNECT: Final = 1
_IPV4, _NAME, _IPV6 = 1, 3, 4  # kinds of addresses
_PORT_BYTES: Final = 2
# Of a reply: version, code, reserved, the kind of its address, and the first byte of that.
_HEAD_BYTES: Final = 5

# RFC 1928 6, from the broker's side of the proxy.
REPLIES: Final = {
    1: "it failed, without a reason",
    2: "its rules do not allow the connection",
    3: "the broker's network is unreachable",
    4: "the broker's host is unreachable",
    5: "the broker refused the connection",
    6: "the time to live expired",
    7: "it does not know the command",
    8: "it does not know the kind of address",
}


class Socks5(Handshake):
    """See the module's text."""

    first = State.OFFERED

    def _begin(self) -> None:
        self._address = _address(self._host, self._port)
        methods = bytes((_NOTHING, _PASSWORD) if self._proxy.username else (_NOTHING,))
        self._say(bytes((_VERSION, len(methods))) + methods)

    @property
    def wants(self) -> int:
        """As many as are missing of the answer, as far as its length is known."""
        if self.state is State.OPEN:
            return 0
        if self.state is State.ENDING:
            return self._left - len(self._said)
        # The first two bytes of a reply say whether anything is to follow.
        whole = _HEAD_BYTES if self.state is State.ASKED and len(self._said) >= 2 else 2
        return whole - len(self._said)

    def end(self) -> None:
        """See Handshake."""
        if self.state is State.PROVING:
            why = "the proxy closed the connection when it had heard the name and the password"
            raise ProxyFaultError(f"{why} (some refuse them this way)")
        super().end()

    def _look(self) -> None:
        said, state = self._said, self.state
        expected = _PASSWORD_VERSION if state is State.PROVING else _VERSION
        if state is not State.ENDING and said and said[0] != expected:
            raise ProxyFaultError(_no_socks(said[0]))
        if state is State.ASKED and len(said) >= 2 and said[1]:
            words = REPLIES.get(said[1], "it refused")
            raise ProxyFaultError(f"the proxy says: {words} (SOCKS reply {said[1]})")
        if self.wants:
            return
        if state is State.OFFERED:
            self._choose(said[1])
        elif state is State.PROVING:
            if said[1]:
                raise ProxyRefusedError("the proxy refused the name and the password")
            self._ask(Said.ACCEPTED)
        elif state is State.ASKED:
            self._reached(said[3], said[4])
        else:
            self._move(Said.ENDED, len(said))

    def _choose(self, method: int) -> None:
        proxy = self._proxy
        if method == _NOTHING:
            self._ask(Said.CHOSE_NOTHING)
        elif method == _PASSWORD and proxy.username:
            name, password = proxy.username.encode(), proxy.password.encode()
            self._say(bytes((_PASSWORD_VERSION, len(name))) + name)
            self._say(bytes((len(password),)) + password)
            self._move(Said.CHOSE_PASSWORD, 2)
        elif method in (_PASSWORD, _NO_METHOD):
            wanted = "another way of authenticating than a name and a password"
            if not proxy.username:
                wanted = "a name and a password: give them in proxy_url"
            raise ProxyRefusedError(f"the proxy wants {wanted}")
        else:
            raise ProxyFaultError(f"the proxy chose a method that was not offered ({method})")

    def _ask(self, why: Said) -> None:
        self._say(bytes((_VERSION, _CONNECT, 0)) + self._address)
        self._move(why, 2)

    def _reached(self, kind: int, first: int) -> None:
        sizes = {_IPV4: 4, _IPV6: 16, _NAME: 1 + first}
        if kind not in sizes:
            raise ProxyFaultError(f"the proxy answered with an unknown kind of address ({kind})")
        self._left = sizes[kind] - 1 + _PORT_BYTES  # the first byte of it is read
        self._move(Said.REACHED, _HEAD_BYTES)


def _address(host: str, port: int) -> bytes:
    """As RFC 1928 5 writes it; a numeric address as such, even where names are the proxy's."""
    numeric = host.partition("%")[0]  # which of our interfaces is of no use to the proxy
    for kind, family in ((_IPV4, socket.AF_INET), (_IPV6, socket.AF_INET6)):
        try:
            return bytes((kind,)) + socket.inet_pton(family, numeric) + port.to_bytes(2)
        except OSError:
            continue
    name = as_name(host).encode()
    return bytes((_NAME, len(name))) + name + port.to_bytes(2)


def _no_socks(first: int) -> str:
    hint = " (it answers in HTTP: is it an http:// proxy?)" if first == ord("H") else ""
    return f"the proxy does not speak SOCKS5{hint}"
