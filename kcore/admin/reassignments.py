"""Replicas of partitions moved to other brokers (KIP-455), and what is being moved."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from kcore.admin.asking import Ask, Reply, Route, of_all
from kcore.admin.core import Procedure
from kcore.admin.offsets import by_topic
from kcore.errors import KafkaError, UnsupportedVersionError
from kcore.structs import TopicPartition
from kcore.wire.apis import ApiKey
from kcore.wire.messages import (
    AlterPartitionReassignmentsRequest,
    ListPartitionReassignmentsRequest,
)

_FACTOR_SINCE: Final = 1  # AlterPartitionReassignments that may insist on the number of replicas


def alter_partition_reassignments(
    wanted: Mapping[TopicPartition, Sequence[int] | None],
    *,
    change_factor: bool,
    raise_errors: bool,
) -> Procedure[dict[TopicPartition, type[KafkaError] | None]]:
    """kafka-python's {partition: the class of its error, or None}; what is wrong with the whole is
    raised.

    wanted: the brokers of each partition; None: what is being moved is to stay. change_factor:
    their number may differ from what it is.
    """

    def read(body: Any, _version: int, keys: list[TopicPartition]) -> Iterable[Reply]:
        if body.error_code:
            yield from of_all(keys, body.error_code, body.error_message)
            return
        for topic in body.responses:
            for part in topic.partitions:
                tp = TopicPartition(topic.name, part.partition_index)
                yield Reply(tp, part.error_code, words=part.error_message)

    ask = Ask(
        ApiKey.ALTER_PARTITION_REASSIGNMENTS,
        tuple(wanted),
        "reassigning",
        lambda keys, version, limit_ms: _reassigning(
            {tp: wanted[tp] for tp in keys}, version, limit_ms, change_factor=change_factor
        ),
        read,
        route=Route.CONTROLLER,
        changes=True,
    )
    (outcome,) = yield [ask]
    outcome.check(raise_errors=raise_errors)
    failed = outcome.failed
    return {tp: type(failed[tp]) if tp in failed else None for tp in wanted}


def _reassigning(
    wanted: Mapping[TopicPartition, Sequence[int] | None],
    version: int,
    limit_ms: int,
    *,
    change_factor: bool,
) -> AlterPartitionReassignmentsRequest:
    cls = AlterPartitionReassignmentsRequest
    if not change_factor and version < _FACTOR_SINCE:
        raise UnsupportedVersionError(
            "reassigning partitions: this broker (before 4.1) does not insist on their number of "
            "replicas"
        )
    request = cls(timeout_ms=limit_ms)
    for topic, tps in by_topic(wanted):
        row = cls.ReassignableTopic(name=topic)
        for tp in tps:
            brokers = wanted[tp]
            replicas = None if brokers is None else list(brokers)
            part = cls.ReassignablePartition(partition_index=tp.partition, replicas=replicas)
            row.partitions.append(part)
        request.topics.append(row)
    if version >= _FACTOR_SINCE:
        request.allow_replication_factor_change = change_factor
    return request


def list_partition_reassignments(
    topics: Mapping[str, Sequence[int]] | None,
) -> Procedure[dict[TopicPartition, dict[str, list[int]]]]:
    """{partition that is being moved: {"replicas", "adding_replicas", "removing_replicas"}} of
    these; None: of all.
    """

    def build(_keys: list[None], _version: int, limit_ms: int) -> ListPartitionReassignmentsRequest:
        cls = ListPartitionReassignmentsRequest
        kind = cls.ListPartitionReassignmentsTopics
        rows = None
        if topics is not None:
            rows = [
                kind(name=name, partition_indexes=list(parts)) for name, parts in topics.items()
            ]
        return cls(timeout_ms=limit_ms, topics=rows)

    def read(body: Any, _version: int, _keys: list[None]) -> Iterable[Reply]:
        found = {
            TopicPartition(topic.name, part.partition_index): {
                "replicas": list(part.replicas),
                "adding_replicas": list(part.adding_replicas),
                "removing_replicas": list(part.removing_replicas),
            }
            for topic in body.topics
            for part in topic.partitions
        }
        yield Reply(None, body.error_code, found, body.error_message)

    ask = Ask(
        ApiKey.LIST_PARTITION_REASSIGNMENTS,
        (None,),
        "listing",
        build,
        read,
        route=Route.CONTROLLER,
        name=lambda _key: "what is being reassigned",
    )
    (outcome,) = yield [ask]
    found: dict[TopicPartition, dict[str, list[int]]] = outcome.all_done()[None]
    return found
