"""Made by tools/generate_wire.py from kcore/wire/schema/18_api_versions.txt; do not edit."""

# fmt: off
# ruff: noqa: RUF023, RUF100

from __future__ import annotations

from kcore.hints import ClassVar
from kcore.wire.message import UNSET, Fields, Message, Struct


class ApiVersionsRequest(Message):
    __slots__ = ("client_software_name", "client_software_version", "cluster_id", "node_id")

    API_KEY: ClassVar[int] = 18
    VERSIONS: ClassVar[tuple[int, int]] = (0, 5)
    FLEXIBLE_FROM: ClassVar[int | None] = 3
    FIELDS: ClassVar[Fields] = (
        ("client_software_name", "string", 3, 32767, -1, -1, "", -1, True, False),
        ("client_software_version", "string", 3, 32767, -1, -1, "", -1, True, False),
        ("cluster_id", "string", 5, 32767, 5, 32767, None, -1, True, False),
        ("node_id", "int32", 5, 32767, -1, -1, -1, -1, True, False),
    )

    def __init__(
        self,
        *,
        client_software_name: str = "",
        client_software_version: str = "",
        cluster_id: str | None = None,
        node_id: int = -1,
    ) -> None:
        self.client_software_name = client_software_name
        self.client_software_version = client_software_version
        self.cluster_id = cluster_id
        self.node_id = node_id


class ApiVersionsResponse(Message):
    __slots__ = ("error_code", "api_keys", "throttle_time_ms", "supported_features", "finalized_features_epoch", "finalized_features", "zk_migration_ready")

    API_KEY: ClassVar[int] = 18
    VERSIONS: ClassVar[tuple[int, int]] = (0, 5)
    FLEXIBLE_FROM: ClassVar[int | None] = 3
    FIELDS: ClassVar[Fields] = (
        ("error_code", "int16", 0, 32767, -1, -1, 0, -1, False, False),
        ("api_keys", "[]ApiVersion", 0, 32767, -1, -1, ..., -1, False, False),
        ("throttle_time_ms", "int32", 1, 32767, -1, -1, 0, -1, True, False),
        ("supported_features", "[]SupportedFeatureKey", 3, 32767, -1, -1, ..., 0, True, False),
        ("finalized_features_epoch", "int64", 3, 32767, -1, -1, -1, 1, True, False),
        ("finalized_features", "[]FinalizedFeatureKey", 3, 32767, -1, -1, ..., 2, True, False),
        ("zk_migration_ready", "bool", 3, 32767, -1, -1, False, 3, True, False),
    )

    class ApiVersion(Struct):
        __slots__ = ("api_key", "min_version", "max_version")

        FIELDS: ClassVar[Fields] = (
            ("api_key", "int16", 0, 32767, -1, -1, 0, -1, False, False),
            ("min_version", "int16", 0, 32767, -1, -1, 0, -1, False, False),
            ("max_version", "int16", 0, 32767, -1, -1, 0, -1, False, False),
        )

        def __init__(
            self,
            *,
            api_key: int = 0,
            min_version: int = 0,
            max_version: int = 0,
        ) -> None:
            self.api_key = api_key
            self.min_version = min_version
            self.max_version = max_version

    class SupportedFeatureKey(Struct):
        __slots__ = ("name", "min_version", "max_version")

        FIELDS: ClassVar[Fields] = (
            ("name", "string", 3, 32767, -1, -1, "", -1, False, False),
            ("min_version", "int16", 3, 32767, -1, -1, 0, -1, False, False),
            ("max_version", "int16", 3, 32767, -1, -1, 0, -1, False, False),
        )

        def __init__(
            self,
            *,
            name: str = "",
            min_version: int = 0,
            max_version: int = 0,
        ) -> None:
            self.name = name
            self.min_version = min_version
            self.max_version = max_version

    class FinalizedFeatureKey(Struct):
        __slots__ = ("name", "max_version_level", "min_version_level")

        FIELDS: ClassVar[Fields] = (
            ("name", "string", 3, 32767, -1, -1, "", -1, False, False),
            ("max_version_level", "int16", 3, 32767, -1, -1, 0, -1, False, False),
            ("min_version_level", "int16", 3, 32767, -1, -1, 0, -1, False, False),
        )

        def __init__(
            self,
            *,
            name: str = "",
            max_version_level: int = 0,
            min_version_level: int = 0,
        ) -> None:
            self.name = name
            self.max_version_level = max_version_level
            self.min_version_level = min_version_level

    def __init__(
        self,
        *,
        error_code: int = 0,
        api_keys: list[ApiVersionsResponse.ApiVersion] = UNSET,
        throttle_time_ms: int = 0,
        supported_features: list[ApiVersionsResponse.SupportedFeatureKey] = UNSET,
        finalized_features_epoch: int = -1,
        finalized_features: list[ApiVersionsResponse.FinalizedFeatureKey] = UNSET,
        zk_migration_ready: bool = False,
    ) -> None:
        self.error_code = error_code
        self.api_keys: list[ApiVersionsResponse.ApiVersion] = [] if api_keys is UNSET else api_keys
        self.throttle_time_ms = throttle_time_ms
        self.supported_features: list[ApiVersionsResponse.SupportedFeatureKey] = [] if supported_features is UNSET else supported_features
        self.finalized_features_epoch = finalized_features_epoch
        self.finalized_features: list[ApiVersionsResponse.FinalizedFeatureKey] = [] if finalized_features is UNSET else finalized_features
        self.zk_migration_ready = zk_migration_ready
