"""What nodes refuse, serve late or answer in vain, in runs of each kind."""

from __future__ import annotations

from typing import Final

from kcore.sim.plan import Plan
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode

# What a node may answer instead of doing what is asked, and a client gets over.
_REFUSALS: Final = (
    (ApiKey.FETCH, ErrorCode.NOT_LEADER_OR_FOLLOWER),
    (ApiKey.FETCH, ErrorCode.FENCED_LEADER_EPOCH),
    (ApiKey.FETCH, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    (ApiKey.LIST_OFFSETS, ErrorCode.LEADER_NOT_AVAILABLE),
    (ApiKey.METADATA, ErrorCode.LEADER_NOT_AVAILABLE),
    (ApiKey.FIND_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE),
    (ApiKey.JOIN_GROUP, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
    (ApiKey.JOIN_GROUP, ErrorCode.COORDINATOR_NOT_AVAILABLE),
    (ApiKey.SYNC_GROUP, ErrorCode.REBALANCE_IN_PROGRESS),
    (ApiKey.SYNC_GROUP, ErrorCode.NOT_COORDINATOR),
    (ApiKey.HEARTBEAT, ErrorCode.NOT_COORDINATOR),
    (ApiKey.HEARTBEAT, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
    (ApiKey.HEARTBEAT, ErrorCode.UNKNOWN_MEMBER_ID),
    (ApiKey.HEARTBEAT, ErrorCode.REBALANCE_IN_PROGRESS),
    (ApiKey.OFFSET_COMMIT, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
    (ApiKey.OFFSET_COMMIT, ErrorCode.NOT_COORDINATOR),
    (ApiKey.OFFSET_COMMIT, ErrorCode.REBALANCE_IN_PROGRESS),
    (ApiKey.OFFSET_FETCH, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
    (ApiKey.OFFSET_FETCH, ErrorCode.UNSTABLE_OFFSET_COMMIT),
    (ApiKey.LEAVE_GROUP, ErrorCode.COORDINATOR_NOT_AVAILABLE),
)
_CONSUMER_REFUSALS: Final = (
    (ApiKey.CONSUMER_GROUP_HEARTBEAT, ErrorCode.NOT_COORDINATOR),
    (ApiKey.CONSUMER_GROUP_HEARTBEAT, ErrorCode.COORDINATOR_NOT_AVAILABLE),
    (ApiKey.CONSUMER_GROUP_HEARTBEAT, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
    (ApiKey.CONSUMER_GROUP_HEARTBEAT, ErrorCode.UNKNOWN_MEMBER_ID),
    (ApiKey.CONSUMER_GROUP_HEARTBEAT, ErrorCode.FENCED_MEMBER_EPOCH),
    (ApiKey.OFFSET_COMMIT, ErrorCode.STALE_MEMBER_EPOCH),
    (ApiKey.OFFSET_COMMIT, ErrorCode.UNKNOWN_MEMBER_ID),
    (ApiKey.OFFSET_FETCH, ErrorCode.STALE_MEMBER_EPOCH),
    (ApiKey.OFFSET_FETCH, ErrorCode.UNKNOWN_MEMBER_ID),
)
_LATE: Final = (
    ApiKey.FETCH,
    ApiKey.METADATA,
    ApiKey.FIND_COORDINATOR,
    ApiKey.JOIN_GROUP,
    ApiKey.SYNC_GROUP,
    ApiKey.HEARTBEAT,
    ApiKey.OFFSET_COMMIT,
    ApiKey.OFFSET_FETCH,
)
_CONSUMER_LATE: Final = (ApiKey.CONSUMER_GROUP_HEARTBEAT,) * 3
_SHARE_REFUSALS: Final = (
    (ApiKey.METADATA, ErrorCode.LEADER_NOT_AVAILABLE),
    (ApiKey.FIND_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE),
    (ApiKey.SHARE_GROUP_HEARTBEAT, ErrorCode.NOT_COORDINATOR),
    (ApiKey.SHARE_GROUP_HEARTBEAT, ErrorCode.COORDINATOR_NOT_AVAILABLE),
    (ApiKey.SHARE_GROUP_HEARTBEAT, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
    (ApiKey.SHARE_GROUP_HEARTBEAT, ErrorCode.UNKNOWN_MEMBER_ID),
    (ApiKey.SHARE_GROUP_HEARTBEAT, ErrorCode.FENCED_MEMBER_EPOCH),
    (ApiKey.SHARE_FETCH, ErrorCode.SHARE_SESSION_NOT_FOUND),
    (ApiKey.SHARE_FETCH, ErrorCode.INVALID_SHARE_SESSION_EPOCH),
    (ApiKey.SHARE_FETCH, ErrorCode.SHARE_SESSION_LIMIT_REACHED),
    (ApiKey.SHARE_FETCH, ErrorCode.NOT_LEADER_OR_FOLLOWER),
    (ApiKey.SHARE_FETCH, ErrorCode.UNKNOWN_SERVER_ERROR),
    (ApiKey.SHARE_ACKNOWLEDGE, ErrorCode.SHARE_SESSION_NOT_FOUND),
    (ApiKey.SHARE_ACKNOWLEDGE, ErrorCode.INVALID_SHARE_SESSION_EPOCH),
    (ApiKey.SHARE_ACKNOWLEDGE, ErrorCode.NOT_LEADER_OR_FOLLOWER),
    (ApiKey.SHARE_ACKNOWLEDGE, ErrorCode.UNKNOWN_SERVER_ERROR),
)
_SHARE_LATE: Final = (
    ApiKey.METADATA,
    ApiKey.FIND_COORDINATOR,
    ApiKey.SHARE_GROUP_HEARTBEAT,
    ApiKey.SHARE_FETCH,
    ApiKey.SHARE_ACKNOWLEDGE,
)
_EXACT_REFUSALS: Final = (
    (ApiKey.PRODUCE, ErrorCode.NOT_LEADER_OR_FOLLOWER),
    (ApiKey.PRODUCE, ErrorCode.NOT_ENOUGH_REPLICAS),
    (ApiKey.PRODUCE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    (ApiKey.PRODUCE, ErrorCode.REQUEST_TIMED_OUT),
    (ApiKey.PRODUCE, ErrorCode.CORRUPT_MESSAGE),
    (ApiKey.PRODUCE, ErrorCode.INVALID_TXN_STATE),
    (ApiKey.PRODUCE, ErrorCode.TRANSACTION_ABORTABLE),
    (ApiKey.INIT_PRODUCER_ID, ErrorCode.COORDINATOR_NOT_AVAILABLE),
    (ApiKey.INIT_PRODUCER_ID, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
    (ApiKey.INIT_PRODUCER_ID, ErrorCode.CONCURRENT_TRANSACTIONS),
    (ApiKey.ADD_PARTITIONS_TO_TXN, ErrorCode.CONCURRENT_TRANSACTIONS),
    (ApiKey.ADD_PARTITIONS_TO_TXN, ErrorCode.NOT_COORDINATOR),
    (ApiKey.ADD_OFFSETS_TO_TXN, ErrorCode.CONCURRENT_TRANSACTIONS),
    (ApiKey.ADD_OFFSETS_TO_TXN, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
    (ApiKey.TXN_OFFSET_COMMIT, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
    (ApiKey.TXN_OFFSET_COMMIT, ErrorCode.ILLEGAL_GENERATION),
    (ApiKey.TXN_OFFSET_COMMIT, ErrorCode.UNKNOWN_MEMBER_ID),
    (ApiKey.TXN_OFFSET_COMMIT, ErrorCode.TRANSACTION_ABORTABLE),
    (ApiKey.END_TXN, ErrorCode.COORDINATOR_NOT_AVAILABLE),
    (ApiKey.END_TXN, ErrorCode.NOT_COORDINATOR),
    (ApiKey.END_TXN, ErrorCode.CONCURRENT_TRANSACTIONS),
)
_EXACT_LATE: Final = (
    ApiKey.PRODUCE,
    ApiKey.PRODUCE,
    ApiKey.INIT_PRODUCER_ID,
    ApiKey.ADD_PARTITIONS_TO_TXN,
    ApiKey.ADD_OFFSETS_TO_TXN,
    ApiKey.TXN_OFFSET_COMMIT,
    ApiKey.END_TXN,
)


def refusals(plan: Plan) -> tuple[tuple[ApiKey, ErrorCode], ...]:
    """What a node may refuse, and with which error."""
    if plan.share:
        return _SHARE_REFUSALS
    more = _CONSUMER_REFUSALS if plan.consumer_share else ()
    return _REFUSALS + more + (_EXACT_REFUSALS if plan.exact else ())


def late(plan: Plan) -> tuple[ApiKey, ...]:
    """What may be served late, or answered in vain."""
    if plan.share:
        return _SHARE_LATE
    more = _CONSUMER_LATE if plan.consumer_share else ()
    return _LATE + more + (_EXACT_LATE if plan.exact else ())
