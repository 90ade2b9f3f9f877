"""InitProducerId v0-5 for idempotent producers. Left out: transactional ids (INVALID_REQUEST)."""

from __future__ import annotations

from typing import Final

from kcore.broker.calls import Call
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import InitProducerIdRequest, InitProducerIdResponse

# An epoch that cannot be raised once more (KIP-360): the producer gets a new id instead.
_LAST_EPOCH: Final = 0x7FFE


def handle(call: Call, request: InitProducerIdRequest) -> InitProducerIdResponse:
    """A new id, or (KIP-360) the next epoch of the one the producer has."""
    if request.transactional_id is not None:
        return InitProducerIdResponse(error_code=ErrorCode.INVALID_REQUEST, producer_epoch=-1)
    if request.producer_id >= 0 and 0 <= request.producer_epoch < _LAST_EPOCH:
        return InitProducerIdResponse(
            producer_id=request.producer_id, producer_epoch=request.producer_epoch + 1
        )
    return InitProducerIdResponse(producer_id=call.node.cluster.new_producer_id())
