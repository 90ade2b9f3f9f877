"""AlterConfigs v0-2: topics and brokers; what is not named is as if it had never been set.

Left out: loggers.
"""

from __future__ import annotations

from functools import partial

from kcore.broker.alter import Change, alter
from kcore.broker.calls import Call
from kcore.broker.settings import Operation, replaced
from kcore.wire.messages import AlterConfigsRequest, AlterConfigsResponse


def handle(call: Call, request: AlterConfigsRequest) -> AlterConfigsResponse:
    """Each resource by itself succeeds or fails."""

    def change(entry: AlterConfigsRequest.AlterConfigsResource) -> Change:
        return partial(replaced, [(one.name, Operation.SET, one.value) for one in entry.configs])

    found = alter(call, request.resources, change, dry_run=request.validate_only)
    answer = AlterConfigsResponse.AlterConfigsResourceResponse
    return AlterConfigsResponse(responses=[answer(**fields) for fields in found])
