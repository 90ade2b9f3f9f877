"""The life of a classic group as data; nothing else is in this file.

`TABLE` says which state follows an input: a cell that is missing cannot happen, and trying it is a
bug here. `REFUSED` says what a state by itself answers to a request, after the request passed the
checks of group, member and generation; what is missing there is served.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode


class GroupState(Enum):
    """Java: ClassicGroupState. The values are what ListGroups and DescribeGroups say."""

    # No members; perhaps offsets, perhaps ids that were handed out and not used.
    # JoinGroup without an id: MEMBER_ID_REQUIRED, or the first member (-> PREPARING_REBALANCE).
    # JoinGroup with an id that was handed out: the first member; with any other: UNKNOWN_MEMBER_ID.
    # SyncGroup, Heartbeat, LeaveGroup of a member: UNKNOWN_MEMBER_ID. LeaveGroup of a handed-out
    # id: it is forgotten. OffsetCommit without a generation: served, whoever asks; with one:
    # UNKNOWN_MEMBER_ID. OffsetFetch, DescribeGroups: served. OffsetDelete: served for protocol
    # type "consumer" or none at all. DeleteGroups: retired, with tombstones (-> DEAD).
    # Offsets expire; without any the group is retired. Loses its partition: DEAD.
    EMPTY = "Empty"

    # Members are to join (again); JoinGroup is parked until all have, or time is up.
    # JoinGroup: parked. SyncGroup: REBALANCE_IN_PROGRESS. Heartbeat: the session is renewed,
    # REBALANCE_IN_PROGRESS. LeaveGroup: the member goes, and the round may be complete without it.
    # OffsetCommit of the last generation: served. OffsetFetch, DescribeGroups: served.
    # OffsetDelete: what is not subscribed. DeleteGroups: NON_EMPTY_GROUP.
    # All joined or time is up: COMPLETING_REBALANCE, or EMPTY if nobody is left.
    PREPARING_REBALANCE = "PreparingRebalance"

    # The generation has its members; the leader's assignment is awaited.
    # JoinGroup of a member that changed nothing: answered again at once; one that changed
    # something or is new: -> PREPARING_REBALANCE. SyncGroup: parked until the leader's is written.
    # Heartbeat: NONE. LeaveGroup: -> PREPARING_REBALANCE. OffsetCommit: REBALANCE_IN_PROGRESS, as
    # the member does not know yet what it owns; in a transaction: served. OffsetFetch,
    # DescribeGroups: served. OffsetDelete: what is not subscribed. DeleteGroups: NON_EMPTY_GROUP.
    # Assignment written: STABLE. A member is late, expires or leaves: PREPARING_REBALANCE.
    COMPLETING_REBALANCE = "CompletingRebalance"

    # Everybody has, or can fetch, its assignment.
    # JoinGroup of a follower that changed nothing: answered at once; of the leader, of a changed or
    # new member: -> PREPARING_REBALANCE; of a static member under a new id: it takes the old one's
    # place without a rebalance. SyncGroup: the stored assignment. Heartbeat: NONE.
    # LeaveGroup: -> PREPARING_REBALANCE. OffsetCommit, OffsetFetch, DescribeGroups: served.
    # OffsetDelete: what is not subscribed. DeleteGroups: NON_EMPTY_GROUP.
    STABLE = "Stable"

    # Deleted, or its partition is led elsewhere. JoinGroup, SyncGroup, Heartbeat, LeaveGroup,
    # OffsetCommit: COORDINATOR_NOT_AVAILABLE. OffsetFetch: no offsets. DescribeGroups: "Dead".
    # OffsetDelete, DeleteGroups: GROUP_ID_NOT_FOUND. No way out.
    DEAD = "Dead"


class GroupInput(Enum):
    """What can happen to a group."""

    REBALANCE = "members must join again"
    JOINED = "the join phase ended with members"
    EMPTIED = "the join phase ended without any"
    ASSIGNED = "the leader's assignment is in the log"
    RETIRED = "deleted, or led elsewhere"


_G, _I = GroupState, GroupInput

TABLE: Final[dict[GroupState, dict[GroupInput, GroupState]]] = {
    _G.EMPTY: {
        _I.REBALANCE: _G.PREPARING_REBALANCE,
        _I.RETIRED: _G.DEAD,
    },
    _G.PREPARING_REBALANCE: {
        _I.JOINED: _G.COMPLETING_REBALANCE,
        _I.EMPTIED: _G.EMPTY,
        _I.RETIRED: _G.DEAD,
    },
    _G.COMPLETING_REBALANCE: {
        _I.REBALANCE: _G.PREPARING_REBALANCE,
        _I.ASSIGNED: _G.STABLE,
        _I.RETIRED: _G.DEAD,
    },
    _G.STABLE: {
        _I.REBALANCE: _G.PREPARING_REBALANCE,
        _I.RETIRED: _G.DEAD,
    },
    _G.DEAD: {
        _I.RETIRED: _G.DEAD,
    },
}

REFUSED: Final[dict[GroupState, dict[ApiKey, ErrorCode]]] = {
    _G.EMPTY: {
        ApiKey.SYNC_GROUP: ErrorCode.UNKNOWN_MEMBER_ID,
        ApiKey.HEARTBEAT: ErrorCode.UNKNOWN_MEMBER_ID,
    },
    _G.PREPARING_REBALANCE: {
        ApiKey.SYNC_GROUP: ErrorCode.REBALANCE_IN_PROGRESS,
        ApiKey.HEARTBEAT: ErrorCode.REBALANCE_IN_PROGRESS,
        ApiKey.DELETE_GROUPS: ErrorCode.NON_EMPTY_GROUP,
    },
    _G.COMPLETING_REBALANCE: {
        ApiKey.OFFSET_COMMIT: ErrorCode.REBALANCE_IN_PROGRESS,
        ApiKey.DELETE_GROUPS: ErrorCode.NON_EMPTY_GROUP,
    },
    _G.STABLE: {
        ApiKey.DELETE_GROUPS: ErrorCode.NON_EMPTY_GROUP,
    },
    _G.DEAD: {
        ApiKey.JOIN_GROUP: ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ApiKey.SYNC_GROUP: ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ApiKey.HEARTBEAT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ApiKey.LEAVE_GROUP: ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ApiKey.OFFSET_COMMIT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ApiKey.TXN_OFFSET_COMMIT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ApiKey.DELETE_GROUPS: ErrorCode.GROUP_ID_NOT_FOUND,
        ApiKey.OFFSET_DELETE: ErrorCode.GROUP_ID_NOT_FOUND,
    },
}
