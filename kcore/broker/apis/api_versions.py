"""ApiVersions v0-5: what the chosen Kafka release offers, of what is served here.

Left out: features (KIP-584) other than `transaction.version`, `group.version`, `share.version` and
`streams.version`.
"""

from __future__ import annotations

import re
from typing import Final

from kcore.broker.calls import Call
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import ApiVersionsRequest, ApiVersionsResponse

_LEVEL_0_VERSION: Final = 4
_NAMES_VERSION: Final = 3
_MEANT_VERSION: Final = 5  # who asks says whom he means (KIP-1242)
# KIP-511, for name and version of the client.
_NAME: Final = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?")


def handle(call: Call, request: ApiVersionsRequest) -> ApiVersionsResponse:
    """All of them."""
    names = request.client_software_name, request.client_software_version
    if call.version >= _NAMES_VERSION and not all(map(_NAME.fullmatch, names)):
        return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
    if call.version >= _NAMES_VERSION:
        call.link.software = names
    if call.version >= _MEANT_VERSION and (error := _look(call, request)):
        return ApiVersionsResponse(error_code=error)
    if call.link.sasl is not None:
        call.link.sasl.versions_told()
    return _response(call)


def _look(call: Call, request: ApiVersionsRequest) -> ErrorCode:
    """Whether this is who is meant, if it is known who asks."""
    if (request.cluster_id is None) != (request.node_id == -1):
        return ErrorCode.INVALID_REQUEST
    sasl, meant = call.link.sasl, (request.cluster_id, request.node_id)
    us = call.node.cluster.config.cluster_id, call.node.node_id
    if (sasl is not None and not sasl.known) or meant in ((None, -1), us):
        return ErrorCode.NONE
    return ErrorCode.REBOOTSTRAP_REQUIRED


def unsupported(call: Call) -> ApiVersionsResponse:
    """KIP-511: to be sent in v0, which every client can read; with the versions of this very API,
    so that it knows.
    """
    lowest, highest = call.node.versions[ApiKey.API_VERSIONS]
    return ApiVersionsResponse(
        error_code=ErrorCode.UNSUPPORTED_VERSION,
        api_keys=[
            ApiVersionsResponse.ApiVersion(
                api_key=ApiKey.API_VERSIONS, min_version=lowest, max_version=highest
            )
        ],
    )


def _response(call: Call) -> ApiVersionsResponse:
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
    response = ApiVersionsResponse(api_keys=entries)
    features = call.node.cluster.features
    if features.highest:
        response.finalized_features_epoch = features.epoch
        if call.version >= _LEVEL_0_VERSION:  # before, clients took no lowest level of 0
            response.supported_features = [
                ApiVersionsResponse.SupportedFeatureKey(
                    name=name, min_version=0, max_version=highest
                )
                for name, highest in features.highest.items()
            ]
        response.finalized_features = [
            ApiVersionsResponse.FinalizedFeatureKey(
                name=name, max_version_level=level, min_version_level=level
            )
            for name, level in features.levels.items()
            if level
        ]
    return response
