"""The state machines of a member of the consumer protocol (KIP-848) as data; nothing else is in
this file.

`ConsumerState` is Java's MemberState of that protocol: what heartbeats say and whether there are
any. How far this side is with what it tells the application is a `Step` here, too, by a table of
its own: partitions are shed and added in one go, and nobody joins in between.

A cell that is not in a table cannot happen: `Machine.move` raises IllegalStateError, which is a bug
here.
"""

from __future__ import annotations

from kcore.enums import Enum
from kcore.group.states import STEP_TABLE, Step, StepInput


class ConsumerState(Enum):
    """Java: org.apache.kafka.clients.consumer.internals.MemberState."""

    # Not in the group, and not asked to be. JOIN: a poll after subscribing. FATAL: the coordinator
    # cannot be looked up. LEAVE and RELEASED change nothing.
    UNSUBSCRIBED = "unsubscribed"

    # A full heartbeat with epoch 0 is due or on its way. TARGET: taken in, with an assignment,
    # which may be empty. FENCED: begin again. STALLED, FATAL, LEAVE.
    JOINING = "joining"

    # The coordinator wants this member to have other partitions than it has. TARGET: others still.
    # AGREED: what it has, after all. RECONCILED: the application has taken it. FENCED, STALLED,
    # FATAL: void. LEAVE.
    RECONCILING = "reconciling"

    # The next heartbeat says what is owned now, at once. AGREED: it was sent. TARGET: sent or not,
    # there is another assignment meanwhile. FENCED, STALLED, FATAL, LEAVE.
    ACKNOWLEDGING = "acknowledging"

    # A member, with what the coordinator wants it to have. TARGET, FENCED, STALLED, FATAL, LEAVE.
    STABLE = "stable"

    # The coordinator does not know this member under its epoch. Silent until the application was
    # told of what is lost. JOIN: it was. FATAL, LEAVE.
    FENCED = "fenced"

    # Left while the application does, or before it began: what it has can still be committed until
    # the leave is sent. LEAVE_SENT. RELEASED: there was nobody to tell, or nothing. The loss of the
    # membership (FENCED, FATAL) changes nothing, nor does LEAVE. Nobody has to poll any more.
    PREPARE_LEAVING = "prepare leaving"

    # The last heartbeat is on its way, with epoch -1, or -2 of a static member. RELEASED: answered,
    # or failed, which is the same. JOIN: subscribed again meanwhile. STALLED: it was sent because
    # no poll came in time. LEAVE changes nothing.
    LEAVING = "leaving"

    # Left because no poll came within max_poll_interval_ms. Silent until one comes and tells what
    # is lost. JOIN: it did. FATAL, LEAVE.
    STALE = "stale"

    # Refused for a reason that only somebody outside can do something about; every poll says which.
    # Only LEAVE leads out. FATAL changes nothing.
    FATAL = "fatal"


class ConsumerInput(Enum):
    """What can happen to a membership."""

    JOIN = "join"
    TARGET = "another assignment"
    AGREED = "assignment and ownership agree"
    RECONCILED = "the application has taken the assignment"
    FENCED = "epoch fenced"
    STALLED = "poll interval exceeded"
    FATAL = "refused for good"
    LEAVE = "leave"
    LEAVE_SENT = "leave sent"
    RELEASED = "left"


_LOSSES = {
    ConsumerInput.FENCED: ConsumerState.FENCED,
    ConsumerInput.STALLED: ConsumerState.STALE,
    ConsumerInput.FATAL: ConsumerState.FATAL,
    ConsumerInput.LEAVE: ConsumerState.PREPARE_LEAVING,
}
_WAYS_BACK = {
    ConsumerInput.JOIN: ConsumerState.JOINING,
    ConsumerInput.FATAL: ConsumerState.FATAL,
    ConsumerInput.LEAVE: ConsumerState.PREPARE_LEAVING,
}

