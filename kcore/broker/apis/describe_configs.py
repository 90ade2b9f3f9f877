"""DescribeConfigs v1-4: topics, of brokers what is set by option here, share and streams groups,
subscriptions to client metrics.

Left out: documentation, other groups.
"""

from __future__ import annotations

from kcore.broker.alter import BROKER, CLIENT_METRICS, GROUP, TOPIC, check_node_id
from kcore.broker.batches import RefusedError
from kcore.broker.calls import Call
from kcore.broker.settings import EVERY_NODE, Described
from kcore.broker.topics import check_name
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import DescribeConfigsRequest, DescribeConfigsResponse

Result = DescribeConfigsResponse.DescribeConfigsResult
Option = DescribeConfigsResponse.DescribeConfigsResourceResult


def handle(call: Call, request: DescribeConfigsRequest) -> DescribeConfigsResponse:
    """The options of each resource."""
    response = DescribeConfigsResponse()
    for entry in request.resources:
        result = Result(
            resource_type=entry.resource_type,
            resource_name=entry.resource_name,
            error_message="",
        )
        try:
            options = _options(call, entry.resource_type, entry.resource_name)
        except RefusedError as refused:
            result.error_code = refused.code
            result.error_message = refused.why
            options = []
        keys = entry.configuration_keys
        result.configs = [
            _shown(option, synonyms=request.include_synonyms)
            for option in options
            if not keys or option.name in keys
        ]
        response.results.append(result)
    return response


def _shown(option: Described, *, synonyms: bool) -> Option:
    return Option(
        name=option.name,
        value=option.value,
        config_source=option.source,
        read_only=option.read_only,
        is_sensitive=option.sensitive,
        config_type=option.kind,
        documentation=None,
        synonyms=[
            DescribeConfigsResponse.DescribeConfigsSynonym(
                name=layer.name, value=layer.value, source=layer.source
            )
            for layer in (option.layers if synonyms else ())
        ],
    )


def _options(call: Call, kind: int, name: str) -> list[Described]:
    """RefusedError if there is no such resource."""
    cluster = call.node.cluster
    if kind == TOPIC:
        check_name(name)
        topic = cluster.topics.get(name)
        if topic is None:
            raise RefusedError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "")
        return cluster.settings.of_topic(topic.settings, call.node.node_id)
    if kind == GROUP:
        if not name:
            raise RefusedError(ErrorCode.INVALID_REQUEST, "Group name must not be empty")
        return cluster.settings.of_group(name, call.node.node_id)
    if kind == CLIENT_METRICS:
        if not name:
            raise RefusedError(
                ErrorCode.INVALID_REQUEST, "Client metrics subscription name must not be empty"
            )
        return cluster.settings.of_client_metrics(name)
    if kind != BROKER:
        raise RefusedError(ErrorCode.INVALID_REQUEST, f"Unknown resource type {kind}")
    if name == EVERY_NODE:
        return cluster.settings.of_every_node()
    check_node_id(call, name)
    return cluster.settings.of_node(call.node.node_id)
