"""UnregisterController v0 (Kafka 4.4): each node is a controller, too. One that is up comes back at
once, as at a Kafka.

Left out: so does one that is down.
"""

from __future__ import annotations

from kcore.broker.calls import Call
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import UnregisterControllerRequest, UnregisterControllerResponse


def handle(call: Call, request: UnregisterControllerRequest) -> UnregisterControllerResponse:
    """Any but the one that is asked for it."""
    cluster, controller_id = call.node.cluster, request.controller_id
    if controller_id == cluster.controller_id:
        return _refused(
            ErrorCode.INVALID_REQUEST, "Controller cannot unregister itself while it is active."
        )
    if controller_id not in cluster.node_ids:
        return _refused(
            ErrorCode.CONTROLLER_ID_NOT_REGISTERED,
            f"Controller ID {controller_id} is not currently registered.",
        )
    return UnregisterControllerResponse()


def _refused(code: ErrorCode, why: str) -> UnregisterControllerResponse:
    return UnregisterControllerResponse(error_code=code, error_message=why)
