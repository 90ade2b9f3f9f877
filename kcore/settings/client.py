"""What every client's options have in common: fields, defaults, checks, and what the links take.

Source: CommonClientConfigs.java of Kafka 4; kafka-python's names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from kcore import __version__
from kcore.cluster.config import LinksConfig
from kcore.cluster.refresh import RefreshConfig
from kcore.connection.options import LinkOptions
from kcore.errors import KafkaConfigurationError
from kcore.hints import TYPE_CHECKING, Any, TypeVar
from kcore.limits import MAX_FRAME_BYTES, MAX_TIMEOUT_MS
from kcore.settings.addresses import ALL_ADDRESSES, CANONICAL_NAMES, format_server
from kcore.settings.names import Table, by_canonical_name
from kcore.settings.security import HIDDEN, SECRETS, security_contradictions, uses_sasl
from kcore.settings.tokens import DEFAULT
from kcore.values import Value, field

if TYPE_CHECKING:
    from kcore.connection.credentials import Credentials
    from kcore.wire.apis import ApiKey

_NO_OPTIONS = frozenset({"extras", "await_acknowledgement"})


class ClientConfig(Value):
    """The options, checked. Times are ms, sizes bytes.

    client_dns_lookup: what a name in bootstrap_servers stands for: the addresses it has, which are
    tried one after the other, or a broker at each of them, by its canonical name.
    bootstrap_timeout_ms: how long the constructor looks for a broker when api_version is None.
    api_version: the broker release the user states, and no more is spoken than what it had; None:
    found out by asking.
    metadata_cluster_check_enable: brokers are told which node of which cluster they are taken for,
    and who is another is asked nothing (KIP-1242, brokers since 4.4).
    proxy_url: the kcore.settings.proxies.Proxy that all connections go through; None: none.
    proxy_ssl_cafile: PEM of the authorities to trust of an https:// one; None: the system's.
    ssl_*: what kcore.transports.tls.TlsOptions says of them, without the prefix.
    sasl_*: who we are, with SASL_PLAINTEXT and SASL_SSL. Passwords are in no repr and no mapping.
    sasl_delegation_token: user and password are those of a delegation token (KIP-48): its id, and
    its code in base64.
    sasl_oauth_token_provider: an object whose `token()` gives a token for each authentication, and
    its `extensions()`, if it has any, what goes along (OAUTHBEARER). sasl_oauthbearer_*: in its
    place, where to ask for tokens, and how: by OAuth's client credentials (KIP-768, KIP-1258), for
    an assertion (KIP-1139), or from a file. sasl_oauthbearer_ssl_cafile, its text as
    sasl_oauthbearer_ssl_cadata: PEM of the authorities to trust of the place that is asked; None:
    the system's.
    sasl_kerberos_service_name: brokers are service@host to Kerberos, with the host that a
    connection goes to, or sasl_kerberos_domain_name (GSSAPI). sasl_kerberos_name: all of that, as
    text or a gssapi.Name. sasl_kerberos_keytab, sasl_kerberos_principal: who we are; else the
    ticket cache says it.
    enable_metrics_push: metrics go to brokers that have subscribed to them (KIP-714).
    transport: a driver's name or a driver (only the clients use it).
    extras: options that are known and have no effect in this version, as given.
    """

    bootstrap_servers: tuple[tuple[str, int], ...] = (("localhost", 9092),)
    client_dns_lookup: str = ALL_ADDRESSES
    client_id: str = f"kcore-{__version__}"
    request_timeout_ms: int = 30_000
    bootstrap_timeout_ms: int = 30_000
    receive_message_max_bytes: int = MAX_FRAME_BYTES
    retry_backoff_ms: int = 100
    retry_backoff_max_ms: int = 1_000
    reconnect_backoff_ms: int = 50
    reconnect_backoff_max_ms: int = 1_000
    socket_connection_setup_timeout_ms: int = 10_000
    socket_connection_setup_timeout_max_ms: int = 30_000
    connections_max_idle_ms: int = 540_000
    max_in_flight_requests_per_connection: int = 100
    metadata_max_age_ms: int = 300_000
    metadata_recovery_strategy: str = "rebootstrap"
    metadata_recovery_rebootstrap_trigger_ms: int = 300_000
    metadata_cluster_check_enable: bool = True
    allow_auto_create_topics: bool = True
    send_buffer_bytes: int | None = None
    receive_buffer_bytes: int | None = None
    socket_options: tuple[tuple[int, int, int | bytes], ...] = ()
    proxy_url: Any = None
    proxy_ssl_cafile: str | None = None
    security_protocol: str = "PLAINTEXT"
    ssl_context: Any = None
    ssl_check_hostname: bool = True
    ssl_cafile: str | None = None
    ssl_certfile: str | None = None
    ssl_keyfile: str | None = None
    ssl_password: Any = field(default=None, repr=False)
    ssl_cadata: str | None = field(default=None, repr=False)
    ssl_certdata: str | None = field(default=None, repr=False)
    ssl_keydata: str | None = field(default=None, repr=False)
    ssl_ciphers: str | None = None
    ssl_crlfile: str | None = None
    sasl_mechanism: str | None = None
    sasl_plain_username: str | None = None
    sasl_plain_password: str | None = field(default=None, repr=False)
    sasl_delegation_token: bool = False
    sasl_oauth_token_provider: Any = field(default=None, repr=False)
    sasl_oauthbearer_token_endpoint_url: str | None = None
    sasl_oauthbearer_jwt_retriever_class: str = DEFAULT
    sasl_oauthbearer_client_credentials_client_id: str | None = None
    sasl_oauthbearer_client_credentials_client_secret: str | None = field(default=None, repr=False)
    sasl_oauthbearer_scope: str | None = None
    sasl_oauthbearer_extensions: Mapping[str, str] = field(default_factory=dict)
    sasl_oauthbearer_header_urlencode: bool = False
    sasl_oauthbearer_ssl_cafile: str | None = None
    sasl_oauthbearer_ssl_cadata: str | None = field(default=None, repr=False)
    sasl_oauthbearer_assertion_algorithm: str = "RS256"
    sasl_oauthbearer_assertion_claim_aud: str | None = None
    sasl_oauthbearer_assertion_claim_exp_seconds: int = 300
    sasl_oauthbearer_assertion_claim_iss: str | None = None
    sasl_oauthbearer_assertion_claim_jti_include: bool = False
    sasl_oauthbearer_assertion_claim_nbf_seconds: int = 60
    sasl_oauthbearer_assertion_claim_sub: str | None = None
    sasl_oauthbearer_assertion_file: str | None = None
    sasl_oauthbearer_assertion_private_key_file: str | None = None
    sasl_oauthbearer_assertion_private_key_pem: str | None = field(default=None, repr=False)
    sasl_oauthbearer_assertion_private_key_passphrase: str | None = field(default=None, repr=False)
    sasl_oauthbearer_assertion_template_file: str | None = None
    sasl_kerberos_name: Any = None
    sasl_kerberos_service_name: str = "kafka"
    sasl_kerberos_domain_name: str | None = None
    sasl_kerberos_keytab: str | None = None
    sasl_kerberos_principal: str | None = None
    api_version: tuple[int, ...] | None = None
    enable_metrics_push: bool = True
    transport: Any = "blocking"
    extras: Mapping[str, object] = field(default_factory=dict)

    def as_mapping(self) -> dict[str, object]:
        """Every option by kafka-python's name, with the value in use; passwords as "[hidden]"."""
        mapping: dict[str, object] = {
            name: getattr(self, name) for name in self.__match_args__ if name not in _NO_OPTIONS
        }
        mapping["bootstrap_servers"] = [
            format_server(host, port) for host, port in self.bootstrap_servers
        ]
        if self.proxy_url is not None:
            mapping["proxy_url"] = str(self.proxy_url)  # without the password
        for name in SECRETS:
            if mapping[name] is not None:
                mapping[name] = HIDDEN
        return {**self.extras, **mapping}

    def links(self) -> LinksConfig:
        """Options of connections."""
        idle_ms = self.connections_max_idle_ms
        if idle_ms < 0:  # Java: never
            idle_ms = MAX_TIMEOUT_MS
        return LinksConfig(
            link=LinkOptions(
                client_id=self.client_id,
                request_timeout_ms=self.request_timeout_ms,
                kept_ms=self._kept_ms,
                max_frame_bytes=self.receive_message_max_bytes,
                max_in_flight=self.max_in_flight_requests_per_connection,
                software_version=__version__,
                via="" if self.proxy_url is None else self.proxy_url.name,
                highest=self._highest,
            ),
            credentials=self.credentials,
            reconnect_backoff_ms=self.reconnect_backoff_ms,
            reconnect_backoff_max_ms=self.reconnect_backoff_max_ms,
            setup_timeout_ms=self.socket_connection_setup_timeout_ms,
            setup_timeout_max_ms=self.socket_connection_setup_timeout_max_ms,
            connections_max_idle_ms=idle_ms,
            rebootstrap=self.metadata_recovery_strategy == "rebootstrap",
            check=self.metadata_cluster_check_enable,
        )

    @property
    def _kept_ms(self) -> int:
        """See LinkOptions."""
        return 0

    def refresh(self) -> RefreshConfig:
        """Options of metadata."""
        return RefreshConfig(
            metadata_max_age_ms=self.metadata_max_age_ms,
            retry_backoff_ms=self.retry_backoff_ms,
            retry_backoff_max_ms=self.retry_backoff_max_ms,
            allow_auto_create_topics=self.allow_auto_create_topics,
        )

    @property
    def _highest(self) -> Mapping[ApiKey, int]:
        if self.api_version is None:
            return {}
        from kcore.wire.releases import highest_versions  # noqa: PLC0415 - few state a release

        return highest_versions(self.api_version)

    @property
    def credentials(self) -> Credentials | None:
        """What SASL proves; None without it."""
        if not uses_sasl(self.security_protocol):
            return None
        from kcore.connection.credentials import (  # noqa: PLC0415 - only for who has any
            DELEGATED,
            Credentials,
        )

        mechanism, user = self.sasl_mechanism or "", self.sasl_plain_username or ""
        extensions = DELEGATED if self.sasl_delegation_token else {}
        return Credentials(mechanism, user, self.sasl_plain_password or "", extensions)


