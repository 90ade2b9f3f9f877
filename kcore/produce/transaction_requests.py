"""The bodies of the requests that make transactions, and what their answers say.

With `transaction.version` 2 (KIP-890) the brokers add partitions and groups to a transaction when
they are written to, and every end of one gives the next epoch. What speaks so is told by the
version of each request; so without it the versions are capped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from kcore.connection.calls import Answer
from kcore.errors import Unexpected, UnsupportedVersionError
from kcore.structs import ConsumerGroupMetadata, OffsetAndMetadata, TopicPartition
from kcore.wire.apis import ApiKey
from kcore.wire.messages import (
    AddPartitionsToTxnRequest,
    FindCoordinatorRequest,
    InitProducerIdRequest,
    TxnOffsetCommitRequest,
)

FEATURE: Final = "transaction.version"
# From this level on brokers do as said above.
IMPLICIT_SINCE: Final = 2
# The version of EndTxn that comes with it.
BUMPING_END: Final = 5

# The highest versions to speak without it (Java: LAST_STABLE_VERSION_BEFORE_TRANSACTION_V2); of
# Produce see requests.py.
EXPLICIT_MAX: Final[Mapping[ApiKey, int]] = {
    ApiKey.TXN_OFFSET_COMMIT: 4,
    ApiKey.END_TXN: 4,
}
# Versions above are for brokers among themselves.
ADD_PARTITIONS_MAX: Final = 3
# 6 is not stable yet.
INIT_MAX: Final = 5
# Above, topics go by their ids (KIP-1319), and of those whose offsets it commits a producer has no
# metadata: it writes to others.
TXN_COMMIT_MAX: Final = 5

# InitProducerId: a producer that names itself keeps what it has (KIP-360).
BUMP_SINCE: Final = 3

_GROUP_METADATA_SINCE: Final = 3  # TxnOffsetCommit (KIP-447)
_KEY_LIST_SINCE: Final = 4  # FindCoordinator (KIP-699)
_MAX_PORT: Final = 65_535

Offsets = dict[TopicPartition, OffsetAndMetadata]
GROUP, TRANSACTION = 0, 1  # FindCoordinator's key types


def find_coordinator(kind: int, key: str, version: int) -> FindCoordinatorRequest:
    """Who keeps this group or transactional id."""
    if version >= _KEY_LIST_SINCE:
        return FindCoordinatorRequest(key_type=kind, coordinator_keys=[key])
    return FindCoordinatorRequest(key=key, key_type=kind)


def found_coordinator(answer: Answer, key: str) -> Any:
    """What is said of this key: error_code, error_message, node_id, host, port. Unexpected: it
    cannot be meant.
    """
    entry = answer.body
    if answer.version >= _KEY_LIST_SINCE:
        entry = next((one for one in answer.body.coordinators if one.key == key), None)
    if entry is None:
        raise Unexpected("FindCoordinator answered without the key asked for", node=answer.node)
    if not entry.error_code and (
        entry.node_id < 0 or not entry.host or not 0 < entry.port <= _MAX_PORT
    ):
        raise Unexpected(
            f"FindCoordinator answered node {entry.node_id} at {entry.host!r}:{entry.port}",
            node=answer.node,
        )
    return entry


def init_producer_id(
    transactional_id: str, timeout_ms: int, producer_id: int, producer_epoch: int, version: int
) -> InitProducerIdRequest:
    """A producer id, or the next epoch of ours. UnsupportedVersionError: brokers before 2.5 would
    give that to whoever asks, and so to a producer that was fenced.
    """
    request = InitProducerIdRequest(
        transactional_id=transactional_id, transaction_timeout_ms=timeout_ms
    )
    if producer_id >= 0:
        if version < BUMP_SINCE:
            raise UnsupportedVersionError(
                "after what has failed the producer needs another epoch, which brokers before 2.5 "
                "do not give: close it and make another one"
            )
        request.producer_id, request.producer_epoch = producer_id, producer_epoch
    return request


def add_partitions(
    transactional_id: str,
    producer_id: int,
    producer_epoch: int,
    partitions: Iterable[TopicPartition],
) -> AddPartitionsToTxnRequest:
    """Have these take part (up to version 3)."""
    return AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=transactional_id,
        v3_and_below_producer_id=producer_id,
        v3_and_below_producer_epoch=producer_epoch,
        v3_and_below_topics=[
            AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(
                name=name, partitions=[tp.partition for tp in tps]
            )
            for name, tps in _by_topic(partitions)
        ],
    )


def added_partitions(body: Any) -> dict[TopicPartition, int]:
    """The error code of each partition."""
    return {
        TopicPartition(topic.name, one.partition_index): one.partition_error_code
        for topic in body.results_by_topic_v3_and_below
        for one in topic.results_by_partition
    }


def commit_offsets(
    transactional_id: str,
    producer_id: int,
    producer_epoch: int,
    group: ConsumerGroupMetadata,
    offsets: Offsets,
    version: int,
) -> TxnOffsetCommitRequest:
    """Commit offsets of a group with the transaction. UnsupportedVersionError: the brokers cannot
    judge whether the member is still one.
    """
    request = TxnOffsetCommitRequest(
        transactional_id=transactional_id,
        group_id=group.group_id or "",
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        topics=[
            TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic(
                name=name,
                partitions=[
                    TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition(
                        partition_index=tp.partition,
                        committed_offset=offsets[tp].offset,
                        committed_leader_epoch=offsets[tp].leader_epoch,
                        committed_metadata=offsets[tp].metadata,
                    )
                    for tp in tps
                ],
            )
            for name, tps in _by_topic(offsets)
        ],
    )
    if version >= _GROUP_METADATA_SINCE:
        request.generation_id_or_member_epoch = group.generation_id
        request.member_id = group.member_id
        request.group_instance_id = group.group_instance_id
    elif group.generation_id >= 0 or group.member_id or group.group_instance_id is not None:
        raise UnsupportedVersionError(
            "the brokers do not take group metadata in transactions (they do since 2.5): give the "
            "group id instead"
        )
    return request


def committed_offsets(body: Any) -> dict[TopicPartition, int]:
    """The error code of each partition."""
    return {
        TopicPartition(topic.name, one.partition_index): one.error_code
        for topic in body.topics
        for one in topic.partitions
    }


def _by_topic(partitions: Iterable[TopicPartition]) -> Iterator[tuple[str, list[TopicPartition]]]:
    topics: dict[str, list[TopicPartition]] = {}
    for tp in sorted(partitions):
        topics.setdefault(tp.topic, []).append(tp)
    yield from topics.items()
