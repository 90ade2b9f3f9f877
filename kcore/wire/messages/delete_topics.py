"""Made by tools/generate_wire.py from kcore/wire/schema/20_delete_topics.txt; do not edit."""

# fmt: off
# ruff: noqa: RUF023, RUF100

from __future__ import annotations

from kcore.hints import ClassVar
from kcore.wire.message import UNSET, ZERO_UUID, Fields, Message, Struct


class DeleteTopicsRequest(Message):
    __slots__ = ("topics", "topic_names", "timeout_ms")

    API_KEY: ClassVar[int] = 20
    VERSIONS: ClassVar[tuple[int, int]] = (1, 6)
    FLEXIBLE_FROM: ClassVar[int | None] = 4
    FIELDS: ClassVar[Fields] = (
        ("topics", "[]DeleteTopicState", 6, 32767, -1, -1, ..., -1, False, False),
        ("topic_names", "[]string", 0, 5, -1, -1, ..., -1, True, False),
        ("timeout_ms", "int32", 0, 32767, -1, -1, 0, -1, False, False),
    )

    class DeleteTopicState(Struct):
        __slots__ = ("name", "topic_id")

        FIELDS: ClassVar[Fields] = (
            ("name", "string", 6, 32767, 6, 32767, None, -1, False, False),
            ("topic_id", "uuid", 6, 32767, -1, -1, b"\0" * 16, -1, False, False),
        )

        def __init__(
            self,
            *,
            name: str | None = None,
            topic_id: bytes = ZERO_UUID,
        ) -> None:
            self.name = name
            self.topic_id = topic_id

    def __init__(
        self,
        *,
        topics: list[DeleteTopicsRequest.DeleteTopicState] = UNSET,
        topic_names: list[str] = UNSET,
        timeout_ms: int = 0,
    ) -> None:
        self.topics: list[DeleteTopicsRequest.DeleteTopicState] = [] if topics is UNSET else topics
        self.topic_names: list[str] = [] if topic_names is UNSET else topic_names
        self.timeout_ms = timeout_ms


class DeleteTopicsResponse(Message):
    __slots__ = ("throttle_time_ms", "responses")

    API_KEY: ClassVar[int] = 20
    VERSIONS: ClassVar[tuple[int, int]] = (1, 6)
    FLEXIBLE_FROM: ClassVar[int | None] = 4
    FIELDS: ClassVar[Fields] = (
        ("throttle_time_ms", "int32", 1, 32767, -1, -1, 0, -1, True, False),
        ("responses", "[]DeletableTopicResult", 0, 32767, -1, -1, ..., -1, False, False),
    )

    class DeletableTopicResult(Struct):
        __slots__ = ("name", "topic_id", "error_code", "error_message")

        FIELDS: ClassVar[Fields] = (
            ("name", "string", 0, 32767, 6, 32767, "", -1, False, False),
            ("topic_id", "uuid", 6, 32767, -1, -1, b"\0" * 16, -1, True, False),
            ("error_code", "int16", 0, 32767, -1, -1, 0, -1, False, False),
            ("error_message", "string", 5, 32767, 5, 32767, None, -1, True, False),
        )

        def __init__(
            self,
            *,
            name: str | None = "",
            topic_id: bytes = ZERO_UUID,
            error_code: int = 0,
            error_message: str | None = None,
        ) -> None:
            self.name = name
            self.topic_id = topic_id
            self.error_code = error_code
            self.error_message = error_message

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        responses: list[DeleteTopicsResponse.DeletableTopicResult] = UNSET,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.responses: list[DeleteTopicsResponse.DeletableTopicResult] = [] if responses is UNSET else responses
