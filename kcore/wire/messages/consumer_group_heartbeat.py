"""Made by tools/generate_wire.py from kcore/wire/schema/68_consumer_group_heartbeat.txt; do not edit."""

# fmt: off
# ruff: noqa: RUF023, RUF100

from __future__ import annotations

from kcore.hints import ClassVar
from kcore.wire.message import UNSET, ZERO_UUID, Fields, Message, Struct


class ConsumerGroupHeartbeatRequest(Message):
    __slots__ = ("group_id", "member_id", "member_epoch", "instance_id", "rack_id", "rebalance_timeout_ms", "subscribed_topic_names", "subscribed_topic_regex", "server_assignor", "topic_partitions")

    API_KEY: ClassVar[int] = 68
    VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_FROM: ClassVar[int | None] = 0
    FIELDS: ClassVar[Fields] = (
        ("group_id", "string", 0, 32767, -1, -1, "", -1, False, False),
        ("member_id", "string", 0, 32767, -1, -1, "", -1, False, False),
        ("member_epoch", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("instance_id", "string", 0, 32767, 0, 32767, None, -1, False, False),
        ("rack_id", "string", 0, 32767, 0, 32767, None, -1, False, False),
        ("rebalance_timeout_ms", "int32", 0, 32767, -1, -1, -1, -1, False, False),
        ("subscribed_topic_names", "[]string", 0, 32767, 0, 32767, None, -1, False, False),
        ("subscribed_topic_regex", "string", 1, 32767, 1, 32767, None, -1, False, False),
        ("server_assignor", "string", 0, 32767, 0, 32767, None, -1, False, False),
        ("topic_partitions", "[]TopicPartitions", 0, 32767, 0, 32767, None, -1, False, False),
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

    def __init__(
        self,
        *,
        group_id: str = "",
        member_id: str = "",
        member_epoch: int = 0,
        instance_id: str | None = None,
        rack_id: str | None = None,
        rebalance_timeout_ms: int = -1,
        subscribed_topic_names: list[str] | None = None,
        subscribed_topic_regex: str | None = None,
        server_assignor: str | None = None,
        topic_partitions: list[ConsumerGroupHeartbeatRequest.TopicPartitions] | None = None,
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.instance_id = instance_id
        self.rack_id = rack_id
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.subscribed_topic_names = subscribed_topic_names
        self.subscribed_topic_regex = subscribed_topic_regex
        self.server_assignor = server_assignor
        self.topic_partitions = topic_partitions


class ConsumerGroupHeartbeatResponse(Message):
    __slots__ = ("throttle_time_ms", "error_code", "error_message", "member_id", "member_epoch", "heartbeat_interval_ms", "assignment")

    API_KEY: ClassVar[int] = 68
    VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
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
            topic_partitions: list[ConsumerGroupHeartbeatResponse.TopicPartitions] = UNSET,
        ) -> None:
            self.topic_partitions: list[ConsumerGroupHeartbeatResponse.TopicPartitions] = [] if topic_partitions is UNSET else topic_partitions

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        member_id: str | None = None,
        member_epoch: int = 0,
        heartbeat_interval_ms: int = 0,
        assignment: ConsumerGroupHeartbeatResponse.Assignment | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.heartbeat_interval_ms = heartbeat_interval_ms
        self.assignment = assignment
