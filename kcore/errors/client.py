"""Errors found on this side: unreadable bytes, links that fail, calls that may not be made."""

from __future__ import annotations

from collections.abc import Mapping

from kcore.errors.base import (
    AuthenticationFailedError,
    InvalidMetadataError,
    KafkaError,
    RetriableError,
    UsageError,
)
from kcore.errors.everyday import InvalidGroupIdError
from kcore.structs import OffsetAndMetadata, TopicPartition

# Bytes --------------------------------------------------------------------------------------------


class ProtocolError(KafkaError):
    """The peer broke the wire protocol: costs that one link.

    api: the API's name. version: its version. node: who sent it. at: the byte offset in the frame.
    """

    api: str | None = None
    version: int | None = None
    node: int | None = None
    at: int | None = None


class Truncated(ProtocolError):
    """The bytes end before the message does."""


class Unexpected(ProtocolError):
    """Bytes that no version of the message can hold: an impossible length, count or value."""


class FrameError(ProtocolError):
    """A frame of impossible length: the peer is no Kafka broker, or the stream is out of step.

    start: the bytes where the length should be.
    """

    start: bytes = b""


class UnsupportedCodecError(KafkaError):
    """A batch is compressed with a codec this installation cannot read.

    codec: its name. partition: the TopicPartition. first_offset, last_offset: the batch.
    """

    codec: str | None = None
    partition: TopicPartition | None = None
    first_offset: int | None = None
    last_offset: int | None = None


class DeserializationError(KafkaError):
    """The user's deserializer raised (the `__cause__`); polling again retries the record.

    partition: the TopicPartition. offset: the record's. part: "key" or "value".
    record: the ConsumerRecord with key and value as bytes. Seek to `offset + 1` to skip it.
    """

    partition: TopicPartition | None = None
    offset: int | None = None
    part: str | None = None
    record: object = None


# Links --------------------------------------------------------------------------------------------


class KafkaConnectionError(InvalidMetadataError):
    """A connection could not be made, or ended.

    node: the node id (negative: a bootstrap address). host, port: where.
    """

    node: int | None = None
    host: str | None = None
    port: int | None = None


class DisconnectedError(KafkaConnectionError):
    """The link closed while a request was under way."""


class ProxyError(DisconnectedError):
    """There is no way through the proxy: it was not reached, refused the broker, or is none.

    proxy: which, without user and password. host, port: the broker.
    """

    proxy: str | None = None


class KafkaTimeoutError(RetriableError):
    """A call did not finish within its timeout.

    timeout_ms: how long it was given.
    """

    timeout_ms: float | None = None


class NoBrokersAvailable(KafkaConnectionError, KafkaTimeoutError):
    """None of the bootstrap servers could be reached in time, or none speaks Kafka.

    attempts: {"host:port": why it failed, ...}.
    """

    attempts: Mapping[str, str] | None = None


class NodeNotReadyError(RetriableError):
    """The node's link is not up yet."""


class AuthenticationMethodNotSupported(AuthenticationFailedError):
    """The broker does not take this way of authenticating."""


class SslAuthenticationError(AuthenticationFailedError):
    """TLS failed for good: a certificate is not trusted, or the two sides share no way to speak it.

    Java: SslAuthenticationException. A peer that merely went away is a DisconnectedError.
    """


class ProxyAuthenticationError(AuthenticationFailedError):
    """The proxy wants to know who we are, or does not take it (user and password of proxy_url), or
    its certificate is not trusted.

    proxy: which, without them. host, port: the broker that was asked for.
    """

    proxy: str | None = None
    host: str | None = None
    port: int | None = None


# Cancellation -------------------------------------------------------------------------------------


class Cancelled(RetriableError):
    """Given up before it was done."""


class WakeupError(KafkaError):
    """`wakeup()` interrupted a blocking call; the consumer is usable as before."""


# Use ----------------------------------------------------------------------------------------------


class KafkaConfigurationError(UsageError, ValueError):
    """An option is unknown, of a wrong type, out of range, or contradicts another.

    option: its name. suggestion: the nearest known name.
    """

    option: str | None = None
    suggestion: str | None = None


class IllegalArgumentError(UsageError, ValueError):
    """An argument that can never be right."""


class IllegalStateError(UsageError):
    """A call that the object's state does not allow."""


class UnassignedPartitionError(IllegalStateError, ValueError):
    """The partition is not assigned to this consumer (ValueError as in kafka-python).

    partition: the TopicPartition.
    """

    partition: TopicPartition | None = None


class IllegalOperation(UsageError):
    """The call makes no sense as the consumer is configured (a commit without a group id, ...)."""


class NoGroupIdError(IllegalStateError, IllegalOperation, InvalidGroupIdError):
    """The call needs a group_id (IllegalStateError in kafka-python, IllegalOperation in aiokafka,
    InvalidGroupId in Java).
    """


class ConcurrentUseError(IllegalStateError):
    """Two threads used one consumer at once (Java: ConcurrentModificationException)."""


class ForkedError(IllegalStateError):
    """Used in a child process after fork(); make another one there."""


class ConsumerStoppedError(IllegalStateError):
    """The consumer is closed."""


# Positions and commits ----------------------------------------------------------------------------


class CommitFailedError(KafkaError):
    """Nothing was committed, because this member is not part of the group's generation any more.

    The partitions may belong to others already, who will read again from the last commit. Usually
    the time between two polls was longer than max_poll_interval_ms, or no heartbeat got through for
    session_timeout_ms.

    timer: the option that ran out, if one did. elapsed_ms: the gap measured.
    partitions: what was to be committed. generation: the member's when it committed.
    """

    timer: str | None = None
    elapsed_ms: int | None = None
    partitions: frozenset[TopicPartition] = frozenset()
    generation: int | None = None

    def __str__(self) -> str:
        return super().__str__() or (
            "the commit was not made: this member is no longer part of the group's generation;"
            " poll() joins again. Raise max_poll_interval_ms or lower max_poll_records if handling"
            " the records of one poll takes long"
        )


class RetriableCommitFailedError(RetriableError):
    """An asynchronous commit failed for a passing reason (the `__cause__`); try it again."""


class NoOffsetForPartitionError(KafkaError):
    """Nothing is committed for these partitions, and `auto_offset_reset` is "none": seek somewhere.

    partitions: the ones concerned.
    """

    partitions: frozenset[TopicPartition] = frozenset()


class LogTruncationError(KafkaError):
    """The log was cut off below the position, and `out_of_range_reset` is "none" (KIP-320).

    divergent_offsets: {TopicPartition: where the logs part (OffsetAndMetadata), None if unknown}.
    """

    divergent_offsets: Mapping[TopicPartition, OffsetAndMetadata | None]

    def __init__(
        self,
        divergent_offsets: Mapping[TopicPartition, OffsetAndMetadata | None],
        *args: object,
    ) -> None:
        super().__init__(divergent_offsets, *args)
        self.divergent_offsets = divergent_offsets

    def __str__(self) -> str:
        if len(self.args) > 1:
            return " ".join(str(part) for part in self.args[1:])
        places = ", ".join(
            f"{tp.topic}-{tp.partition} at {'an unknown offset' if at is None else at.offset}"
            for tp, at in self.divergent_offsets.items()
        )
        return f"the log was truncated below the position: {places}; seek to go on"
