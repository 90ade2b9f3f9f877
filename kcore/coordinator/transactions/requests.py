"""AddPartitionsToTxn in its two forms: a client's, for one transaction; a broker's (v4), for many,
which may ask to verify only (KIP-890).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kcore.coordinator.context import Topics
from kcore.coordinator.journal import INTERNAL_TOPICS
from kcore.coordinator.transactions.producers import Producer
from kcore.structs import TopicPartition
from kcore.tuples import NamedTuple
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import AddPartitionsToTxnRequest, AddPartitionsToTxnResponse

_MANY_VERSION: Final = 4

_Topic = AddPartitionsToTxnRequest.AddPartitionsToTxnTopic
_TopicResult = AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult
_PartitionResult = AddPartitionsToTxnResponse.AddPartitionsToTxnPartitionResult


# What one transaction is answered: the same for all that was asked, or a word for each partition.
Added = ErrorCode | dict[TopicPartition, ErrorCode]


class AddRequest(NamedTuple):
    """What is asked for one transaction; `topics`: in the client's own form."""

    transactional_id: str
    producer: Producer
    topics: Sequence[_Topic]
    partitions: frozenset[TopicPartition]
    verify_only: bool


def asked_transactions(request: AddPartitionsToTxnRequest, version: int) -> list[AddRequest]:
    """What a request of any version asks for."""
    if version < _MANY_VERSION:
        return [
            AddRequest(
                request.v3_and_below_transactional_id,
                Producer(request.v3_and_below_producer_id, request.v3_and_below_producer_epoch),
                request.v3_and_below_topics,
                _partitions(request.v3_and_below_topics),
                verify_only=False,
            )
        ]
    return [
        AddRequest(
            one.transactional_id,
            Producer(one.producer_id, one.producer_epoch),
            one.topics,
            _partitions(one.topics),
            verify_only=one.verify_only,
        )
        for one in request.transactions
    ]


def _partitions(topics: Sequence[_Topic]) -> frozenset[TopicPartition]:
    return frozenset(
        TopicPartition(topic.name, number) for topic in topics for number in topic.partitions
    )


def checked(asked: AddRequest, topics: Topics, version: int) -> dict[TopicPartition, ErrorCode]:
    """What is wrong with the partitions themselves; empty if nothing is.

    One that cannot be added keeps all others out.
    """
    client = version < _MANY_VERSION
    errors = {}
    for tp in asked.partitions:
        if tp.topic in INTERNAL_TOPICS:
            if client:
                errors[tp] = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        elif not topics.has_partition(*tp):
            errors[tp] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if errors:
        for tp in asked.partitions:
            errors.setdefault(tp, ErrorCode.OPERATION_NOT_ATTEMPTED)
    return errors


def add_response(
    asked: list[AddRequest], results: list[Added], version: int
) -> AddPartitionsToTxnResponse:
    """The answer in the form of the request's version."""
    by_topic = [
        _topic_results(added) if isinstance(added, dict) else _as_asked(one.topics, added)
        for one, added in zip(asked, results, strict=True)
    ]
    if version < _MANY_VERSION:
        (only,) = by_topic
        return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=only)
    return AddPartitionsToTxnResponse(
        results_by_transaction=[
            AddPartitionsToTxnResponse.AddPartitionsToTxnResult(
                transactional_id=one.transactional_id, topic_results=topic_results
            )
            for one, topic_results in zip(asked, by_topic, strict=True)
        ]
    )


def _as_asked(topics: Sequence[_Topic], error: ErrorCode) -> list[_TopicResult]:
    """The same for all, in the form of the request: what it names twice is answered twice."""
    return [
        _TopicResult(
            name=topic.name,
            results_by_partition=[
                _PartitionResult(partition_index=number, partition_error_code=error)
                for number in topic.partitions
            ],
        )
        for topic in topics
    ]


def _topic_results(errors: dict[TopicPartition, ErrorCode]) -> list[_TopicResult]:
    topics: dict[str, list[_PartitionResult]] = {}
    for tp in sorted(errors):
        topics.setdefault(tp.topic, []).append(
            _PartitionResult(partition_index=tp.partition, partition_error_code=errors[tp])
        )
    return [
        _TopicResult(name=name, results_by_partition=results) for name, results in topics.items()
    ]
