"""FindCoordinator v0-6 for groups and transactions. Left out: share groups (INVALID_REQUEST)."""

from __future__ import annotations

from kcore.broker.calls import Call
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import FindCoordinatorRequest, FindCoordinatorResponse

_MANY_VERSION = 4
_GROUP, _TRANSACTION = 0, 1

Found = FindCoordinatorResponse.Coordinator


def handle(call: Call, request: FindCoordinatorRequest) -> FindCoordinatorResponse:
    """Which node keeps a group."""
    if call.version >= _MANY_VERSION:
        return FindCoordinatorResponse(
            coordinators=[_find(call, key, request.key_type) for key in request.coordinator_keys]
        )
    found = _find(call, request.key, request.key_type)
    return FindCoordinatorResponse(
        error_code=found.error_code,
        error_message=found.error_message,
        node_id=found.node_id,
        host=found.host,
        port=found.port,
    )


def _find(call: Call, key: str, key_type: int) -> Found:
    if key_type not in {_GROUP, _TRANSACTION}:
        return Found(
            key=key,
            node_id=-1,
            port=-1,
            error_code=ErrorCode.INVALID_REQUEST,
            error_message="only groups and transactions have coordinators here",
        )
    cluster = call.node.cluster
    find = cluster.coordinator_of if key_type == _GROUP else cluster.transaction_coordinator_of
    node = cluster.addresses[find(key)]
    # So a Kafka says in these versions; later ones have no text.
    fine = "NONE" if call.version < _MANY_VERSION else None
    return Found(key=key, node_id=node.node_id, host=node.host, port=node.port, error_message=fine)
