"""Made by tools/generate_wire.py from kcore/wire/schema/57_update_features.txt; do not edit."""

# fmt: off
# ruff: noqa: RUF023, RUF100

from __future__ import annotations

from kcore.hints import ClassVar
from kcore.wire.message import UNSET, Fields, Message, Struct


class UpdateFeaturesRequest(Message):
    __slots__ = ("timeout_ms", "feature_updates", "validate_only")

    API_KEY: ClassVar[int] = 57
    VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_FROM: ClassVar[int | None] = 0
    FIELDS: ClassVar[Fields] = (
        ("timeout_ms", "int32", 0, 32767, -1, -1, 60000, -1, False, False),
        ("feature_updates", "[]FeatureUpdateKey", 0, 32767, -1, -1, ..., -1, False, False),
        ("validate_only", "bool", 1, 32767, -1, -1, False, -1, False, False),
    )

    class FeatureUpdateKey(Struct):
        __slots__ = ("feature", "max_version_level", "allow_downgrade", "upgrade_type")

        FIELDS: ClassVar[Fields] = (
            ("feature", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("max_version_level", "int16", 0, 32767, -1, -1, 0, -1, False, False),
            ("allow_downgrade", "bool", 0, 0, -1, -1, False, -1, False, False),
            ("upgrade_type", "int8", 1, 32767, -1, -1, 1, -1, False, False),
        )

        def __init__(
            self,
            *,
            feature: str = "",
            max_version_level: int = 0,
            allow_downgrade: bool = False,
            upgrade_type: int = 1,
        ) -> None:
            self.feature = feature
            self.max_version_level = max_version_level
            self.allow_downgrade = allow_downgrade
            self.upgrade_type = upgrade_type

    def __init__(
        self,
        *,
        timeout_ms: int = 60000,
        feature_updates: list[UpdateFeaturesRequest.FeatureUpdateKey] = UNSET,
        validate_only: bool = False,
    ) -> None:
        self.timeout_ms = timeout_ms
        self.feature_updates: list[UpdateFeaturesRequest.FeatureUpdateKey] = [] if feature_updates is UNSET else feature_updates
        self.validate_only = validate_only


class UpdateFeaturesResponse(Message):
    __slots__ = ("throttle_time_ms", "error_code", "error_message", "results")

    API_KEY: ClassVar[int] = 57
    VERSIONS: ClassVar[tuple[int, int]] = (0, 2)
    FLEXIBLE_FROM: ClassVar[int | None] = 0
    FIELDS: ClassVar[Fields] = (
        ("throttle_time_ms", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("error_code", "int16", 0, 32767, -1, -1, 0, -1, False, False),
        ("error_message", "string", 0, 32767, 0, 32767, "", -1, False, False),
        ("results", "[]UpdatableFeatureResult", 0, 1, -1, -1, ..., -1, True, False),
    )

    class UpdatableFeatureResult(Struct):
        __slots__ = ("feature", "error_code", "error_message")

        FIELDS: ClassVar[Fields] = (
            ("feature", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("error_code", "int16", 0, 32767, -1, -1, 0, -1, False, False),
            ("error_message", "string", 0, 32767, 0, 32767, "", -1, False, False),
        )

        def __init__(
            self,
            *,
            feature: str = "",
            error_code: int = 0,
            error_message: str | None = "",
        ) -> None:
            self.feature = feature
            self.error_code = error_code
            self.error_message = error_message

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = "",
        results: list[UpdateFeaturesResponse.UpdatableFeatureResult] = UNSET,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.results: list[UpdateFeaturesResponse.UpdatableFeatureResult] = [] if results is UNSET else results
