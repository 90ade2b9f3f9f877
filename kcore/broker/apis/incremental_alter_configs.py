"""IncrementalAlterConfigs v0-1 (KIP-339): topics and brokers.

Left out: groups, client metrics, loggers.
"""

from __future__ import annotations

from collections import Counter

from kcore.broker.apis.describe_configs import BROKER, TOPIC, check_node_id
from kcore.broker.batches import RefusedError
from kcore.broker.calls import Call
from kcore.broker.options import OPTIONS, SYNONYMS
from kcore.broker.settings import EVERY_NODE, changed, checked_topic
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse

Wanted = IncrementalAlterConfigsRequest.AlterConfigsResource

_TOPIC_KINDS = {name: name for name in OPTIONS}


def handle(call: Call, request: IncrementalAlterConfigsRequest) -> IncrementalAlterConfigsResponse:
    """Each resource by itself succeeds or fails."""
    times = Counter((entry.resource_type, entry.resource_name) for entry in request.resources)
    response = IncrementalAlterConfigsResponse()
    for entry in request.resources:
        result = IncrementalAlterConfigsResponse.AlterConfigsResourceResponse(
            resource_type=entry.resource_type,
            resource_name=entry.resource_name,
            error_message=None,
        )
        try:
            if times[entry.resource_type, entry.resource_name] > 1:
                raise RefusedError(
                    ErrorCode.INVALID_REQUEST, "Each resource must appear at most once."
                )
            _alter(call, entry, dry_run=request.validate_only)
        except RefusedError as refused:
            result.error_code = refused.code
            result.error_message = refused.why
        response.responses.append(result)
    return response


def _alter(call: Call, entry: Wanted, *, dry_run: bool) -> None:
    if entry.resource_type == TOPIC:
        _alter_topic(call, entry, dry_run=dry_run)
    elif entry.resource_type == BROKER:
        _alter_node(call, entry, dry_run=dry_run)
    else:
        raise RefusedError(
            ErrorCode.INVALID_REQUEST, f"Unknown resource type {entry.resource_type}"
        )


def _alter_topic(call: Call, entry: Wanted, *, dry_run: bool) -> None:
    cluster = call.node.cluster
    name = entry.resource_name
    if not name:
        raise RefusedError(ErrorCode.INVALID_REQUEST, "Default topic resources are not allowed.")
    topic = cluster.topics.get(name)
    if topic is None:
        raise RefusedError(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist."
        )
    own = changed(topic.settings, _operations(entry), _TOPIC_KINDS)
    checked_topic(own)
    if not dry_run:
        cluster.topics.configure(topic, own)
        cluster.configured([topic], call.now_ms)


def _alter_node(call: Call, entry: Wanted, *, dry_run: bool) -> None:
    cluster = call.node.cluster
    name = entry.resource_name
    if name != EVERY_NODE:
        check_node_id(call, name)
    wanted = changed(cluster.settings.nodes.get(name, {}), _operations(entry), SYNONYMS)
    cluster.settings.check_node(wanted)
    if not dry_run:
        cluster.settings.nodes[name] = wanted
        cluster.topics.reconfigure()
        cluster.configured(cluster.topics.topics(), call.now_ms)


def _operations(entry: Wanted) -> list[tuple[str, int, str | None]]:
    return [(one.name, one.config_operation, one.value) for one in entry.configs]
