"""The security options against each other, and which of them are secrets.

An ssl_ or sasl_ option that the security protocol makes no use of is an error: most often the
protocol was forgotten, and the consumer would send in the clear what was meant to be protected.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kcore.hints import Any, Final
from kcore.settings.tokens import TOKEN_DEFAULTS, TOKEN_SECRETS, token_contradictions
from kcore.wire.mechanisms import GSSAPI, OAUTHBEARER

SECRETS: Final = (
    "sasl_plain_password",
    *TOKEN_SECRETS,
    "ssl_password",
    "ssl_keydata",
)
HIDDEN: Final = "[hidden]"  # Java's word for a password in a log

_PASSWORD_DEFAULTS: Final[Mapping[str, object]] = {
    "sasl_plain_username": None,
    "sasl_plain_password": None,
}
_DELEGATED: Final = "sasl_delegation_token"
_KERBEROS_DEFAULTS: Final[Mapping[str, object]] = {
    "sasl_kerberos_name": None,
    "sasl_kerberos_service_name": "kafka",
    "sasl_kerberos_domain_name": None,
    "sasl_kerberos_keytab": None,
    "sasl_kerberos_principal": None,
}
_USED_BY: Final[Mapping[str, Mapping[str, object]]] = {
    OAUTHBEARER: TOKEN_DEFAULTS,
    GSSAPI: _KERBEROS_DEFAULTS,
}
SASL_DEFAULTS: Final[Mapping[str, object]] = {
    "sasl_mechanism": None,
    **_PASSWORD_DEFAULTS,
    _DELEGATED: False,
    **TOKEN_DEFAULTS,
    **_KERBEROS_DEFAULTS,
}
SSL_DEFAULTS: Final[Mapping[str, object]] = {
    "ssl_context": None,
    "ssl_check_hostname": True,
    "ssl_cafile": None,
    "ssl_certfile": None,
    "ssl_keyfile": None,
    "ssl_password": None,
    "ssl_cadata": None,
    "ssl_certdata": None,
    "ssl_keydata": None,
    "ssl_ciphers": None,
    "ssl_crlfile": None,
}


def uses_sasl(security_protocol: str) -> bool:
    """Whether the protocol authenticates by SASL."""
    return security_protocol.startswith("SASL_")


def needs_tokens(config: Any) -> bool:
    """Whether a ClientConfig authenticates by tokens."""
    return uses_sasl(config.security_protocol) and config.sasl_mechanism == OAUTHBEARER


def needs_kerberos(config: Any) -> bool:
    """Whether a ClientConfig authenticates by tickets."""
    return uses_sasl(config.security_protocol) and config.sasl_mechanism == GSSAPI


def uses_tls(security_protocol: str) -> bool:
    """Whether the protocol encrypts."""
    return security_protocol.endswith("SSL")


def security_contradictions(config: Any) -> Iterator[tuple[str, str]]:
    """(option, what is wrong) of a ConsumerConfig."""
    protocol = config.security_protocol
    sasl = _changed(config, SASL_DEFAULTS)
    ssl = _changed(config, SSL_DEFAULTS)
    if uses_sasl(protocol):
        if "sasl_mechanism" not in sasl:
            yield "sasl_mechanism", f"security_protocol={protocol!r} needs sasl_mechanism"
        else:
            yield from _of_mechanism(config, sasl)
    elif sasl:
        yield sasl[0], _useless(sasl[0], protocol, "SASL_PLAINTEXT or SASL_SSL")
    if not uses_tls(protocol):
        if ssl:
            yield ssl[0], _useless(ssl[0], protocol, "SSL or SASL_SSL")
        return
    if "ssl_context" in ssl and len(ssl) > 1:
        yield ssl[1], f"{ssl[1]} and ssl_context: a context stands for all other ssl_ options"
    yield from _of_certificates(ssl)


def _of_certificates(given: list[str]) -> Iterator[tuple[str, str]]:
    """Each of them is a file or a text, and a key belongs to a certificate."""
    for kind in ("ca", "cert", "key"):
        text, file = f"ssl_{kind}data", f"ssl_{kind}file"
        if text in given and file in given:
            yield text, f"{text} and {file}: one of them says it"
    for name, wanted in (("ssl_keyfile", "ssl_certfile"), ("ssl_keydata", "ssl_certdata")):
        if name in given and wanted not in given:
            yield name, f"{name} needs {wanted}"
    if "ssl_password" in given and not {"ssl_certfile", "ssl_certdata"} & set(given):
        yield "ssl_password", "ssl_password needs ssl_certfile or ssl_certdata"


def _of_mechanism(config: Any, given: list[str]) -> Iterator[tuple[str, str]]:
    """What the mechanism needs, and what it has no use for."""
    mechanism = config.sasl_mechanism
    if _DELEGATED in given and not mechanism.startswith("SCRAM-"):
        why = f"brokers take a delegation token by SCRAM, not by sasl_mechanism={mechanism!r}"
        yield _DELEGATED, f"{_DELEGATED}: {why}"
    used = _USED_BY.get(mechanism, _PASSWORD_DEFAULTS)
    for name in given:
        if name not in used and name not in ("sasl_mechanism", _DELEGATED):
            yield name, f"{name} is given, but sasl_mechanism={mechanism!r} does not use it"
    if mechanism == OAUTHBEARER:
        yield from token_contradictions(config, given)
    elif mechanism == GSSAPI:
        yield from _of_kerberos(given)
    else:
        for name in _PASSWORD_DEFAULTS:
            if name not in given:
                yield name, f"sasl_mechanism={mechanism!r} needs {name}"


def _of_kerberos(given: list[str]) -> Iterator[tuple[str, str]]:
    """Who the brokers are is said in one way."""
    if "sasl_kerberos_name" in given:
        for name in ("sasl_kerberos_service_name", "sasl_kerberos_domain_name"):
            if name in given:
                yield name, f"{name} and sasl_kerberos_name: the latter says it all"


def _changed(config: Any, defaults: Mapping[str, object]) -> list[str]:
    return [name for name, default in defaults.items() if _differs(getattr(config, name), default)]


def _differs(value: object, default: object) -> bool:
    # Not everything that users give can be compared with None (a gssapi.Name).
    return value is not None if default is None else value != default


def _useless(name: str, protocol: str, wanted: str) -> str:
    return f"{name} is given, but security_protocol={protocol!r} does not use it: {wanted} does"
