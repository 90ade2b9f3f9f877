"""Made by tools/generate_wire.py from kcore/wire/schema/streams_group_records.txt; do not edit."""

# fmt: off
# ruff: noqa: RUF023, RUF100

from __future__ import annotations

from kcore.hints import ClassVar
from kcore.wire.message import UNSET, Fields, Message, Struct


class StreamsGroupMetadataKey(Message):
    __slots__ = ("group_id",)

    API_KEY: ClassVar[int] = 17
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


class StreamsGroupMetadataValue(Message):
    __slots__ = ("epoch", "metadata_hash", "validated_topology_epoch", "last_assignment_configs", "stored_description_topology_epoch", "failed_description_topology_epoch")

    API_KEY: ClassVar[int] = 17
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int | None] = 0
    FIELDS: ClassVar[Fields] = (
        ("epoch", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("metadata_hash", "int64", 0, 32767, -1, -1, 0, -1, False, False),
        ("validated_topology_epoch", "int32", 0, 32767, -1, -1, -1, 0, False, False),
        ("last_assignment_configs", "[]LastAssignmentConfig", 0, 32767, 0, 32767, ..., 1, False, False),
        ("stored_description_topology_epoch", "int32", 0, 32767, -1, -1, -1, 2, False, False),
        ("failed_description_topology_epoch", "int32", 0, 32767, -1, -1, -1, 3, False, False),
    )

    class LastAssignmentConfig(Struct):
        __slots__ = ("key", "value")

        FIELDS: ClassVar[Fields] = (
            ("key", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("value", "string", 0, 32767, -1, -1, "", -1, False, False),
        )

        def __init__(
            self,
            *,
            key: str = "",
            value: str = "",
        ) -> None:
            self.key = key
            self.value = value

    def __init__(
        self,
        *,
        epoch: int = 0,
        metadata_hash: int = 0,
        validated_topology_epoch: int = -1,
        last_assignment_configs: list[StreamsGroupMetadataValue.LastAssignmentConfig] | None = UNSET,
        stored_description_topology_epoch: int = -1,
        failed_description_topology_epoch: int = -1,
    ) -> None:
        self.epoch = epoch
        self.metadata_hash = metadata_hash
        self.validated_topology_epoch = validated_topology_epoch
        self.last_assignment_configs: list[StreamsGroupMetadataValue.LastAssignmentConfig] | None = [] if last_assignment_configs is UNSET else last_assignment_configs
        self.stored_description_topology_epoch = stored_description_topology_epoch
        self.failed_description_topology_epoch = failed_description_topology_epoch


class StreamsGroupMemberMetadataKey(Message):
    __slots__ = ("group_id", "member_id")

    API_KEY: ClassVar[int] = 19
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


class StreamsGroupMemberMetadataValue(Message):
    __slots__ = ("instance_id", "rack_id", "client_id", "client_host", "rebalance_timeout_ms", "topology_epoch", "process_id", "user_endpoint", "client_tags")

    API_KEY: ClassVar[int] = 19
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int | None] = 0
    FIELDS: ClassVar[Fields] = (
        ("instance_id", "string", 0, 32767, 0, 32767, "", -1, False, False),
        ("rack_id", "string", 0, 32767, 0, 32767, "", -1, False, False),
        ("client_id", "string", 0, 32767, -1, -1, "", -1, False, False),
        ("client_host", "string", 0, 32767, -1, -1, "", -1, False, False),
        ("rebalance_timeout_ms", "int32", 0, 32767, -1, -1, -1, -1, False, False),
        ("topology_epoch", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("process_id", "string", 0, 32767, -1, -1, "", -1, False, False),
        ("user_endpoint", "Endpoint", 0, 32767, 0, 32767, None, -1, False, False),
        ("client_tags", "[]KeyValue", 0, 32767, -1, -1, ..., -1, False, False),
    )

    class Endpoint(Struct):
        __slots__ = ("host", "port")

        FIELDS: ClassVar[Fields] = (
            ("host", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("port", "uint16", 0, 32767, -1, -1, 0, -1, False, False),
        )

        def __init__(
            self,
            *,
            host: str = "",
            port: int = 0,
        ) -> None:
            self.host = host
            self.port = port

    class KeyValue(Struct):
        __slots__ = ("key", "value")

        FIELDS: ClassVar[Fields] = (
            ("key", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("value", "string", 0, 32767, -1, -1, "", -1, False, False),
        )

        def __init__(
            self,
            *,
            key: str = "",
            value: str = "",
        ) -> None:
            self.key = key
            self.value = value

    def __init__(
        self,
        *,
        instance_id: str | None = "",
        rack_id: str | None = "",
        client_id: str = "",
        client_host: str = "",
        rebalance_timeout_ms: int = -1,
        topology_epoch: int = 0,
        process_id: str = "",
        user_endpoint: StreamsGroupMemberMetadataValue.Endpoint | None = None,
        client_tags: list[StreamsGroupMemberMetadataValue.KeyValue] = UNSET,
    ) -> None:
        self.instance_id = instance_id
        self.rack_id = rack_id
        self.client_id = client_id
        self.client_host = client_host
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.topology_epoch = topology_epoch
        self.process_id = process_id
        self.user_endpoint = user_endpoint
        self.client_tags: list[StreamsGroupMemberMetadataValue.KeyValue] = [] if client_tags is UNSET else client_tags


class StreamsGroupTargetAssignmentMetadataKey(Message):
    __slots__ = ("group_id",)

    API_KEY: ClassVar[int] = 20
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


class StreamsGroupTargetAssignmentMetadataValue(Message):
    __slots__ = ("assignment_epoch", "assignment_timestamp")

    API_KEY: ClassVar[int] = 20
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


class StreamsGroupTargetAssignmentMemberKey(Message):
    __slots__ = ("group_id", "member_id")

    API_KEY: ClassVar[int] = 21
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


class StreamsGroupTargetAssignmentMemberValue(Message):
    __slots__ = ("active_tasks", "standby_tasks", "warmup_tasks")

    API_KEY: ClassVar[int] = 21
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int | None] = 0
    FIELDS: ClassVar[Fields] = (
        ("active_tasks", "[]TaskIds", 0, 32767, -1, -1, ..., -1, False, False),
        ("standby_tasks", "[]TaskIds", 0, 32767, -1, -1, ..., -1, False, False),
        ("warmup_tasks", "[]TaskIds", 0, 32767, -1, -1, ..., -1, False, False),
    )

    class TaskIds(Struct):
        __slots__ = ("subtopology_id", "partitions")

        FIELDS: ClassVar[Fields] = (
            ("subtopology_id", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("partitions", "[]int32", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            subtopology_id: str = "",
            partitions: list[int] = UNSET,
        ) -> None:
            self.subtopology_id = subtopology_id
            self.partitions: list[int] = [] if partitions is UNSET else partitions

    def __init__(
        self,
        *,
        active_tasks: list[StreamsGroupTargetAssignmentMemberValue.TaskIds] = UNSET,
        standby_tasks: list[StreamsGroupTargetAssignmentMemberValue.TaskIds] = UNSET,
        warmup_tasks: list[StreamsGroupTargetAssignmentMemberValue.TaskIds] = UNSET,
    ) -> None:
        self.active_tasks: list[StreamsGroupTargetAssignmentMemberValue.TaskIds] = [] if active_tasks is UNSET else active_tasks
        self.standby_tasks: list[StreamsGroupTargetAssignmentMemberValue.TaskIds] = [] if standby_tasks is UNSET else standby_tasks
        self.warmup_tasks: list[StreamsGroupTargetAssignmentMemberValue.TaskIds] = [] if warmup_tasks is UNSET else warmup_tasks


class StreamsGroupCurrentMemberAssignmentKey(Message):
    __slots__ = ("group_id", "member_id")

    API_KEY: ClassVar[int] = 22
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


class StreamsGroupCurrentMemberAssignmentValue(Message):
    __slots__ = ("member_epoch", "previous_member_epoch", "state", "active_tasks", "standby_tasks", "warmup_tasks", "active_tasks_pending_revocation", "standby_tasks_pending_revocation", "warmup_tasks_pending_revocation")

    API_KEY: ClassVar[int] = 22
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int | None] = 0
    FIELDS: ClassVar[Fields] = (
        ("member_epoch", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("previous_member_epoch", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("state", "int8", 0, 32767, -1, -1, 0, -1, False, False),
        ("active_tasks", "[]TaskIds", 0, 32767, -1, -1, ..., -1, False, False),
        ("standby_tasks", "[]TaskIds", 0, 32767, -1, -1, ..., -1, False, False),
        ("warmup_tasks", "[]TaskIds", 0, 32767, -1, -1, ..., -1, False, False),
        ("active_tasks_pending_revocation", "[]TaskIds", 0, 32767, -1, -1, ..., -1, False, False),
        ("standby_tasks_pending_revocation", "[]TaskIds", 0, 32767, -1, -1, ..., -1, False, False),
        ("warmup_tasks_pending_revocation", "[]TaskIds", 0, 32767, -1, -1, ..., -1, False, False),
    )

    class TaskIds(Struct):
        __slots__ = ("subtopology_id", "partitions", "assignment_epochs")

        FIELDS: ClassVar[Fields] = (
            ("subtopology_id", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("partitions", "[]int32", 0, 32767, -1, -1, ..., -1, False, False),
            ("assignment_epochs", "[]int32", 0, 32767, 0, 32767, ..., 0, False, False),
        )

        def __init__(
            self,
            *,
            subtopology_id: str = "",
            partitions: list[int] = UNSET,
            assignment_epochs: list[int] | None = UNSET,
        ) -> None:
            self.subtopology_id = subtopology_id
            self.partitions: list[int] = [] if partitions is UNSET else partitions
            self.assignment_epochs: list[int] | None = [] if assignment_epochs is UNSET else assignment_epochs

    def __init__(
        self,
        *,
        member_epoch: int = 0,
        previous_member_epoch: int = 0,
        state: int = 0,
        active_tasks: list[StreamsGroupCurrentMemberAssignmentValue.TaskIds] = UNSET,
        standby_tasks: list[StreamsGroupCurrentMemberAssignmentValue.TaskIds] = UNSET,
        warmup_tasks: list[StreamsGroupCurrentMemberAssignmentValue.TaskIds] = UNSET,
        active_tasks_pending_revocation: list[StreamsGroupCurrentMemberAssignmentValue.TaskIds] = UNSET,
        standby_tasks_pending_revocation: list[StreamsGroupCurrentMemberAssignmentValue.TaskIds] = UNSET,
        warmup_tasks_pending_revocation: list[StreamsGroupCurrentMemberAssignmentValue.TaskIds] = UNSET,
    ) -> None:
        self.member_epoch = member_epoch
        self.previous_member_epoch = previous_member_epoch
        self.state = state
        self.active_tasks: list[StreamsGroupCurrentMemberAssignmentValue.TaskIds] = [] if active_tasks is UNSET else active_tasks
        self.standby_tasks: list[StreamsGroupCurrentMemberAssignmentValue.TaskIds] = [] if standby_tasks is UNSET else standby_tasks
        self.warmup_tasks: list[StreamsGroupCurrentMemberAssignmentValue.TaskIds] = [] if warmup_tasks is UNSET else warmup_tasks
        self.active_tasks_pending_revocation: list[StreamsGroupCurrentMemberAssignmentValue.TaskIds] = [] if active_tasks_pending_revocation is UNSET else active_tasks_pending_revocation
        self.standby_tasks_pending_revocation: list[StreamsGroupCurrentMemberAssignmentValue.TaskIds] = [] if standby_tasks_pending_revocation is UNSET else standby_tasks_pending_revocation
        self.warmup_tasks_pending_revocation: list[StreamsGroupCurrentMemberAssignmentValue.TaskIds] = [] if warmup_tasks_pending_revocation is UNSET else warmup_tasks_pending_revocation


class StreamsGroupTopologyKey(Message):
    __slots__ = ("group_id",)

    API_KEY: ClassVar[int] = 23
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


class StreamsGroupTopologyValue(Message):
    __slots__ = ("epoch", "subtopologies")

    API_KEY: ClassVar[int] = 23
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int | None] = 0
    FIELDS: ClassVar[Fields] = (
        ("epoch", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("subtopologies", "[]Subtopology", 0, 32767, -1, -1, ..., -1, False, False),
    )

    class TopicConfig(Struct):
        __slots__ = ("key", "value")

        FIELDS: ClassVar[Fields] = (
            ("key", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("value", "string", 0, 32767, -1, -1, "", -1, False, False),
        )

        def __init__(
            self,
            *,
            key: str = "",
            value: str = "",
        ) -> None:
            self.key = key
            self.value = value

    class TopicInfo(Struct):
        __slots__ = ("name", "partitions", "replication_factor", "topic_configs")

        FIELDS: ClassVar[Fields] = (
            ("name", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("partitions", "int32", 0, 32767, -1, -1, 0, -1, False, False),
            ("replication_factor", "int16", 0, 32767, -1, -1, 0, -1, False, False),
            ("topic_configs", "[]TopicConfig", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            name: str = "",
            partitions: int = 0,
            replication_factor: int = 0,
            topic_configs: list[StreamsGroupTopologyValue.TopicConfig] = UNSET,
        ) -> None:
            self.name = name
            self.partitions = partitions
            self.replication_factor = replication_factor
            self.topic_configs: list[StreamsGroupTopologyValue.TopicConfig] = [] if topic_configs is UNSET else topic_configs

    class CopartitionGroup(Struct):
        __slots__ = ("source_topics", "source_topic_regex", "repartition_source_topics")

        FIELDS: ClassVar[Fields] = (
            ("source_topics", "[]int16", 0, 32767, -1, -1, ..., -1, False, False),
            ("source_topic_regex", "[]int16", 0, 32767, -1, -1, ..., -1, False, False),
            ("repartition_source_topics", "[]int16", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            source_topics: list[int] = UNSET,
            source_topic_regex: list[int] = UNSET,
            repartition_source_topics: list[int] = UNSET,
        ) -> None:
            self.source_topics: list[int] = [] if source_topics is UNSET else source_topics
            self.source_topic_regex: list[int] = [] if source_topic_regex is UNSET else source_topic_regex
            self.repartition_source_topics: list[int] = [] if repartition_source_topics is UNSET else repartition_source_topics

    class Subtopology(Struct):
        __slots__ = ("subtopology_id", "source_topics", "source_topic_regex", "state_changelog_topics", "repartition_sink_topics", "repartition_source_topics", "copartition_groups")

        FIELDS: ClassVar[Fields] = (
            ("subtopology_id", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("source_topics", "[]string", 0, 32767, -1, -1, ..., -1, False, False),
            ("source_topic_regex", "[]string", 0, 32767, -1, -1, ..., -1, False, False),
            ("state_changelog_topics", "[]TopicInfo", 0, 32767, -1, -1, ..., -1, False, False),
            ("repartition_sink_topics", "[]string", 0, 32767, -1, -1, ..., -1, False, False),
            ("repartition_source_topics", "[]TopicInfo", 0, 32767, -1, -1, ..., -1, False, False),
            ("copartition_groups", "[]CopartitionGroup", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            subtopology_id: str = "",
            source_topics: list[str] = UNSET,
            source_topic_regex: list[str] = UNSET,
            state_changelog_topics: list[StreamsGroupTopologyValue.TopicInfo] = UNSET,
            repartition_sink_topics: list[str] = UNSET,
            repartition_source_topics: list[StreamsGroupTopologyValue.TopicInfo] = UNSET,
            copartition_groups: list[StreamsGroupTopologyValue.CopartitionGroup] = UNSET,
        ) -> None:
            self.subtopology_id = subtopology_id
            self.source_topics: list[str] = [] if source_topics is UNSET else source_topics
            self.source_topic_regex: list[str] = [] if source_topic_regex is UNSET else source_topic_regex
            self.state_changelog_topics: list[StreamsGroupTopologyValue.TopicInfo] = [] if state_changelog_topics is UNSET else state_changelog_topics
            self.repartition_sink_topics: list[str] = [] if repartition_sink_topics is UNSET else repartition_sink_topics
            self.repartition_source_topics: list[StreamsGroupTopologyValue.TopicInfo] = [] if repartition_source_topics is UNSET else repartition_source_topics
            self.copartition_groups: list[StreamsGroupTopologyValue.CopartitionGroup] = [] if copartition_groups is UNSET else copartition_groups

    def __init__(
        self,
        *,
        epoch: int = 0,
        subtopologies: list[StreamsGroupTopologyValue.Subtopology] = UNSET,
    ) -> None:
        self.epoch = epoch
        self.subtopologies: list[StreamsGroupTopologyValue.Subtopology] = [] if subtopologies is UNSET else subtopologies
