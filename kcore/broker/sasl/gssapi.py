"""GSSAPI (RFC 4752): a ticket of Kerberos, which somebody else looks into.

    ESTABLISHING (tokens go back and forth) -> OFFERED (no layer, and nothing else) -> outcome

Who the client is is the first part of its principal, if that is of the broker's own realm: the one
rule that a Kafka has where it is told none (sasl.kerberos.principal.to.local.rules=DEFAULT). An
authorization identity is passed over. Source: the JDK's GssKrb5Server, as Kafka calls it.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import Final

from kcore.broker.sasl.config import GssapiContext
from kcore.broker.sasl.mechanisms import MisfitError, Proven

_NO_LAYER: Final = 1
# No layer, and the size of messages that it would have.
_OFFER: Final = b"\x01\x01\x00\x00"
_PRINCIPAL: Final = re.compile(r"([^/@]+)(?:/[^/@]*)?@([^/@]+)")


class _At(Enum):
    ESTABLISHING = 0
    ESTABLISHED = 1
    OFFERED = 2


class Gssapi:
    """One exchange."""

    def __init__(self, context: GssapiContext) -> None:
        self._context = context
        self._at = _At.ESTABLISHING
        self.outcome: Proven | None = None

    def step(self, message: bytes) -> bytes | None:
        """The next token; what layers there are; nothing, when one is chosen."""
        try:
            return self._answer(message)
        except MisfitError:
            raise
        except Exception as error:  # that is how a context refuses
            raise MisfitError from error

    def _answer(self, message: bytes) -> bytes | None:
        context = self._context
        if self._at is _At.ESTABLISHING:
            token = context.step(message)
            if not context.complete:
                return token
            self._at = _At.ESTABLISHED
            if token:
                return token
            message = b""  # nothing to say before the offer: it goes out at once
        if self._at is _At.ESTABLISHED:
            if message:
                raise MisfitError
            self._at = _At.OFFERED
            return context.wrap(_OFFER)
        choice = context.unwrap(message)
        if len(choice) < len(_OFFER) or not choice[0] & _NO_LAYER:
            raise MisfitError
        self.outcome = Proven(local_name(context.initiator, context.realm))
        return None


def local_name(principal: str, realm: str) -> str:
    """The user whose principal it is. MisfitError: of another realm."""
    found = _PRINCIPAL.fullmatch(principal)
    if found is None or found[2] != realm:
        raise MisfitError
    return found[1]
