"""ApiVersions v0-4: what the chosen Kafka release offers, of what is served here.

Left out: features (KIP-584) other than `transaction.version`.
"""

from __future__ import annotations

from typing import Final

from kcore.broker.calls import Call
from kcore.coordinator.transactions import TV_BUMPS
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import ApiVersionsRequest, ApiVersionsResponse

_FEATURE: Final = "transaction.version"
_LEVEL_0_VERSION: Final = 4


def handle(call: Call, _request: ApiVersionsRequest) -> ApiVersionsResponse:
    """All of them."""
    return _response(call, ErrorCode.NONE)


def unsupported(call: Call) -> ApiVersionsResponse:
    """KIP-511: to be sent in v0, which every client can read; with the ranges, so that it knows."""
    return _response(call, ErrorCode.UNSUPPORTED_VERSION)


def _response(call: Call, error: ErrorCode) -> ApiVersionsResponse:
    entries = [
        ApiVersionsResponse.ApiVersion(
            api_key=key,
            # librdkafka compresses nothing if the lowest Produce is above 0, so a Kafka that takes
            # 3 and up says 0 (KAFKA-18659).
            min_version=0 if key is ApiKey.PRODUCE else lowest,
            max_version=highest,
        )
        for key, (lowest, highest) in sorted(call.node.versions.items())
    ]
    response = ApiVersionsResponse(error_code=error, api_keys=entries)
    level = call.node.transactions.version
    if level is not None:
        response.finalized_features_epoch = 0
        response.supported_features = [
            # Before version 4 clients do not take a lowest level of 0 (KAFKA-17011).
            ApiVersionsResponse.SupportedFeatureKey(
                name=_FEATURE,
                min_version=0 if call.version >= _LEVEL_0_VERSION else 1,
                max_version=TV_BUMPS,
            )
        ]
        if level:
            response.finalized_features = [
                ApiVersionsResponse.FinalizedFeatureKey(
                    name=_FEATURE, max_version_level=level, min_version_level=level
                )
            ]
    return response
