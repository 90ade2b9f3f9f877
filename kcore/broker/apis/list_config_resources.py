"""ListConfigResources v0-1 (KIP-1142): what has a configuration; v0 (KIP-714) lists subscriptions
to client metrics alone.

Left out: loggers, which nobody can alter here.
"""

from __future__ import annotations

from typing import Final

from kcore.broker.alter import BROKER, CLIENT_METRICS, GROUP, TOPIC
from kcore.broker.calls import Call
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import ListConfigResourcesRequest, ListConfigResourcesResponse

_BROKER_LOGGER: Final = 8
_ALL: Final = (TOPIC, BROKER, _BROKER_LOGGER, CLIENT_METRICS, GROUP)


def handle(call: Call, request: ListConfigResourcesRequest) -> ListConfigResourcesResponse:
    """Names by type."""
    wanted = [CLIENT_METRICS] if call.version == 0 else request.resource_types or [*_ALL]
    response = ListConfigResourcesResponse()
    if not set(wanted) <= set(_ALL):
        response.error_code = ErrorCode.UNSUPPORTED_VERSION
        return response
    cluster = call.node.cluster
    nodes = [str(node_id) for node_id in cluster.live]
    names = {
        TOPIC: [topic.name for topic in cluster.topics.topics()],
        BROKER: nodes,
        _BROKER_LOGGER: nodes,
        CLIENT_METRICS: [*cluster.settings.client_metrics],
        GROUP: [*cluster.settings.groups],
    }
    response.config_resources = [
        ListConfigResourcesResponse.ConfigResource(resource_name=name, resource_type=kind)
        for kind in dict.fromkeys(wanted)
        for name in names[kind]
    ]
    return response
