"""CreateTopics v2-7, at any node (there is no controller of its own)."""

from __future__ import annotations

from collections import Counter
from functools import partial

from kcore.broker.batches import RefusedError
from kcore.broker.calls import Call
from kcore.broker.config import PARTITIONS_MAX
from kcore.broker.mutations import Mutations, mutations_of, text_of
from kcore.broker.topics import check_even
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import CreateTopicsRequest, CreateTopicsResponse

_DEFAULT = -1
_STRICT_VERSION = 6  # from which a quota refuses (KIP-599)


def handle(call: Call, request: CreateTopicsRequest) -> CreateTopicsResponse:
    """Make topics; each by itself succeeds or fails. Kafka looks at all names before it makes the
    first: two that are alike but for dots are made by one request, and not by two.
    """
    response = CreateTopicsResponse()
    mutations = mutations_of(call, _STRICT_VERSION)
    made: set[str] = set()
    times = Counter(entry.name for entry in request.topics)
    total = sum(_count(call, entry) for entry in request.topics)
    for name, entry in {entry.name: entry for entry in request.topics}.items():
        result = CreateTopicsResponse.CreatableTopicResult(name=name, error_message=None)
        try:
            if total > PARTITIONS_MAX:
                raise RefusedError(
                    ErrorCode.POLICY_VIOLATION,
                    "Excessively large number of partitions per request.",
                )
            if times[name] > 1:
                raise RefusedError(ErrorCode.INVALID_REQUEST, "named more than once")
            _create(call, entry, result, made, mutations, dry_run=request.validate_only)
            made.add(name)
        except RefusedError as refused:
            result.error_code = refused.code
            result.error_message = text_of(refused)
        response.topics.append(result)
    response.throttle_time_ms = mutations.throttle_ms
    return response


def _create(
    call: Call,
    entry: CreateTopicsRequest.CreatableTopic,
    result: CreateTopicsResponse.CreatableTopicResult,
    made: set[str],
    mutations: Mutations,
    *,
    dry_run: bool,
) -> None:
    config = call.node.cluster.config
    settings: dict[str, str | None] = {**call.node.cluster.internal.settings_of(entry.name)}
    settings.update((config.name, config.value) for config in entry.configs)
    call.node.cluster.topics.checked(entry.name, settings, beside=made)
    assignments = _assignments(entry) if entry.assignments else None
    count = _count(call, entry)
    call.node.cluster.internal.check_count(entry.name, count)
    factor = entry.replication_factor
    if factor == _DEFAULT:
        factor = config.default_replication_factor
    create = partial(
        call.node.cluster.topics.create,
        entry.name,
        count,
        settings,
        replication_factor=factor,
        assignments=assignments,
        beside=made,
    )
    if not mutations.unlimited:
        create(dry_run=True)  # only what can be counts
        mutations.check(count)
    topic = create(dry_run=dry_run)
    result.num_partitions = count
    result.replication_factor = len(assignments[0]) if assignments else factor
    result.configs = [
        CreateTopicsResponse.CreatableTopicConfigs(
            name=option.name,
            value=settings.get(option.name, option.value),  # as it was given
            read_only=option.read_only,
            config_source=option.source,
        )
        for option in call.node.cluster.settings.of_topic(topic.settings, call.node.node_id)
    ]
    result.topic_id = topic.topic_id


def _count(call: Call, entry: CreateTopicsRequest.CreatableTopic) -> int:
    """How many partitions a topic is to have."""
    if entry.assignments:
        return len(entry.assignments)
    if entry.num_partitions == _DEFAULT:
        return call.node.cluster.config.num_partitions
    return int(entry.num_partitions)


def _assignments(entry: CreateTopicsRequest.CreatableTopic) -> list[list[int]]:
    """The nodes of each partition."""
    for given, what in ((entry.replication_factor, "replication factor"),
                        (entry.num_partitions, "number of partitions")):  # fmt: skip
        if given != _DEFAULT:
            raise RefusedError(
                ErrorCode.INVALID_REQUEST,
                f"A manual partition assignment was specified, but {what} was not set to -1.",
            )
    by_number = {one.partition_index: one.broker_ids for one in entry.assignments}
    if sorted(by_number) != list(range(len(entry.assignments))):
        raise RefusedError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "partitions should be a consecutive 0-based integer sequence",
        )
    assignments = [by_number[number] for number in range(len(by_number))]
    check_even(assignments, len(assignments[0]))
    return assignments
