"""Who the client of one connection is: its exchange, its session, its renewal (KIP-368).

`look` says what is to be done about a request before it is read; the handlers of SaslHandshake and
SaslAuthenticate then call `agree` and `step`. A session that is over is noticed by the next
request, as in a Kafka: its connection is closed, unless that request renews it.
"""

from __future__ import annotations

import struct
from typing import Final

from kcore.broker.delegation.tokens import Tokens
from kcore.broker.sasl.bearer import Bearer
from kcore.broker.sasl.config import SaslConfig
from kcore.broker.sasl.mechanisms import Mechanism, MisfitError, Plain, Proven, RefusalError
from kcore.broker.sasl.scram import Scram
from kcore.broker.sasl.states import MOVES, TAKEN, Asked, Outcome, State, Taken
from kcore.broker.sasl.users import Users
from kcore.structs import Rng
from kcore.timers import NEVER
from kcore.wire.apis import API_TABLE, ApiKey
from kcore.wire.mechanisms import GSSAPI, OAUTHBEARER, PLAIN

# A Kafka lets nobody renew more often than this (Java: KafkaChannel).
RENEWAL_MS_MIN: Final = 1_000

_KEYS: Final = {
    ApiKey.API_VERSIONS: Asked.VERSIONS,
    ApiKey.SASL_HANDSHAKE: Asked.HANDSHAKE,
    ApiKey.SASL_AUTHENTICATE: Asked.AUTHENTICATE,
}


class Authenticator:
    """See the module's text. `user`: who it is, once that is known, and while that is renewed;
    delegated: by a delegation token.

    session_ends_ms: when it is over; NEVER if it does not end.
    """

    __slots__ = (
        "_begun_ms",
        "_config",
        "_exchange",
        "_mechanism",
        "_rng",
        "_tokens",
        "_users",
        "delegated",
        "session_ends_ms",
        "state",
        "user",
    )

    def __init__(self, config: SaslConfig, users: Users, tokens: Tokens, rng: Rng) -> None:
        self._config = config
        self._users = users
        self._tokens = tokens
        self._rng = rng
        self._mechanism = ""
        self._exchange: Mechanism | None = None
        self._begun_ms = -RENEWAL_MS_MIN  # the last renewal
        self.state = State.GREETING
        self.session_ends_ms = NEVER
        self.user: str | None = None
        self.delegated = False

    @property
    def known(self) -> bool:
        """Whether the client may ask for what it likes."""
        return self.state is State.KNOWN

    @property
    def proving(self) -> bool:
        """Whether a step of a mechanism is due, in a SaslAuthenticate."""
        return self.state is State.AUTHENTICATE

    def look(self, frame: memoryview, now_ms: int) -> Taken:
        """What to do about the next request."""
        asked = _asked(frame)
        if self.known and self.session_ends_ms != NEVER:
            if asked is Asked.HANDSHAKE and now_ms - self._begun_ms >= RENEWAL_MS_MIN:
                self._begun_ms = now_ms
                self._move(Outcome.RENEWAL)
            elif now_ms > self.session_ends_ms:
                return Taken.CLOSED
        return TAKEN[self.state, asked]

    def versions_told(self) -> None:
        """ApiVersions was answered, not refused."""
        self._move(Outcome.VERSIONS_TOLD)

    @property
    def agreeing(self) -> bool:
        """Whether a mechanism may be named now."""
        return (self.state, Outcome.AGREED) in MOVES

    def agree(self, mechanism: str, now_wall_ms: int, *, bare: bool) -> bool:
        """Begin an exchange; whether the mechanism is offered."""
        if mechanism not in self._config.mechanisms:
            self.refuse()
            return False
        if self.user is not None and mechanism != self._mechanism:
            self._move(Outcome.ANOTHER)
            return True
        self._mechanism = mechanism
        self._exchange = self._begin(mechanism, now_wall_ms)
        self._move(Outcome.AGREED_BARE if bare else Outcome.AGREED)
        return True

    def _begin(self, mechanism: str, now_wall_ms: int) -> Mechanism:
        if mechanism == PLAIN:
            return Plain(self._users)
        if mechanism == OAUTHBEARER:
            return Bearer(self._config.token_validator, now_wall_ms)
        if mechanism == GSSAPI:
            from kcore.broker.sasl.gssapi import Gssapi  # noqa: PLC0415 - few speak it

            assert self._config.acceptor is not None
            return Gssapi(self._config.acceptor())
        return Scram(self._users, mechanism, self._rng, self._tokens, now_wall_ms)

    def step(self, message: bytes, now_ms: int, now_wall_ms: int) -> tuple[bytes | None, int]:
        """The answer to a step of the mechanism (see `Mechanism`), and for how long the session is
        good (ms): 0 if it is not over with this, or never ends. RefusalError: refused, with Kafka's
        words.
        """
        assert self._exchange is not None
        renewal = "re-authentication" if self.user is not None else "authentication"
        try:
            answer = self._exchange.step(message)
            outcome = self._exchange.outcome
            if outcome is None:
                return answer, 0
            if self.user not in {None, outcome.user}:
                raise RefusalError(
                    "Cannot change principals during re-authentication from "
                    f"User.{self.user}: User.{outcome.user}"
                )
        except MisfitError:
            self.refuse()
            raise RefusalError(
                f"Authentication failed during {renewal} due to invalid credentials with SASL "
                f"mechanism {self._mechanism}",
                misfit=True,
            ) from None
        except RefusalError:
            self.refuse()
            raise
        self._exchange = None
        self.user, self.delegated = outcome.user, outcome.delegated
        self._move(Outcome.PROVEN)
        return answer, self._begin_session(outcome, now_ms, now_wall_ms)

    def _begin_session(self, outcome: Proven, now_ms: int, now_wall_ms: int) -> int:
        """For how long it is good."""
        most_ms = self._config.connections_max_reauth_ms
        self.session_ends_ms = NEVER
        if outcome.expires_ms is None and not most_ms:
            return 0
        lasts_ms = most_ms
        if outcome.expires_ms is not None:
            left_ms = max(0, outcome.expires_ms - now_wall_ms)
            lasts_ms = min(left_ms, most_ms) if most_ms else left_ms
        self.session_ends_ms = now_ms + lasts_ms
        if not lasts_ms:  # what was shown is over already: not even one request is served
            self.session_ends_ms -= 1
        return lasts_ms

    def refuse(self) -> None:
        """Nothing is taken any more."""
        self._move(Outcome.REFUSED)

    def _move(self, outcome: Outcome) -> None:
        self.state = MOVES[self.state, outcome]


def _asked(frame: memoryview) -> Asked:
    """What a frame is, by its first bytes: nothing more is read of strangers."""
    if len(frame) < 4:
        return Asked.UNREADABLE
    number, _version = struct.unpack_from(">hh", frame)
    if number not in API_TABLE:
        return Asked.UNREADABLE
    return _KEYS.get(ApiKey(number), Asked.OTHER)
