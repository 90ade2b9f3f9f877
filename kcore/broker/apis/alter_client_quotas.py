"""AlterClientQuotas v0-1 (KIP-546): each entity by itself succeeds or fails.

Left out: names of hosts as addresses, other than localhost.
"""

from __future__ import annotations

from collections import Counter

from kcore.broker.batches import RefusedError
from kcore.broker.calls import Call
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import AlterClientQuotasRequest, AlterClientQuotasResponse

_Parts = tuple[tuple[str, str | None], ...]


def handle(call: Call, request: AlterClientQuotasRequest) -> AlterClientQuotasResponse:
    """Set quotas, or take them away."""
    from kcore.broker.quotas.table import entity_of  # noqa: PLC0415 - few brokers have any

    named = [
        entity_of((part.entity_type, part.entity_name) for part in entry.entity)
        for entry in request.entries
    ]
    times = Counter(named)
    response = AlterClientQuotasResponse()
    for entity, entry in dict(zip(named, request.entries, strict=True)).items():
        quotas = call.node.cluster.with_quotas()
        result = AlterClientQuotasResponse.EntryData(
            error_message=None,
            entity=[
                AlterClientQuotasResponse.EntityData(entity_type=kind, entity_name=name)
                for kind, name in entity
            ],
        )
        changes = {one.key: None if one.remove else one.value for one in entry.ops}
        try:
            if times[entity] > 1 or len(changes) < len(entry.ops):
                raise _repeated(entity)
            if request.validate_only:
                quotas.check(entity, changes)
            else:
                quotas.set(entity, changes)
        except RefusedError as refused:
            result.error_code = refused.code
            result.error_message = refused.why
        response.entries.append(result)
    return response


def _repeated(entity: _Parts) -> RefusedError:
    names = ", ".join(f"{kind}={'null' if name is None else name}" for kind, name in entity)
    return RefusedError(
        ErrorCode.INVALID_REQUEST,
        f"Ignoring duplicate entity ClientQuotaEntity(entries={{{names[:1_000]}}})",
    )
