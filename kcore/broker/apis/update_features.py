"""UpdateFeatures v0-2 (KIP-584): up to which level features are used; all are set, or none.

Left out: `metadata.version`, `kraft.version` and `eligible.leader.replicas.version`, which are not
known here.
"""

from __future__ import annotations

from typing import Final

from kcore.broker.calls import Call
from kcore.broker.features import Update, UpgradeType
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import UpdateFeaturesRequest, UpdateFeaturesResponse

_KINDS_SINCE: Final = 1  # before, a Kafka 4 takes every update for an upgrade
_RESULTS_UNTIL: Final = 1
_DONE: Final = "NONE"  # Kafka's text of a result


def handle(call: Call, request: UpdateFeaturesRequest) -> UpdateFeaturesResponse:
    """All of them at once; of one that is named twice the last counts."""
    asked = {
        row.feature: Update(
            row.feature,
            row.max_version_level,
            row.upgrade_type if call.version >= _KINDS_SINCE else UpgradeType.UPGRADE,
        )
        for row in request.feature_updates
    }
    cluster = call.node.cluster
    why = cluster.features.wrong(asked.values())
    if why is not None:
        return UpdateFeaturesResponse(
            error_code=ErrorCode.INVALID_UPDATE_VERSION, error_message=why, results=[]
        )
    if not request.validate_only and asked:
        cluster.finalize({name: update.level for name, update in asked.items()})
    response = UpdateFeaturesResponse(error_message=None)
    if call.version <= _RESULTS_UNTIL:
        response.results = [
            UpdateFeaturesResponse.UpdatableFeatureResult(feature=row.feature, error_message=_DONE)
            for row in request.feature_updates
        ]
    return response
