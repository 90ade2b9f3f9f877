"""Producers, as the brokers that have their records know them (KIP-664)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from kcore.admin.asking import Ask, Reply, Route
from kcore.admin.core import Procedure
from kcore.admin.offsets import by_topic
from kcore.admin.values import PartitionProducerState, ProducerState
from kcore.structs import TopicPartition
from kcore.wire.apis import ApiKey
from kcore.wire.messages import DescribeProducersRequest

_PARTITIONS_MAX: Final = 500  # in one request: brokers look through all producers of each


def describe_producers(
    partitions: Sequence[TopicPartition], broker: int | None
) -> Procedure[dict[TopicPartition, PartitionProducerState]]:
    """Who has written to these partitions lately. broker: its replicas are meant; None: the
    leaders.
    """
    (outcome,) = yield [ask_producers(partitions, broker)]
    return outcome.all_done()


def ask_producers(partitions: Sequence[TopicPartition], broker: int | None) -> Ask:
    """The same as a question. Values: PartitionProducerState."""

    def build(keys: list[TopicPartition], _v: int, _limit_ms: int) -> DescribeProducersRequest:
        cls = DescribeProducersRequest
        return cls(
            topics=[
                cls.TopicRequest(name=topic, partition_indexes=[tp.partition for tp in tps])
                for topic, tps in by_topic(keys)
            ]
        )

    def read(body: Any, _version: int, _keys: list[TopicPartition]) -> Iterable[Reply]:
        for topic in body.topics:
            for part in topic.partitions:
                found = PartitionProducerState([_state(one) for one in part.active_producers])
                tp = TopicPartition(topic.name, part.partition_index)
                yield Reply(tp, part.error_code, found, part.error_message)

    return Ask(
        ApiKey.DESCRIBE_PRODUCERS,
        tuple(partitions),
        "describing the producers of",
        build,
        read,
        route=Route.LEADER if broker is None else Route.BROKER,
        place=lambda tp: tp if broker is None else broker,
        most=lambda _version: _PARTITIONS_MAX,
    )


def _state(row: Any) -> ProducerState:
    return ProducerState(
        row.producer_id,
        row.producer_epoch,
        row.last_sequence,
        row.last_timestamp,
        row.coordinator_epoch,
        row.current_txn_start_offset,
    )
