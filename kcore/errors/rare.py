"""Errors found on this side that no consumer names: a producer's, that of `Workers`, and those that
programs for other clients catch; see `kcore.errors` for why they are apart.
"""

from __future__ import annotations

from kcore.errors.base import InvalidMetadataError, KafkaError, RetriableError
from kcore.errors.client import IllegalOperation, IllegalStateError, ProtocolError
from kcore.errors.everyday import UnsupportedVersionError
from kcore.errors.partitions import MessageSizeTooLargeError
from kcore.structs import TopicPartition


class ProducerClosed(IllegalStateError):
    """The producer is closed."""


class TransactionStateError(IllegalStateError, IllegalOperation):
    """The call does not fit where the producer's transaction stands, or it has no transactional_id
    (IllegalStateException in Java, IllegalOperation in aiokafka).
    """


class TransactionAbortedError(KafkaError):
    """The batch was given up with its transaction."""


class RecordTooLargeError(MessageSizeTooLargeError):
    """One record is larger than a request may be (MessageSizeTooLargeError in kafka-python and
    aiokafka; Java has one class for this and for what a broker refuses).

    partition: the TopicPartition. offset: where it is.
    """

    partition: TopicPartition | None = None
    offset: int | None = None


class HandlerError(KafkaError):
    """What handles records for `Workers` raised (the `__cause__`).

    partition: the TopicPartition. offset, record: what it was given. Nothing of the partition from
    there on is committed: whoever reads on gets the record again.
    """

    partition: TopicPartition | None = None
    offset: int | None = None
    record: object = None


# Other clients' -----------------------------------------------------------------------------------


class CorrelationIdError(RetriableError, ProtocolError):
    """An answer to a request that was not asked, or not asked next."""


class InvalidReceiveError(ProtocolError):
    """An answer that cannot be taken in whole (kafka-python's name)."""


class KafkaUnavailableError(KafkaError):
    """The cluster cannot be reached (aiokafka's name)."""


class UnknownBrokerIdError(KafkaError):
    """No broker of this id is known."""


class MetadataEmptyBrokerList(RetriableError):
    """A metadata answer without brokers."""


class StaleMetadata(InvalidMetadataError):
    """Metadata is too old to decide on."""


class TooManyInFlightRequests(RetriableError):
    """The link has as many requests under way as it may have."""


class IncompatibleBrokerVersion(UnsupportedVersionError):
    """The broker is too old for what was asked."""


class UnrecognizedBrokerVersion(KafkaError):
    """The broker's version could not be told."""


class QuotaViolationError(KafkaError):
    """A metric is above its quota."""
