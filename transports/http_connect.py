"""HTTP's CONNECT (RFC 9110 9.3.6), with Basic credentials (RFC 7617), up to the empty line behind
which the broker's bytes begin.

How long the answer is nobody says, so it is taken in pieces that cannot reach beyond its end: a
byte or two at a time, which at a hundred bytes costs little, once for each connection. Lines may
end without a CR. Whatever the answer says of a length of its own does not count.
"""

from __future__ import annotations

import re
import socket
from base64 import b64encode
from typing import Final

from kcore.transports.handshakes import (
    Handshake,
    Said,
    State,
    as_name,
)
from kcore.transports.sockets import ProxyFaultError, ProxyRefusedError

# The whole answer, interim ones with it. Servers bound what they take of others by 8 to 64 KiB.
ANSWER_BYTES_MAX: Final = 16_384
_SHORTEST: Final = len(b"HTTP/1.1 200\n\n")
_BEGINS: Final = b"HTTP/"
_STATUS: Final = re.compile(rb"HTTP/[0-9]\.[0-9] ([1-9][0-9]{2})(?: [^\n]*)?\r?\n")
# Challenges (RFC 9110 11.6.1), of which one line may have several: schemes, and behind each a token
# or parameters, which are not for people. Commas stand between all of them, and in quotes.
_CHALLENGES: Final = re.compile(rb"(?im)^(?:proxy|www)-authenticate:([^\r\n]*)")
_QUOTED: Final = re.compile(rb'"(?:[^"\\]|\\.)*+"?')
_SCHEME: Final = re.compile(rb"(?i)[ \t]*([a-z0-9_-]{1,30}+)(?![ \t]*=)")
_INTERIM, _SWITCHING = range(100, 200), 101
# The first is a server's, not a proxy's; tinyproxy says it to who has a wrong password.
_WANT_NAME: Final = (401, 407)
_SOCKS, _TLS = 5, 0x15  # first bytes of what speaks something else


class HttpConnect(Handshake):
    """See the module's text."""

    def _begin(self) -> None:
        self._count = 0  # bytes of the answer so far
        self._status = 0  # of a refusal
        where = f"{_bracketed(self._host)}:{self._port}"
        lines = [f"CONNECT {where} HTTP/1.1", f"Host: {where}"]
        if self._proxy.username:
            pair = f"{self._proxy.username}:{self._proxy.password}".encode()
            lines.append(f"Proxy-Authorization: Basic {b64encode(pair).decode()}")
        self._say("\r\n".join([*lines, "", ""]).encode())

    @property
    def wants(self) -> int:
        """What the shortest end that there can be is missing, at most."""
        said = self._said
        if self.state is State.OPEN:
            return 0
        if self.state is State.ASKED:  # the line of the status, and an empty one
            return max(_SHORTEST - len(said), 2)
        return 1 if said.endswith((b"\n", b"\n\r")) else 2

    def feed(self, data: bytes | memoryview) -> None:
        """See Handshake."""
        self._count += len(data)
        super().feed(data)

    def _look(self) -> None:
        said = self._said
        if self.state is State.ASKED:
            if not said.startswith(_BEGINS[: len(said)]):
                raise ProxyFaultError(_no_http(said[0]))
            end = said.find(b"\n")
            if end >= 0:
                self._judge(bytes(said[: end + 1]), end)  # its end begins the line behind it
        if self.state is not State.ASKED and said.endswith((b"\n\n", b"\n\r\n")):
            if self.state is State.REFUSED:
                raise self._refusal()
            self._move(Said.ENDED, len(said))
        if self._count >= ANSWER_BYTES_MAX and not self.is_open:
            raise ProxyFaultError(
                f"the proxy's answer does not end within {ANSWER_BYTES_MAX} bytes"
            )

    def _judge(self, line: bytes, size: int) -> None:
        match = _STATUS.fullmatch(line)
        if match is None:
            raise ProxyFaultError("the proxy's answer does not begin with a status of HTTP")
        status = int(match[1])
        if 200 <= status < 300:
            self._move(Said.REACHED, size)
        elif status in _INTERIM and status != _SWITCHING:
            self._move(Said.WAITS, size)
        elif status in _WANT_NAME:
            self._status = status
            self._move(Said.WANTS_NAME, size)
        else:
            raise ProxyFaultError(f"the proxy says: {_words(status)} (HTTP status {status})")

    def end(self) -> None:
        """See Handshake. A refusal may end without its last line."""
        if self.state is State.REFUSED:
            raise self._refusal()
        super().end()

    def _refusal(self) -> ProxyRefusedError:
        schemes = _schemes(self._said)
        if schemes and "basic" not in schemes:
            why = f"wants to authenticate by {', '.join(schemes)}; only 'basic' is available"
        elif self._proxy.username:
            why = "refused the name and the password"
        else:
            why = "wants a name and a password: give them in proxy_url"
        return ProxyRefusedError(f"the proxy {why} (HTTP status {self._status})")


def _schemes(said: bytes | bytearray) -> list[str]:
    """By which the proxy wants to authenticate, each once."""
    parts = [
        part
        for challenges in _CHALLENGES.findall(said)
        for part in _QUOTED.sub(b'""', challenges).split(b",")
    ]
    found = [match[1].decode().lower() for match in map(_SCHEME.match, parts) if match]
    return list(dict.fromkeys(found))


def _bracketed(host: str) -> str:
    """As a URL has it. Which of our interfaces leads to an IPv6 address is of no use to others."""
    if ":" not in host:
        return as_name(host)
    numeric = host.partition("%")[0]
    try:
        socket.inet_pton(socket.AF_INET6, numeric)
    except OSError:
        raise ValueError("the broker's host is not a name or an address") from None
    return f"[{numeric}]"


def _words(status: int) -> str:
    """What a status means, in the words of its RFC: the proxy's own may hold anything."""
    from http import HTTPStatus  # noqa: PLC0415 - only for who is refused

    try:
        return HTTPStatus(status).phrase.lower()
    except ValueError:
        return "no"


def _no_http(first: int) -> str:
    hints = {
        _SOCKS: " (is it a SOCKS proxy, socks5:// or socks5h://?)",
        _TLS: " (it speaks TLS: is it an https:// proxy?)",
    }
    return f"the proxy does not speak HTTP{hints.get(first, '')}"
