"""The two state machines of group membership as data; nothing else is in this file.

`MemberState` is what the coordinator may think of this member; heartbeats, commits and the
generation hang on it. `Step` is how far this side is with a rebalance: what must be told to the
application, and when. They are apart because a heartbeat may end the membership at any step, and
the application's steps go on regardless.

A cell that is not in a table cannot happen: `Machine.move` raises IllegalStateError, which is a bug
here.
"""

from __future__ import annotations

from kcore.enums import Enum


class MemberState(Enum):
    """Java: AbstractCoordinator.MemberState, and FENCED."""

    # Not in the group, or not any more: generation none, perhaps with a member id to come back
    # under. JOIN_SENT begins. RESET changes nothing. FENCED ends it. RELEASED changes nothing.
    UNJOINED = "unjoined"

    # JoinGroup is on its way, or failed and will be sent again. No heartbeats: the coordinator's
    # join phase watches. JOIN_SENT again (a retry, or MEMBER_ID_REQUIRED). JOIN_ACCEPTED: on to
    # Sync. RESET, RELEASED: out. FENCED: for good.
    PREPARING = "preparing rebalance"

    # JoinGroup answered, SyncGroup on its way. Heartbeats run. A heartbeat's REBALANCE_IN_PROGRESS
    # is ignored here. SYNC_ACCEPTED: a member. JOIN_SENT: Sync failed, another round. RESET,
    # RELEASED: out. FENCED: for good.
    COMPLETING = "completing rebalance"

    # A member of this generation. Heartbeats run, offsets can be committed.
    # JOIN_SENT: the next rebalance. RESET, RELEASED: out. FENCED: for good.
    STABLE = "stable"

    # Another process runs under the same group.instance.id: joining again would throw that one out
    # in turn. RESET and FENCED change nothing. Only RELEASED (unsubscribe) leads out.
    FENCED = "fenced"


class MemberInput(Enum):
    """What can happen to a membership."""

    JOIN_SENT = "join sent"
    JOIN_ACCEPTED = "join accepted"
    SYNC_ACCEPTED = "sync accepted"
    RESET = "membership lost"
    FENCED = "instance id taken over"
    RELEASED = "left"


MEMBER_TABLE: dict[MemberState, dict[MemberInput, MemberState]] = {
    MemberState.UNJOINED: {
        MemberInput.JOIN_SENT: MemberState.PREPARING,
        MemberInput.RESET: MemberState.UNJOINED,
        MemberInput.FENCED: MemberState.FENCED,
        MemberInput.RELEASED: MemberState.UNJOINED,
    },
    MemberState.PREPARING: {
        MemberInput.JOIN_SENT: MemberState.PREPARING,
        MemberInput.JOIN_ACCEPTED: MemberState.COMPLETING,
        MemberInput.RESET: MemberState.UNJOINED,
        MemberInput.FENCED: MemberState.FENCED,
        MemberInput.RELEASED: MemberState.UNJOINED,
    },
    MemberState.COMPLETING: {
        MemberInput.JOIN_SENT: MemberState.PREPARING,
        MemberInput.SYNC_ACCEPTED: MemberState.STABLE,
        MemberInput.RESET: MemberState.UNJOINED,
        MemberInput.FENCED: MemberState.FENCED,
        MemberInput.RELEASED: MemberState.UNJOINED,
    },
    MemberState.STABLE: {
        MemberInput.JOIN_SENT: MemberState.PREPARING,
        MemberInput.RESET: MemberState.UNJOINED,
        MemberInput.FENCED: MemberState.FENCED,
        MemberInput.RELEASED: MemberState.UNJOINED,
    },
    MemberState.FENCED: {
        MemberInput.RESET: MemberState.FENCED,
        MemberInput.FENCED: MemberState.FENCED,
        MemberInput.RELEASED: MemberState.UNJOINED,
    },
}


