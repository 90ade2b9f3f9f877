"""Made by tools/generate_wire.py from kcore/wire/schema/share_group_records.txt; do not edit."""

# fmt: off
# ruff: noqa: RUF023, RUF100

from __future__ import annotations

from kcore.hints import ClassVar
from kcore.wire.message import UNSET, ZERO_UUID, Fields, Message, Struct


class ShareGroupMemberMetadataKey(Message):
    __slots__ = ("group_id", "member_id")

    API_KEY: ClassVar[int] = 10
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int | None] = None
    FIELDS: ClassVar[Fields] = (
        ("group_id", "string", 0, 0, -1, -1, "", -1, False, False),
        ("member_id", "string", 0, 0, -1, -1, "", -1, False, False),
    )

    def __init__(
        self,
        *,
        group_id: str = "",
        member_id: str = "",
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id


class ShareGroupMemberMetadataValue(Message):
    __slots__ = ("rack_id", "client_id", "client_host", "subscribed_topic_names")

    API_KEY: ClassVar[int] = 10
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int | None] = 0
    FIELDS: ClassVar[Fields] = (
        ("rack_id", "string", 0, 32767, 0, 32767, "", -1, False, False),
        ("client_id", "string", 0, 32767, -1, -1, "", -1, False, False),
        ("client_host", "string", 0, 32767, -1, -1, "", -1, False, False),
        ("subscribed_topic_names", "[]string", 0, 32767, -1, -1, ..., -1, False, False),
    )

    def __init__(
        self,
        *,
        rack_id: str | None = "",
        client_id: str = "",
        client_host: str = "",
        subscribed_topic_names: list[str] = UNSET,
    ) -> None:
        self.rack_id = rack_id
        self.client_id = client_id
        self.client_host = client_host
        self.subscribed_topic_names: list[str] = [] if subscribed_topic_names is UNSET else subscribed_topic_names


class ShareGroupMetadataKey(Message):
    __slots__ = ("group_id",)

    API_KEY: ClassVar[int] = 11
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int | None] = None
    FIELDS: ClassVar[Fields] = (
        ("group_id", "string", 0, 0, -1, -1, "", -1, False, False),
    )

    def __init__(
        self,
        *,
        group_id: str = "",
    ) -> None:
        self.group_id = group_id


class ShareGroupMetadataValue(Message):
    __slots__ = ("epoch", "metadata_hash")

    API_KEY: ClassVar[int] = 11
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int | None] = 0
    FIELDS: ClassVar[Fields] = (
        ("epoch", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("metadata_hash", "int64", 0, 32767, -1, -1, 0, -1, False, False),
    )

    def __init__(
        self,
        *,
        epoch: int = 0,
        metadata_hash: int = 0,
    ) -> None:
        self.epoch = epoch
        self.metadata_hash = metadata_hash


class ShareGroupTargetAssignmentMetadataKey(Message):
    __slots__ = ("group_id",)

    API_KEY: ClassVar[int] = 12
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int | None] = None
    FIELDS: ClassVar[Fields] = (
        ("group_id", "string", 0, 0, -1, -1, "", -1, False, False),
    )

    def __init__(
        self,
        *,
        group_id: str = "",
    ) -> None:
        self.group_id = group_id


class ShareGroupTargetAssignmentMetadataValue(Message):
    __slots__ = ("assignment_epoch", "assignment_timestamp")

    API_KEY: ClassVar[int] = 12
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int | None] = 0
    FIELDS: ClassVar[Fields] = (
        ("assignment_epoch", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("assignment_timestamp", "int64", 0, 32767, -1, -1, 0, 0, True, False),
    )

    def __init__(
        self,
        *,
        assignment_epoch: int = 0,
        assignment_timestamp: int = 0,
    ) -> None:
        self.assignment_epoch = assignment_epoch
        self.assignment_timestamp = assignment_timestamp


class ShareGroupTargetAssignmentMemberKey(Message):
    __slots__ = ("group_id", "member_id")

    API_KEY: ClassVar[int] = 13
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int | None] = None
    FIELDS: ClassVar[Fields] = (
        ("group_id", "string", 0, 0, -1, -1, "", -1, False, False),
        ("member_id", "string", 0, 0, -1, -1, "", -1, False, False),
    )

    def __init__(
        self,
        *,
        group_id: str = "",
        member_id: str = "",
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id


class ShareGroupTargetAssignmentMemberValue(Message):
    __slots__ = ("topic_partitions",)

    API_KEY: ClassVar[int] = 13
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int | None] = 0
    FIELDS: ClassVar[Fields] = (
        ("topic_partitions", "[]TopicPartition", 0, 32767, -1, -1, ..., -1, False, False),
    )

    class TopicPartition(Struct):
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
        topic_partitions: list[ShareGroupTargetAssignmentMemberValue.TopicPartition] = UNSET,
    ) -> None:
        self.topic_partitions: list[ShareGroupTargetAssignmentMemberValue.TopicPartition] = [] if topic_partitions is UNSET else topic_partitions


