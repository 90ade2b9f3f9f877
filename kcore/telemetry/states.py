"""How far a client is with its telemetry, as data; nothing else is in this file.

An input that is missing for a state means nothing there. Source: Java's ClientTelemetryState.
"""

from __future__ import annotations

from typing import Final

from kcore.enums import Enum


class TelemetryState(Enum):
    """The values are for messages."""

    # A broker is to be asked what it wants, when it is time and one can be asked.
    # ASKED: -> SUBSCRIPTION_IN_PROGRESS. CLOSING, OVER: -> TERMINATED: nobody has subscribed.
    SUBSCRIPTION_NEEDED = "to ask for a subscription"

    # GetTelemetrySubscriptions is on its way.
    # SUBSCRIBED: -> PUSH_NEEDED. UNWANTED (no metrics), FAILED: -> SUBSCRIPTION_NEEDED, later.
    # CLOSING, OVER: -> TERMINATED.
    SUBSCRIPTION_IN_PROGRESS = "asking for a subscription"

    # The next push waits for its time.
    # ASKED: -> PUSH_IN_PROGRESS. CLOSING: -> TERMINATING_PUSH_NEEDED. OVER: -> TERMINATED.
    PUSH_NEEDED = "to push"

    # PushTelemetry is on its way.
    # TAKEN: -> PUSH_NEEDED. FAILED: -> SUBSCRIPTION_NEEDED: what is wanted may be something else.
    # CLOSING: -> TERMINATING_PUSH_NEEDED. OVER: -> TERMINATED.
    PUSH_IN_PROGRESS = "pushing"

    # The client closes: it pushes a last time, at once.
    # ASKED: -> TERMINATING_PUSH_IN_PROGRESS. OVER: -> TERMINATED.
    TERMINATING_PUSH_NEEDED = "to push a last time"

    # The last push is on its way.
    # TAKEN, FAILED, OVER: -> TERMINATED.
    TERMINATING_PUSH_IN_PROGRESS = "pushing a last time"

    # Nothing is pushed any more.
    TERMINATED = "over"


class TelemetryInput(Enum):
    """What can happen."""

    ASKED = "a request was sent"
    SUBSCRIBED = "a subscription with metrics"
    UNWANTED = "a subscription without metrics"
    TAKEN = "a push was taken"
    FAILED = "a request failed"
    CLOSING = "the client closes"
    OVER = "there is no use in going on"


_S, _I = TelemetryState, TelemetryInput

TABLE: Final[dict[TelemetryState, dict[TelemetryInput, TelemetryState]]] = {
    _S.SUBSCRIPTION_NEEDED: {
        _I.ASKED: _S.SUBSCRIPTION_IN_PROGRESS,
        _I.CLOSING: _S.TERMINATED,
        _I.OVER: _S.TERMINATED,
    },
    _S.SUBSCRIPTION_IN_PROGRESS: {
        _I.SUBSCRIBED: _S.PUSH_NEEDED,
        _I.UNWANTED: _S.SUBSCRIPTION_NEEDED,
        _I.FAILED: _S.SUBSCRIPTION_NEEDED,
        _I.CLOSING: _S.TERMINATED,
        _I.OVER: _S.TERMINATED,
    },
    _S.PUSH_NEEDED: {
        _I.ASKED: _S.PUSH_IN_PROGRESS,
        _I.CLOSING: _S.TERMINATING_PUSH_NEEDED,
        _I.OVER: _S.TERMINATED,
    },
    _S.PUSH_IN_PROGRESS: {
        _I.TAKEN: _S.PUSH_NEEDED,
        _I.FAILED: _S.SUBSCRIPTION_NEEDED,
        _I.CLOSING: _S.TERMINATING_PUSH_NEEDED,
        _I.OVER: _S.TERMINATED,
    },
    _S.TERMINATING_PUSH_NEEDED: {
        _I.ASKED: _S.TERMINATING_PUSH_IN_PROGRESS,
        _I.OVER: _S.TERMINATED,
    },
    _S.TERMINATING_PUSH_IN_PROGRESS: {
        _I.TAKEN: _S.TERMINATED,
        _I.FAILED: _S.TERMINATED,
        _I.OVER: _S.TERMINATED,
    },
    _S.TERMINATED: {},
}
