"""What a mechanism is, and PLAIN: bytes of the client in, bytes for the client out.

A mechanism is good for one exchange. `step` takes what the client says and gives the answer;
`outcome` is there when the client has proven who it is. Two ways of failing: RefusalError has words
for the client, as Java's SaslAuthenticationException; MisfitError has none, so that nobody learns
from it who there is (Java's SaslException). Texts are Kafka's. Source of PLAIN: RFC 4616.
"""

from __future__ import annotations

from typing import Protocol

from kcore.broker.sasl.users import Users
from kcore.tuples import NamedTuple


class RefusalError(Exception):
    """The client is told why. misfit: it was a MisfitError."""

    def __init__(self, why: str, *, misfit: bool = False) -> None:
        super().__init__(why)
        self.misfit = misfit


class MisfitError(Exception):
    """The client is told that its credentials are not right, and nothing else."""


class Proven(NamedTuple):
    """Who the client is. expires_ms: wall ms, when what it has shown is over; None: never.
    delegated: that was a delegation token of the user's.
    """

    user: str
    expires_ms: int | None = None
    delegated: bool = False


class Mechanism(Protocol):
    """One exchange, seen from the broker."""

    outcome: Proven | None

    def step(self, message: bytes) -> bytes | None:
        """What to answer; None: nothing, for which there is an answer only where it has a header.
        RefusalError, MisfitError.
        """


class Plain:
    """The password itself."""

    def __init__(self, users: Users) -> None:
        self._users = users
        self.outcome: Proven | None = None

    def step(self, message: bytes) -> bytes:
        """Who it is to be, the user, the password."""
        parts = message.decode("utf-8", "replace").split("\0")
        if len(parts) != 3:
            # Java stops at the fourth.
            count = min(len(parts), 4)
            raise RefusalError(f"Invalid SASL/PLAIN response: expected 3 tokens, got {count}")
        wanted, user, password = parts
        if not user:
            raise RefusalError("Authentication failed: username not specified")
        if not password:
            raise RefusalError("Authentication failed: password not specified")
        if not self._users.has_password(user, password):
            raise RefusalError("Authentication failed: Invalid username or password")
        if wanted and wanted != user:
            raise RefusalError(
                "Authentication failed: Client requested an authorization id that is different "
                "from username"
            )
        self.outcome = Proven(user)
        return b""
