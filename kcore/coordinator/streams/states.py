"""The states of a streams group and of its members as data; nothing else is in this file."""

from __future__ import annotations

from enum import Enum, IntEnum
from typing import Final

from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode


class MemberState(Enum):
    """Java: streams.MemberState. The values are what the journal keeps.

    As in consumer groups: what is to go is taken out of its tasks and awaited (UNREVOKED), then it
    is in the new epoch and gets what is free (UNRELEASED as long as others have the rest).
    """

    # At the epoch it has been led to, with all of it. A newer target: reconciled towards that.
    STABLE = 1

    # It is to give tasks up, and has not said yet that it has them no more. It stays in its epoch.
    # Its rebalance timeout runs: it is fenced when that ends.
    UNREVOKED_TASKS = 2

    # In the target's epoch, but some of its tasks are elsewhere still, or in its own process in
    # another role.
    UNRELEASED_TASKS = 3

    # Written by a newer Kafka: the member is fenced, and begins again.
    UNKNOWN = 127


class StreamsGroupState(Enum):
    """Java: StreamsGroup.StreamsGroupState. The values are what ListGroups and StreamsGroupDescribe
    say.

    It follows from the group, in this order: no members, topics that are not as the topology wants
    them, a group epoch that has no target yet, a member that is not where the target wants it. A
    group that is gone is DEAD; none is kept in that state here.
    """

    EMPTY = "Empty"
    NOT_READY = "NotReady"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"
    DEAD = "Dead"

    @property
    def filter_name(self) -> str:
        """What a filter of ListGroups calls it, in small letters."""
        return "not_ready" if self is StreamsGroupState.NOT_READY else self.value.lower()


class Status(IntEnum):
    """What a member is told of its group beside its tasks (Java: StreamsGroupHeartbeatResponse)."""

    STALE_TOPOLOGY = 0
    MISSING_SOURCE_TOPICS = 1
    INCORRECTLY_PARTITIONED_TOPICS = 2
    MISSING_INTERNAL_TOPICS = 3
    SHUTDOWN_APPLICATION = 4
    ASSIGNMENT_DELAYED = 5
    MISSING_CLIENT_TAGS = 6


_LIVELY: Final[dict[ApiKey, ErrorCode]] = {ApiKey.DELETE_GROUPS: ErrorCode.NON_EMPTY_GROUP}

# What a state by itself answers to a request; what is missing is served. The way from a state to
# JoinGroup: a group without members becomes a classic one.
REFUSED: Final[dict[StreamsGroupState, dict[ApiKey, ErrorCode]]] = {
    StreamsGroupState.EMPTY: {},
    StreamsGroupState.NOT_READY: _LIVELY,
    StreamsGroupState.ASSIGNING: _LIVELY,
    StreamsGroupState.RECONCILING: _LIVELY,
    StreamsGroupState.STABLE: _LIVELY,
    StreamsGroupState.DEAD: {ApiKey.DELETE_GROUPS: ErrorCode.GROUP_ID_NOT_FOUND},
}

# What requests of the other protocols are told of a streams group with members.
FOREIGN: Final[dict[ApiKey, ErrorCode]] = {
    ApiKey.JOIN_GROUP: ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
    ApiKey.SYNC_GROUP: ErrorCode.UNKNOWN_MEMBER_ID,
    ApiKey.HEARTBEAT: ErrorCode.UNKNOWN_MEMBER_ID,
    ApiKey.LEAVE_GROUP: ErrorCode.UNKNOWN_MEMBER_ID,
    ApiKey.CONSUMER_GROUP_HEARTBEAT: ErrorCode.GROUP_ID_NOT_FOUND,
    ApiKey.SHARE_GROUP_HEARTBEAT: ErrorCode.GROUP_ID_NOT_FOUND,
}