C = TypeVar("C", bound=ClientConfig)


def read_options(
    kind: type[C],
    table: Table,
    options: Mapping[str, object],
    complete: Callable[[dict[str, Any]], None],
    contradicted: Callable[[C, Mapping[str, object]], Iterator[tuple[str, str]]],
    **more: Any,
) -> C:
    """The config of a client, from a mapping of kafka-python's or Java's names.

    complete: fills in defaults that depend on other options. contradicted: see `contradictions`.
    KafkaConfigurationError: see the configs' `from_options`.
    """
    given = by_canonical_name(options, table)
    values: dict[str, Any] = {
        name: table.parsers[name](name, value)
        for name, value in given.items()
        if name in table.parsers
    }
    complete(values)
    extras = {name: given.get(name, default) for name, default in table.without_effect.items()}
    extras |= {name: default for name, (default, _) in table.later.items()}
    config = kind(**values, extras=extras, **more)
    for option, why in contradicted(config, given):
        raise KafkaConfigurationError(why, option=option)
    return config


def fill_in(values: dict[str, Any]) -> None:
    """Defaults that depend on other options."""
    if not values.get("client_id", "x"):  # Java's way of asking for a made-up one
        del values["client_id"]
    for base in ("reconnect_backoff", "retry_backoff"):
        if f"{base}_ms" in values and f"{base}_max_ms" not in values:
            # Java: setting only the first switches exponential growth off for reconnects.
            ceiling = 0 if base == "reconnect_backoff" else 1_000
            values[f"{base}_max_ms"] = max(ceiling, values[f"{base}_ms"])


