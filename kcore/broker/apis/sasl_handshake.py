"""SaslHandshake v0-1: which mechanism a client will prove by who it is.

Nodes whose clients do not have to answer ILLEGAL_SASL_STATE, as a Kafka's listener without SASL.
"""

from __future__ import annotations

from kcore.broker.calls import PARKED, Call
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import SaslHandshakeRequest, SaslHandshakeResponse

_BARE_VERSION = 0  # what follows has no headers


def handle(call: Call, request: SaslHandshakeRequest) -> SaslHandshakeResponse | str:
    """Every mechanism that is offered, in any case."""
    sasl, config = call.link.sasl, call.node.cluster.config.sasl
    if sasl is None or config is None or not sasl.agreeing:
        return SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE)
    answer = SaslHandshakeResponse(mechanisms=list(config.mechanisms))
    wall_ms = call.node.cluster.wall_ms(call.now_ms)
    if not sasl.agree(request.mechanism, wall_ms, bare=call.version == _BARE_VERSION):
        if sasl.user is not None:
            call.node.hang_up(call)  # a renewal fails without a word (Kafka does so, too)
            return PARKED
        answer.error_code = ErrorCode.UNSUPPORTED_SASL_MECHANISM
        call.node.turn_away(call, answer)
        return PARKED
    return answer
