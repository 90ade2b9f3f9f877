"""ApiVersions v0-4: what the chosen Kafka release offers, of what is served here.

Left out: features (KIP-584) other than `transaction.version`, `group.version`, `share.version` and
`streams.version`.
"""

from __future__ import annotations

import re
from typing import Final

from kcore.broker.calls import Call
from kcore.coordinator.transactions import TV_BUMPS
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import ApiVersionsRequest, ApiVersionsResponse

_TRANSACTIONS: Final = "transaction.version"
# Level 1: consumer groups of KIP-848. Kafka 3.9 served them without the feature being there.
_GROUPS: Final = "group.version"
_GROUPS_LEVEL: Final = 1
_GROUPS_SINCE: Final = (4, 0)
# Level 1: share groups (KIP-932), which are finished since this Kafka.
_SHARES: Final = "share.version"
_SHARES_LEVEL: Final = 1
_SHARES_SINCE: Final = (4, 2)
# Level 1: streams groups (KIP-1071), likewise.
_STREAMS: Final = "streams.version"
_STREAMS_LEVEL: Final = 1
_STREAMS_SINCE: Final = (4, 2)
_LEVEL_0_VERSION: Final = 4
_NAMES_VERSION: Final = 3
# KIP-511, for name and version of the client.
_NAME: Final = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?")


def handle(call: Call, request: ApiVersionsRequest) -> ApiVersionsResponse:
    """All of them."""
    names = request.client_software_name, request.client_software_version
    if call.version >= _NAMES_VERSION and not all(map(_NAME.fullmatch, names)):
        return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
    if call.version >= _NAMES_VERSION:
        call.link.software = names
    if call.link.sasl is not None:
        call.link.sasl.versions_told()
    return _response(call)


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
    features = _features(call)
    if features:
        response.finalized_features_epoch = 0
        if call.version >= _LEVEL_0_VERSION:  # before, clients took no lowest level of 0
            response.supported_features = [
                ApiVersionsResponse.SupportedFeatureKey(
                    name=name, min_version=0, max_version=highest
                )
                for name, highest, _ in features
            ]
        response.finalized_features = [
            ApiVersionsResponse.FinalizedFeatureKey(
                name=name, max_version_level=level, min_version_level=level
            )
            for name, _, level in features
            if level
        ]
    return response


def _features(call: Call) -> list[tuple[str, int, int]]:
    """Names, the highest levels that are supported, and those in force."""
    found = []
    if call.node.cluster.config.release >= _GROUPS_SINCE:
        found.append((_GROUPS, _GROUPS_LEVEL, _GROUPS_LEVEL))
    if call.node.cluster.config.release >= _SHARES_SINCE:
        found.append((_SHARES, _SHARES_LEVEL, _SHARES_LEVEL))
    if call.node.cluster.config.release >= _STREAMS_SINCE:
        found.append((_STREAMS, _STREAMS_LEVEL, _STREAMS_LEVEL))
    level = call.node.transactions.version
    if level is not None:
        found.append((_TRANSACTIONS, TV_BUMPS, level))
    return found
