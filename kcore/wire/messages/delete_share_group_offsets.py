"""Made by tools/generate_wire.py from kcore/wire/schema/92_delete_share_group_offsets.txt; do not edit."""

# fmt: off
# ruff: noqa: RUF023, RUF100

from __future__ import annotations

from kcore.hints import ClassVar
from kcore.wire.message import UNSET, ZERO_UUID, Fields, Message, Struct


class DeleteShareGroupOffsetsRequest(Message):
    __slots__ = ("group_id", "topics")

    API_KEY: ClassVar[int] = 92
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int | None] = 0
    FIELDS: ClassVar[Fields] = (
        ("group_id", "string", 0, 32767, -1, -1, "", -1, False, False),
        ("topics", "[]DeleteShareGroupOffsetsRequestTopic", 0, 32767, -1, -1, ..., -1, False, False),
    )

    class DeleteShareGroupOffsetsRequestTopic(Struct):
        __slots__ = ("topic_name",)

        FIELDS: ClassVar[Fields] = (
            ("topic_name", "string", 0, 32767, -1, -1, "", -1, False, False),
        )

        def __init__(
            self,
            *,
            topic_name: str = "",
        ) -> None:
            self.topic_name = topic_name

    def __init__(
        self,
        *,
        group_id: str = "",
        topics: list[DeleteShareGroupOffsetsRequest.DeleteShareGroupOffsetsRequestTopic] = UNSET,
    ) -> None:
        self.group_id = group_id
        self.topics: list[DeleteShareGroupOffsetsRequest.DeleteShareGroupOffsetsRequestTopic] = [] if topics is UNSET else topics


class DeleteShareGroupOffsetsResponse(Message):
    __slots__ = ("throttle_time_ms", "error_code", "error_message", "responses")

    API_KEY: ClassVar[int] = 92
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int | None] = 0
    FIELDS: ClassVar[Fields] = (
        ("throttle_time_ms", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("error_code", "int16", 0, 32767, -1, -1, 0, -1, False, False),
        ("error_message", "string", 0, 32767, 0, 32767, None, -1, False, False),
        ("responses", "[]DeleteShareGroupOffsetsResponseTopic", 0, 32767, -1, -1, ..., -1, False, False),
    )

    class DeleteShareGroupOffsetsResponseTopic(Struct):
        __slots__ = ("topic_name", "topic_id", "error_code", "error_message")

        FIELDS: ClassVar[Fields] = (
            ("topic_name", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("topic_id", "uuid", 0, 32767, -1, -1, b"\0" * 16, -1, False, False),
            ("error_code", "int16", 0, 32767, -1, -1, 0, -1, False, False),
            ("error_message", "string", 0, 32767, 0, 32767, None, -1, False, False),
        )

        def __init__(
            self,
            *,
            topic_name: str = "",
            topic_id: bytes = ZERO_UUID,
            error_code: int = 0,
            error_message: str | None = None,
        ) -> None:
            self.topic_name = topic_name
            self.topic_id = topic_id
            self.error_code = error_code
            self.error_message = error_message

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        responses: list[DeleteShareGroupOffsetsResponse.DeleteShareGroupOffsetsResponseTopic] = UNSET,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.responses: list[DeleteShareGroupOffsetsResponse.DeleteShareGroupOffsetsResponseTopic] = [] if responses is UNSET else responses
