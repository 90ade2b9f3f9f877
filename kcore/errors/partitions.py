"""Broker errors about topics, partitions, records and offsets in a log: one class per code.

Codes, names and what can be retried: Java's `org.apache.kafka.common.protocol.Errors` (4.4).
"""

from __future__ import annotations

from kcore.errors.base import (
    BrokerResponseError,
    InvalidMetadataError,
    RetriableError,
)


class UnknownError(BrokerResponseError, code=-1, name="UNKNOWN_SERVER_ERROR"):
    """The broker failed in a way it has no code for; its log says more."""


class NoError(BrokerResponseError, code=0, name="NONE"):
    """No error; here so that every code has a class."""


class UnknownTopicOrPartitionError(
    InvalidMetadataError, BrokerResponseError, code=3, name="UNKNOWN_TOPIC_OR_PARTITION"
):
    """The broker asked does not host the partition, or the topic does not exist."""


class InvalidFetchRequestError(BrokerResponseError, code=4, name="INVALID_FETCH_SIZE"):
    """A fetch asked for an impossible number of bytes."""


class LeaderNotAvailableError(
    InvalidMetadataError, BrokerResponseError, code=5, name="LEADER_NOT_AVAILABLE"
):
    """The partition has no leader at the moment: an election is under way."""


class NotLeaderForPartitionError(
    InvalidMetadataError, BrokerResponseError, code=6, name="NOT_LEADER_OR_FOLLOWER"
):
    """The broker asked does not lead the partition (or, for followers, holds no replica)."""


class ReplicaNotAvailableError(
    InvalidMetadataError, BrokerResponseError, code=9, name="REPLICA_NOT_AVAILABLE"
):
    """The broker holds no usable replica of the partition."""


class MessageSizeTooLargeError(BrokerResponseError, code=10, name="MESSAGE_TOO_LARGE"):
    """A record batch is larger than the topic's max.message.bytes."""


class OffsetMetadataTooLargeError(BrokerResponseError, code=12, name="OFFSET_METADATA_TOO_LARGE"):
    """The text committed with an offset is longer than offset.metadata.max.bytes."""


class NetworkExceptionError(
    InvalidMetadataError, BrokerResponseError, code=13, name="NETWORK_EXCEPTION"
):
    """The connection ended before the answer came."""


class RecordListTooLargeError(BrokerResponseError, code=18, name="RECORD_LIST_TOO_LARGE"):
    """A batch is larger than a log segment of the broker."""


class NotEnoughReplicasError(
    RetriableError, BrokerResponseError, code=19, name="NOT_ENOUGH_REPLICAS"
):
    """Fewer replicas are in sync than min.insync.replicas; nothing was written."""


class NotEnoughReplicasAfterAppendError(
    RetriableError, BrokerResponseError, code=20, name="NOT_ENOUGH_REPLICAS_AFTER_APPEND"
):
    """Written by the leader, but fewer replicas than min.insync.replicas have it."""


class InvalidRequiredAcksError(BrokerResponseError, code=21, name="INVALID_REQUIRED_ACKS"):
    """acks was none of -1, 0 and 1."""


class InvalidTimestampError(BrokerResponseError, code=32, name="INVALID_TIMESTAMP"):
    """A record's timestamp is too far from the broker's clock."""


class UnsupportedForMessageFormatError(
    BrokerResponseError, code=43, name="UNSUPPORTED_FOR_MESSAGE_FORMAT"
):
    """The stored message format is too old for what was asked."""


class KafkaStorageError(
    InvalidMetadataError, BrokerResponseError, code=56, name="KAFKA_STORAGE_ERROR"
):
    """The broker's disk failed under the partition."""


class FetchSessionIdNotFoundError(
    RetriableError, BrokerResponseError, code=70, name="FETCH_SESSION_ID_NOT_FOUND"
):
    """The broker forgot the fetch session (KIP-227); the next fetch opens another."""


class InvalidFetchSessionEpochError(
    RetriableError, BrokerResponseError, code=71, name="INVALID_FETCH_SESSION_EPOCH"
):
    """The fetch session's epoch is not the one the broker expects (KIP-227)."""


class ListenerNotFoundError(
    InvalidMetadataError, BrokerResponseError, code=72, name="LISTENER_NOT_FOUND"
):
    """The leader has no listener of the name this connection came in by."""


class FencedLeaderEpochError(
    InvalidMetadataError, BrokerResponseError, code=74, name="FENCED_LEADER_EPOCH"
):
    """We know an older leader epoch than the broker (KIP-320)."""


class UnknownLeaderEpochError(
    InvalidMetadataError, BrokerResponseError, code=75, name="UNKNOWN_LEADER_EPOCH"
):
    """We know a newer leader epoch than the broker (KIP-320)."""


class UnsupportedCompressionTypeError(
    BrokerResponseError, code=76, name="UNSUPPORTED_COMPRESSION_TYPE"
):
    """The request's version does not allow the partition's compression type."""


class OffsetNotAvailableError(
    RetriableError, BrokerResponseError, code=78, name="OFFSET_NOT_AVAILABLE"
):
    """A fresh leader cannot answer about offsets yet (KIP-207)."""


class InvalidRecordError(BrokerResponseError, code=87, name="INVALID_RECORD"):
    """The broker refused a record (for instance one without key in a compacted topic)."""


class UnknownTopicIdError(
    InvalidMetadataError, BrokerResponseError, code=100, name="UNKNOWN_TOPIC_ID"
):
    """The broker does not host a topic of this id (KIP-516)."""


class InconsistentTopicIdError(
    InvalidMetadataError, BrokerResponseError, code=103, name="INCONSISTENT_TOPIC_ID"
):
    """The topic was deleted and created again under the same name (KIP-516)."""


class FetchSessionTopicIdError(
    RetriableError, BrokerResponseError, code=106, name="FETCH_SESSION_TOPIC_ID_ERROR"
):
    """A fetch session mixed requests with and without topic ids."""


class OffsetMovedToTieredStorageError(
    BrokerResponseError, code=109, name="OFFSET_MOVED_TO_TIERED_STORAGE"
):
    """The offset is in remote storage only (KIP-405)."""


# Other names of the same errors: aiokafka's, Java's, and kafka-python's older ones.
UnknownServerError = UnknownError
NotLeaderOrFollowerError = NotLeaderForPartitionError
StaleLeaderEpochCodeError = NetworkExceptionError
FetchSessionIdNotFound = FetchSessionIdNotFoundError
InvalidFetchSessionEpoch = InvalidFetchSessionEpochError
ListenerNotFound = ListenerNotFoundError
