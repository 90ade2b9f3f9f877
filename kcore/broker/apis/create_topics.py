"""CreateTopics v2-7, at any node (there is no controller of its own)."""

from __future__ import annotations

from collections import Counter

from kcore.broker.batches import RefusedError
from kcore.broker.calls import Call
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import CreateTopicsRequest, CreateTopicsResponse

_DEFAULT = -1


def handle(call: Call, request: CreateTopicsRequest) -> CreateTopicsResponse:
    """Make topics; each by itself succeeds or fails. Kafka looks at all names before it makes the
    first: two that are alike but for dots are made by one request, and not by two.
    """
    response = CreateTopicsResponse()
    made: set[str] = set()
    times = Counter(entry.name for entry in request.topics)
    for name in times:
        entry = next(entry for entry in request.topics if entry.name == name)
        result = CreateTopicsResponse.CreatableTopicResult(name=name, error_message=None)
        try:
            if times[name] > 1:
                raise RefusedError(ErrorCode.INVALID_REQUEST, "named more than once")
            _create(call, entry, result, made, dry_run=request.validate_only)
            made.add(name)
        except RefusedError as refused:
            result.error_code = refused.code
            result.error_message = refused.why
        response.topics.append(result)
    return response


def _create(
    call: Call,
    entry: CreateTopicsRequest.CreatableTopic,
    result: CreateTopicsResponse.CreatableTopicResult,
    made: set[str],
    *,
    dry_run: bool,
) -> None:
    config = call.node.cluster.config
    assignments = _assignments(entry) if entry.assignments else None
    count = len(assignments) if assignments is not None else entry.num_partitions
    if count == _DEFAULT:
        count = config.num_partitions
    factor = entry.replication_factor
    if factor == _DEFAULT:
        factor = config.default_replication_factor
    topic = call.node.cluster.topics.create(
        entry.name,
        count,
        {config.name: config.value for config in entry.configs},
        replication_factor=factor,
        assignments=assignments,
        dry_run=dry_run,
        beside=made,
    )
    result.num_partitions = count
    result.replication_factor = len(assignments[0]) if assignments else factor
    result.configs = [
        CreateTopicsResponse.CreatableTopicConfigs(
            name=option.name,
            value=option.value,
            read_only=option.read_only,
            config_source=option.source,
        )
        for option in call.node.cluster.settings.of_topic(topic.settings, call.node.node_id)
    ]
    if not dry_run:
        result.topic_id = topic.topic_id


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
    return [by_number[number] for number in range(len(by_number))]
