"""DescribeClientQuotas v0-1: there are none (KIP-546). `kafka-configs` asks for them beside the
SCRAM credentials of a user.

Left out: quotas, and so AlterClientQuotas; what is wrong with a filter.
"""

from __future__ import annotations

from kcore.broker.calls import Call
from kcore.wire.messages import DescribeClientQuotasRequest, DescribeClientQuotasResponse


def handle(_call: Call, _request: DescribeClientQuotasRequest) -> DescribeClientQuotasResponse:
    """None, whoever is asked for."""
    return DescribeClientQuotasResponse(entries=[], error_message=None)