def contradictions(config: ClientConfig, given: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """(option, what is wrong with it beside the others)."""
    yield from security_contradictions(config)
    proxy = config.proxy_url
    if config.client_dns_lookup == CANONICAL_NAMES and proxy is not None and proxy.looks_up:
        why = f"names are looked up by the proxy ({proxy.name}), not here"
        yield "client_dns_lookup", f"client_dns_lookup={CANONICAL_NAMES!r}: {why}"
    if config.proxy_ssl_cafile is not None and (proxy is None or proxy.scheme != "https"):
        why = "proxy_ssl_cafile is given, but there is no https:// proxy_url that uses it"
        yield "proxy_ssl_cafile", why
    idle_ms, request_ms = config.connections_max_idle_ms, config.request_timeout_ms
    if 0 <= idle_ms <= request_ms:
        why = f"connections_max_idle_ms={idle_ms} must be above request_timeout_ms={request_ms}"
        yield "connections_max_idle_ms", why
    for base in ("reconnect_backoff", "retry_backoff", "socket_connection_setup_timeout"):
        low, high = getattr(config, f"{base}_ms"), getattr(config, f"{base}_max_ms")
        if low > high and f"{base}_max_ms" in given:
            yield f"{base}_max_ms", f"{base}_max_ms={high} is below {base}_ms={low}"
