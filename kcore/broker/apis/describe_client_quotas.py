"""DescribeClientQuotas v0-1 (KIP-546)."""

from __future__ import annotations

from kcore.broker.batches import RefusedError
from kcore.broker.calls import Call
from kcore.wire.messages import DescribeClientQuotasRequest, DescribeClientQuotasResponse


def handle(call: Call, request: DescribeClientQuotasRequest) -> DescribeClientQuotasResponse:
    """The entities that match all of what is asked for."""
    from kcore.broker.quotas.table import Table  # noqa: PLC0415 - few brokers have any

    table = call.node.cluster.quotas or Table()
    asked = [(one.entity_type, one.match_type, one.match) for one in request.components]
    try:
        found = table.find(asked, strict=request.strict)
    except RefusedError as refused:
        return DescribeClientQuotasResponse(
            error_code=refused.code, error_message=refused.why, entries=None
        )
    cls = DescribeClientQuotasResponse
    return cls(
        error_message="",
        entries=[
            cls.EntryData(
                entity=[
                    cls.EntityData(entity_type=kind, entity_name=name) for kind, name in entity
                ],
                values=[cls.ValueData(key=key, value=value) for key, value in values.items()],
            )
            for entity, values in found.items()
        ],
    )
