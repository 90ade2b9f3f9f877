"""Broker errors of consumer groups, transactions, share and streams groups: a class per code.

Codes, names and what can be retried: Java's `org.apache.kafka.common.protocol.Errors` (4.4).
"""

from __future__ import annotations

from kcore.errors.base import (
    AuthorizationError,
    BrokerResponseError,
    CoordinatorMovedError,
    RetriableError,
)


class CoordinatorLoadInProgressError(
    RetriableError, BrokerResponseError, code=14, name="COORDINATOR_LOAD_IN_PROGRESS"
):
    """The coordinator is still reading its log and cannot answer yet."""


class CoordinatorNotAvailableError(
    CoordinatorMovedError, code=15, name="COORDINATOR_NOT_AVAILABLE"
):
    """There is no coordinator for the group or transaction at the moment."""


class NotCoordinatorError(CoordinatorMovedError, code=16, name="NOT_COORDINATOR"):
    """The broker asked does not coordinate this group or transaction."""


class IllegalGenerationError(BrokerResponseError, code=22, name="ILLEGAL_GENERATION"):
    """The group has moved on to another generation."""


class InconsistentGroupProtocolError(
    BrokerResponseError, code=23, name="INCONSISTENT_GROUP_PROTOCOL"
):
    """No assignor is shared by all members, or the group is of another protocol type."""


class UnknownMemberIdError(BrokerResponseError, code=25, name="UNKNOWN_MEMBER_ID"):
    """The coordinator does not know this member: it expired or left."""


class InvalidSessionTimeoutError(BrokerResponseError, code=26, name="INVALID_SESSION_TIMEOUT"):
    """session_timeout_ms is outside the broker's group.min/max.session.timeout.ms."""


class InvalidCommitOffsetSizeError(BrokerResponseError, code=28, name="INVALID_COMMIT_OFFSET_SIZE"):
    """The offsets committed at once are too large for the broker."""


class NonEmptyGroupError(BrokerResponseError, code=68, name="NON_EMPTY_GROUP"):
    """The group still has members."""


class GroupIdNotFoundError(BrokerResponseError, code=69, name="GROUP_ID_NOT_FOUND"):
    """There is no group of this id."""


class GroupMaxSizeReachedError(BrokerResponseError, code=81, name="GROUP_MAX_SIZE_REACHED"):
    """The group has group.max.size members already."""


class GroupSubscribedToTopicError(BrokerResponseError, code=86, name="GROUP_SUBSCRIBED_TO_TOPIC"):
    """Offsets cannot be deleted while the group subscribes to the topic."""


class UnstableOffsetCommitError(
    RetriableError, BrokerResponseError, code=88, name="UNSTABLE_OFFSET_COMMIT"
):
    """A transaction that commits these offsets is still open (KIP-447)."""


class FencedMemberEpochError(BrokerResponseError, code=110, name="FENCED_MEMBER_EPOCH"):
    """The coordinator fenced this member's epoch: give all up and join again (KIP-848)."""


class UnreleasedInstanceIdError(BrokerResponseError, code=111, name="UNRELEASED_INSTANCE_ID"):
    """Another live member holds this group_instance_id (KIP-848)."""


class UnsupportedAssignorError(BrokerResponseError, code=112, name="UNSUPPORTED_ASSIGNOR"):
    """The coordinator has no assignor of this name (KIP-848)."""


class StaleMemberEpochError(BrokerResponseError, code=113, name="STALE_MEMBER_EPOCH"):
    """The member epoch is old; retry with the one of the next heartbeat (KIP-848)."""


class InvalidRegularExpressionError(
    BrokerResponseError, code=128, name="INVALID_REGULAR_EXPRESSION"
):
    """The coordinator cannot read the subscription pattern (KIP-848)."""


class OutOfOrderSequenceNumberError(
    BrokerResponseError, code=45, name="OUT_OF_ORDER_SEQUENCE_NUMBER"
):
    """An idempotent producer's batches arrived with a gap between them."""


class DuplicateSequenceNumberError(BrokerResponseError, code=46, name="DUPLICATE_SEQUENCE_NUMBER"):
    """The batch was written before."""


class InvalidProducerEpochError(BrokerResponseError, code=47, name="INVALID_PRODUCER_EPOCH"):
    """The producer's epoch is old."""


class InvalidTxnStateError(BrokerResponseError, code=48, name="INVALID_TXN_STATE"):
    """The transaction is not in a state that allows this."""


class InvalidProducerIdMappingError(
    BrokerResponseError, code=49, name="INVALID_PRODUCER_ID_MAPPING"
):
    """The producer id does not belong to this transactional id."""