class Step(Enum):
    """How far this side is with a rebalance, or with closing.

    Two inputs have the same answer in every step before closing: LEAVE goes to LEAVING, CLOSE to
    CLOSING.
    """

    # No rebalance. BEGAN (a poll found that one is needed). DROPPED, STALLED: the next poll begins
    # one. HALT: fenced.
    IDLE = "idle"

    # Join-prepare: nothing is fetched any more (EAGER), the auto commit is on its way; polls wait
    # for it. TOLD: revoked or lost was emitted. PREPARED: there was nothing to give up. DROPPED,
    # STALLED: goes on, as lost.
    COMMITTING = "committing"

    # Revoked or lost was emitted, the acknowledgement is awaited; the partitions are still
    # assigned. PREPARED: acknowledged. DROPPED, STALLED, HALT wait for the acknowledgement.
    REVOKING = "revoking"

    # Given up; JoinGroup goes out as soon as the coordinator is known and the backoff is over.
    # SENT. FAILED: stays. DROPPED (something is still owned), STALLED: a poll must begin anew.
    # HALT.
    READY = "ready to join"

    # JoinGroup or SyncGroup is on its way. SYNCED: assigned. FAILED: back to READY. DROPPED,
    # STALLED, HALT as there.
    JOINING = "joining"

    # The assignment is here and waits for a poll. SHED (cooperative): partitions to give up first
    # were told. TOLD: assigned was emitted. SETTLED: nothing was taken (bad, or not subscribed any
    # more). DROPPED, STALLED: void.
    DELIVERING = "delivering"

    # Cooperative: what goes elsewhere was told, acknowledgement awaited, the assignment is not
    # changed yet. TOLD: acknowledged, assigned emitted. SETTLED: acknowledged, but the membership
    # is gone. DROPPED, STALLED, HALT wait.
    SHEDDING = "shedding"

    # Assigned was emitted, acknowledgement awaited. SETTLED: acknowledged. DROPPED, STALLED, HALT
    # wait for it.
    ASSIGNING = "assigning"

    # An error that only the application can do something about was raised; the next poll tries
    # again: RESUMED if join-prepare is done, SETTLED if not. DROPPED, STALLED: the next poll begins
    # anew. HALT: raised again.
    HALTED = "halted"

    # Unsubscribed: revoked or lost was emitted, LeaveGroup goes out when it is acknowledged (LEFT).
    # Nothing else matters.
    LEAVING = "leaving"

    # The last commits are on their way. TOLD: revoked or lost was emitted. DEPARTED: LeaveGroup
    # sent. GONE.
    CLOSING = "closing"

    # As LEAVING, on close. DEPARTED: acknowledged and LeaveGroup sent. GONE: nothing to send, or
    # out of time.
    PARTING = "parting"

    # LeaveGroup is on its way. GONE: answered, failed or out of time.
    DEPARTING = "departing"

    # The end; every input is ignored.
    CLOSED = "closed"


class StepInput(Enum):
    """What can happen to a rebalance."""

    BEGAN = "began"
    TOLD = "the application was told"
    PREPARED = "partitions given up"
    SENT = "join sent"
    FAILED = "round failed"
    SYNCED = "assignment received"
    SHED = "partitions to shed told"
    SETTLED = "settled"
    DROPPED = "membership lost"
    STALLED = "poll interval exceeded"
    HALT = "fatal error"
    RESUMED = "tried again"
    LEAVE = "leave"
    LEFT = "left"
    CLOSE = "close"
    DEPARTED = "leave sent"
    GONE = "gone"


_ENDS = {StepInput.LEAVE: Step.LEAVING, StepInput.CLOSE: Step.CLOSING}

