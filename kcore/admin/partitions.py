"""Partitions: added to topics, and their leaders elected anew."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from kcore.admin.asking import Ask, Reply, Route
from kcore.admin.core import Procedure
from kcore.admin.offsets import by_topic
from kcore.admin.rows import code_of
from kcore.admin.topics import describe_topics, partitions_of
from kcore.admin.values import ElectionType, NewPartitions
from kcore.errors import ElectionNotNeededError, UnsupportedVersionError
from kcore.structs import TopicPartition
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    ElectLeadersRequest,
    ElectLeadersResponse,
)


def create_partitions(
    topics: Mapping[str, NewPartitions], *, validate_only: bool, raise_errors: bool
) -> Procedure[CreatePartitionsResponse]:
    """Add partitions, up to these totals."""

    def build(keys: list[str], _version: int, limit_ms: int) -> CreatePartitionsRequest:
        cls = CreatePartitionsRequest
        rows = []
        for name in keys:
            placed = topics[name].new_assignments
            assignments = None
            if placed is not None:
                assignments = [
                    cls.CreatePartitionsAssignment(broker_ids=list(brokers)) for brokers in placed
                ]
            count = topics[name].total_count
            rows.append(cls.CreatePartitionsTopic(name=name, count=count, assignments=assignments))
        return cls(topics=rows, timeout_ms=limit_ms, validate_only=validate_only)

    def read(body: Any, _version: int, _keys: list[str]) -> Iterable[Reply]:
        for row in body.results:
            yield Reply(row.name, row.error_code, row, row.error_message)

    ask = Ask(
        ApiKey.CREATE_PARTITIONS,
        tuple(topics),
        "adding partitions to topic",
        build,
        read,
        route=Route.CONTROLLER,
        changes=not validate_only,
    )
    (outcome,) = yield [ask]
    outcome.check(raise_errors=raise_errors)
    row = CreatePartitionsResponse.CreatePartitionsTopicResult
    failed = {
        name: row(name=name, error_code=code_of(error), error_message=str(error))
        for name, error in outcome.failed.items()
    }
    rows = [outcome.done.get(name) or failed[name] for name in topics]
    return CreatePartitionsResponse(throttle_time_ms=0, results=rows)


# A broker says these for good: an election was looked at, and could not be or need not be.
_SAID: Final = frozenset(
    {
        ErrorCode.ELECTION_NOT_NEEDED,
        ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
        ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE,
    }
)


def elect_leaders(
    kind: ElectionType,
    topics: Mapping[str, Sequence[int]] | Sequence[str] | None,
    *,
    raise_errors: bool,
) -> Procedure[ElectLeadersResponse]:
    """Elect the leaders of these partitions, or topics, or of everything.

    ElectionNotNeededError is not raised: who is to lead leads.
    """
    if not isinstance(topics, Mapping):
        rows = yield from describe_topics(topics)
        if topics is None:
            rows = [row for row in rows if not row["error_code"]]
        topics = partitions_of(rows)
    (outcome,) = yield [_ask_elect(kind, topics)]
    refused = dict(outcome.failed)
    for tp, error in refused.items():
        if isinstance(error, ElectionNotNeededError):
            del outcome.failed[tp]
    outcome.check(raise_errors=raise_errors)
    cls = ElectLeadersResponse
    parts = outcome.done | {
        tp: cls.PartitionResult(
            partition_id=tp.partition, error_code=code_of(error), error_message=str(error)
        )
        for tp, error in refused.items()
    }
    results = [
        cls.ReplicaElectionResult(topic=topic, partition_result=[parts[tp] for tp in tps])
        for topic, tps in by_topic(parts)
    ]
    return cls(throttle_time_ms=0, error_code=0, replica_election_results=results)


def _ask_elect(kind: ElectionType, topics: Mapping[str, Sequence[int]]) -> Ask:
    def build(keys: list[TopicPartition], version: int, limit_ms: int) -> ElectLeadersRequest:
        cls = ElectLeadersRequest
        rows = [
            cls.TopicPartitions(topic=topic, partitions=[tp.partition for tp in tps])
            for topic, tps in by_topic(keys)
        ]
        request = cls(topic_partitions=rows, timeout_ms=limit_ms)
        if version >= 1:
            request.election_type = kind
        elif kind is not ElectionType.PREFERRED:
            raise UnsupportedVersionError(
                "electing leaders: this broker (before 2.4) elects preferred replicas only"
            )
        return request

    def read(body: Any, _version: int, keys: list[TopicPartition]) -> Iterable[Reply]:
        if body.error_code:
            for tp in keys:
                yield Reply(tp, body.error_code)
        for topic in body.replica_election_results:
            for part in topic.partition_result:
                tp = TopicPartition(topic.topic, part.partition_id)
                yield Reply(tp, part.error_code, part, part.error_message)

    return Ask(
        ApiKey.ELECT_LEADERS,
        tuple(TopicPartition(topic, one) for topic, numbers in topics.items() for one in numbers),
        "electing the leader of",
        build,
        read,
        route=Route.CONTROLLER,
        changes=True,
        final=_SAID,
    )
