"""TLS of an EmbeddedBroker: what it shows its clients, and whom it asks for certificates."""

from __future__ import annotations

import ssl
from collections.abc import Iterable

from kcore.embedded.certificates import Authority, check_possible
from kcore.embedded.security import Security
from kcore.errors import KafkaConfigurationError, UsageError
from kcore.transports.tls import TlsOptions
from kcore.transports.tls_serving import TlsDoor


class Tls:
    """TLS of one broker: contexts, and the authority that it has if it was given no certificate.

    KafkaConfigurationError: a file that cannot be read or is not what it should be; or there is
    nothing to make certificates with.
    """

    def __init__(self, security: Security) -> None:
        self._client_auth = security.client_auth
        self._authority: Authority | None = None
        self._makes = security.makes_certificates
        if self._makes:
            check_possible()
        else:
            self._context = self._made(TlsOptions(**(security.tls or {})))

    def open(self, hosts: Iterable[str]) -> TlsDoor:
        """For a broker that is reached at these."""
        if self._makes:
            self._authority = authority = Authority(hosts)
            self._context = self._made(
                TlsOptions(
                    cafile=authority.cafile,
                    certfile=authority.broker.certfile,
                    keyfile=authority.broker.keyfile,
                )
            )
        return TlsDoor(self._context)

    def _made(self, options: TlsOptions) -> ssl.SSLContext:
        return options.make_serving_context(self._client_auth)

    def close(self) -> None:
        """Its certificates are gone. Idempotent."""
        authority, self._authority = self._authority, None
        if authority is not None:
            authority.close()

    @property
    def authority(self) -> Authority:
        """UsageError: there is none, or none any more."""
        if self._authority is None:
            why = "this broker does not serve" if self._makes else "it was given its certificate"
            raise UsageError(f"{why}, and has no authority of its own")
        return self._authority


def in_memory_refused(security: Security) -> KafkaConfigurationError:
    """There is no TLS without ports."""
    return KafkaConfigurationError(
        f"security_protocol={security.protocol!r} encrypts nothing in memory: in_memory=False, or "
        "SASL_PLAINTEXT",
        option="security_protocol",
    )