class ShareGroupCurrentMemberAssignmentKey(Message):
    __slots__ = ("group_id", "member_id")

    API_KEY: ClassVar[int] = 14
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int | None] = None
    FIELDS: ClassVar[Fields] = (
        ("group_id", "string", 0, 0, -1, -1, "", -1, False, False),
        ("member_id", "string", 0, 0, -1, -1, "", -1, False, False),
    )

    def __init__(
        self,
        *,
        group_id: str = "",
        member_id: str = "",
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id


class ShareGroupCurrentMemberAssignmentValue(Message):
    __slots__ = ("member_epoch", "previous_member_epoch", "state", "assigned_partitions")

    API_KEY: ClassVar[int] = 14
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int | None] = 0
    FIELDS: ClassVar[Fields] = (
        ("member_epoch", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("previous_member_epoch", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("state", "int8", 0, 32767, -1, -1, 0, -1, False, False),
        ("assigned_partitions", "[]TopicPartitions", 0, 32767, -1, -1, ..., -1, False, False),
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
        member_epoch: int = 0,
        previous_member_epoch: int = 0,
        state: int = 0,
        assigned_partitions: list[ShareGroupCurrentMemberAssignmentValue.TopicPartitions] = UNSET,
    ) -> None:
        self.member_epoch = member_epoch
        self.previous_member_epoch = previous_member_epoch
        self.state = state
        self.assigned_partitions: list[ShareGroupCurrentMemberAssignmentValue.TopicPartitions] = [] if assigned_partitions is UNSET else assigned_partitions


class ShareGroupStatePartitionMetadataKey(Message):
    __slots__ = ("group_id",)

    API_KEY: ClassVar[int] = 15
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int | None] = None
    FIELDS: ClassVar[Fields] = (
        ("group_id", "string", 0, 0, -1, -1, "", -1, False, False),
    )

    def __init__(
        self,
        *,
        group_id: str = "",
    ) -> None:
        self.group_id = group_id


class ShareGroupStatePartitionMetadataValue(Message):
    __slots__ = ("initializing_topics", "initialized_topics", "deleting_topics")

    API_KEY: ClassVar[int] = 15
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int | None] = 0
    FIELDS: ClassVar[Fields] = (
        ("initializing_topics", "[]TopicPartitionsInfo", 0, 32767, -1, -1, ..., -1, False, False),
        ("initialized_topics", "[]TopicPartitionsInfo", 0, 32767, -1, -1, ..., -1, False, False),
        ("deleting_topics", "[]TopicInfo", 0, 32767, -1, -1, ..., -1, False, False),
    )

    class TopicPartitionsInfo(Struct):
        __slots__ = ("topic_id", "topic_name", "partitions")

        FIELDS: ClassVar[Fields] = (
            ("topic_id", "uuid", 0, 32767, -1, -1, b"\0" * 16, -1, False, False),
            ("topic_name", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("partitions", "[]int32", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            topic_id: bytes = ZERO_UUID,
            topic_name: str = "",
            partitions: list[int] = UNSET,
        ) -> None:
            self.topic_id = topic_id
            self.topic_name = topic_name
            self.partitions: list[int] = [] if partitions is UNSET else partitions

    class TopicInfo(Struct):
        __slots__ = ("topic_id", "topic_name")

        FIELDS: ClassVar[Fields] = (
            ("topic_id", "uuid", 0, 32767, -1, -1, b"\0" * 16, -1, False, False),
            ("topic_name", "string", 0, 32767, -1, -1, "", -1, False, False),
        )

        def __init__(
            self,
            *,
            topic_id: bytes = ZERO_UUID,
            topic_name: str = "",
        ) -> None:
            self.topic_id = topic_id
            self.topic_name = topic_name

    def __init__(
        self,
        *,
        initializing_topics: list[ShareGroupStatePartitionMetadataValue.TopicPartitionsInfo] = UNSET,
        initialized_topics: list[ShareGroupStatePartitionMetadataValue.TopicPartitionsInfo] = UNSET,
        deleting_topics: list[ShareGroupStatePartitionMetadataValue.TopicInfo] = UNSET,
    ) -> None:
        self.initializing_topics: list[ShareGroupStatePartitionMetadataValue.TopicPartitionsInfo] = [] if initializing_topics is UNSET else initializing_topics
        self.initialized_topics: list[ShareGroupStatePartitionMetadataValue.TopicPartitionsInfo] = [] if initialized_topics is UNSET else initialized_topics
        self.deleting_topics: list[ShareGroupStatePartitionMetadataValue.TopicInfo] = [] if deleting_topics is UNSET else deleting_topics
