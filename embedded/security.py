"""What an EmbeddedBroker is told about TLS and SASL, under the names of clients and of Kafka.

An option that `security_protocol` has no use for is an error, as with clients: most often the
protocol was forgotten, and everybody would be let in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final, TypedDict

from kcore.broker.delegation.config import DelegationTokenConfig
from kcore.broker.sasl.config import Acceptor, SaslConfig, TokenValidator
from kcore.broker.sasl.users import check_user
from kcore.errors import KafkaConfigurationError
from kcore.limits import MAX_INT32, MAX_TIMEOUT_MS
from kcore.wire.mechanisms import GSSAPI, MECHANISMS, OAUTHBEARER, WITH_PASSWORDS

if TYPE_CHECKING:
    import ssl

PLAINTEXT: Final = "PLAINTEXT"
PROTOCOLS: Final = (PLAINTEXT, "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_CLIENT_AUTH: Final = ("none", "requested", "required")


class SecurityOptions(TypedDict, total=False):
    """See docs/EMBEDDED_SECURITY.md."""

    security_protocol: str
    ssl_certfile: str | None
    ssl_keyfile: str | None
    ssl_certdata: str | None
    ssl_keydata: str | None
    ssl_password: str | bytes | Callable[[], str | bytes] | None
    ssl_cafile: str | None
    ssl_cadata: str | None
    ssl_crlfile: str | None
    ssl_ciphers: str | None
    ssl_context: ssl.SSLContext | None
    ssl_client_auth: str
    sasl_enabled_mechanisms: str | Iterable[str]
    sasl_users: Mapping[str, str]
    sasl_oauth_token_validator: TokenValidator | None
    sasl_kerberos_keytab: str | None
    sasl_kerberos_principal: str | None
    sasl_server_max_receive_size: int
    connections_max_reauth_ms: int
    connection_failed_authentication_delay_ms: int
    delegation_token_secret_key: str | None
    delegation_token_max_lifetime_ms: int
    delegation_token_expiry_time_ms: int
    delegation_token_expiry_check_interval_ms: int


_SSL: Final = tuple(name for name in SecurityOptions.__annotations__ if name.startswith("ssl_"))
_SASL: Final = tuple(
    name for name in SecurityOptions.__annotations__ if name.startswith(("sasl_", "connection"))
)
_DELEGATED: Final = "delegation_token_"
_KEY: Final = f"{_DELEGATED}secret_key"
_FILES: Final = ("ssl_certfile", "ssl_keyfile", "ssl_cafile", "ssl_crlfile")
_TEXTS: Final = ("ssl_certdata", "ssl_keydata", "ssl_cadata", "ssl_ciphers")
_SECRETS: Final = {"ssl_password", "ssl_keydata", "sasl_users", _KEY}


@dataclass(frozen=True)
class Security:
    """What was asked for. tls: options of `TlsOptions`; None: no TLS. makes_certificates: there are
    none yet. sasl: None: nobody has to say who he is. delegation_tokens: None: nobody gets one.
    """

    protocol: str = PLAINTEXT
    tls: Mapping[str, Any] | None = field(default=None, repr=False)
    client_auth: str = "none"
    makes_certificates: bool = False
    sasl: SaslConfig | None = None
    delegation_tokens: DelegationTokenConfig | None = None


def read_security(given: Mapping[str, Any]) -> Security:
    """Of the options of an EmbeddedBroker. KafkaConfigurationError, which names one."""
    for name in given:
        if name not in SecurityOptions.__annotations__:
            raise _unknown(name)
    options = {name: value for name, value in given.items() if value is not None}
    protocol = options.get("security_protocol", PLAINTEXT)
    if protocol not in PROTOCOLS:
        raise _wrong("security_protocol", protocol, f"one of {', '.join(PROTOCOLS)}")
    for names, end, kind in ((_SSL, "SSL", "TLS"), (_SASL, "SASL_", "SASL")):
        used = [name for name in names if name in options]
        if used and end not in str(protocol):
            more = "SSL or SASL_SSL" if kind == "TLS" else "SASL_PLAINTEXT or SASL_SSL"
            raise KafkaConfigurationError(
                f"{used[0]} is given, but security_protocol is {protocol}, which is without "
                f"{kind}: {more} has it",
                option=used[0],
            )
    tls = _read_tls(options) if str(protocol).endswith("SSL") else None
    return Security(
        protocol=protocol,
        tls=tls,
        client_auth=options.get("ssl_client_auth", "none"),
        makes_certificates=tls is not None and not tls,
        sasl=_read_sasl(options) if "SASL" in str(protocol) else None,
        delegation_tokens=_read_delegation(options, str(protocol)),
    )


def _read_tls(options: Mapping[str, Any]) -> dict[str, Any]:
    """Under the names of `TlsOptions`; empty: certificates are to be made."""
    for name in (*_FILES, *_TEXTS):
        if not isinstance(options.get(name, ""), str):
            raise _wrong(name, options[name], "a text")
    client_auth = options.get("ssl_client_auth", "none")
    if client_auth not in _CLIENT_AUTH:
        raise _wrong("ssl_client_auth", client_auth, f"one of {', '.join(_CLIENT_AUTH)}")
    context = options.get("ssl_context")
    if context is not None:
        import ssl  # noqa: PLC0415 - OpenSSL, not for who has none of it

        if not isinstance(context, ssl.SSLContext):
            raise _wrong("ssl_context", context, "an ssl.SSLContext")
    others = [name for name in _SSL if name in options and name != "ssl_context"]
    if context is not None and others:
        raise KafkaConfigurationError(
            f"{others[0]} is given beside ssl_context, which stands for all of them",
            option=others[0],
        )
    given = {name.removeprefix("ssl_"): options[name] for name in _SSL if name in options}
    given.pop("client_auth", None)
    own = {"context", "certfile", "certdata"} & set(given)
    if not own and given:
        raise KafkaConfigurationError(
            "ssl_certfile is missing: the broker's certificate, which clients look at. Without any "
            "ssl_ option but ssl_client_auth one is made",
            option="ssl_certfile",
        )
    trusts = {"context", "cafile", "cadata"} & set(given)
    if given and client_auth != "none" and not trusts:
        raise KafkaConfigurationError(
            f"ssl_client_auth={client_auth!r} wants ssl_cafile: who signs clients' certificates",
            option="ssl_cafile",
        )
    return given


def _read_sasl(options: Mapping[str, Any]) -> SaslConfig:
    validator = options.get("sasl_oauth_token_validator")
    if validator is not None and not callable(validator):
        raise _wrong(
            "sasl_oauth_token_validator",
            validator,
            "a callable that takes a token and gives (user, for how many ms it is good, or None)",
        )
    mechanisms = _mechanisms(
        options.get("sasl_enabled_mechanisms"),
        tokens=validator is not None,
        tickets="sasl_kerberos_keytab" in options,
    )
    if validator is not None and OAUTHBEARER not in mechanisms:
        raise KafkaConfigurationError(
            "sasl_oauth_token_validator is given, but OAUTHBEARER is not among "
            "sasl_enabled_mechanisms",
            option="sasl_oauth_token_validator",
        )
    users = options.get("sasl_users", {})
    if not isinstance(users, Mapping):
        raise KafkaConfigurationError(
            "sasl_users is no mapping of users to their passwords", option="sasl_users"
        )
    for user, password in users.items():
        try:
            check_user(user, password)
        except KafkaConfigurationError as error:
            raise KafkaConfigurationError(f"sasl_users: {error}", option="sasl_users") from None
    if users and not set(mechanisms) & set(WITH_PASSWORDS):
        raise KafkaConfigurationError(
            "sasl_users is given, but no mechanism of sasl_enabled_mechanisms goes by passwords",
            option="sasl_users",
        )
    numbers = {}
    for name, lowest in (
        ("connections_max_reauth_ms", 0),
        ("connection_failed_authentication_delay_ms", 0),
        ("sasl_server_max_receive_size", 1),
    ):
        value = options.get(name)
        if value is None:
            continue
        if (
            not isinstance(value, int)
            or isinstance(value, bool)
            or not (lowest <= value <= MAX_INT32)
        ):
            raise _wrong(name, value, f"a number from {lowest} to {MAX_INT32}")
        numbers[name] = value
    return SaslConfig(
        mechanisms=mechanisms,
        users=dict(users),
        token_validator=validator,
        acceptor=_acceptor(options, mechanisms),
        **numbers,
    )


def _read_delegation(options: Mapping[str, Any], protocol: str) -> DelegationTokenConfig | None:
    given = {name: options[name] for name in options if name.startswith(_DELEGATED)}
    if not given:
        return None
    first = next(iter(given))
    if protocol == PLAINTEXT:
        raise KafkaConfigurationError(
            f"{first} is given, but security_protocol is {PLAINTEXT}: who asks for a delegation "
            "token has to say who he is, by SASL or by a certificate",
            option=first,
        )
    key = given.get(_KEY)
    if key is None:
        why = f"{first} is given, but no {_KEY}: nobody gets a delegation token without"
        raise KafkaConfigurationError(why, option=_KEY)
    if not isinstance(key, str) or not key or key != key.encode("utf-8", "replace").decode():
        raise _wrong(_KEY, key, "a text, which is not empty")
    numbers = {name: value for name, value in given.items() if name != _KEY}
    for name, value in numbers.items():
        if (
            not isinstance(value, int)
            or isinstance(value, bool)
            or not 1 <= value <= MAX_TIMEOUT_MS
        ):
            raise _wrong(name, value, f"a number from 1 to {MAX_TIMEOUT_MS}")
    return DelegationTokenConfig(
        **{name.removeprefix(_DELEGATED): value for name, value in given.items()}
    )


def _acceptor(options: Mapping[str, Any], mechanisms: tuple[str, ...]) -> Acceptor | None:
    keytab, principal = (
        options.get(name) for name in ("sasl_kerberos_keytab", "sasl_kerberos_principal")
    )
    for name, value in (
        ("sasl_kerberos_keytab", keytab),
        ("sasl_kerberos_principal", principal),
    ):
        if value is None:
            continue
        if not isinstance(value, str) or not value or "\0" in value:
            raise _wrong(name, value, "a text")
        if GSSAPI not in mechanisms:
            raise KafkaConfigurationError(
                f"{name} is given, but {GSSAPI} is not among sasl_enabled_mechanisms", option=name
            )
    if GSSAPI not in mechanisms:
        return None
    if keytab is None:
        raise KafkaConfigurationError(
            f"{GSSAPI} needs sasl_kerberos_keytab, with the keys of the broker's principal "
            "(kafka/HOST)",
            option="sasl_kerberos_keytab",
        )
    from kcore.embedded import kerberos  # noqa: PLC0415 - loads gssapi

    return kerberos.Acceptor(keytab, principal)


def _mechanisms(given: object, *, tokens: bool, tickets: bool) -> tuple[str, ...]:
    if given is None:
        more = {OAUTHBEARER: tokens, GSSAPI: tickets}
        return (*WITH_PASSWORDS, *(name for name, wanted in more.items() if wanted))
    found: list[Any] = []
    if isinstance(given, str):
        found = [part.strip() for part in given.split(",")]
    elif isinstance(given, Iterable):
        found = list(given)
    if not found or any(name not in MECHANISMS for name in found):
        raise _wrong("sasl_enabled_mechanisms", given, f"some of {', '.join(MECHANISMS)}")
    return tuple(dict.fromkeys(found))


def _wrong(name: str, value: object, right: str) -> KafkaConfigurationError:
    shown = "" if name in _SECRETS else f"={value!r:.80}"
    return KafkaConfigurationError(
        f"{name}{shown} ({type(value).__name__}) is not {right}", option=name
    )


def _unknown(name: str) -> KafkaConfigurationError:
    near = get_close_matches(name, SecurityOptions.__annotations__, 1)
    hint = f": {near[0]} is meant?" if near else ""
    return KafkaConfigurationError(
        f"{name} is no option of an EmbeddedBroker{hint}",
        option=name,
    )
