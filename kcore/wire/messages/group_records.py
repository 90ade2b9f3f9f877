"""Made by tools/generate_wire.py from kcore/wire/schema/group_records.txt; do not edit."""

# fmt: off
# ruff: noqa: RUF023, RUF100

from __future__ import annotations

from kcore.hints import ClassVar
from kcore.wire.message import UNSET, ZERO_UUID, Fields, Message, Struct


class OffsetCommitKey(Message):
    __slots__ = ("group", "topic", "partition")

    API_KEY: ClassVar[int] = 1
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int | None] = None
    FIELDS: ClassVar[Fields] = (
        ("group", "string", 0, 0, -1, -1, "", -1, False, False),
        ("topic", "string", 0, 0, -1, -1, "", -1, False, False),
        ("partition", "int32", 0, 0, -1, -1, 0, -1, False, False),
    )

    def __init__(
        self,
        *,
        group: str = "",
        topic: str = "",
        partition: int = 0,
    ) -> None:
        self.group = group
        self.topic = topic
        self.partition = partition


class OffsetCommitValue(Message):
    __slots__ = ("offset", "leader_epoch", "metadata", "commit_timestamp", "expire_timestamp", "topic_id")

    API_KEY: ClassVar[int] = 1
    VERSIONS: ClassVar[tuple[int, int]] = (0, 4)
    FLEXIBLE_FROM: ClassVar[int | None] = 4
    FIELDS: ClassVar[Fields] = (
        ("offset", "int64", 0, 32767, -1, -1, 0, -1, False, False),
        ("leader_epoch", "int32", 3, 32767, -1, -1, -1, -1, True, False),
        ("metadata", "string", 0, 32767, -1, -1, "", -1, False, False),
        ("commit_timestamp", "int64", 0, 32767, -1, -1, 0, -1, False, False),
        ("expire_timestamp", "int64", 1, 1, -1, -1, -1, -1, True, False),
        ("topic_id", "uuid", 4, 32767, -1, -1, b"\0" * 16, 0, True, False),
    )

    def __init__(
        self,
        *,
        offset: int = 0,
        leader_epoch: int = -1,
        metadata: str = "",
        commit_timestamp: int = 0,
        expire_timestamp: int = -1,
        topic_id: bytes = ZERO_UUID,
    ) -> None:
        self.offset = offset
        self.leader_epoch = leader_epoch
        self.metadata = metadata
        self.commit_timestamp = commit_timestamp
        self.expire_timestamp = expire_timestamp
        self.topic_id = topic_id


class GroupMetadataKey(Message):
    __slots__ = ("group",)

    API_KEY: ClassVar[int] = 2
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int | None] = None
    FIELDS: ClassVar[Fields] = (
        ("group", "string", 0, 0, -1, -1, "", -1, False, False),
    )

    def __init__(
        self,
        *,
        group: str = "",
    ) -> None:
        self.group = group


