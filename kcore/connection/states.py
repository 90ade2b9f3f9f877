"""The states of one link, and every legal move.

A link lives through one connection attempt. What each state answers to each input is said beside
the state; an input that is not in the table for a state is ignored by the link (a late closure, a
second `connected`), never an error of ours.
"""

from __future__ import annotations

from kcore.enums import Enum


class LinkState(Enum):
    """Where a link stands."""

    # Connect was given; requests wait. CONNECTED -> GREETING; CLOSED, EXPIRED -> ENDED.
    CONNECTING = "connecting"
    # ApiVersions is out. GREETED -> READY; CHALLENGED -> AUTHENTICATING; REFUSED asks again, lower.
    GREETING = "greeting"
    # SASL is under way. AUTHENTICATED -> READY; REJECTED -> ENDED.
    AUTHENTICATING = "authenticating"
    # Requests are written at once, unless throttled. CLOSED, EXPIRED, MALFORMED -> ENDED.
    READY = "ready"
    RENEWING = "renewing"  # SASL again (KIP-368): answers still come, new requests wait.
    ENDED = "ended"  # nothing is taken any more; every request was answered with the reason.


class LinkInput(Enum):
    """What can happen to a link."""

    CONNECTED = "connected"  # the driver opened the socket
    GREETED = "greeted"  # ApiVersions was answered with ranges, and nobody has to prove anything
    REFUSED = "refused"  # ApiVersions was answered UNSUPPORTED_VERSION: ask again lower
    CHALLENGED = "challenged"  # time for SASL: after the greeting, or because a session ends
    AUTHENTICATED = "authenticated"  # both sides are satisfied
    REJECTED = "rejected"  # one side is not, or TLS was refused; trying again will not help
    CLOSED = "closed"  # the peer or the driver ended it, or the core asked for that
    EXPIRED = "expired"  # set-up or a request took too long
    MALFORMED = "malformed"  # bytes that are not Kafka's, or an answer nobody asked for


TRANSITIONS: dict[LinkState, dict[LinkInput, LinkState]] = {
    LinkState.CONNECTING: {
        LinkInput.CONNECTED: LinkState.GREETING,
        LinkInput.REJECTED: LinkState.ENDED,
        LinkInput.CLOSED: LinkState.ENDED,
        LinkInput.EXPIRED: LinkState.ENDED,
        LinkInput.MALFORMED: LinkState.ENDED,
    },
    LinkState.GREETING: {
        LinkInput.GREETED: LinkState.READY,
        LinkInput.REFUSED: LinkState.GREETING,
        LinkInput.CHALLENGED: LinkState.AUTHENTICATING,
        LinkInput.REJECTED: LinkState.ENDED,
        LinkInput.CLOSED: LinkState.ENDED,
        LinkInput.EXPIRED: LinkState.ENDED,
        LinkInput.MALFORMED: LinkState.ENDED,
    },
    LinkState.AUTHENTICATING: {
        LinkInput.AUTHENTICATED: LinkState.READY,
        LinkInput.REJECTED: LinkState.ENDED,
        LinkInput.CLOSED: LinkState.ENDED,
        LinkInput.EXPIRED: LinkState.ENDED,
        LinkInput.MALFORMED: LinkState.ENDED,
    },
    LinkState.READY: {
        LinkInput.CHALLENGED: LinkState.RENEWING,
        LinkInput.REJECTED: LinkState.ENDED,
        LinkInput.CLOSED: LinkState.ENDED,
        LinkInput.EXPIRED: LinkState.ENDED,
        LinkInput.MALFORMED: LinkState.ENDED,
    },
    LinkState.RENEWING: {
        LinkInput.AUTHENTICATED: LinkState.READY,
        LinkInput.REJECTED: LinkState.ENDED,
        LinkInput.CLOSED: LinkState.ENDED,
        LinkInput.EXPIRED: LinkState.ENDED,
        LinkInput.MALFORMED: LinkState.ENDED,
    },
    LinkState.ENDED: {},
}
