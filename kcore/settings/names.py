"""The options that every client has: their parsers, other clients' words for them, and what a name
that is given may mean.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from kcore.errors import KafkaConfigurationError
from kcore.hints import Final
from kcore.limits import MAX_TIMEOUT_MS
from kcore.settings.addresses import ALL_ADDRESSES, CANONICAL_NAMES
from kcore.settings.java import OF_THE_JVM, Foreign, is_default
from kcore.settings.parsers import (
    Parser,
    choice,
    extensions,
    integer,
    kerberos_name,
    key_password,
    keytab,
    optional,
    password,
    path,
    pem,
    proxy,
    servers,
    socket_options,
    ssl_context,
    text,
    token_address,
    token_provider,
    token_retriever,
    transport,
    truth,
    username,
    version,
)
from kcore.settings.tokens import ALGORITHMS
from kcore.tuples import NamedTuple
from kcore.wire.mechanisms import MECHANISMS

_ms = integer(0)
_long_ms = integer(0, MAX_TIMEOUT_MS)
_backoff_ms = integer(0, MAX_TIMEOUT_MS, at_least=1)  # never without a pause

PARSERS: Final[Mapping[str, Parser]] = {
    "bootstrap_servers": servers,
    "client_dns_lookup": choice(ALL_ADDRESSES, CANONICAL_NAMES),
    "client_id": text,
    "receive_message_max_bytes": integer(1024),
    "request_timeout_ms": integer(1),
    "bootstrap_timeout_ms": _ms,
    "retry_backoff_ms": _backoff_ms,
    "retry_backoff_max_ms": _backoff_ms,
    "reconnect_backoff_ms": _long_ms,
    "reconnect_backoff_max_ms": _long_ms,
    "socket_connection_setup_timeout_ms": integer(1, MAX_TIMEOUT_MS),
    "socket_connection_setup_timeout_max_ms": integer(1, MAX_TIMEOUT_MS),
    "connections_max_idle_ms": integer(-1, MAX_TIMEOUT_MS),
    "max_in_flight_requests_per_connection": integer(1, 1000),
    "metadata_max_age_ms": _long_ms,
    "metadata_recovery_strategy": choice("rebootstrap", "none"),
    "metadata_recovery_rebootstrap_trigger_ms": _long_ms,
    "metadata_cluster_check_enable": truth,
    "allow_auto_create_topics": truth,
    "send_buffer_bytes": optional(integer(-1)),
    "receive_buffer_bytes": optional(integer(-1)),
    "socket_options": socket_options,
    "proxy_url": optional(proxy),
    "proxy_ssl_cafile": optional(path),
    "security_protocol": choice("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
    "ssl_context": optional(ssl_context),
    "ssl_check_hostname": truth,
    "ssl_cafile": optional(path),
    "ssl_certfile": optional(path),
    "ssl_keyfile": optional(path),
    "ssl_password": optional(key_password),
    "ssl_cadata": optional(pem),
    "ssl_certdata": optional(pem),
    "ssl_keydata": optional(pem),
    "ssl_ciphers": optional(text),
    "ssl_crlfile": optional(path),
    "sasl_mechanism": optional(choice(*MECHANISMS)),
    "sasl_plain_username": optional(username),
    "sasl_plain_password": optional(password),
    "sasl_delegation_token": truth,
    "sasl_oauth_token_provider": optional(token_provider),
    "sasl_oauthbearer_token_endpoint_url": optional(token_address),
    "sasl_oauthbearer_jwt_retriever_class": token_retriever,
    "sasl_oauthbearer_client_credentials_client_id": optional(username),
    "sasl_oauthbearer_client_credentials_client_secret": optional(password),
    "sasl_oauthbearer_scope": optional(text),
    "sasl_oauthbearer_extensions": extensions,
    "sasl_oauthbearer_header_urlencode": truth,
    "sasl_oauthbearer_ssl_cafile": optional(path),
    "sasl_oauthbearer_ssl_cadata": optional(pem),
    "sasl_oauthbearer_assertion_algorithm": choice(*ALGORITHMS),
    "sasl_oauthbearer_assertion_claim_aud": optional(text),
    "sasl_oauthbearer_assertion_claim_exp_seconds": integer(0, 86_400),
    "sasl_oauthbearer_assertion_claim_iss": optional(text),
    "sasl_oauthbearer_assertion_claim_jti_include": truth,
    "sasl_oauthbearer_assertion_claim_nbf_seconds": integer(0, 3_600),
    "sasl_oauthbearer_assertion_claim_sub": optional(text),
    "sasl_oauthbearer_assertion_file": optional(path),
    "sasl_oauthbearer_assertion_private_key_file": optional(path),
    "sasl_oauthbearer_assertion_private_key_pem": optional(pem),
    "sasl_oauthbearer_assertion_private_key_passphrase": optional(password),
    "sasl_oauthbearer_assertion_template_file": optional(path),
    "sasl_kerberos_name": optional(kerberos_name),
    "sasl_kerberos_service_name": username,
    "sasl_kerberos_domain_name": optional(username),
    "sasl_kerberos_keytab": optional(keytab),
    "sasl_kerberos_principal": optional(username),
    "api_version": version,
    "enable_metrics_push": truth,
    "transport": transport,
}

# Other clients' words for options above.
ALIASES: Final[Mapping[str, str]] = {
    "api_version_auto_timeout_ms": "bootstrap_timeout_ms",
    "socks5_proxy": "proxy_url",
    "ssl_truststore_certificates": "ssl_cadata",
    "ssl_keystore_certificate_chain": "ssl_certdata",
    "ssl_keystore_key": "ssl_keydata",
    "ssl_key_password": "ssl_password",
    "sasl_oauthbearer_client_id": "sasl_oauthbearer_client_credentials_client_id",
    "sasl_oauthbearer_client_secret": "sasl_oauthbearer_client_credentials_client_secret",
    "sasl_oauthbearer_grant_type": "sasl_oauthbearer_jwt_retriever_class",
    "sasl_oauthbearer_assertion_jwt_template_file": "sasl_oauthbearer_assertion_template_file",
    "https_ca_location": "sasl_oauthbearer_ssl_cafile",
    "https_ca_pem": "sasl_oauthbearer_ssl_cadata",
}

# Known names whose default is taken and anything else refused, with what to do instead.
LATER: Final[Mapping[str, tuple[object, str]]] = {
    "kafka_client": (None, "pass transport= to choose how sockets are driven"),
    "selector": (None, "pass transport= to choose how sockets are driven"),
    "interceptor_classes": (None, "only Consumer, Producer and their async kin have interceptors"),
    "security_providers": (None, OF_THE_JVM),
    "sasl_oauthbearer_method": (
        "oidc",
        "'oidc' is how an endpoint is asked; give a sasl_oauth_token_provider for anything else",
    ),
    "config_providers": (None, OF_THE_JVM),
}

# Known names that change nothing: what is measured is measured always.
WITHOUT_EFFECT: Final[Mapping[str, object]] = {
    "metric_reporters": (),
    "metrics_enabled": True,
    "metrics_num_samples": 2,
    "metrics_sample_window_ms": 30_000,
    "metrics_recording_level": "INFO",
}


def without(later: Mapping[str, tuple[object, str]], *names: str) -> dict[str, tuple[object, str]]:
    """The rest of them: for clients that have these."""
    return {name: what for name, what in later.items() if name not in names}


class Table(NamedTuple):
    """The options of one kind of client.

    later: known names whose default is taken and anything else refused, with what to do instead.
    without_effect: known names that change nothing, and their defaults. foreign: Java's names
    likewise, of which nothing more is known here.
    """

    parsers: Mapping[str, Parser]
    later: Mapping[str, tuple[object, str]]
    without_effect: Mapping[str, object]
    foreign: Foreign

    @property
    def known(self) -> frozenset[str]:
        """Every name there is, aliases and all."""
        return frozenset(
            {*self.parsers, *ALIASES, *self.later, *self.without_effect, *self.foreign}
        )


def underscored(option: str) -> str:
    """Java's dotted name as kafka-python writes it."""
    return option.replace(".", "_") if "_" not in option else option


