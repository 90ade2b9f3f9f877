"""proxy_url: where a proxy is, how it is spoken to, and who we are there.

    socks5://host:1080          SOCKS5; names of brokers are looked up here
    socks5h://user:word@host    SOCKS5; they are looked up by the proxy
    http://user:word@host:8080  HTTP's CONNECT; by the proxy, too
    https://user:word@host      the same, by TLS with the proxy

Names and forms are kafka-python's. What is wrong with one is said without it: it may hold a
password.
"""

from __future__ import annotations

import re
from typing import Any, Final

from kcore.errors import KafkaConfigurationError
from kcore.settings.addresses import format_server, parse_address
from kcore.settings.security import HIDDEN
from kcore.values import Value, field

SCHEMES: Final = ("socks5", "socks5h", "http", "https")
_HTTP: Final = ("http", "https")
# RFC 1928 3, RFC 9110 4.2.2; of HTTP proxies without TLS there is no port that all use.
_PORTS: Final = {"socks5": 1080, "socks5h": 1080, "https": 443}
_SOCKS_BYTES_MAX: Final = 255  # of a name or a password: RFC 1929
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]{0,15}")
_FORM: Final = "must be socks5://, socks5h://, http:// or https://, [user:password@], host:port"


class Proxy(Value):
    """Checked. username, password: "" if there are none; in no repr. tls: an ssl.SSLContext to
    speak to it with, if it is an https:// one; None: one that trusts the system's authorities.

    str() is what may be shown, and `name` the same without the user.
    """

    scheme: str
    host: str
    port: int
    username: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    tls: Any = field(default=None, repr=False)

    @property
    def looks_up(self) -> bool:
        """Whether names of brokers are the proxy's to look up."""
        return self.scheme != "socks5"

    @property
    def name(self) -> str:
        """For people: without secrets."""
        return f"{self.scheme}://{format_server(self.host, self.port)}"

    def __str__(self) -> str:
        user = f"{HIDDEN}@" if self.username else ""
        return f"{self.scheme}://{user}{format_server(self.host, self.port)}"


def parse_proxy(option: str, value: object) -> Proxy:
    """A URL, or what was made of one. KafkaConfigurationError."""
    if isinstance(value, Proxy):
        return value
    text = value.strip() if isinstance(value, str) else ""
    scheme, separator, rest = text.partition("://")
    scheme = scheme.lower()
    if not separator or _SCHEME.fullmatch(scheme) is None or "://" in rest.rpartition("@")[2]:
        raise _bad(option, _FORM)
    if scheme not in SCHEMES:
        raise _bad(option, f"there are no {scheme} proxies here; it {_FORM}")
    user, _, address = rest.rpartition("@")
    address = address.removesuffix("/")
    try:
        host, port = parse_address(option, address, _PORTS.get(scheme))
    except KafkaConfigurationError:  # its words may hold what should have been a password
        raise _bad(option, _FORM) from None
    return Proxy(scheme, host, port, *_credentials(option, scheme, user))


def _credentials(option: str, scheme: str, user: str) -> tuple[str, str]:
    if not user:
        return "", ""
    name, _, word = user.partition(":")
    if "%" in user:
        from urllib.parse import unquote  # noqa: PLC0415 - few need it

        name, word = unquote(name), unquote(word)
    if not name or not (name + word).isprintable():  # lone surrogates are not
        raise _bad(option, "user and password must be printable, and the user not empty")
    if scheme in _HTTP:
        if ":" in name:
            raise _bad(option, "HTTP has no room for a user with a colon")
    elif not all(1 <= len(part.encode()) <= _SOCKS_BYTES_MAX for part in (name, word)):
        raise _bad(option, f"SOCKS takes a user and a password of 1 to {_SOCKS_BYTES_MAX} bytes")
    return name, word


def _bad(option: str, why: str) -> KafkaConfigurationError:
    return KafkaConfigurationError(f"{option}: {why}", option=option)