STEP_TABLE: dict[Step, dict[StepInput, Step]] = {
    Step.IDLE: {
        StepInput.BEGAN: Step.COMMITTING,
        StepInput.DROPPED: Step.IDLE,
        StepInput.STALLED: Step.IDLE,
        StepInput.HALT: Step.HALTED,
        **_ENDS,
    },
    Step.COMMITTING: {
        StepInput.TOLD: Step.REVOKING,
        StepInput.PREPARED: Step.READY,
        StepInput.DROPPED: Step.COMMITTING,
        StepInput.STALLED: Step.COMMITTING,
        StepInput.HALT: Step.HALTED,
        **_ENDS,
    },
    Step.REVOKING: {
        StepInput.PREPARED: Step.READY,
        StepInput.DROPPED: Step.REVOKING,
        StepInput.STALLED: Step.REVOKING,
        StepInput.HALT: Step.REVOKING,
        **_ENDS,
    },
    Step.READY: {
        StepInput.SENT: Step.JOINING,
        StepInput.FAILED: Step.READY,
        StepInput.DROPPED: Step.IDLE,
        StepInput.STALLED: Step.IDLE,
        StepInput.HALT: Step.HALTED,
        **_ENDS,
    },
    Step.JOINING: {
        StepInput.SYNCED: Step.DELIVERING,
        StepInput.FAILED: Step.READY,
        StepInput.DROPPED: Step.IDLE,
        StepInput.STALLED: Step.IDLE,
        StepInput.HALT: Step.HALTED,
        **_ENDS,
    },
    Step.DELIVERING: {
        StepInput.SHED: Step.SHEDDING,
        StepInput.TOLD: Step.ASSIGNING,
        StepInput.SETTLED: Step.IDLE,
        StepInput.DROPPED: Step.IDLE,
        StepInput.STALLED: Step.IDLE,
        StepInput.HALT: Step.HALTED,
        **_ENDS,
    },
    Step.SHEDDING: {
        StepInput.TOLD: Step.ASSIGNING,
        StepInput.SETTLED: Step.IDLE,
        StepInput.DROPPED: Step.SHEDDING,
        StepInput.STALLED: Step.SHEDDING,
        StepInput.HALT: Step.SHEDDING,
        **_ENDS,
    },
    Step.ASSIGNING: {
        StepInput.SETTLED: Step.IDLE,
        StepInput.DROPPED: Step.ASSIGNING,
        StepInput.STALLED: Step.ASSIGNING,
        StepInput.HALT: Step.ASSIGNING,
        **_ENDS,
    },
    Step.HALTED: {
        StepInput.RESUMED: Step.READY,
        StepInput.SETTLED: Step.IDLE,
        StepInput.DROPPED: Step.IDLE,
        StepInput.STALLED: Step.IDLE,
        StepInput.HALT: Step.HALTED,
        **_ENDS,
    },
    Step.LEAVING: {
        StepInput.LEFT: Step.IDLE,
        StepInput.DROPPED: Step.LEAVING,
        StepInput.STALLED: Step.LEAVING,
        StepInput.HALT: Step.LEAVING,
        **_ENDS,
    },
    Step.CLOSING: {
        StepInput.TOLD: Step.PARTING,
        StepInput.DEPARTED: Step.DEPARTING,
        StepInput.GONE: Step.CLOSED,
        StepInput.DROPPED: Step.CLOSING,
        StepInput.STALLED: Step.CLOSING,
        StepInput.HALT: Step.CLOSING,
        StepInput.CLOSE: Step.CLOSING,
    },
    Step.PARTING: {
        StepInput.DEPARTED: Step.DEPARTING,
        StepInput.GONE: Step.CLOSED,
        StepInput.DROPPED: Step.PARTING,
        StepInput.STALLED: Step.PARTING,
        StepInput.HALT: Step.PARTING,
        StepInput.CLOSE: Step.PARTING,
    },
    Step.DEPARTING: {
        StepInput.GONE: Step.CLOSED,
        StepInput.DROPPED: Step.DEPARTING,
        StepInput.HALT: Step.DEPARTING,
        StepInput.CLOSE: Step.DEPARTING,
    },
    Step.CLOSED: dict.fromkeys(StepInput, Step.CLOSED),
}
