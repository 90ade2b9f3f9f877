"""The states of a consumer group and of its members as data; nothing else is in this file."""

from __future__ import annotations

from enum import Enum
from typing import Final

from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode


class MemberState(Enum):
    """Java: MemberState. The values are what the journal keeps.

    A member goes from one assignment to the next in at most two steps: what is to go is taken out
    of its assignment and awaited (UNREVOKED), then it is in the new epoch and gets what is free
    (UNRELEASED as long as others have not let go of the rest).
    """

    # At the epoch it has been led to, with all of it. A newer target: reconciled towards that.
    STABLE = 0

    # It is to revoke partitions, and has not said yet that it has them no more. It stays in its
    # epoch. Its rebalance timeout runs: it is fenced when that ends.
    UNREVOKED_PARTITIONS = 1

    # In the target's epoch, but others still have some of its partitions.
    UNRELEASED_PARTITIONS = 2

    # Written by a newer Kafka: the member is fenced, and begins again.
    UNKNOWN = 127


class ConsumerGroupState(Enum):
    """Java: ConsumerGroupState. The values are what ListGroups and ConsumerGroupDescribe say.

    It follows from the group, in this order: no members, a group epoch that has no target yet, a
    member that is not where the target wants it.
    """

    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"


# What a state by itself answers to a request; what is missing is served.
REFUSED: Final[dict[ConsumerGroupState, dict[ApiKey, ErrorCode]]] = {
    ConsumerGroupState.EMPTY: {},
    ConsumerGroupState.ASSIGNING: {ApiKey.DELETE_GROUPS: ErrorCode.NON_EMPTY_GROUP},
    ConsumerGroupState.RECONCILING: {ApiKey.DELETE_GROUPS: ErrorCode.NON_EMPTY_GROUP},
    ConsumerGroupState.STABLE: {ApiKey.DELETE_GROUPS: ErrorCode.NON_EMPTY_GROUP},
}
