"""Who we are, and by which SASL mechanism that is proved; how it is proved is `sasl.py`, which only
those who have to prove it load.
"""

from __future__ import annotations

from collections.abc import Mapping

from kcore.hints import Final
from kcore.values import Value, field
from kcore.wire.mechanisms import OAUTHBEARER

# Says to a broker that user and password are id and code of a delegation token (KIP-48; Java:
# ScramLoginModule.TOKEN_AUTH_CONFIG).
DELEGATED: Final[Mapping[str, str]] = {"tokenauth": "true"}


class Credentials(Value):
    """Who we are and how to prove it. `mechanism`: one of kcore.wire.mechanisms.

    With OAUTHBEARER the password is the token, which is asked for anew for each exchange, and
    extensions go along with it (KIP-342). With SCRAM they are DELEGATED, or none.
    """

    mechanism: str
    username: str
    password: str = field(repr=False)
    extensions: Mapping[str, str] = field(default_factory=dict, repr=False)

    def of(self, username: str, password: str) -> Credentials:
        """Those of another user."""
        return Credentials(self.mechanism, username, password, self.extensions)

    @property
    def delegated(self) -> bool:
        """Whether it is a delegation token."""
        return self.mechanism != OAUTHBEARER and bool(self.extensions)
