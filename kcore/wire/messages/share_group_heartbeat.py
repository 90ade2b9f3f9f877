"""Made by tools/generate_wire.py from kcore/wire/schema/76_share_group_heartbeat.txt; do not edit."""

# fmt: off
# ruff: noqa: RUF023, RUF100

from __future__ import annotations

from kcore.hints import ClassVar
from kcore.wire.message import UNSET, ZERO_UUID, Fields, Message, Struct


class ShareGroupHeartbeatRequest(Message):
    __slots__ = ("group_id", "member_id", "member_epoch", "rack_id", "subscribed_topic_names")

    API_KEY: ClassVar[int] = 76
    VERSIONS: ClassVar[tuple[int, int]] = (1, 1)
    FLEXIBLE_FROM: ClassVar[int | None] = 0
    FIELDS: ClassVar[Fields] = (
        ("group_id", "string", 0, 32767, -1, -1, "", -1, False, False),
        ("member_id", "string", 0, 32767, -1, -1, "", -1, False, False),
        ("member_epoch", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("rack_id", "string", 0, 32767, 0, 32767, None, -1, False, False),
        ("subscribed_topic_names", "[]string", 0, 32767, 0, 32767, None, -1, False, False),
    )

    def __init__(
        self,
        *,
        group_id: str = "",
        member_id: str = "",
        member_epoch: int = 0,
        rack_id: str | None = None,
        subscribed_topic_names: list[str] | None = None,
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.rack_id = rack_id
        self.subscribed_topic_names = subscribed_topic_names


class ShareGroupHeartbeatResponse(Message):
    __slots__ = ("throttle_time_ms", "error_code", "error_message", "member_id", "member_epoch", "heartbeat_interval_ms", "assignment")

    API_KEY: ClassVar[int] = 76
    VERSIONS: ClassVar[tuple[int, int]] = (1, 1)
    FLEXIBLE_FROM: ClassVar[int | None] = 0
    FIELDS: ClassVar[Fields] = (
        ("throttle_time_ms", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("error_code", "int16", 0, 32767, -1, -1, 0, -1, False, False),
        ("error_message", "string", 0, 32767, 0, 32767, None, -1, False, False),
        ("member_id", "string", 0, 32767, 0, 32767, None, -1, False, False),
        ("member_epoch", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("heartbeat_interval_ms", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("assignment", "Assignment", 0, 32767, 0, 32767, None, -1, False, False),
    )

    class TopicPartitions(Struct):
        __slots__ = ("topic_id", "partitions")

        FIELDS: ClassVar[Fields] = (
            ("topic_id", "uuid", 0, 32767, -1, -1, b"\0" * 16, -1, False, False),
            ("partitions", "[]int32", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            topic_id: bytes = ZERO_UUID,
            partitions: list[int] = UNSET,
        ) -> None:
            self.topic_id = topic_id
            self.partitions: list[int] = [] if partitions is UNSET else partitions

    class Assignment(Struct):
        __slots__ = ("topic_partitions",)

        FIELDS: ClassVar[Fields] = (
            ("topic_partitions", "[]TopicPartitions", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            topic_partitions: list[ShareGroupHeartbeatResponse.TopicPartitions] = UNSET,
        ) -> None:
            self.topic_partitions: list[ShareGroupHeartbeatResponse.TopicPartitions] = [] if topic_partitions is UNSET else topic_partitions

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        member_id: str | None = None,
        member_epoch: int = 0,
        heartbeat_interval_ms: int = 0,
        assignment: ShareGroupHeartbeatResponse.Assignment | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.heartbeat_interval_ms = heartbeat_interval_ms
        self.assignment = assignment
