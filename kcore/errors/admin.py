"""Broker errors about access, versions, whole topics, the cluster, its quorum: a class per code.

Codes, names and what can be retried: Java's `org.apache.kafka.common.protocol.Errors` (4.4).
"""

from __future__ import annotations

from kcore.errors.base import (
    AuthorizationError,
    BrokerResponseError,
    InvalidMetadataError,
    Refresh,
    RetriableError,
)


class BrokerNotAvailableError(BrokerResponseError, code=8, name="BROKER_NOT_AVAILABLE"):
    """The broker named is not alive."""


class StaleControllerEpochError(BrokerResponseError, code=11, name="STALE_CONTROLLER_EPOCH"):
    """The controller has moved."""


class GroupAuthorizationFailedError(AuthorizationError, code=30, name="GROUP_AUTHORIZATION_FAILED"):
    """The principal may not use this group."""


class ClusterAuthorizationFailedError(
    AuthorizationError, code=31, name="CLUSTER_AUTHORIZATION_FAILED"
):
    """The principal may not do this to the cluster."""


class TopicAlreadyExistsError(BrokerResponseError, code=36, name="TOPIC_ALREADY_EXISTS"):
    """There is a topic of this name."""


class InvalidPartitionsError(BrokerResponseError, code=37, name="INVALID_PARTITIONS"):
    """The number of partitions is not possible."""


class InvalidReplicationFactorError(
    BrokerResponseError, code=38, name="INVALID_REPLICATION_FACTOR"
):
    """The replication factor is below 1 or above the number of brokers."""


class InvalidReplicationAssignmentError(
    BrokerResponseError, code=39, name="INVALID_REPLICA_ASSIGNMENT"
):
    """The replicas asked for cannot be placed like that."""


class InvalidConfigurationError(BrokerResponseError, code=40, name="INVALID_CONFIG"):
    """The broker refuses this configuration."""


class NotControllerError(RetriableError, BrokerResponseError, code=41, name="NOT_CONTROLLER"):
    """The broker asked is not the controller."""


class InvalidRequestError(BrokerResponseError, code=42, name="INVALID_REQUEST"):
    """The broker finds the request malformed or contradictory."""


class PolicyViolationError(BrokerResponseError, code=44, name="POLICY_VIOLATION"):
    """A policy of the broker forbids this."""


class SecurityDisabledError(BrokerResponseError, code=54, name="SECURITY_DISABLED"):
    """The broker has no authorizer."""


class OperationNotAttemptedError(BrokerResponseError, code=55, name="OPERATION_NOT_ATTEMPTED"):
    """Not tried, because another part of the request failed."""


class LogDirNotFoundError(BrokerResponseError, code=57, name="LOG_DIR_NOT_FOUND"):
    """The broker has no log directory of this name."""


class ReassignmentInProgressError(BrokerResponseError, code=60, name="REASSIGNMENT_IN_PROGRESS"):
    """The partition is being moved."""


class DelegationTokenAuthDisabledError(
    BrokerResponseError, code=61, name="DELEGATION_TOKEN_AUTH_DISABLED"
):
    """The broker has delegation tokens switched off."""


class DelegationTokenNotFoundError(BrokerResponseError, code=62, name="DELEGATION_TOKEN_NOT_FOUND"):
    """There is no such delegation token."""


class DelegationTokenOwnerMismatchError(
    BrokerResponseError, code=63, name="DELEGATION_TOKEN_OWNER_MISMATCH"
):
    """The principal may neither own nor renew the token."""


class DelegationTokenRequestNotAllowedError(
    BrokerResponseError, code=64, name="DELEGATION_TOKEN_REQUEST_NOT_ALLOWED"
):
    """Tokens cannot be asked for over this kind of connection."""


class DelegationTokenAuthorizationFailedError(
    AuthorizationError, code=65, name="DELEGATION_TOKEN_AUTHORIZATION_FAILED"
):
    """The principal may not use this delegation token."""


class DelegationTokenExpiredError(BrokerResponseError, code=66, name="DELEGATION_TOKEN_EXPIRED"):
    """The delegation token has expired."""


class InvalidPrincipalTypeError(BrokerResponseError, code=67, name="INVALID_PRINCIPAL_TYPE"):
    """The principal is of a type the broker does not know."""


class TopicDeletionDisabledError(BrokerResponseError, code=73, name="TOPIC_DELETION_DISABLED"):
    """The broker has delete.topic.enable=false."""


class StaleBrokerEpochError(BrokerResponseError, code=77, name="STALE_BROKER_EPOCH"):
    """The broker has registered again since."""


class PreferredLeaderNotAvailableError(
    InvalidMetadataError, BrokerResponseError, code=80, name="PREFERRED_LEADER_NOT_AVAILABLE"
):
    """The preferred leader cannot be elected now."""


class EligibleLeadersNotAvailableError(
    InvalidMetadataError, BrokerResponseError, code=83, name="ELIGIBLE_LEADERS_NOT_AVAILABLE"
):
    """No replica can be elected leader now."""


class ElectionNotNeededError(
    InvalidMetadataError, BrokerResponseError, code=84, name="ELECTION_NOT_NEEDED"
):
    """The partition has the leader it should have."""


class NoReassignmentInProgressError(
    BrokerResponseError, code=85, name="NO_REASSIGNMENT_IN_PROGRESS"
):
    """The partition is not being moved."""


