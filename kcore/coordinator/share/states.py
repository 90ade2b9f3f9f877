"""The states of a share group as data; nothing else is in this file."""

from __future__ import annotations

from enum import Enum
from typing import Final

from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode


class ShareGroupState(Enum):
    """Java: ShareGroup.ShareGroupState. The values are what ListGroups and ShareGroupDescribe say.

    It follows from the group: without members it is empty. A group that is gone is DEAD; none is
    kept in that state here.
    """

    EMPTY = "Empty"
    STABLE = "Stable"
    DEAD = "Dead"


# What a state by itself answers to a request; what is missing is served.
REFUSED: Final[dict[ShareGroupState, dict[ApiKey, ErrorCode]]] = {
    ShareGroupState.EMPTY: {},
    ShareGroupState.STABLE: {
        ApiKey.DELETE_GROUPS: ErrorCode.NON_EMPTY_GROUP,
        ApiKey.ALTER_SHARE_GROUP_OFFSETS: ErrorCode.NON_EMPTY_GROUP,
        ApiKey.DELETE_SHARE_GROUP_OFFSETS: ErrorCode.NON_EMPTY_GROUP,
    },
    ShareGroupState.DEAD: {
        ApiKey.DELETE_GROUPS: ErrorCode.GROUP_ID_NOT_FOUND,
        ApiKey.ALTER_SHARE_GROUP_OFFSETS: ErrorCode.GROUP_ID_NOT_FOUND,
        ApiKey.DELETE_SHARE_GROUP_OFFSETS: ErrorCode.GROUP_ID_NOT_FOUND,
    },
}

# What requests of the other protocols are told of a share group, whatever its state (Java:
# GroupMetadataManager, ShareGroup.validateOffsetCommit and its like).
FOREIGN: Final[dict[ApiKey, ErrorCode]] = {
    ApiKey.JOIN_GROUP: ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
    ApiKey.SYNC_GROUP: ErrorCode.UNKNOWN_MEMBER_ID,
    ApiKey.HEARTBEAT: ErrorCode.UNKNOWN_MEMBER_ID,
    ApiKey.LEAVE_GROUP: ErrorCode.UNKNOWN_MEMBER_ID,
    ApiKey.OFFSET_COMMIT: ErrorCode.GROUP_ID_NOT_FOUND,
    ApiKey.TXN_OFFSET_COMMIT: ErrorCode.GROUP_ID_NOT_FOUND,
    ApiKey.OFFSET_FETCH: ErrorCode.NONE,  # as of a group that has committed nothing
    ApiKey.OFFSET_DELETE: ErrorCode.GROUP_ID_NOT_FOUND,
    ApiKey.CONSUMER_GROUP_HEARTBEAT: ErrorCode.GROUP_ID_NOT_FOUND,
}
