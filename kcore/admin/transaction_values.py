"""What users of the admin client hold of transactions: names, fields and words are kafka-python's,
whose own objects are taken in their place.
"""

from __future__ import annotations

from kcore.admin.values import Word
from kcore.structs import TopicPartition
from kcore.tuples import NamedTuple


class TransactionState(Word):
    """States of transactional ids (KIP-664)."""

    UNKNOWN = "Unknown"  # what a newer broker tells that is not known here
    EMPTY = "Empty"
    ONGOING = "Ongoing"
    PREPARE_COMMIT = "PrepareCommit"
    PREPARE_ABORT = "PrepareAbort"
    COMPLETE_COMMIT = "CompleteCommit"
    COMPLETE_ABORT = "CompleteAbort"
    DEAD = "Dead"
    PREPARE_EPOCH_FENCE = "PrepareEpochFence"

    @classmethod
    def read(cls, word: str) -> TransactionState:
        """What a broker calls a state."""
        return cls(word) if word in _KNOWN else cls.UNKNOWN


_KNOWN = frozenset(TransactionState)


class TransactionListing(NamedTuple):
    """A transactional id, as its coordinator lists it."""

    transactional_id: str
    producer_id: int
    state: TransactionState


class TransactionDescription(NamedTuple):
    """A transactional id, as its coordinator describes it.

    transaction_start_time_ms: since 1970; -1: it has no transaction. topic_partitions: what takes
    part; of a transaction that is being ended those that have no marker yet.
    """

    coordinator_id: int
    state: TransactionState
    producer_id: int
    producer_epoch: int
    transaction_timeout_ms: int
    transaction_start_time_ms: int
    topic_partitions: set[TopicPartition]


class AbortTransactionSpec(NamedTuple):
    """Which transaction is to be aborted where: that of a producer in a partition.

    coordinator_epoch: that of the marker; -1: the last one that the leader knows of this producer.
    """

    topic_partition: TopicPartition
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int = -1


class FencedProducer(NamedTuple):
    """What was taken from a producer: whoever has this id with a lower epoch is refused."""

    producer_id: int
    producer_epoch: int
