"""What a broker can be told about SASL; names and defaults are Kafka's where it has them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from kcore.bounds import check_kinds
from kcore.errors import KafkaConfigurationError
from kcore.limits import MAX_INT32
from kcore.wire.mechanisms import GSSAPI, MECHANISMS, WITH_PASSWORDS

# Takes a token; gives the user's name, and for how many ms from now on the token is good (None: for
# ever). Whatever it raises refuses the token.
TokenValidator = Callable[[str], tuple[str, int | None]]


class GssapiContext(Protocol):
    """The broker's side of one context of GSSAPI. Whatever it raises refuses the client.

    complete: it is established. Then initiator is the client's principal and realm the broker's.
    """

    @property
    def complete(self) -> bool:
        """See above."""

    @property
    def initiator(self) -> str:
        """See above."""

    @property
    def realm(self) -> str:
        """See above."""

    def step(self, token: bytes) -> bytes:
        """GSS_Accept_sec_context: what to answer, if anything."""

    def wrap(self, message: bytes) -> bytes:
        """GSS_Wrap, without encryption."""

    def unwrap(self, message: bytes) -> bytes:
        """GSS_Unwrap."""


Acceptor = Callable[[], GssapiContext]
"""Begins one."""


@dataclass(frozen=True, slots=True)
class SaslConfig:
    """Options of the nodes of one cluster whose clients have to say who they are.

    users: their passwords, known to PLAIN and SCRAM from the start. token_validator: of
    OAUTHBEARER; None: tokens that nobody has signed are taken, as by a Kafka that is told nothing.
    acceptor: of GSSAPI, which is not offered without.
    connections_max_reauth_ms: how long a session lasts; 0: as long as its token, or for ever.
    sasl_server_max_receive_size: bytes of a request before its sender is known.
    """

    mechanisms: tuple[str, ...] = WITH_PASSWORDS
    users: Mapping[str, str] = field(default_factory=dict, repr=False)
    token_validator: TokenValidator | None = field(default=None, repr=False)
    acceptor: Acceptor | None = field(default=None, repr=False)
    connections_max_reauth_ms: int = 0
    connection_failed_authentication_delay_ms: int = 100
    sasl_server_max_receive_size: int = 524_288

    def __post_init__(self) -> None:
        """Refuse what can never work: KafkaConfigurationError."""
        check_kinds(self)
        unknown = [name for name in self.mechanisms if name not in MECHANISMS]
        if unknown or not self.mechanisms:
            raise KafkaConfigurationError(
                f"mechanisms={self.mechanisms!r}: there are {', '.join(MECHANISMS)}"
            )
        if GSSAPI in self.mechanisms and self.acceptor is None:
            raise KafkaConfigurationError(f"mechanisms: {GSSAPI} needs an acceptor")
        for name, lowest in (
            ("connections_max_reauth_ms", 0),
            ("connection_failed_authentication_delay_ms", 0),
            ("sasl_server_max_receive_size", 1),
        ):
            value = getattr(self, name)
            if not lowest <= value <= MAX_INT32:
                raise KafkaConfigurationError(
                    f"{name}={value} is not within {lowest} to {MAX_INT32}"
                )
