"""Where a pump gets what a core that authenticates by SASL asks its driver for: tokens
(OAUTHBEARER), or calls of GSSAPI (Kerberos).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from kcore.actions import CallGssapi, FetchToken
from kcore.transports.inputs import Called, Token

Found = Token | Called
Take = Callable[[Found], None]


def failed(action: FetchToken | CallGssapi, why: str) -> Found:
    """What was asked for is not to be had."""
    if isinstance(action, FetchToken):
        return Token(action.link, None, {}, why)
    return Called(action.link, None, why=why)


class SaslSource(Protocol):
    """Does what is asked of a driver."""

    def ask(self, action: FetchToken | CallGssapi, take: Take, wake: Callable[[], None]) -> None:
        """Call `take` once: within this call, or later, from any thread; where that is not the
        pump's, with `wake` behind it.
        """

    def close(self) -> None:
        """Nobody waits any more: after this, nothing is called."""
