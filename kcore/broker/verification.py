"""Whether what is written in a transaction is in one: the transaction coordinator is asked before
(KIP-890).

Part 1: the first batch of a transaction in a log is kept only if the coordinator knows that the
partition takes part; else a batch that is late could be the beginning of a transaction that nobody
ends. Part 2 (Produce v12, TxnOffsetCommit v5): asking adds the partition, so producers need not.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import TYPE_CHECKING, Final

from kcore.structs import TopicPartition
from kcore.wire.codes import ErrorCode
from kcore.wire.message import Message
from kcore.wire.messages import AddPartitionsToTxnRequest, AddPartitionsToTxnResponse

if TYPE_CHECKING:
    from kcore.broker.node import Node

# The first Kafka that asks.
VERIFIES_SINCE: Final = (3, 6)

_ASK_VERSION: Final = 5


class Support(Enum):
    """What a request's version can do (Java: TransactionSupportedOperation)."""

    DEFAULT = "nothing"
    ABORTABLE = "TRANSACTION_ABORTABLE is understood"
    ADDS = "partitions are added by writing to them"


def support(version: int, abortable_version: int) -> Support:
    """Of a request of this version, whose API understands TRANSACTION_ABORTABLE from that on."""
    if version > abortable_version:
        return Support.ADDS
    return Support.ABORTABLE if version == abortable_version else Support.DEFAULT


def ask_coordinator(
    node: Node,
    transactional_id: str,
    producer_id: int,
    producer_epoch: int,
    partitions: Iterable[TopicPartition],
    kind: Support,
    now_ms: int,
) -> dict[TopicPartition, ErrorCode]:
    """Which of these partitions cannot be written to, and why."""
    wanted = sorted(partitions)
    if node.cluster.config.release < VERIFIES_SINCE:
        return {}
    keeper = node.cluster.transaction_coordinator_of(transactional_id)
    coordinator = node.cluster.nodes.get(keeper)
    if coordinator is None:
        return dict.fromkeys(wanted, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    reached = not coordinator.paused and node.cluster.replication.reach(node.node_id, keeper)
    if keeper != node.node_id and not reached:
        return dict.fromkeys(wanted, ErrorCode.NETWORK_EXCEPTION)
    topics: dict[str, list[int]] = {}
    for tp in wanted:
        topics.setdefault(tp.topic, []).append(tp.partition)
    request = AddPartitionsToTxnRequest(
        transactions=[
            AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction(
                transactional_id=transactional_id,
                producer_id=producer_id,
                producer_epoch=producer_epoch,
                verify_only=kind is not Support.ADDS,
                topics=[
                    AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(name=name, partitions=numbers)
                    for name, numbers in topics.items()
                ],
            )
        ]
    )
    answers: list[Message] = []
    coordinator.transactions.ask(request, _ASK_VERSION, answers.append, now_ms)
    (answer,) = answers  # journals are written at once, so the answer has come
    assert isinstance(answer, AddPartitionsToTxnResponse)
    errors = {}
    for result in answer.results_by_transaction:
        for topic in result.topic_results:
            for one in topic.results_by_partition:
                if one.partition_error_code:
                    tp = TopicPartition(topic.name, one.partition_index)
                    errors[tp] = _told(ErrorCode(one.partition_error_code), kind)
    return errors


def _told(error: ErrorCode, kind: Support) -> ErrorCode:
    """What who writes is told of it (Java: AddPartitionsToTxnManager)."""
    if error is ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if error is ErrorCode.TRANSACTION_ABORTABLE and kind is Support.DEFAULT:
        return ErrorCode.INVALID_TXN_STATE
    return error
