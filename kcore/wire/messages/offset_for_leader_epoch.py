"""Made by tools/generate_wire.py from kcore/wire/schema/23_offset_for_leader_epoch.txt; do not edit."""

# fmt: off
# ruff: noqa: RUF023, RUF100

from __future__ import annotations

from kcore.hints import ClassVar
from kcore.wire.message import UNSET, Fields, Message, Struct


class OffsetForLeaderEpochRequest(Message):
    __slots__ = ("replica_id", "topics")

    API_KEY: ClassVar[int] = 23
    VERSIONS: ClassVar[tuple[int, int]] = (2, 4)
    FLEXIBLE_FROM: ClassVar[int | None] = 4
    FIELDS: ClassVar[Fields] = (
        ("replica_id", "int32", 3, 32767, -1, -1, -2, -1, True, False),
        ("topics", "[]OffsetForLeaderTopic", 0, 32767, -1, -1, ..., -1, False, False),
    )

    class OffsetForLeaderPartition(Struct):
        __slots__ = ("partition", "current_leader_epoch", "leader_epoch")

        FIELDS: ClassVar[Fields] = (
            ("partition", "int32", 0, 32767, -1, -1, 0, -1, False, False),
            ("current_leader_epoch", "int32", 2, 32767, -1, -1, -1, -1, True, False),
            ("leader_epoch", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        )

        def __init__(
            self,
            *,
            partition: int = 0,
            current_leader_epoch: int = -1,
            leader_epoch: int = 0,
        ) -> None:
            self.partition = partition
            self.current_leader_epoch = current_leader_epoch
            self.leader_epoch = leader_epoch

    class OffsetForLeaderTopic(Struct):
        __slots__ = ("topic", "partitions")

        FIELDS: ClassVar[Fields] = (
            ("topic", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("partitions", "[]OffsetForLeaderPartition", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            topic: str = "",
            partitions: list[OffsetForLeaderEpochRequest.OffsetForLeaderPartition] = UNSET,
        ) -> None:
            self.topic = topic
            self.partitions: list[OffsetForLeaderEpochRequest.OffsetForLeaderPartition] = [] if partitions is UNSET else partitions

    def __init__(
        self,
        *,
        replica_id: int = -2,
        topics: list[OffsetForLeaderEpochRequest.OffsetForLeaderTopic] = UNSET,
    ) -> None:
        self.replica_id = replica_id
        self.topics: list[OffsetForLeaderEpochRequest.OffsetForLeaderTopic] = [] if topics is UNSET else topics


class OffsetForLeaderEpochResponse(Message):
    __slots__ = ("throttle_time_ms", "topics")

    API_KEY: ClassVar[int] = 23
    VERSIONS: ClassVar[tuple[int, int]] = (2, 4)
    FLEXIBLE_FROM: ClassVar[int | None] = 4
    FIELDS: ClassVar[Fields] = (
        ("throttle_time_ms", "int32", 2, 32767, -1, -1, 0, -1, True, False),
        ("topics", "[]OffsetForLeaderTopicResult", 0, 32767, -1, -1, ..., -1, False, False),
    )

    class EpochEndOffset(Struct):
        __slots__ = ("error_code", "partition", "leader_epoch", "end_offset")

        FIELDS: ClassVar[Fields] = (
            ("error_code", "int16", 0, 32767, -1, -1, 0, -1, False, False),
            ("partition", "int32", 0, 32767, -1, -1, 0, -1, False, False),
            ("leader_epoch", "int32", 1, 32767, -1, -1, -1, -1, True, False),
            ("end_offset", "int64", 0, 32767, -1, -1, -1, -1, False, False),
        )

        def __init__(
            self,
            *,
            error_code: int = 0,
            partition: int = 0,
            leader_epoch: int = -1,
            end_offset: int = -1,
        ) -> None:
            self.error_code = error_code
            self.partition = partition
            self.leader_epoch = leader_epoch
            self.end_offset = end_offset

    class OffsetForLeaderTopicResult(Struct):
        __slots__ = ("topic", "partitions")

        FIELDS: ClassVar[Fields] = (
            ("topic", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("partitions", "[]EpochEndOffset", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            topic: str = "",
            partitions: list[OffsetForLeaderEpochResponse.EpochEndOffset] = UNSET,
        ) -> None:
            self.topic = topic
            self.partitions: list[OffsetForLeaderEpochResponse.EpochEndOffset] = [] if partitions is UNSET else partitions

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        topics: list[OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult] = UNSET,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.topics: list[OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult] = [] if topics is UNSET else topics
