"""What an EmbeddedBroker with TLS or SASL has beside the rest: users, and certificates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcore.broker.sasl.users import check_user
from kcore.errors import UsageError

if TYPE_CHECKING:
    from kcore.broker import Cluster
    from kcore.embedded.certificates import Pair
    from kcore.embedded.encryption import Tls
    from kcore.transports.serve import Server


class Secured:
    """The verbs."""

    _tls: Tls | None = None

    def _running(self) -> tuple[Cluster, Server]:
        raise NotImplementedError

    def _flush_now(self) -> None:
        raise NotImplementedError

    def set_user(self, name: str, password: str) -> None:
        """A new user, or another password for one, in PLAIN and SCRAM; who is connected stays so
        until the session is over. UsageError: nobody is asked who he is.
        """
        check_user(name, password)
        cluster, server = self._asking()
        server.call(lambda _now_ms: cluster.users.set_password(name, password))
        self._flush_now()

    def remove_user(self, name: str) -> None:
        """Nobody is let in by this name any more; who is connected stays so until the session is
        over. LookupError if there is no such user; UsageError.
        """
        cluster, server = self._asking()
        if not server.call(lambda _now_ms: cluster.users.remove(name)):
            raise LookupError(f"there is no user {name!r}")
        self._flush_now()

    def _asking(self) -> tuple[Cluster, Server]:
        cluster, server = self._running()
        if cluster.config.sasl is None:
            raise UsageError(
                "this broker asks nobody who he is: security_protocol='SASL_PLAINTEXT' does"
            )
        return cluster, server

    @property
    def ssl_cafile(self) -> str:
        """Who has signed the certificate that was made here: what clients are to trust. UsageError
        if none was.
        """
        return self._encrypting().authority.cafile

    def client_certificate(self, name: str) -> Pair:
        """Files (certfile, keyfile) for a client, made here: to the broker it is `User:CN=name`.
        UsageError if the broker was given its own certificate.
        """
        return self._encrypting().authority.client(name)

    def _encrypting(self) -> Tls:
        if self._tls is None:
            raise UsageError("this broker does not speak TLS: security_protocol='SSL' does")
        return self._tls