class GroupMetadataValue(Message):
    __slots__ = ("protocol_type", "generation", "protocol", "leader", "current_state_timestamp", "members")

    API_KEY: ClassVar[int] = 2
    VERSIONS: ClassVar[tuple[int, int]] = (0, 4)
    FLEXIBLE_FROM: ClassVar[int | None] = 4
    FIELDS: ClassVar[Fields] = (
        ("protocol_type", "string", 0, 32767, -1, -1, "", -1, False, False),
        ("generation", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("protocol", "string", 0, 32767, 0, 32767, "", -1, False, False),
        ("leader", "string", 0, 32767, 0, 32767, "", -1, False, False),
        ("current_state_timestamp", "int64", 2, 32767, -1, -1, -1, -1, True, False),
        ("members", "[]MemberMetadata", 0, 32767, -1, -1, ..., -1, False, False),
    )

    class MemberMetadata(Struct):
        __slots__ = ("member_id", "group_instance_id", "client_id", "client_host", "rebalance_timeout", "session_timeout", "subscription", "assignment")

        FIELDS: ClassVar[Fields] = (
            ("member_id", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("group_instance_id", "string", 3, 32767, 3, 32767, None, -1, True, False),
            ("client_id", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("client_host", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("rebalance_timeout", "int32", 1, 32767, -1, -1, -1, -1, True, False),
            ("session_timeout", "int32", 0, 32767, -1, -1, 0, -1, False, False),
            ("subscription", "bytes", 0, 32767, -1, -1, b"", -1, False, False),
            ("assignment", "bytes", 0, 32767, -1, -1, b"", -1, False, False),
        )

        def __init__(
            self,
            *,
            member_id: str = "",
            group_instance_id: str | None = None,
            client_id: str = "",
            client_host: str = "",
            rebalance_timeout: int = -1,
            session_timeout: int = 0,
            subscription: bytes = b"",
            assignment: bytes = b"",
        ) -> None:
            self.member_id = member_id
            self.group_instance_id = group_instance_id
            self.client_id = client_id
            self.client_host = client_host
            self.rebalance_timeout = rebalance_timeout
            self.session_timeout = session_timeout
            self.subscription = subscription
            self.assignment = assignment

    def __init__(
        self,
        *,
        protocol_type: str = "",
        generation: int = 0,
        protocol: str | None = "",
        leader: str | None = "",
        current_state_timestamp: int = -1,
        members: list[GroupMetadataValue.MemberMetadata] = UNSET,
    ) -> None:
        self.protocol_type = protocol_type
        self.generation = generation
        self.protocol = protocol
        self.leader = leader
        self.current_state_timestamp = current_state_timestamp
        self.members: list[GroupMetadataValue.MemberMetadata] = [] if members is UNSET else members


class ConsumerGroupMetadataKey(Message):
    __slots__ = ("group_id",)

    API_KEY: ClassVar[int] = 3
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


class ConsumerGroupMetadataValue(Message):
    __slots__ = ("epoch", "metadata_hash")

    API_KEY: ClassVar[int] = 3
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int | None] = 0
    FIELDS: ClassVar[Fields] = (
        ("epoch", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("metadata_hash", "int64", 0, 32767, -1, -1, 0, 0, False, False),
    )

    def __init__(
        self,
        *,
        epoch: int = 0,
        metadata_hash: int = 0,
    ) -> None:
        self.epoch = epoch
        self.metadata_hash = metadata_hash


class ConsumerGroupPartitionMetadataKey(Message):
    __slots__ = ("group_id",)

    API_KEY: ClassVar[int] = 4
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


class ConsumerGroupMemberMetadataKey(Message):
    __slots__ = ("group_id", "member_id")

    API_KEY: ClassVar[int] = 5
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


class ConsumerGroupMemberMetadataValue(Message):
    __slots__ = ("instance_id", "rack_id", "client_id", "client_host", "subscribed_topic_names", "subscribed_topic_regex", "rebalance_timeout_ms", "server_assignor", "classic_member_metadata")

    API_KEY: ClassVar[int] = 5
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int | None] = 0
    FIELDS: ClassVar[Fields] = (
        ("instance_id", "string", 0, 32767, 0, 32767, "", -1, False, False),
        ("rack_id", "string", 0, 32767, 0, 32767, "", -1, False, False),
        ("client_id", "string", 0, 32767, -1, -1, "", -1, False, False),
        ("client_host", "string", 0, 32767, -1, -1, "", -1, False, False),
        ("subscribed_topic_names", "[]string", 0, 32767, -1, -1, ..., -1, False, False),
        ("subscribed_topic_regex", "string", 0, 32767, 0, 32767, "", -1, False, False),
        ("rebalance_timeout_ms", "int32", 0, 32767, -1, -1, -1, -1, False, False),
        ("server_assignor", "string", 0, 32767, 0, 32767, "", -1, False, False),
        ("classic_member_metadata", "ClassicMemberMetadata", 0, 32767, 0, 32767, ..., 0, False, False),
    )

    class ClassicProtocol(Struct):
        __slots__ = ("name", "metadata")

        FIELDS: ClassVar[Fields] = (
            ("name", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("metadata", "bytes", 0, 32767, -1, -1, b"", -1, False, False),
        )

        def __init__(
            self,
            *,
            name: str = "",
            metadata: bytes = b"",
        ) -> None:
            self.name = name
            self.metadata = metadata

    class ClassicMemberMetadata(Struct):
        __slots__ = ("session_timeout_ms", "supported_protocols")

        FIELDS: ClassVar[Fields] = (
            ("session_timeout_ms", "int32", 0, 32767, -1, -1, 0, -1, False, False),
            ("supported_protocols", "[]ClassicProtocol", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            session_timeout_ms: int = 0,
            supported_protocols: list[ConsumerGroupMemberMetadataValue.ClassicProtocol] = UNSET,
        ) -> None:
            self.session_timeout_ms = session_timeout_ms
            self.supported_protocols: list[ConsumerGroupMemberMetadataValue.ClassicProtocol] = [] if supported_protocols is UNSET else supported_protocols

    def __init__(
        self,
        *,
        instance_id: str | None = "",
        rack_id: str | None = "",
        client_id: str = "",
        client_host: str = "",
        subscribed_topic_names: list[str] = UNSET,
        subscribed_topic_regex: str | None = "",
        rebalance_timeout_ms: int = -1,
        server_assignor: str | None = "",
        classic_member_metadata: ConsumerGroupMemberMetadataValue.ClassicMemberMetadata | None = UNSET,
    ) -> None:
        self.instance_id = instance_id
        self.rack_id = rack_id
        self.client_id = client_id
        self.client_host = client_host
        self.subscribed_topic_names: list[str] = [] if subscribed_topic_names is UNSET else subscribed_topic_names
        self.subscribed_topic_regex = subscribed_topic_regex
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.server_assignor = server_assignor
        self.classic_member_metadata: ConsumerGroupMemberMetadataValue.ClassicMemberMetadata | None = ConsumerGroupMemberMetadataValue.ClassicMemberMetadata() if classic_member_metadata is UNSET else classic_member_metadata


class ConsumerGroupTargetAssignmentMetadataKey(Message):
    __slots__ = ("group_id",)

    API_KEY: ClassVar[int] = 6
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


class ConsumerGroupTargetAssignmentMetadataValue(Message):
    __slots__ = ("assignment_epoch", "assignment_timestamp")

    API_KEY: ClassVar[int] = 6
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


class ConsumerGroupTargetAssignmentMemberKey(Message):
    __slots__ = ("group_id", "member_id")

    API_KEY: ClassVar[int] = 7
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


class ConsumerGroupTargetAssignmentMemberValue(Message):
    __slots__ = ("topic_partitions",)

    API_KEY: ClassVar[int] = 7
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
        topic_partitions: list[ConsumerGroupTargetAssignmentMemberValue.TopicPartition] = UNSET,
    ) -> None:
        self.topic_partitions: list[ConsumerGroupTargetAssignmentMemberValue.TopicPartition] = [] if topic_partitions is UNSET else topic_partitions


class ConsumerGroupCurrentMemberAssignmentKey(Message):
    __slots__ = ("group_id", "member_id")

    API_KEY: ClassVar[int] = 8
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


class ConsumerGroupCurrentMemberAssignmentValue(Message):
    __slots__ = ("member_epoch", "previous_member_epoch", "state", "assigned_partitions", "partitions_pending_revocation")

    API_KEY: ClassVar[int] = 8
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int | None] = 0
    FIELDS: ClassVar[Fields] = (
        ("member_epoch", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("previous_member_epoch", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("state", "int8", 0, 32767, -1, -1, 0, -1, False, False),
        ("assigned_partitions", "[]TopicPartitions", 0, 32767, -1, -1, ..., -1, False, False),
        ("partitions_pending_revocation", "[]TopicPartitions", 0, 32767, -1, -1, ..., -1, False, False),
    )

    class TopicPartitions(Struct):
        __slots__ = ("topic_id", "partitions", "assignment_epochs")

        FIELDS: ClassVar[Fields] = (
            ("topic_id", "uuid", 0, 32767, -1, -1, b"\0" * 16, -1, False, False),
            ("partitions", "[]int32", 0, 32767, -1, -1, ..., -1, False, False),
            ("assignment_epochs", "[]int32", 0, 32767, 0, 32767, ..., 0, False, False),
        )

        def __init__(
            self,
            *,
            topic_id: bytes = ZERO_UUID,
            partitions: list[int] = UNSET,
            assignment_epochs: list[int] | None = UNSET,
        ) -> None:
            self.topic_id = topic_id
            self.partitions: list[int] = [] if partitions is UNSET else partitions
            self.assignment_epochs: list[int] | None = [] if assignment_epochs is UNSET else assignment_epochs

    def __init__(
        self,
        *,
        member_epoch: int = 0,
        previous_member_epoch: int = 0,
        state: int = 0,
        assigned_partitions: list[ConsumerGroupCurrentMemberAssignmentValue.TopicPartitions] = UNSET,
        partitions_pending_revocation: list[ConsumerGroupCurrentMemberAssignmentValue.TopicPartitions] = UNSET,
    ) -> None:
        self.member_epoch = member_epoch
        self.previous_member_epoch = previous_member_epoch
        self.state = state
        self.assigned_partitions: list[ConsumerGroupCurrentMemberAssignmentValue.TopicPartitions] = [] if assigned_partitions is UNSET else assigned_partitions
        self.partitions_pending_revocation: list[ConsumerGroupCurrentMemberAssignmentValue.TopicPartitions] = [] if partitions_pending_revocation is UNSET else partitions_pending_revocation


class ConsumerGroupRegularExpressionKey(Message):
    __slots__ = ("group_id", "regular_expression")

    API_KEY: ClassVar[int] = 16
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int | None] = None
    FIELDS: ClassVar[Fields] = (
        ("group_id", "string", 0, 0, -1, -1, "", -1, False, False),
        ("regular_expression", "string", 0, 0, -1, -1, "", -1, False, False),
    )

    def __init__(
        self,
        *,
        group_id: str = "",
        regular_expression: str = "",
    ) -> None:
        self.group_id = group_id
        self.regular_expression = regular_expression


class ConsumerGroupRegularExpressionValue(Message):
    __slots__ = ("topics", "version", "timestamp")

    API_KEY: ClassVar[int] = 16
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int | None] = 0
    FIELDS: ClassVar[Fields] = (
        ("topics", "[]string", 0, 32767, -1, -1, ..., -1, False, False),
        ("version", "int64", 0, 32767, -1, -1, 0, -1, False, False),
        ("timestamp", "int64", 0, 32767, -1, -1, 0, -1, False, False),
    )

    def __init__(
        self,
        *,
        topics: list[str] = UNSET,
        version: int = 0,
        timestamp: int = 0,
    ) -> None:
        self.topics: list[str] = [] if topics is UNSET else topics
        self.version = version
        self.timestamp = timestamp
