"""SaslAuthenticate v0-2: a step of the mechanism that SaslHandshake has named."""

from __future__ import annotations

from kcore.broker.calls import PARKED, Call
from kcore.broker.sasl.mechanisms import RefusalError
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import SaslAuthenticateRequest, SaslAuthenticateResponse


def handle(call: Call, request: SaslAuthenticateRequest) -> SaslAuthenticateResponse | str:
    """What the mechanism says; who is refused is told so after a while, and turned away."""
    sasl = call.link.sasl
    if sasl is None or not sasl.proving:
        return SaslAuthenticateResponse(
            error_code=ErrorCode.ILLEGAL_SASL_STATE,
            error_message="SaslAuthenticate request received after successful authentication",
        )
    wall_ms = call.node.cluster.wall_ms(call.now_ms)
    try:
        said, lasts_ms = sasl.step(bytes(request.auth_bytes), call.now_ms, wall_ms)
    except RefusalError as refused:
        answer = SaslAuthenticateResponse(
            error_code=ErrorCode.SASL_AUTHENTICATION_FAILED, error_message=str(refused)
        )
        call.node.turn_away(call, answer)
        return PARKED
    call.link.signed_in()
    return SaslAuthenticateResponse(auth_bytes=said or b"", session_lifetime_ms=lasts_ms)
