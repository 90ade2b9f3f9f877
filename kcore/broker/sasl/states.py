"""What a connection may ask for while its client is not known, and when it is known anew.

    GREETING --versions told--> HANDSHAKE
        |                           |
        +---mechanism agreed--------+--> AUTHENTICATE --proven--> KNOWN
        |                           |                               |  a handshake, if sessions end
        +---agreed, by v0-----------+--> TOKENS --proven--> KNOWN   v
                                                                 RENEWING --agreed--> AUTHENTICATE
                                                                    |
                                                                    +--another mechanism--> MISFIT

TOKENS: frames are the mechanism's own bytes, without a header (SaslHandshake v0). MISFIT: who wants
another mechanism than before is told so by the next request's failure, as a Kafka does. Whatever is
refused leads to REFUSED, in which nothing is taken any more.

Two tables: what a request does (`TAKEN`), and what comes of it (`MOVES`). A cell that is not there
cannot be. Source: Java's SaslServerAuthenticator, which has INITIAL_REQUEST and
HANDSHAKE_OR_VERSIONS_REQUEST for GREETING, and tells TOKENS from AUTHENTICATE by a flag.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final


class State(Enum):
    """Where a connection is."""

    GREETING = "greeting"
    HANDSHAKE = "handshake"
    AUTHENTICATE = "authenticate"
    TOKENS = "tokens"
    KNOWN = "known"
    RENEWING = "renewing"
    MISFIT = "misfit"
    REFUSED = "refused"


class Asked(Enum):
    """What comes in."""

    VERSIONS = "ApiVersions"
    HANDSHAKE = "SaslHandshake"
    AUTHENTICATE = "SaslAuthenticate"
    OTHER = "any other API"
    UNREADABLE = "no request"


class Taken(Enum):
    """What is done about it."""

    SERVED = "served"
    TOKEN = "a step of the mechanism, without a header"  # noqa: S105 - no password
    WRONG_TIME = "ILLEGAL_SASL_STATE, and the end of the connection after a while"
    FAILED = "no answer, and the end of the connection after a while"
    CLOSED = "the end of the connection"


class Outcome(Enum):
    """What a request led to."""

    VERSIONS_TOLD = "versions told"
    AGREED = "mechanism agreed"
    AGREED_BARE = "mechanism agreed, by v0"
    ANOTHER = "another mechanism than before"
    PROVEN = "proven"
    RENEWAL = "renewal begun"
    REFUSED = "refused"


def _row(state: State, **cells: Taken) -> dict[tuple[State, Asked], Taken]:
    rest = cells.pop("rest", Taken.CLOSED)
    return {(state, asked): cells.get(asked.name.lower(), rest) for asked in Asked}


TAKEN: Final[Mapping[tuple[State, Asked], Taken]] = {
    **_row(State.GREETING, versions=Taken.SERVED, handshake=Taken.SERVED),
    **_row(State.HANDSHAKE, handshake=Taken.SERVED),
    **_row(
        State.AUTHENTICATE,
        authenticate=Taken.SERVED,
        unreadable=Taken.CLOSED,
        rest=Taken.WRONG_TIME,
    ),
    **_row(State.TOKENS, rest=Taken.TOKEN),
    **_row(State.KNOWN, rest=Taken.SERVED),
    **_row(State.RENEWING, handshake=Taken.SERVED),
    **_row(State.MISFIT, rest=Taken.FAILED),
    **_row(State.REFUSED),
}

MOVES: Final[Mapping[tuple[State, Outcome], State]] = {
    (State.GREETING, Outcome.VERSIONS_TOLD): State.HANDSHAKE,
    (State.KNOWN, Outcome.VERSIONS_TOLD): State.KNOWN,
    (State.KNOWN, Outcome.RENEWAL): State.RENEWING,
    (State.RENEWING, Outcome.ANOTHER): State.MISFIT,
    **{
        (state, outcome): after
        for state in (State.GREETING, State.HANDSHAKE, State.RENEWING)
        for outcome, after in (
            (Outcome.AGREED, State.AUTHENTICATE),
            (Outcome.AGREED_BARE, State.TOKENS),
        )
    },
    (State.AUTHENTICATE, Outcome.PROVEN): State.KNOWN,
    (State.TOKENS, Outcome.PROVEN): State.KNOWN,
    **{(state, Outcome.REFUSED): State.REFUSED for state in State},
}
