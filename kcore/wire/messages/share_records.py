"""Made by tools/generate_wire.py from kcore/wire/schema/share_records.txt; do not edit."""

# fmt: off
# ruff: noqa: RUF023, RUF100

from __future__ import annotations

from kcore.hints import ClassVar
from kcore.wire.message import UNSET, ZERO_UUID, Fields, Message, Struct


class ShareSnapshotKey(Message):
    __slots__ = ("group_id", "topic_id", "partition")

    API_KEY: ClassVar[int] = 0
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int | None] = None
    FIELDS: ClassVar[Fields] = (
        ("group_id", "string", 0, 0, -1, -1, "", -1, False, False),
        ("topic_id", "uuid", 0, 0, -1, -1, b"\0" * 16, -1, False, False),
        ("partition", "int32", 0, 0, -1, -1, 0, -1, False, False),
    )

    def __init__(
        self,
        *,
        group_id: str = "",
        topic_id: bytes = ZERO_UUID,
        partition: int = 0,
    ) -> None:
        self.group_id = group_id
        self.topic_id = topic_id
        self.partition = partition


class ShareSnapshotValue(Message):
    __slots__ = ("snapshot_epoch", "state_epoch", "leader_epoch", "start_offset", "delivery_complete_count", "create_timestamp", "write_timestamp", "state_batches")

    API_KEY: ClassVar[int] = 0
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int | None] = 0
    FIELDS: ClassVar[Fields] = (
        ("snapshot_epoch", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("state_epoch", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("leader_epoch", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("start_offset", "int64", 0, 32767, -1, -1, 0, -1, False, False),
        ("delivery_complete_count", "int32", 0, 32767, -1, -1, -1, 0, False, False),
        ("create_timestamp", "int64", 0, 32767, -1, -1, 0, -1, False, False),
        ("write_timestamp", "int64", 0, 32767, -1, -1, 0, -1, False, False),
        ("state_batches", "[]StateBatch", 0, 32767, -1, -1, ..., -1, False, False),
    )

    class StateBatch(Struct):
        __slots__ = ("first_offset", "last_offset", "delivery_state", "delivery_count")

        FIELDS: ClassVar[Fields] = (
            ("first_offset", "int64", 0, 32767, -1, -1, 0, -1, False, False),
            ("last_offset", "int64", 0, 32767, -1, -1, 0, -1, False, False),
            ("delivery_state", "int8", 0, 32767, -1, -1, 0, -1, False, False),
            ("delivery_count", "int16", 0, 32767, -1, -1, 0, -1, False, False),
        )

        def __init__(
            self,
            *,
            first_offset: int = 0,
            last_offset: int = 0,
            delivery_state: int = 0,
            delivery_count: int = 0,
        ) -> None:
            self.first_offset = first_offset
            self.last_offset = last_offset
            self.delivery_state = delivery_state
            self.delivery_count = delivery_count

    def __init__(
        self,
        *,
        snapshot_epoch: int = 0,
        state_epoch: int = 0,
        leader_epoch: int = 0,
        start_offset: int = 0,
        delivery_complete_count: int = -1,
        create_timestamp: int = 0,
        write_timestamp: int = 0,
        state_batches: list[ShareSnapshotValue.StateBatch] = UNSET,
    ) -> None:
        self.snapshot_epoch = snapshot_epoch
        self.state_epoch = state_epoch
        self.leader_epoch = leader_epoch
        self.start_offset = start_offset
        self.delivery_complete_count = delivery_complete_count
        self.create_timestamp = create_timestamp
        self.write_timestamp = write_timestamp
        self.state_batches: list[ShareSnapshotValue.StateBatch] = [] if state_batches is UNSET else state_batches


class ShareUpdateKey(Message):
    __slots__ = ("group_id", "topic_id", "partition")

    API_KEY: ClassVar[int] = 1
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int | None] = None
    FIELDS: ClassVar[Fields] = (
        ("group_id", "string", 0, 0, -1, -1, "", -1, False, False),
        ("topic_id", "uuid", 0, 0, -1, -1, b"\0" * 16, -1, False, False),
        ("partition", "int32", 0, 0, -1, -1, 0, -1, False, False),
    )

    def __init__(
        self,
        *,
        group_id: str = "",
        topic_id: bytes = ZERO_UUID,
        partition: int = 0,
    ) -> None:
        self.group_id = group_id
        self.topic_id = topic_id
        self.partition = partition


class ShareUpdateValue(Message):
    __slots__ = ("snapshot_epoch", "leader_epoch", "start_offset", "delivery_complete_count", "state_batches")

    API_KEY: ClassVar[int] = 1
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int | None] = 0
    FIELDS: ClassVar[Fields] = (
        ("snapshot_epoch", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("leader_epoch", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("start_offset", "int64", 0, 32767, -1, -1, 0, -1, False, False),
        ("delivery_complete_count", "int32", 0, 32767, -1, -1, -1, 0, False, False),
        ("state_batches", "[]StateBatch", 0, 32767, -1, -1, ..., -1, False, False),
    )

    class StateBatch(Struct):
        __slots__ = ("first_offset", "last_offset", "delivery_state", "delivery_count")

        FIELDS: ClassVar[Fields] = (
            ("first_offset", "int64", 0, 32767, -1, -1, 0, -1, False, False),
            ("last_offset", "int64", 0, 32767, -1, -1, 0, -1, False, False),
            ("delivery_state", "int8", 0, 32767, -1, -1, 0, -1, False, False),
            ("delivery_count", "int16", 0, 32767, -1, -1, 0, -1, False, False),
        )

        def __init__(
            self,
            *,
            first_offset: int = 0,
            last_offset: int = 0,
            delivery_state: int = 0,
            delivery_count: int = 0,
        ) -> None:
            self.first_offset = first_offset
            self.last_offset = last_offset
            self.delivery_state = delivery_state
            self.delivery_count = delivery_count

    def __init__(
        self,
        *,
        snapshot_epoch: int = 0,
        leader_epoch: int = 0,
        start_offset: int = 0,
        delivery_complete_count: int = -1,
        state_batches: list[ShareUpdateValue.StateBatch] = UNSET,
    ) -> None:
        self.snapshot_epoch = snapshot_epoch
        self.leader_epoch = leader_epoch
        self.start_offset = start_offset
        self.delivery_complete_count = delivery_complete_count
        self.state_batches: list[ShareUpdateValue.StateBatch] = [] if state_batches is UNSET else state_batches
