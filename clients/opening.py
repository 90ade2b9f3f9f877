"""What every client does to open: a transport and TLS by its options, and who was asked in vain."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module

from kcore import transports
from kcore.errors import KafkaConfigurationError, NoBrokersAvailable, UsageError
from kcore.hints import TYPE_CHECKING, Any
from kcore.settings.addresses import CANONICAL_NAMES, format_server

if TYPE_CHECKING:
    import ssl

    from kcore.settings.client import ClientConfig
    from kcore.settings.proxies import Proxy
    from kcore.transports.renewal import RenewedContext
    from kcore.transports.sasl import SaslSource


def socket_options(settings: ClientConfig) -> transports.SocketOptions:
    """How sockets are to be set up."""
    return transports.SocketOptions(
        settings.send_buffer_bytes, settings.receive_buffer_bytes, settings.socket_options
    )


def open_transport(
    settings: ClientConfig, wanted: str | transports.Transport
) -> transports.Transport:
    """The transport that is wanted, by name or itself. KafkaConfigurationError."""
    sockets = socket_options(settings) if isinstance(wanted, str) else None
    if sockets is None and not isinstance(getattr(wanted, "name", None), str):
        raise KafkaConfigurationError(
            f"transport must be the name of one, or a Transport, not {wanted!r}", option="transport"
        )
    try:
        return transports.create(wanted, sockets)
    except UsageError as error:
        raise KafkaConfigurationError(f"transport: {error}", option="transport") from error


def open_tls(settings: ClientConfig) -> ssl.SSLContext | RenewedContext | None:
    """What connections are encrypted with, or None. KafkaConfigurationError: unusable files. Those
    that are replaced later are read again.
    """
    from kcore.settings.security import uses_tls  # noqa: PLC0415 - there since options were read

    if not uses_tls(settings.security_protocol):
        return None
    from kcore.transports.tls import TlsOptions  # noqa: PLC0415 - loads `ssl`

    options = TlsOptions(
        context=settings.ssl_context,
        check_hostname=settings.ssl_check_hostname,
        cafile=settings.ssl_cafile,
        certfile=settings.ssl_certfile,
        keyfile=settings.ssl_keyfile,
        password=settings.ssl_password,
        cadata=settings.ssl_cadata,
        certdata=settings.ssl_certdata,
        keydata=settings.ssl_keydata,
        ciphers=settings.ssl_ciphers,
        crlfile=settings.ssl_crlfile,
    )
    if not options.files():
        return options.make_context()
    from kcore.transports.renewal import RenewedContext  # noqa: PLC0415 - as above

    return RenewedContext(options)


def open_proxy(settings: ClientConfig) -> Proxy | None:
    """What connections go through, or None. KafkaConfigurationError: an unusable file."""
    proxy = settings.proxy_url
    if proxy is None or proxy.scheme != "https":
        return proxy  # type: ignore[no-any-return]
    from kcore.settings.proxies import Proxy  # noqa: PLC0415 - few need it
    from kcore.transports.tls import TlsOptions  # noqa: PLC0415 - loads `ssl`

    try:
        context = TlsOptions(cafile=settings.proxy_ssl_cafile).make_context()
    except KafkaConfigurationError as error:
        option = f"proxy_{error.option}"
        raise KafkaConfigurationError(f"proxy_{error.args[0]}", option=option) from error
    return Proxy(proxy.scheme, proxy.host, proxy.port, proxy.username, proxy.password, context)


def begin_at_names(core: Any, settings: ClientConfig, transport: str) -> None:
    """Where client_dns_lookup says so, have the core begin at the canonical names of the bootstrap
    servers. It waits for the resolver.
    """
    if settings.client_dns_lookup == CANONICAL_NAMES:
        from kcore.transports.canonical import canonical_servers  # noqa: PLC0415 - few need it

        resolver = import_module("gevent.socket" if transport == "gevent" else "socket")
        servers = canonical_servers(settings.bootstrap_servers, resolver)
        core.use_bootstrap(servers, transports.monotonic_ms())


def open_sasl(settings: ClientConfig) -> SaslSource | None:
    """What SASL needs beside the core, if anything. KafkaConfigurationError."""
    from kcore.settings.security import needs_kerberos, needs_tokens  # noqa: PLC0415 - as above

    if needs_tokens(settings):
        from kcore.clients.credentials.tokens import (  # noqa: PLC0415 - loads urllib
            Tokens,
            tokens_of,
        )

        return tokens_of(settings, Tokens)  # type: ignore[no-any-return]
    if needs_kerberos(settings):
        from kcore.clients.credentials.kerberos import Kerberos  # noqa: PLC0415 - loads gssapi

        return Kerberos(settings)
    return None


def open_loop_sasl(settings: ClientConfig) -> Any:
    """`open_sasl` for an event loop. `tie` is to follow."""
    from kcore.settings.security import needs_tokens  # noqa: PLC0415 - as above

    if needs_tokens(settings):
        from kcore.clients.credentials.tokens import (  # noqa: PLC0415 - loads urllib
            LoopTokens,
            tokens_of,
        )

        return tokens_of(settings, LoopTokens)
    return open_sasl(settings)


def tie(sasl: Any, driver: Any) -> None:
    """Tell what asks in the loop of a driver which one that is."""
    if getattr(sasl, "in_loop", False):
        sasl.driver = driver


def nobody_answered(
    servers: Iterable[tuple[str, int]],
    attempts: Mapping[str, str],
    timeout_ms: float,
    *,
    of_controllers: bool = False,
) -> NoBrokersAvailable:
    """The error of a client that found no broker. attempts: why, by address. of_controllers: those
    are asked in place of brokers.
    """
    tried = ", ".join(format_server(*server) for server in servers)
    reasons = "; ".join(
        why if where in why else f"{where}: {why}" for where, why in attempts.items()
    )
    # Nothing failed: the first of them has been silent for all that time.
    reasons = reasons or "neither an answer nor a refusal: does it want TLS, or is it no Kafka?"
    who, check = "broker", "bootstrap_servers, and that a Kafka broker"
    if of_controllers:
        who, check = "controller", "bootstrap_controllers, and that a controller of a Kafka"
    return NoBrokersAvailable(
        f"no {who} answered within {timeout_ms:.0f} ms; tried {tried} ({reasons})"
        f"; check {check} listens there (how long is looked for one: bootstrap_timeout_ms)",
        attempts=dict(attempts),
        timeout_ms=timeout_ms,
    )
