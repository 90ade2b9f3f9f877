"""IncrementalAlterConfigs v0-1 (KIP-339): topics and brokers.

Left out: groups, client metrics, loggers.
"""

from __future__ import annotations

from collections import Counter
from functools import partial

from kcore.broker.alter import alter
from kcore.broker.batches import RefusedError
from kcore.broker.calls import Call
from kcore.broker.settings import changed
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse


def handle(call: Call, request: IncrementalAlterConfigsRequest) -> IncrementalAlterConfigsResponse:
    """Each resource by itself succeeds or fails."""
    times = Counter((entry.resource_type, entry.resource_name) for entry in request.resources)
    response = IncrementalAlterConfigsResponse()
    for entry in request.resources:
        kind, name = entry.resource_type, entry.resource_name
        result = IncrementalAlterConfigsResponse.AlterConfigsResourceResponse(
            resource_type=kind, resource_name=name, error_message=None
        )
        wanted = [(one.name, one.config_operation, one.value) for one in entry.configs]
        change = partial(changed, wanted)
        try:
            if times[kind, name] > 1:
                raise RefusedError(
                    ErrorCode.INVALID_REQUEST, "Each resource must appear at most once."
                )
            alter(call, kind, name, change, dry_run=request.validate_only)
        except RefusedError as refused:
            result.error_code = refused.code
            result.error_message = refused.why
        response.responses.append(result)
    return response
