"""FindCoordinator v0-6: who keeps a group, a transactional id or (v6) the state of a
share-partition, which the nodes ask each other, not clients.
"""

from __future__ import annotations

from kcore.broker.calls import Call
from kcore.broker.partitions import NOBODY
from kcore.broker.share.keeping import STATE_PARTITIONS, is_coordinator_key
from kcore.coordinator import partition_for
from kcore.coordinator.journal import SHARES_TOPIC
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import FindCoordinatorRequest, FindCoordinatorResponse

_MANY_VERSION = 4
_SHARE_VERSION = 6
_GROUP, _TRANSACTION, _SHARE = 0, 1, 2

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
    cluster = call.node.cluster
    if key_type == _GROUP:
        node_id = cluster.coordinator_of(key)
    elif key_type == _TRANSACTION:
        node_id = cluster.transaction_coordinator_of(key)
    elif key_type == _SHARE and call.version >= _SHARE_VERSION and is_coordinator_key(key):
        node_id = cluster.internal.keeper(SHARES_TOPIC, partition_for(key, STATE_PARTITIONS))
    else:
        what = "nothing of this kind has a coordinator here"
        return _not_found(key, ErrorCode.INVALID_REQUEST, what)
    if node_id == NOBODY:
        what = "The coordinator is not available."
        return _not_found(key, ErrorCode.COORDINATOR_NOT_AVAILABLE, what)
    node = cluster.addresses[node_id]
    # So a Kafka says in these versions; later ones have an empty text.
    fine = "NONE" if call.version < _MANY_VERSION else ""
    return Found(key=key, node_id=node.node_id, host=node.host, port=node.port, error_message=fine)


def _not_found(key: str, code: ErrorCode, what: str) -> Found:
    return Found(key=key, node_id=-1, port=-1, error_code=code, error_message=what)
