"""CreateTopics v2-7, at any node (there is no controller of its own)."""

from __future__ import annotations

from collections import Counter

from kcore.broker.batches import RefusedError
from kcore.broker.calls import Call
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import CreateTopicsRequest, CreateTopicsResponse

_DEFAULT = -1
# Where a setting comes from (Java: ConfigEntry.ConfigSource).
_OF_TOPIC, _DEFAULT_CONFIG = 1, 5


def handle(call: Call, request: CreateTopicsRequest) -> CreateTopicsResponse:
    """Make topics; each by itself succeeds or fails."""
    response = CreateTopicsResponse()
    times = Counter(entry.name for entry in request.topics)
    for name in times:
        entry = next(entry for entry in request.topics if entry.name == name)
        result = CreateTopicsResponse.CreatableTopicResult(name=name, error_message=None)
        try:
            if times[name] > 1:
                raise RefusedError(ErrorCode.INVALID_REQUEST, "named more than once")
            _create(call, entry, result, dry_run=request.validate_only)
        except RefusedError as refused:
            result.error_code = refused.code
            result.error_message = refused.why
        response.topics.append(result)
    return response


def _create(
    call: Call,
    entry: CreateTopicsRequest.CreatableTopic,
    result: CreateTopicsResponse.CreatableTopicResult,
    *,
    dry_run: bool,
) -> None:
    assignments: list[list[int]] | None = None
    count = entry.num_partitions
    if entry.assignments:
        by_number = {one.partition_index: one.broker_ids for one in entry.assignments}
        if count != _DEFAULT or sorted(by_number) != list(range(len(entry.assignments))):
            raise RefusedError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT, "partitions are not numbered from 0"
            )
        assignments = [by_number[number] for number in range(len(by_number))]
        count = len(assignments)
    elif count == _DEFAULT:
        count = call.node.cluster.config.num_partitions
    factor = 1 if entry.replication_factor == _DEFAULT else entry.replication_factor
    topic = call.node.cluster.topics.create(
        entry.name,
        count,
        {config.name: config.value for config in entry.configs},
        replication_factor=factor,
        assignments=assignments,
        dry_run=dry_run,
    )
    result.num_partitions = count
    result.replication_factor = len(assignments[0]) if assignments else factor
    result.configs = [
        CreateTopicsResponse.CreatableTopicConfigs(
            name=name,
            value=value,
            config_source=_OF_TOPIC if name in topic.settings else _DEFAULT_CONFIG,
        )
        for name, value in sorted(topic.options().items())
    ]
    if not dry_run:
        result.topic_id = topic.topic_id
