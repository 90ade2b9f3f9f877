"""Made by tools/generate_wire.py from kcore/wire/schema/19_create_topics.txt; do not edit."""

# fmt: off
# ruff: noqa: RUF023, RUF100

from __future__ import annotations

from kcore.hints import ClassVar
from kcore.wire.message import UNSET, ZERO_UUID, Fields, Message, Struct


class CreateTopicsRequest(Message):
    __slots__ = ("topics", "timeout_ms", "validate_only")

    API_KEY: ClassVar[int] = 19
    VERSIONS: ClassVar[tuple[int, int]] = (2, 7)
    FLEXIBLE_FROM: ClassVar[int | None] = 5
    FIELDS: ClassVar[Fields] = (
        ("topics", "[]CreatableTopic", 0, 32767, -1, -1, ..., -1, False, False),
        ("timeout_ms", "int32", 0, 32767, -1, -1, 60000, -1, False, False),
        ("validate_only", "bool", 1, 32767, -1, -1, False, -1, False, False),
    )

    class CreatableReplicaAssignment(Struct):
        __slots__ = ("partition_index", "broker_ids")

        FIELDS: ClassVar[Fields] = (
            ("partition_index", "int32", 0, 32767, -1, -1, 0, -1, False, False),
            ("broker_ids", "[]int32", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            partition_index: int = 0,
            broker_ids: list[int] = UNSET,
        ) -> None:
            self.partition_index = partition_index
            self.broker_ids: list[int] = [] if broker_ids is UNSET else broker_ids

    class CreatableTopicConfig(Struct):
        __slots__ = ("name", "value")

        FIELDS: ClassVar[Fields] = (
            ("name", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("value", "string", 0, 32767, 0, 32767, "", -1, False, False),
        )

        def __init__(
            self,
            *,
            name: str = "",
            value: str | None = "",
        ) -> None:
            self.name = name
            self.value = value

    class CreatableTopic(Struct):
        __slots__ = ("name", "num_partitions", "replication_factor", "assignments", "configs")

        FIELDS: ClassVar[Fields] = (
            ("name", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("num_partitions", "int32", 0, 32767, -1, -1, 0, -1, False, False),
            ("replication_factor", "int16", 0, 32767, -1, -1, 0, -1, False, False),
            ("assignments", "[]CreatableReplicaAssignment", 0, 32767, -1, -1, ..., -1, False, False),
            ("configs", "[]CreatableTopicConfig", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            name: str = "",
            num_partitions: int = 0,
            replication_factor: int = 0,
            assignments: list[CreateTopicsRequest.CreatableReplicaAssignment] = UNSET,
            configs: list[CreateTopicsRequest.CreatableTopicConfig] = UNSET,
        ) -> None:
            self.name = name
            self.num_partitions = num_partitions
            self.replication_factor = replication_factor
            self.assignments: list[CreateTopicsRequest.CreatableReplicaAssignment] = [] if assignments is UNSET else assignments
            self.configs: list[CreateTopicsRequest.CreatableTopicConfig] = [] if configs is UNSET else configs

    def __init__(
        self,
        *,
        topics: list[CreateTopicsRequest.CreatableTopic] = UNSET,
        timeout_ms: int = 60000,
        validate_only: bool = False,
    ) -> None:
        self.topics: list[CreateTopicsRequest.CreatableTopic] = [] if topics is UNSET else topics
        self.timeout_ms = timeout_ms
        self.validate_only = validate_only


class CreateTopicsResponse(Message):
    __slots__ = ("throttle_time_ms", "topics")

    API_KEY: ClassVar[int] = 19
    VERSIONS: ClassVar[tuple[int, int]] = (2, 7)
    FLEXIBLE_FROM: ClassVar[int | None] = 5
    FIELDS: ClassVar[Fields] = (
        ("throttle_time_ms", "int32", 2, 32767, -1, -1, 0, -1, True, False),
        ("topics", "[]CreatableTopicResult", 0, 32767, -1, -1, ..., -1, False, False),
    )

    class CreatableTopicConfigs(Struct):
        __slots__ = ("name", "value", "read_only", "config_source", "is_sensitive")

        FIELDS: ClassVar[Fields] = (
            ("name", "string", 5, 32767, -1, -1, "", -1, False, False),
            ("value", "string", 5, 32767, 5, 32767, "", -1, False, False),
            ("read_only", "bool", 5, 32767, -1, -1, False, -1, False, False),
            ("config_source", "int8", 5, 32767, -1, -1, -1, -1, True, False),
            ("is_sensitive", "bool", 5, 32767, -1, -1, False, -1, False, False),
        )

        def __init__(
            self,
            *,
            name: str = "",
            value: str | None = "",
            read_only: bool = False,
            config_source: int = -1,
            is_sensitive: bool = False,
        ) -> None:
            self.name = name
            self.value = value
            self.read_only = read_only
            self.config_source = config_source
            self.is_sensitive = is_sensitive

    class CreatableTopicResult(Struct):
        __slots__ = ("name", "topic_id", "error_code", "error_message", "topic_config_error_code", "num_partitions", "replication_factor", "configs")

        FIELDS: ClassVar[Fields] = (
            ("name", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("topic_id", "uuid", 7, 32767, -1, -1, b"\0" * 16, -1, True, False),
            ("error_code", "int16", 0, 32767, -1, -1, 0, -1, False, False),
            ("error_message", "string", 1, 32767, 0, 32767, "", -1, True, False),
            ("topic_config_error_code", "int16", 5, 32767, -1, -1, 0, 0, True, False),
            ("num_partitions", "int32", 5, 32767, -1, -1, -1, -1, True, False),
            ("replication_factor", "int16", 5, 32767, -1, -1, -1, -1, True, False),
            ("configs", "[]CreatableTopicConfigs", 5, 32767, 5, 32767, ..., -1, True, False),
        )

        def __init__(
            self,
            *,
            name: str = "",
            topic_id: bytes = ZERO_UUID,
            error_code: int = 0,
            error_message: str | None = "",
            topic_config_error_code: int = 0,
            num_partitions: int = -1,
            replication_factor: int = -1,
            configs: list[CreateTopicsResponse.CreatableTopicConfigs] | None = UNSET,
        ) -> None:
            self.name = name
            self.topic_id = topic_id
            self.error_code = error_code
            self.error_message = error_message
            self.topic_config_error_code = topic_config_error_code
            self.num_partitions = num_partitions
            self.replication_factor = replication_factor
            self.configs: list[CreateTopicsResponse.CreatableTopicConfigs] | None = [] if configs is UNSET else configs

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        topics: list[CreateTopicsResponse.CreatableTopicResult] = UNSET,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics: list[CreateTopicsResponse.CreatableTopicResult] = [] if topics is UNSET else topics
