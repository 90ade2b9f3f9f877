"""DescribeCluster v0-2. Left out: controllers as an endpoint (KIP-919)."""

from __future__ import annotations

from kcore.broker.calls import Call
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import DescribeClusterRequest, DescribeClusterResponse

_BROKERS, _CONTROLLERS = 1, 2


def handle(call: Call, request: DescribeClusterRequest) -> DescribeClusterResponse:
    """The nodes; those that are down if that is asked for (KIP-1073)."""
    cluster = call.node.cluster
    if request.endpoint_type != _BROKERS:
        return DescribeClusterResponse(
            error_code=ErrorCode.MISMATCHED_ENDPOINT_TYPE
            if request.endpoint_type == _CONTROLLERS
            else ErrorCode.UNSUPPORTED_ENDPOINT_TYPE,
            error_message="these endpoints are brokers",
            cluster_id=cluster.config.cluster_id,
        )
    wanted = cluster.node_ids if request.include_fenced_brokers else cluster.live
    return DescribeClusterResponse(
        cluster_id=cluster.config.cluster_id,
        controller_id=cluster.controller_id,
        brokers=[
            DescribeClusterResponse.DescribeClusterBroker(
                broker_id=node.node_id,
                host=node.host,
                port=node.port,
                rack=node.rack,
                is_fenced=node.node_id not in cluster.live,
            )
            for node in map(cluster.addresses.__getitem__, wanted)
        ],
    )