class ThrottlingQuotaExceededError(
    RetriableError, BrokerResponseError, code=89, name="THROTTLING_QUOTA_EXCEEDED"
):
    """A quota is used up; try later."""


class ResourceNotFoundError(BrokerResponseError, code=91, name="RESOURCE_NOT_FOUND"):
    """The request names something that does not exist."""


class DuplicateResourceError(BrokerResponseError, code=92, name="DUPLICATE_RESOURCE"):
    """The request names the same thing twice."""


class UnacceptableCredentialError(BrokerResponseError, code=93, name="UNACCEPTABLE_CREDENTIAL"):
    """The credential does not meet the broker's rules."""


class InvalidUpdateVersionError(BrokerResponseError, code=95, name="INVALID_UPDATE_VERSION"):
    """The version to update is not the current one."""


class FeatureUpdateFailedError(BrokerResponseError, code=96, name="FEATURE_UPDATE_FAILED"):
    """The finalized features could not be changed."""


class PrincipalDeserializationFailureError(
    BrokerResponseError, code=97, name="PRINCIPAL_DESERIALIZATION_FAILURE"
):
    """The controller could not read a forwarded request's principal."""


class MismatchedEndpointTypeError(BrokerResponseError, code=114, name="MISMATCHED_ENDPOINT_TYPE"):
    """A request for controllers went to a broker, or the reverse (KIP-919)."""


class UnsupportedEndpointTypeError(BrokerResponseError, code=115, name="UNSUPPORTED_ENDPOINT_TYPE"):
    """The endpoint type asked for is not supported (KIP-919)."""


class UnknownSubscriptionIdError(BrokerResponseError, code=117, name="UNKNOWN_SUBSCRIPTION_ID"):
    """The telemetry subscription has changed (KIP-714)."""


class TelemetryTooLargeError(BrokerResponseError, code=118, name="TELEMETRY_TOO_LARGE"):
    """A telemetry push is larger than the broker takes (KIP-714)."""


class RebootstrapRequiredError(
    BrokerResponseError, code=129, name="REBOOTSTRAP_REQUIRED", refresh=Refresh.METADATA
):
    """What the client knows is stale: begin again from bootstrap_servers (KIP-1102)."""


class InconsistentVoterSetError(BrokerResponseError, code=94, name="INCONSISTENT_VOTER_SET"):
    """Sender or receiver is not a voter the other expects."""


class SnapshotNotFoundError(BrokerResponseError, code=98, name="SNAPSHOT_NOT_FOUND"):
    """There is no such metadata snapshot."""


class PositionOutOfRangeError(BrokerResponseError, code=99, name="POSITION_OUT_OF_RANGE"):
    """The position is outside the metadata snapshot."""


class DuplicateBrokerRegistrationError(
    BrokerResponseError, code=101, name="DUPLICATE_BROKER_REGISTRATION"
):
    """A live broker has this node id already."""


class BrokerIdNotRegisteredError(BrokerResponseError, code=102, name="BROKER_ID_NOT_REGISTERED"):
    """No broker of this node id is registered."""


class InconsistentClusterIdError(BrokerResponseError, code=104, name="INCONSISTENT_CLUSTER_ID"):
    """The request is meant for another cluster."""


class IneligibleReplicaError(BrokerResponseError, code=107, name="INELIGIBLE_REPLICA"):
    """A replica of the new in-sync set may not be in it."""


class NewLeaderElectedError(BrokerResponseError, code=108, name="NEW_LEADER_ELECTED"):
    """The in-sync set was changed, and with it the leader."""


class UnknownControllerIdError(BrokerResponseError, code=116, name="UNKNOWN_CONTROLLER_ID"):
    """There is no controller of this id."""


class InvalidRegistrationError(BrokerResponseError, code=119, name="INVALID_REGISTRATION"):
    """The controller refuses the broker's registration."""


class InvalidVoterKeyError(BrokerResponseError, code=125, name="INVALID_VOTER_KEY"):
    """The voter's key is not the receiver's."""


class DuplicateVoterError(BrokerResponseError, code=126, name="DUPLICATE_VOTER"):
    """The replica is a voter already."""


class VoterNotFoundError(BrokerResponseError, code=127, name="VOTER_NOT_FOUND"):
    """The replica is no voter."""


class ControllerIdNotRegisteredError(
    BrokerResponseError, code=136, name="CONTROLLER_ID_NOT_REGISTERED"
):
    """No controller of this id is registered."""


# Other names of the same errors: aiokafka's, Java's, and kafka-python's older ones.
ControllerMovedError = StaleControllerEpochError
InvalidReplicaAssignmentError = InvalidReplicationAssignmentError
SecurityDisabled = SecurityDisabledError
OperationNotAttempted = OperationNotAttemptedError
LogDirNotFound = LogDirNotFoundError
ReassignmentInProgress = ReassignmentInProgressError
DelegationTokenAuthDisabled = DelegationTokenAuthDisabledError
DelegationTokenNotFound = DelegationTokenNotFoundError
DelegationTokenOwnerMismatch = DelegationTokenOwnerMismatchError
DelegationTokenRequestNotAllowed = DelegationTokenRequestNotAllowedError
DelegationTokenAuthorizationFailed = DelegationTokenAuthorizationFailedError
DelegationTokenExpired = DelegationTokenExpiredError
InvalidPrincipalType = InvalidPrincipalTypeError
