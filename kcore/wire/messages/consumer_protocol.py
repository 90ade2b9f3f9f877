"""Made by tools/generate_wire.py from kcore/wire/schema/consumer_protocol.txt; do not edit."""

# fmt: off
# ruff: noqa: RUF023, RUF100

from __future__ import annotations

from kcore.hints import ClassVar
from kcore.wire.message import UNSET, Fields, Message, Struct


class ConsumerProtocolSubscription(Message):
    __slots__ = ("topics", "user_data", "owned_partitions", "generation_id", "rack_id")

    VERSIONS: ClassVar[tuple[int, int]] = (0, 3)
    FLEXIBLE_FROM: ClassVar[int | None] = None
    FIELDS: ClassVar[Fields] = (
        ("topics", "[]string", 0, 32767, -1, -1, ..., -1, False, False),
        ("user_data", "bytes", 0, 32767, 0, 32767, None, -1, False, False),
        ("owned_partitions", "[]TopicPartition", 1, 32767, -1, -1, ..., -1, True, False),
        ("generation_id", "int32", 2, 32767, -1, -1, -1, -1, True, False),
        ("rack_id", "string", 3, 32767, 3, 32767, None, -1, True, False),
    )

    class TopicPartition(Struct):
        __slots__ = ("topic", "partitions")

        FIELDS: ClassVar[Fields] = (
            ("topic", "string", 1, 32767, -1, -1, "", -1, False, False),
            ("partitions", "[]int32", 1, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            topic: str = "",
            partitions: list[int] = UNSET,
        ) -> None:
            self.topic = topic
            self.partitions: list[int] = [] if partitions is UNSET else partitions

    def __init__(
        self,
        *,
        topics: list[str] = UNSET,
        user_data: bytes | None = None,
        owned_partitions: list[ConsumerProtocolSubscription.TopicPartition] = UNSET,
        generation_id: int = -1,
        rack_id: str | None = None,
    ) -> None:
        self.topics: list[str] = [] if topics is UNSET else topics
        self.user_data = user_data
        self.owned_partitions: list[ConsumerProtocolSubscription.TopicPartition] = [] if owned_partitions is UNSET else owned_partitions
        self.generation_id = generation_id
        self.rack_id = rack_id


class ConsumerProtocolAssignment(Message):
    __slots__ = ("assigned_partitions", "user_data")

    VERSIONS: ClassVar[tuple[int, int]] = (0, 3)
    FLEXIBLE_FROM: ClassVar[int | None] = None
    FIELDS: ClassVar[Fields] = (
        ("assigned_partitions", "[]TopicPartition", 0, 32767, -1, -1, ..., -1, False, False),
        ("user_data", "bytes", 0, 32767, 0, 32767, None, -1, False, False),
    )

    class TopicPartition(Struct):
        __slots__ = ("topic", "partitions")

        FIELDS: ClassVar[Fields] = (
            ("topic", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("partitions", "[]int32", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            topic: str = "",
            partitions: list[int] = UNSET,
        ) -> None:
            self.topic = topic
            self.partitions: list[int] = [] if partitions is UNSET else partitions

    def __init__(
        self,
        *,
        assigned_partitions: list[ConsumerProtocolAssignment.TopicPartition] = UNSET,
        user_data: bytes | None = None,
    ) -> None:
        self.assigned_partitions: list[ConsumerProtocolAssignment.TopicPartition] = [] if assigned_partitions is UNSET else assigned_partitions
        self.user_data = user_data
