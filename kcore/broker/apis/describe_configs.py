"""DescribeConfigs v1-4: topics, and of brokers what is set by option here.

Left out: synonyms, documentation, groups, client metrics.
"""

from __future__ import annotations

from kcore.broker.batches import RefusedError
from kcore.broker.calls import Call
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import DescribeConfigsRequest, DescribeConfigsResponse

# Java: ConfigResource.Type and DescribeConfigsResponse.ConfigSource.
_TOPIC, _BROKER = 2, 4
_OF_TOPIC, _STATIC_BROKER, _DEFAULT = 1, 4, 5


def handle(call: Call, request: DescribeConfigsRequest) -> DescribeConfigsResponse:
    """The options of each resource."""
    response = DescribeConfigsResponse()
    for entry in request.resources:
        result = DescribeConfigsResponse.DescribeConfigsResult(
            resource_type=entry.resource_type,
            resource_name=entry.resource_name,
            error_message=None,
        )
        try:
            options = _options(call, entry.resource_type, entry.resource_name)
        except RefusedError as refused:
            result.error_code = refused.code
            result.error_message = refused.why
            options = {}
        keys = entry.configuration_keys
        result.configs = [
            DescribeConfigsResponse.DescribeConfigsResourceResult(
                name=name,
                value=value,
                config_source=source,
                read_only=source == _STATIC_BROKER,
                documentation=None,
            )
            for name, (value, source) in sorted(options.items())
            if keys is None or name in keys
        ]
        response.results.append(result)
    return response


def _options(call: Call, kind: int, name: str) -> dict[str, tuple[str, int]]:
    """Name -> value and where it comes from; RefusedError if there is no such resource."""
    cluster = call.node.cluster
    if kind == _TOPIC:
        topic = cluster.topics.get(name)
        if topic is None:
            raise RefusedError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "no such topic")
        return {
            key: (value, _OF_TOPIC if key in topic.settings else _DEFAULT)
            for key, value in topic.options().items()
        }
    if kind != _BROKER or name not in {"", str(call.node.node_id)}:
        raise RefusedError(ErrorCode.INVALID_REQUEST, f"resource {name!r} of type {kind}")
    config = cluster.config
    shown = {
        "auto.create.topics.enable": str(config.auto_create_topics).lower(),
        "fetch.max.bytes": str(config.fetch_max_bytes),
        "group.initial.rebalance.delay.ms": str(
            config.coordinator.group_initial_rebalance_delay_ms
        ),
        "node.id": str(call.node.node_id),
        "num.partitions": str(config.num_partitions),
        "socket.request.max.bytes": str(config.max_request_bytes),
    }
    return {key: (value, _STATIC_BROKER) for key, value in shown.items()}
