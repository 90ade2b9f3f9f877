"""The state machine of a member of a share group as data; nothing else is in this file.

There is no reconciliation: whoever is in the group fetches what the last heartbeat assigned, beside
others. A cell that is not in the table cannot happen: `Machine.move` raises IllegalStateError,
which is a bug here.
"""

from __future__ import annotations

from kcore.enums import Enum


class ShareState(Enum):
    """What heartbeats say, and whether there are any (Java: MemberState)."""

    # Not in the group, and not asked to be. JOIN: a poll after subscribing. LEAVE changes nothing.
    UNSUBSCRIBED = "unsubscribed"

    # A heartbeat with epoch 0 and all fields is due or on its way. ANSWERED: taken in. FENCED: it
    # begins again. STALLED, REFUSED, LEAVE.
    JOINING = "joining"

    # A member. ANSWERED: it still is. FENCED: the coordinator does not know it under its epoch, so
    # it joins anew. STALLED, REFUSED, LEAVE.
    STABLE = "stable"

    # The last heartbeat, with epoch -1, is on its way. LEFT: it was answered or failed, which is
    # the same. JOIN: subscribed again meanwhile. LEAVE changes nothing.
    LEAVING = "leaving"

    # Left because no poll came within max_poll_interval_ms. JOIN: one has come. LEAVE.
    STALE = "stale"

    # Refused for a reason that only somebody outside can do something about; every poll says which.
    # Only LEAVE leads out.
    FATAL = "fatal"


class ShareInput(Enum):
    """What can happen to a membership."""

    JOIN = "join"
    ANSWERED = "heartbeat answered"
    FENCED = "epoch fenced"
    STALLED = "poll interval exceeded"
    REFUSED = "refused for good"
    LEAVE = "leave"
    LEFT = "left"


_ENDS = {
    ShareInput.FENCED: ShareState.JOINING,
    ShareInput.STALLED: ShareState.STALE,
    ShareInput.REFUSED: ShareState.FATAL,
    ShareInput.LEAVE: ShareState.LEAVING,
}

SHARE_TABLE: dict[ShareState, dict[ShareInput, ShareState]] = {
    ShareState.UNSUBSCRIBED: {
        ShareInput.JOIN: ShareState.JOINING,
        ShareInput.LEAVE: ShareState.UNSUBSCRIBED,
    },
    ShareState.JOINING: {ShareInput.ANSWERED: ShareState.STABLE, **_ENDS},
    ShareState.STABLE: {ShareInput.ANSWERED: ShareState.STABLE, **_ENDS},
    ShareState.LEAVING: {
        ShareInput.JOIN: ShareState.JOINING,
        ShareInput.LEAVE: ShareState.LEAVING,
        ShareInput.LEFT: ShareState.UNSUBSCRIBED,
    },
    ShareState.STALE: {
        ShareInput.JOIN: ShareState.JOINING,
        ShareInput.LEAVE: ShareState.UNSUBSCRIBED,
    },
    ShareState.FATAL: {ShareInput.LEAVE: ShareState.UNSUBSCRIBED},
}
