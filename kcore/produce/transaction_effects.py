"""What each error code does to a transaction, by the request that is answered with it, as data.

Source: the handlers of Java's TransactionManager, Kafka 4.3, save where said. A code that is in no
table is RETRY if it can be retried, and FATAL else.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kcore import errors
from kcore.enums import Enum
from kcore.errors import KafkaError
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode as Code


class Effect(Enum):
    """What an error code does."""

    RETRY = "ask again after a backoff"
    MOVED = "look the coordinator up anew, then as RETRY"
    ABORT = "the transaction can only be aborted"
    BUMP = "as ABORT, and the producer needs another epoch"
    FENCED = "fatal: another producer has the transactional id"
    FATAL = "the producer cannot go on"


_MOVED: Final[dict[int, Effect]] = {
    Code.COORDINATOR_NOT_AVAILABLE: Effect.MOVED,
    Code.NOT_COORDINATOR: Effect.MOVED,
}
# INVALID_PRODUCER_EPOCH is what coordinators before 2.7 said (KIP-588).
_FENCED: Final[dict[int, Effect]] = {
    Code.INVALID_PRODUCER_EPOCH: Effect.FENCED,
    Code.PRODUCER_FENCED: Effect.FENCED,
}
_IN_TRANSACTION: Final[dict[int, Effect]] = {
    **_MOVED,
    **_FENCED,
    Code.UNKNOWN_PRODUCER_ID: Effect.BUMP,
    Code.TRANSACTION_ABORTABLE: Effect.ABORT,
}

EFFECTS: Final[Mapping[ApiKey, Mapping[int, Effect]]] = {
    ApiKey.FIND_COORDINATOR: {
        Code.GROUP_AUTHORIZATION_FAILED: Effect.ABORT,
        Code.TRANSACTION_ABORTABLE: Effect.ABORT,
    },
    ApiKey.INIT_PRODUCER_ID: {
        **_MOVED,
        **_FENCED,
        Code.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: Effect.ABORT,
        Code.CLUSTER_AUTHORIZATION_FAILED: Effect.ABORT,
        Code.TRANSACTION_ABORTABLE: Effect.ABORT,
    },
    # A partition's. What is not named is ABORT: it could not be added.
    ApiKey.ADD_PARTITIONS_TO_TXN: {
        **_IN_TRANSACTION,
        Code.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: Effect.FATAL,
        Code.INVALID_TXN_STATE: Effect.FATAL,
        Code.INVALID_PRODUCER_ID_MAPPING: Effect.FATAL,
    },
    ApiKey.ADD_OFFSETS_TO_TXN: {
        **_IN_TRANSACTION,
        Code.GROUP_AUTHORIZATION_FAILED: Effect.ABORT,
    },
    # A partition's. STALE_MEMBER_EPOCH is what ILLEGAL_GENERATION is to groups of the consumer
    # protocol; Java does not know it here, as its brokers do not say it here.
    ApiKey.TXN_OFFSET_COMMIT: {
        **_MOVED,
        **_FENCED,
        Code.REQUEST_TIMED_OUT: Effect.MOVED,
        Code.GROUP_AUTHORIZATION_FAILED: Effect.ABORT,
        Code.FENCED_INSTANCE_ID: Effect.ABORT,
        Code.TRANSACTION_ABORTABLE: Effect.ABORT,
        Code.UNKNOWN_MEMBER_ID: Effect.ABORT,
        Code.ILLEGAL_GENERATION: Effect.ABORT,
        Code.STALE_MEMBER_EPOCH: Effect.ABORT,
    },
    ApiKey.END_TXN: _IN_TRANSACTION,
}

# The member that the group does not know any more (Java: CommitFailedException).
OUTDATED: Final = (Code.UNKNOWN_MEMBER_ID, Code.ILLEGAL_GENERATION, Code.STALE_MEMBER_EPOCH)

# What a batch fails with that no abort can mend (Java: maybeTransitionToErrorState).
FATAL_TO_BATCHES: Final = (
    errors.ClusterAuthorizationFailedError,
    errors.TransactionalIdAuthorizationFailedError,
    errors.ProducerFencedError,
    errors.UnsupportedVersionError,
    errors.InvalidProducerIdMappingError,
)

# What most often is behind a code: the end of its message. {timeout_ms}: of transactions.
_TOO_LONG: Final = "it was open for longer than transaction_timeout_ms={timeout_ms}"
_HINTS: Final[Mapping[int, str]] = {
    Code.INVALID_PRODUCER_EPOCH: f"the coordinator has aborted the transaction, as {_TOO_LONG} or "
    "another producer has begun to use the transactional id",
    Code.INVALID_TXN_STATE: "the coordinator knows of no such transaction (any more): it aborts "
    f"one by itself when {_TOO_LONG}",
    Code.INVALID_PRODUCER_ID_MAPPING: "the coordinator has forgotten the transactional id, as it "
    "does when that was not used for transactional.id.expiration.ms: begin anew with a new "
    "producer",
}
FENCED_HINT: Final = (
    f"or a transaction of this one was aborted by the coordinator because {_TOO_LONG}"
)


def hint_of(code: int, timeout_ms: int) -> str:
    """What most often is behind an error code that a transactional producer is given, as the end of
    its message; empty: there is nothing to say. timeout_ms: of transactions.
    """
    hint = _HINTS.get(code)
    return "" if hint is None else f": {hint.format(timeout_ms=timeout_ms)}"


def effect_of(api: ApiKey, code: int) -> Effect:
    """The effect of an error code in an answer of this API."""
    found = EFFECTS[api].get(code)
    if found is not None:
        return found
    if errors.for_code(code).retriable:
        return Effect.RETRY
    return Effect.ABORT if api is ApiKey.ADD_PARTITIONS_TO_TXN else Effect.FATAL


def error_of(code: int, what: str) -> KafkaError:
    """The exception of an error code."""
    return errors.for_code(code)(what)
