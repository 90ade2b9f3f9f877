"""Kerberos for brokers: contexts of GSSAPI by the keys of a keytab. No KDC is asked."""

from __future__ import annotations

from typing import Any

from kcore.errors import KafkaConfigurationError
from kcore.transports.kerberos import checked_keytab, load


class Acceptor:
    """Begins contexts, with any key of `keytab`, or that of `principal` alone.

    KafkaConfigurationError: no library, no such keytab or key.
    """

    def __init__(self, keytab: str, principal: str | None = None) -> None:
        g = self._gssapi = load("sasl_kerberos_keytab")
        file = checked_keytab(keytab)
        name = None if principal is None else g.Name(principal, g.NameType.kerberos_principal)
        try:
            self._credentials = g.Credentials(
                name=name,
                mechs=[g.MechType.kerberos],
                usage="accept",
                store={"keytab": f"FILE:{file}"},
            )
        except g.exceptions.GSSError as error:
            raise KafkaConfigurationError(
                f"sasl_kerberos_keytab={keytab!r} has no keys to accept with: {error}",
                option="sasl_kerberos_keytab",
            ) from error

    def __call__(self) -> Accepting:
        """Begin one."""
        return Accepting(self._gssapi.SecurityContext(creds=self._credentials, usage="accept"))


class Accepting:
    """A kcore.broker.sasl.config.GssapiContext."""

    def __init__(self, context: Any) -> None:
        self._context = context
        # Else a token that only says what is wrong comes as if nothing were.
        context.__DEFER_STEP_ERRORS__ = False

    @property
    def complete(self) -> bool:
        """See the protocol."""
        return bool(self._context.complete)

    @property
    def initiator(self) -> str:
        """See the protocol."""
        return str(self._context.initiator_name)

    @property
    def realm(self) -> str:
        """See the protocol."""
        return str(self._context.target_name).rpartition("@")[2]

    def step(self, token: bytes) -> bytes:
        """See the protocol."""
        return self._context.step(token) or b""

    def wrap(self, message: bytes) -> bytes:
        """See the protocol."""
        wrapped: bytes = self._context.wrap(message, False).message
        return wrapped

    def unwrap(self, message: bytes) -> bytes:
        """See the protocol."""
        unwrapped: bytes = self._context.unwrap(message).message
        return unwrapped