class InvalidTransactionTimeoutError(
    BrokerResponseError, code=50, name="INVALID_TRANSACTION_TIMEOUT"
):
    """The transaction timeout is above the broker's transaction.max.timeout.ms."""


class ConcurrentTransactionsError(
    RetriableError, BrokerResponseError, code=51, name="CONCURRENT_TRANSACTIONS"
):
    """Another operation of this transaction is still under way."""


class TransactionCoordinatorFencedError(
    BrokerResponseError, code=52, name="TRANSACTION_COORDINATOR_FENCED"
):
    """A newer transaction coordinator has taken over."""


class TransactionalIdAuthorizationFailedError(
    AuthorizationError, code=53, name="TRANSACTIONAL_ID_AUTHORIZATION_FAILED"
):
    """The principal may not use this transactional id."""


class UnknownProducerIdError(OutOfOrderSequenceNumberError, code=59, name="UNKNOWN_PRODUCER_ID"):
    """The broker has forgotten this producer (its records are gone)."""


class ProducerFencedError(BrokerResponseError, code=90, name="PRODUCER_FENCED"):
    """A newer producer of the same transactional id has taken over."""


class TransactionalIdNotFoundError(
    BrokerResponseError, code=105, name="TRANSACTIONAL_ID_NOT_FOUND"
):
    """There is no transactional id of this name."""


class TransactionAbortableError(BrokerResponseError, code=120, name="TRANSACTION_ABORTABLE"):
    """The transaction can go no further, but can be aborted (KIP-890)."""


class InvalidRecordStateError(BrokerResponseError, code=121, name="INVALID_RECORD_STATE"):
    """The records cannot be acknowledged any more (KIP-932)."""


class ShareSessionNotFoundError(
    RetriableError, BrokerResponseError, code=122, name="SHARE_SESSION_NOT_FOUND"
):
    """The broker forgot the share session (KIP-932)."""


class InvalidShareSessionEpochError(
    RetriableError, BrokerResponseError, code=123, name="INVALID_SHARE_SESSION_EPOCH"
):
    """The share session's epoch is not the one expected (KIP-932)."""


class FencedStateEpochError(BrokerResponseError, code=124, name="FENCED_STATE_EPOCH"):
    """The share group's state epoch is old (KIP-932)."""


class StreamsInvalidTopologyError(BrokerResponseError, code=130, name="STREAMS_INVALID_TOPOLOGY"):
    """The topology sent is not possible (KIP-1071)."""


class StreamsInvalidTopologyEpochError(
    BrokerResponseError, code=131, name="STREAMS_INVALID_TOPOLOGY_EPOCH"
):
    """The topology epoch sent is not possible (KIP-1071)."""


class StreamsTopologyFencedError(BrokerResponseError, code=132, name="STREAMS_TOPOLOGY_FENCED"):
    """The topology epoch sent is old (KIP-1071)."""


class ShareSessionLimitReachedError(
    RetriableError, BrokerResponseError, code=133, name="SHARE_SESSION_LIMIT_REACHED"
):
    """The broker holds as many share sessions as it may (KIP-932)."""


class GroupDeletionFailedError(BrokerResponseError, code=134, name="GROUP_DELETION_FAILED"):
    """The group could not be deleted; the broker says why (KIP-1331)."""


class StreamsTopologyDescriptionUpdateFailedError(
    BrokerResponseError, code=135, name="STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED"
):
    """The broker could not keep the description of a topology (KIP-1331)."""


# Other names of the same errors: aiokafka's, Java's, and kafka-python's older ones.
GroupLoadInProgressError = CoordinatorLoadInProgressError
GroupCoordinatorNotAvailableError = CoordinatorNotAvailableError
NotCoordinatorForGroupError = NotCoordinatorError
NonEmptyGroup = NonEmptyGroupError
GroupIdNotFound = GroupIdNotFoundError
OutOfOrderSequenceNumber = OutOfOrderSequenceNumberError
DuplicateSequenceNumber = DuplicateSequenceNumberError
InvalidProducerEpoch = InvalidProducerEpochError
InvalidTxnState = InvalidTxnStateError
InvalidProducerIdMapping = InvalidProducerIdMappingError
InvalidTransactionTimeout = InvalidTransactionTimeoutError
ConcurrentTransactions = ConcurrentTransactionsError
TransactionCoordinatorFenced = TransactionCoordinatorFencedError
TransactionalIdAuthorizationFailed = TransactionalIdAuthorizationFailedError
UnknownProducerId = UnknownProducerIdError
ProducerFenced = ProducerFencedError