def canonical(option: object, known: Collection[str]) -> str:
    """kafka-python's name of an option given under it or under Java's dotted name.

    known: every name there is, aliases and all. KafkaConfigurationError with the nearest of them
    if it is none.
    """
    if not isinstance(option, str):
        raise KafkaConfigurationError(f"option names are strings, not {option!r}")
    name = underscored(option)
    if name in known:
        return ALIASES.get(name, name)
    from difflib import get_close_matches  # noqa: PLC0415 - only for who mistypes

    near = get_close_matches(name, known, n=1, cutoff=0.6)
    suggestion = near[0] if near else None
    if suggestion is not None and "." in option:
        suggestion = suggestion.replace("_", ".")
    hint = f"; did you mean {suggestion!r}?" if suggestion else ""
    raise KafkaConfigurationError(
        f"unknown option {option!r}{hint}", option=option, suggestion=suggestion
    )


def by_canonical_name(options: Mapping[str, object], table: Table) -> dict[str, object]:
    """What was given, under kafka-python's names; KafkaConfigurationError for one given twice, or
    one of those that are not there and not its default.
    """
    given: dict[str, object] = {}
    sources: dict[str, str] = {}
    known = table.known
    for option, value in options.items():
        name = canonical(option, known)
        if given.get(name) is not None and value is not None:
            raise KafkaConfigurationError(
                f"{sources[name]!r} and {option!r} are the same option: give one", option=option
            )
        if given.get(name) is None:  # what is None is not given
            given[name], sources[name] = value, option
    for name, (default, hint) in table.later.items():
        if not is_default(given.get(name, default), default):
            raise KafkaConfigurationError(f"{name}: {hint}", option=name)
    for name in given.keys() & table.foreign.keys():
        default, hint = table.foreign[name]
        if not is_default(given.pop(name), default):
            option = sources[name]
            raise KafkaConfigurationError(f"{option} is not available: {hint}", option=option)
    return given
