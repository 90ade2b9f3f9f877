"""The security options against each other, and which of them are secrets.

An ssl_ or sasl_ option that the security protocol makes no use of is an error: most often the
protocol was forgotten, and the consumer would send in the clear what was meant to be protected.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

SECRETS: Final = ("sasl_plain_password", "ssl_password")
HIDDEN: Final = "[hidden]"  # Java's word for a password in a log

SASL_DEFAULTS: Final[Mapping[str, object]] = {
    "sasl_mechanism": None,
    "sasl_plain_username": None,
    "sasl_plain_password": None,
}
SSL_DEFAULTS: Final[Mapping[str, object]] = {
    "ssl_context": None,
    "ssl_check_hostname": True,
    "ssl_cafile": None,
    "ssl_certfile": None,
    "ssl_keyfile": None,
    "ssl_password": None,
    "ssl_ciphers": None,
    "ssl_crlfile": None,
}


def uses_sasl(security_protocol: str) -> bool:
    """Whether the protocol authenticates by SASL."""
    return security_protocol.startswith("SASL_")


def uses_tls(security_protocol: str) -> bool:
    """Whether the protocol encrypts."""
    return security_protocol.endswith("SSL")


def security_contradictions(config: Any) -> Iterator[tuple[str, str]]:
    """(option, what is wrong) of a ConsumerConfig."""
    protocol = config.security_protocol
    sasl = _changed(config, SASL_DEFAULTS)
    ssl = _changed(config, SSL_DEFAULTS)
    if uses_sasl(protocol):
        for name in SASL_DEFAULTS:
            if name not in sasl:
                yield name, f"security_protocol={protocol!r} needs {name}"
    elif sasl:
        yield sasl[0], _useless(sasl[0], protocol, "SASL_PLAINTEXT or SASL_SSL")
    if not uses_tls(protocol):
        if ssl:
            yield ssl[0], _useless(ssl[0], protocol, "SSL or SASL_SSL")
        return
    if "ssl_context" in ssl and len(ssl) > 1:
        yield ssl[1], f"{ssl[1]} and ssl_context: a context stands for all other ssl_ options"
    for name in ("ssl_keyfile", "ssl_password"):
        if name in ssl and "ssl_certfile" not in ssl:
            yield name, f"{name} needs ssl_certfile"


def _changed(config: Any, defaults: Mapping[str, object]) -> list[str]:
    return [name for name, default in defaults.items() if getattr(config, name) != default]


def _useless(name: str, protocol: str, wanted: str) -> str:
    return f"{name} is given, but security_protocol={protocol!r} does not use it: {wanted} does"
