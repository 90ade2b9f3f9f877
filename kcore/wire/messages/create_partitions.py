"""Made by tools/generate_wire.py from kcore/wire/schema/37_create_partitions.txt; do not edit."""

# fmt: off
# ruff: noqa: RUF023, RUF100

from __future__ import annotations

from kcore.hints import ClassVar
from kcore.wire.message import UNSET, Fields, Message, Struct


class CreatePartitionsRequest(Message):
    __slots__ = ("topics", "timeout_ms", "validate_only")

    API_KEY: ClassVar[int] = 37
    VERSIONS: ClassVar[tuple[int, int]] = (0, 3)
    FLEXIBLE_FROM: ClassVar[int | None] = 2
    FIELDS: ClassVar[Fields] = (
        ("topics", "[]CreatePartitionsTopic", 0, 32767, -1, -1, ..., -1, False, False),
        ("timeout_ms", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("validate_only", "bool", 0, 32767, -1, -1, False, -1, False, False),
    )

    class CreatePartitionsAssignment(Struct):
        __slots__ = ("broker_ids",)

        FIELDS: ClassVar[Fields] = (
            ("broker_ids", "[]int32", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            broker_ids: list[int] = UNSET,
        ) -> None:
            self.broker_ids: list[int] = [] if broker_ids is UNSET else broker_ids

    class CreatePartitionsTopic(Struct):
        __slots__ = ("name", "count", "assignments")

        FIELDS: ClassVar[Fields] = (
            ("name", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("count", "int32", 0, 32767, -1, -1, 0, -1, False, False),
            ("assignments", "[]CreatePartitionsAssignment", 0, 32767, 0, 32767, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            name: str = "",
            count: int = 0,
            assignments: list[CreatePartitionsRequest.CreatePartitionsAssignment] | None = UNSET,
        ) -> None:
            self.name = name
            self.count = count
            self.assignments: list[CreatePartitionsRequest.CreatePartitionsAssignment] | None = [] if assignments is UNSET else assignments

    def __init__(
        self,
        *,
        topics: list[CreatePartitionsRequest.CreatePartitionsTopic] = UNSET,
        timeout_ms: int = 0,
        validate_only: bool = False,
    ) -> None:
        self.topics: list[CreatePartitionsRequest.CreatePartitionsTopic] = [] if topics is UNSET else topics
        self.timeout_ms = timeout_ms
        self.validate_only = validate_only


class CreatePartitionsResponse(Message):
    __slots__ = ("throttle_time_ms", "results")

    API_KEY: ClassVar[int] = 37
    VERSIONS: ClassVar[tuple[int, int]] = (0, 3)
    FLEXIBLE_FROM: ClassVar[int | None] = 2
    FIELDS: ClassVar[Fields] = (
        ("throttle_time_ms", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("results", "[]CreatePartitionsTopicResult", 0, 32767, -1, -1, ..., -1, False, False),
    )

    class CreatePartitionsTopicResult(Struct):
        __slots__ = ("name", "error_code", "error_message")

        FIELDS: ClassVar[Fields] = (
            ("name", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("error_code", "int16", 0, 32767, -1, -1, 0, -1, False, False),
            ("error_message", "string", 0, 32767, 0, 32767, None, -1, False, False),
        )

        def __init__(
            self,
            *,
            name: str = "",
            error_code: int = 0,
            error_message: str | None = None,
        ) -> None:
            self.name = name
            self.error_code = error_code
            self.error_message = error_message

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        results: list[CreatePartitionsResponse.CreatePartitionsTopicResult] = UNSET,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.results: list[CreatePartitionsResponse.CreatePartitionsTopicResult] = [] if results is UNSET else results
