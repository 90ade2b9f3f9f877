"""CreatePartitions v0-3, at any node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from kcore.broker.batches import RefusedError
from kcore.broker.calls import Call
from kcore.broker.config import PARTITIONS_MAX
from kcore.broker.mutations import Mutations, mutations_of, text_of
from kcore.broker.topics import check_even
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import CreatePartitionsRequest, CreatePartitionsResponse

_STRICT_VERSION = 3  # from which a quota refuses (KIP-599)


def handle(call: Call, request: CreatePartitionsRequest) -> CreatePartitionsResponse:
    """Give topics more partitions; each by itself succeeds or fails."""
    response = CreatePartitionsResponse()
    mutations = mutations_of(call, _STRICT_VERSION)
    times = Counter(entry.name for entry in request.topics)
    once = [entry for entry in request.topics if times[entry.name] == 1]
    if _additional(call, once) > PARTITIONS_MAX:
        return _all_refused(request)
    for entry in {entry.name: entry for entry in request.topics}.values():
        result = CreatePartitionsResponse.CreatePartitionsTopicResult(name=entry.name)
        try:
            if times[entry.name] > 1:
                raise RefusedError(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
            _extend(call, entry, mutations, dry_run=request.validate_only)
        except RefusedError as refused:
            result.error_code = refused.code
            result.error_message = text_of(refused)
        response.results.append(result)
    response.throttle_time_ms = mutations.throttle_ms
    return response


def _all_refused(request: CreatePartitionsRequest) -> CreatePartitionsResponse:
    response = CreatePartitionsResponse()
    for entry in request.topics:
        response.results.append(
            CreatePartitionsResponse.CreatePartitionsTopicResult(
                name=entry.name,
                error_code=ErrorCode.POLICY_VIOLATION,
                error_message="Excessively large number of additional partitions per request.",
            )
        )
    return response


def _additional(
    call: Call, entries: Iterable[CreatePartitionsRequest.CreatePartitionsTopic]
) -> int:
    """How many partitions a request wants, of topics that there are."""
    topics = call.node.cluster.topics
    wanted = ((topics.get(entry.name), entry.count) for entry in entries)
    return sum(
        max(count - len(topic.partitions), 0) for topic, count in wanted if topic is not None
    )


def _extend(
    call: Call,
    entry: CreatePartitionsRequest.CreatePartitionsTopic,
    mutations: Mutations,
    *,
    dry_run: bool,
) -> None:
    topics = call.node.cluster.topics
    topic = topics.get(entry.name)
    if topic is None:
        raise RefusedError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "")
    call.node.cluster.internal.check_count(entry.name, entry.count)
    known = len(topic.partitions)
    if entry.count == known:
        raise RefusedError(ErrorCode.INVALID_PARTITIONS, f"Topic already has {known} partition(s).")
    if entry.count < known:
        raise RefusedError(
            ErrorCode.INVALID_PARTITIONS,
            f"The topic {topic.name} currently has {known} partition(s);"
            f" {entry.count} would not be an increase.",
        )
    more = entry.count - known
    factor = len(topic.partitions[0].replicas)
    assignments = None
    if entry.assignments is not None:
        assignments = [one.broker_ids for one in entry.assignments]
        if len(assignments) != more:
            raise RefusedError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"Attempted to add {more} additional partition(s), but only {len(assignments)}"
                " assignment(s) were specified.",
            )
        check_even(assignments, factor)
    if not mutations.unlimited:
        topics.add_partitions(topic, more, factor, assignments, dry_run=True)
        mutations.check(more)
    topics.add_partitions(topic, more, factor, assignments, dry_run=dry_run)
