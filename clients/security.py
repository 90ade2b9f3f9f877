"""The TLS options of a client as the context that its connections use."""

from __future__ import annotations

import ssl

from kcore.settings.client import ClientConfig
from kcore.settings.security import uses_tls
from kcore.transports.tls import TlsOptions


def tls_context(settings: ClientConfig) -> ssl.SSLContext | None:
    """None if the security protocol does not encrypt. KafkaConfigurationError: unusable files."""
    if not uses_tls(settings.security_protocol):
        return None
    return TlsOptions(
        context=settings.ssl_context,
        check_hostname=settings.ssl_check_hostname,
        cafile=settings.ssl_cafile,
        certfile=settings.ssl_certfile,
        keyfile=settings.ssl_keyfile,
        password=settings.ssl_password,
        ciphers=settings.ssl_ciphers,
        crlfile=settings.ssl_crlfile,
    ).make_context()