CONSUMER_TABLE: dict[ConsumerState, dict[ConsumerInput, ConsumerState]] = {
    ConsumerState.UNSUBSCRIBED: {
        ConsumerInput.JOIN: ConsumerState.JOINING,
        ConsumerInput.FATAL: ConsumerState.FATAL,
        ConsumerInput.LEAVE: ConsumerState.UNSUBSCRIBED,
        ConsumerInput.RELEASED: ConsumerState.UNSUBSCRIBED,
    },
    ConsumerState.JOINING: {
        ConsumerInput.TARGET: ConsumerState.RECONCILING,
        **_LOSSES,
    },
    ConsumerState.RECONCILING: {
        ConsumerInput.TARGET: ConsumerState.RECONCILING,
        ConsumerInput.AGREED: ConsumerState.STABLE,
        ConsumerInput.RECONCILED: ConsumerState.ACKNOWLEDGING,
        **_LOSSES,
    },
    ConsumerState.ACKNOWLEDGING: {
        ConsumerInput.TARGET: ConsumerState.RECONCILING,
        ConsumerInput.AGREED: ConsumerState.STABLE,
        **_LOSSES,
    },
    ConsumerState.STABLE: {
        ConsumerInput.TARGET: ConsumerState.RECONCILING,
        **_LOSSES,
    },
    ConsumerState.FENCED: _WAYS_BACK,
    ConsumerState.PREPARE_LEAVING: {
        ConsumerInput.LEAVE_SENT: ConsumerState.LEAVING,
        ConsumerInput.RELEASED: ConsumerState.UNSUBSCRIBED,
        ConsumerInput.FENCED: ConsumerState.PREPARE_LEAVING,
        ConsumerInput.FATAL: ConsumerState.PREPARE_LEAVING,
        ConsumerInput.LEAVE: ConsumerState.PREPARE_LEAVING,
    },
    ConsumerState.LEAVING: {
        ConsumerInput.JOIN: ConsumerState.JOINING,
        ConsumerInput.STALLED: ConsumerState.STALE,
        ConsumerInput.RELEASED: ConsumerState.UNSUBSCRIBED,
        ConsumerInput.LEAVE: ConsumerState.LEAVING,
    },
    ConsumerState.STALE: _WAYS_BACK,
    ConsumerState.FATAL: {
        ConsumerInput.FATAL: ConsumerState.FATAL,
        ConsumerInput.LEAVE: ConsumerState.PREPARE_LEAVING,
    },
}

_ENDS = {StepInput.LEAVE: Step.LEAVING, StepInput.CLOSE: Step.CLOSING}

# IDLE: nothing is told. BEGAN: what goes is suspended, its commit on its way. TOLD: all is lost.
# COMMITTING: SHED: what goes was told. TOLD: nothing goes, assigned was emitted.
# SHEDDING, REVOKING (all of it, lost), ASSIGNING wait for the acknowledgement, whatever else
# happens to the membership. The last steps are those of the classic protocol.
CONSUMER_STEP_TABLE: dict[Step, dict[StepInput, Step]] = {
    Step.IDLE: {
        StepInput.BEGAN: Step.COMMITTING,
        StepInput.TOLD: Step.REVOKING,
        StepInput.DROPPED: Step.IDLE,
        **_ENDS,
    },
    Step.COMMITTING: {
        StepInput.SHED: Step.SHEDDING,
        StepInput.TOLD: Step.ASSIGNING,
        StepInput.DROPPED: Step.IDLE,
        **_ENDS,
    },
    Step.SHEDDING: {
        StepInput.TOLD: Step.ASSIGNING,
        StepInput.SETTLED: Step.IDLE,
        StepInput.DROPPED: Step.SHEDDING,
        **_ENDS,
    },
    Step.REVOKING: {
        StepInput.SETTLED: Step.IDLE,
        StepInput.DROPPED: Step.REVOKING,
        **_ENDS,
    },
    Step.ASSIGNING: {
        StepInput.SETTLED: Step.IDLE,
        StepInput.DROPPED: Step.ASSIGNING,
        **_ENDS,
    },
    **{
        step: STEP_TABLE[step]
        for step in (Step.LEAVING, Step.CLOSING, Step.PARTING, Step.DEPARTING, Step.CLOSED)
    },
}
