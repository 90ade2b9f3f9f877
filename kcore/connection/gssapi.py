"""SASL/GSSAPI (Kerberos) as the client's steps of RFC 4752; the context itself is somebody else's.

    ESTABLISHING (tokens go back and forth) -> OFFERED (the broker's layers are unwrapped)
    -> CHOSEN (our choice is wrapped) -> SAID (the broker has the last word)

What a KDC has to be asked for, and all that is done with keys, is a `kcore.actions.CallGssapi`:
the core says what is called, and judges what comes of it. No security layer is chosen, because
Kafka's frames have none (Java: SaslClientAuthenticator, qop "auth"), and no authorization identity
is named, which means that of the ticket.
"""

from __future__ import annotations

from typing import Final

from kcore.actions import GssapiCall
from kcore.connection.credentials import Credentials
from kcore.connection.sasl import Outside
from kcore.enums import Enum
from kcore.errors import SaslAuthenticationFailedError
from kcore.structs import Rng

# Kerberos takes one token each way, and one more of each where it is spoken as DCE does.
ROUNDS_MAX: Final = 8
# An honest answer is some hundred bytes.
TOKEN_BYTES_MAX: Final = 65_536
# Layers are bits of the first byte; the largest message that a layer takes is in the other three.
NO_LAYER: Final = 1
_CHOICE: Final = bytes((NO_LAYER, 0, 0, 0))


class _At(Enum):
    ESTABLISHING = 0
    OFFERED = 1
    CHOSEN = 2
    SAID = 3


class Gssapi:
    """One exchange, seen from the client; see the module's text."""

    def __init__(self, _credentials: Credentials, _rng: Rng) -> None:
        self._at = _At.ESTABLISHING
        self._context: object = None
        self._complete = False  # our side of the context
        self._rounds = 0

    def first(self) -> Outside:
        """Begin a context."""
        return self._call(GssapiCall.STEP, b"")

    def step(self, challenge: bytes) -> Outside | None:
        """What is to be made of the broker's message; None: done. SaslAuthenticationFailedError."""
        if self._at is _At.SAID:
            if challenge:
                raise _broken("more after its last word")
            return None
        if not challenge:
            raise _broken("nothing where it owes a token")
        if len(challenge) > TOKEN_BYTES_MAX:
            raise _broken(f"a token of {len(challenge)} bytes")
        if self._complete:
            self._at = _At.OFFERED
            return self._call(GssapiCall.UNWRAP, challenge)
        self._rounds += 1
        if self._rounds > ROUNDS_MAX:
            raise _broken(f"{self._rounds} tokens, and the context is not established")
        return self._call(GssapiCall.STEP, challenge)

    def take(self, result: bytes, context: object, *, complete: bool) -> bytes | Outside:
        """What came of a call: what to send, or to call next. SaslAuthenticationFailedError."""
        if self._at is _At.ESTABLISHING:
            self._context, self._complete = context, complete
            if not result and not complete:
                raise SaslAuthenticationFailedError(
                    "GSSAPI gave no token for a context that is not established"
                )
            return result
        if self._at is _At.OFFERED:
            _check_offer(result)
            self._at = _At.CHOSEN
            return self._call(GssapiCall.WRAP, _CHOICE)
        self._at, self._context = _At.SAID, None
        return result

    def _call(self, call: GssapiCall, data: bytes) -> Outside:
        return Outside(call, data, self._context)


def _check_offer(offer: bytes) -> None:
    if len(offer) != len(_CHOICE):
        raise _broken(f"an offer of {len(offer)} bytes, not 4")
    if not offer[0] & NO_LAYER:
        raise SaslAuthenticationFailedError(
            "the broker insists on a security layer of SASL (integrity or encryption), which "
            "Kafka's protocol does not have; for encryption there is SASL_SSL"
        )


def _broken(what: str) -> SaslAuthenticationFailedError:
    return SaslAuthenticationFailedError(f"the broker broke the GSSAPI exchange: it sent {what}")
