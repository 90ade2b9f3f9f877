"""Where a pump gets the tokens that a core asks for with SASL/OAUTHBEARER."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

# Takes the token and the extensions beside it, or None, {} and why there is none.
TokenTaker = Callable[[str | None, Mapping[str, str], str], None]


class TokenSource(Protocol):
    """Gives a token for each authentication."""

    def ask(self, take: TokenTaker) -> None:
        """Call `take` once, within this call or later, in the pump's thread."""

    def close(self) -> None:
        """Nobody waits for tokens any more."""
