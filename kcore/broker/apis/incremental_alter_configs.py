"""IncrementalAlterConfigs v0-1 (KIP-339): topics, brokers, client metrics, groups but classic ones.

Left out: other groups, loggers.
"""

from __future__ import annotations

from functools import partial

from kcore.broker.alter import Change, alter
from kcore.broker.calls import Call
from kcore.broker.settings import changed
from kcore.wire.messages import IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse


def handle(call: Call, request: IncrementalAlterConfigsRequest) -> IncrementalAlterConfigsResponse:
    """Each resource by itself succeeds or fails."""

    def change(entry: IncrementalAlterConfigsRequest.AlterConfigsResource) -> Change:
        wanted = [(one.name, one.config_operation, one.value) for one in entry.configs]
        return partial(changed, wanted)

    found = alter(call, request.resources, change, dry_run=request.validate_only)
    answer = IncrementalAlterConfigsResponse.AlterConfigsResourceResponse
    return IncrementalAlterConfigsResponse(responses=[answer(**fields) for fields in found])
