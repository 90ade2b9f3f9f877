"""Features of the cluster (KIP-584): what brokers support and what is finalized; finalized anew."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from kcore import __version__
from kcore.admin.asking import Ask, Reply, Route, of_all
from kcore.admin.core import Procedure
from kcore.admin.values import UpdateFeatureType
from kcore.errors import UnsupportedVersionError
from kcore.tuples import NamedTuple
from kcore.wire.apis import ApiKey
from kcore.wire.messages import ApiVersionsRequest, UpdateFeaturesRequest

_FEATURES_SINCE: Final = 3  # ApiVersions with features
_VALIDATE_SINCE: Final = 1  # UpdateFeatures that only looks, and with kinds of downgrades
_RESULTS_UNTIL: Final = 1  # UpdateFeatures with a result for each; behind that all or none is done


class FeatureUpdate(NamedTuple):
    """Up to which version a feature is to be used; below 1: not at all."""

    max_version_level: int
    upgrade_type: UpdateFeatureType


def describe_features(
    *, of_controller: bool, of_broker: int | None = None
) -> Procedure[dict[str, dict[str, Any]]]:
    """kafka-python's {feature: {"supported": (min, max), "finalized": (min, max),
    "finalized_epoch": number}}; of one that is not finalized the first alone.
    """

    def build(_keys: list[int | None], version: int, _limit_ms: int) -> ApiVersionsRequest:
        if version < _FEATURES_SINCE:
            raise UnsupportedVersionError("describing features: this broker (before 2.4) has none")
        return ApiVersionsRequest(client_software_name="kcore", client_software_version=__version__)

    def read(body: Any, _version: int, keys: list[int | None]) -> Iterable[Reply]:
        yield Reply(keys[0], body.error_code, body)

    route = Route.CONTROLLER if of_controller else Route.ANY
    ask = Ask(
        ApiKey.API_VERSIONS,
        (of_broker,),
        "describing the features",
        build,
        read,
        route=route if of_broker is None else Route.BROKER,
        name=lambda key: "of the cluster" if key is None else f"of broker {key}",
    )
    (outcome,) = yield [ask]
    body = outcome.all_done()[of_broker]
    told: dict[str, dict[str, Any]] = {}
    for one in body.supported_features:
        told.setdefault(one.name, {})["supported"] = (one.min_version, one.max_version)
    epoch = body.finalized_features_epoch
    for one in body.finalized_features:
        row = told.setdefault(one.name, {})
        row["finalized"] = (one.min_version_level, one.max_version_level)
        row["finalized_epoch"] = None if epoch < 0 else epoch
    return told


def update_features(
    updates: Mapping[str, FeatureUpdate], *, validate_only: bool, raise_errors: bool
) -> Procedure[dict[str, str]]:
    """kafka-python's {feature: "OK" or the error as text}; what is wrong with the whole is raised:
    since Kafka 4.0 that is everything, for all are updated or none.
    """

    def read(body: Any, version: int, keys: list[str]) -> Iterable[Reply]:
        if body.error_code:
            yield from of_all(keys, body.error_code, body.error_message)
        elif version > _RESULTS_UNTIL:
            for name in keys:
                yield Reply(name, 0, "OK")
        else:
            for row in body.results:
                yield Reply(row.feature, row.error_code, "OK", row.error_message)

    ask = Ask(
        ApiKey.UPDATE_FEATURES,
        tuple(updates),
        "updating feature",
        lambda keys, version, limit_ms: _updating(
            {name: updates[name] for name in keys}, version, limit_ms, validate_only=validate_only
        ),
        read,
        route=Route.CONTROLLER,
        changes=not validate_only,
    )
    (outcome,) = yield [ask]
    outcome.check(raise_errors=raise_errors)
    return {name: str(outcome.failed[name]) if name in outcome.failed else "OK" for name in updates}


def _updating(
    updates: Mapping[str, FeatureUpdate], version: int, limit_ms: int, *, validate_only: bool
) -> UpdateFeaturesRequest:
    if validate_only and version < _VALIDATE_SINCE:
        raise UnsupportedVersionError(
            "updating features with validate_only: this broker (before 3.3) cannot only look"
        )
    request = UpdateFeaturesRequest(timeout_ms=limit_ms)
    for name, (level, how) in updates.items():
        row = UpdateFeaturesRequest.FeatureUpdateKey(feature=name, max_version_level=level)
        if version >= _VALIDATE_SINCE:
            row.upgrade_type = how
        else:
            row.allow_downgrade = how is not UpdateFeatureType.UPGRADE
        request.feature_updates.append(row)
    if version >= _VALIDATE_SINCE:
        request.validate_only = validate_only
    return request
