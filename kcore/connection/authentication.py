"""The SASL exchange of one link as messages: what to send, and what to make of each answer.

    begin() -> SaslHandshake --answer--> SaslAuthenticate --answer--> ... --answer--> None: done

SaslHandshake names the mechanism, SaslAuthenticate carries its steps. `begin()` is called again on
the same link when the session is about to end (KIP-368). SaslHandshake is v1: v0 means unframed
tokens, as brokers before 1.0 speak. Where the mechanism is OAUTHBEARER, each exchange needs a token
of its own first (`needs_token`, `give`); where it is GSSAPI, each message is worked out outside
(`Outside`, `take_result`). Every refusal is an AuthenticationFailedError, none retriable.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kcore import limits
from kcore.connection.credentials import Credentials
from kcore.connection.sasl import MECHANISMS, Mechanism, Outside
from kcore.errors import (
    AuthenticationFailedError,
    IllegalSaslStateError,
    SaslAuthenticationFailedError,
    UnsupportedSaslMechanismError,
    for_code,
)
from kcore.structs import Rng
from kcore.timers import NEVER
from kcore.wire.codes import ErrorCode
from kcore.wire.mechanisms import GSSAPI, OAUTHBEARER
from kcore.wire.messages import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)

# Java renews after 85 to 95 % of a session, too: early enough for a slow answer, and spread over
# many clients.
RENEW_FROM: Final = 0.85
RENEW_SPREAD: Final = 0.10
_LIFETIMES_SINCE: Final = 1  # SaslAuthenticate says how long the session is (Kafka 2.2)
# A broker refuses a second handshake within a second (Java: KafkaChannel).
RENEW_MS_MIN: Final = 1_100
_MECHANISMS_SHOWN: Final = 20
# A broker does not tell strangers what is wrong with a ticket.
_UNSAID: Final = (
    " (its log says why; most often its keytab has not the keys that the KDC has now, or the clocks"
    " differ)"
)

Step = SaslAuthenticateRequest | Outside
"""What comes next: a message to send, or a call to have made."""


class Authentication:
    """See the module's text. `renew_at`: when to begin again (ms), NEVER if never."""

    __slots__ = ("_credentials", "_exchange", "_rng", "renew_at")

    def __init__(self, credentials: Credentials, rng: Rng) -> None:
        self._credentials = credentials
        self._rng = rng
        self._exchange = self._begun()
        self.renew_at = NEVER

    def _begun(self) -> Mechanism:
        return MECHANISMS[self._credentials.mechanism](self._credentials, self._rng)

    @property
    def needs_token(self) -> bool:
        """Whether `give` comes before each `begin`."""
        return self._credentials.mechanism == OAUTHBEARER

    def give(self, token: str, extensions: Mapping[str, str]) -> None:
        """The token of the next exchange."""
        self._credentials = Credentials(OAUTHBEARER, "", token, extensions)

    def begin(self) -> SaslHandshakeRequest:
        """Start over: what to send first."""
        self._exchange = self._begun()  # a mechanism and its nonce are good for one exchange
        self.renew_at = NEVER
        return SaslHandshakeRequest(mechanism=self._credentials.mechanism)

    def take_handshake(self, body: SaslHandshakeResponse) -> Step:
        """The broker's answer to the mechanism's name. AuthenticationFailedError."""
        mechanism = self._credentials.mechanism
        offered = tuple(body.mechanisms[:_MECHANISMS_SHOWN])
        if body.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM:
            raise UnsupportedSaslMechanismError(
                f"the broker does not offer {mechanism} here; it offers {', '.join(offered)}",
                offered=offered,
            )
        if body.error_code == ErrorCode.ILLEGAL_SASL_STATE:
            raise IllegalSaslStateError("the listener does not use SASL: check security_protocol")
        if body.error_code:
            raise _refusal(body.error_code, None)
        return _as_step(self._exchange.first())

    def take_result(self, result: bytes, context: object, *, complete: bool) -> Step:
        """What came of the call that was to be made. AuthenticationFailedError."""
        exchange: Any = self._exchange  # one that had a call made
        return _as_step(exchange.take(result, context, complete=complete))

    def take_answer(self, body: SaslAuthenticateResponse, version: int, now_ms: int) -> Step | None:
        """The broker's side of a step: what to send next; None: done. AuthenticationFailedError."""
        if body.error_code:
            refusal = _refusal(body.error_code, body.error_message)
            if self._credentials.mechanism == GSSAPI:
                refusal.args = (f"{refusal.args[0]}{_UNSAID}",)
            raise refusal
        reply = self._exchange.step(body.auth_bytes)
        if reply is not None:
            return _as_step(reply)
        lifetime_ms = min(body.session_lifetime_ms, limits.MAX_TIMEOUT_MS)
        if lifetime_ms > 0:
            share = RENEW_FROM + RENEW_SPREAD * self._rng.random()
            self.renew_at = now_ms + max(RENEW_MS_MIN, int(lifetime_ms * share))
        elif version >= _LIFETIMES_SINCE and self._credentials.delegated:
            # Such a session ends with its token, so it always has an end. Kafka lets in who brings
            # one that is over, until it is swept away, and hangs up at the next request.
            raise SaslAuthenticationFailedError(
                f"the delegation token {self._credentials.username} has expired"
            )
        return None


def _as_step(said: bytes | Outside) -> Step:
    return said if isinstance(said, Outside) else SaslAuthenticateRequest(auth_bytes=said)


def _refusal(code: int, said: str | None) -> AuthenticationFailedError:
    kind = for_code(code)
    text = said or kind.description
    if issubclass(kind, AuthenticationFailedError):
        return kind(text)
    return SaslAuthenticationFailedError(f"{kind.name}: {text}")
