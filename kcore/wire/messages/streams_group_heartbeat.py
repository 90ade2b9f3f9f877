"""Made by tools/generate_wire.py from kcore/wire/schema/88_streams_group_heartbeat.txt; do not edit."""

# fmt: off
# ruff: noqa: RUF023, RUF100

from __future__ import annotations

from kcore.hints import ClassVar
from kcore.wire.message import UNSET, Fields, Message, Struct


class StreamsGroupHeartbeatRequest(Message):
    __slots__ = ("group_id", "member_id", "member_epoch", "endpoint_information_epoch", "instance_id", "rack_id", "rebalance_timeout_ms", "topology", "active_tasks", "standby_tasks", "warmup_tasks", "process_id", "user_endpoint", "client_tags", "task_offsets", "task_end_offsets", "shutdown_application")

    API_KEY: ClassVar[int] = 88
    VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_FROM: ClassVar[int | None] = 0
    FIELDS: ClassVar[Fields] = (
        ("group_id", "string", 0, 32767, -1, -1, "", -1, False, False),
        ("member_id", "string", 0, 32767, -1, -1, "", -1, False, False),
        ("member_epoch", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("endpoint_information_epoch", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("instance_id", "string", 0, 32767, 0, 32767, None, -1, False, False),
        ("rack_id", "string", 0, 32767, 0, 32767, None, -1, False, False),
        ("rebalance_timeout_ms", "int32", 0, 32767, -1, -1, -1, -1, False, False),
        ("topology", "Topology", 0, 32767, 0, 32767, None, -1, False, False),
        ("active_tasks", "[]TaskIds", 0, 32767, 0, 32767, None, -1, False, False),
        ("standby_tasks", "[]TaskIds", 0, 32767, 0, 32767, None, -1, False, False),
        ("warmup_tasks", "[]TaskIds", 0, 32767, 0, 32767, None, -1, False, False),
        ("process_id", "string", 0, 32767, 0, 32767, None, -1, False, False),
        ("user_endpoint", "Endpoint", 0, 32767, 0, 32767, None, -1, False, False),
        ("client_tags", "[]KeyValue", 0, 32767, 0, 32767, None, -1, False, False),
        ("task_offsets", "[]TaskOffset", 0, 32767, 0, 32767, None, -1, False, False),
        ("task_end_offsets", "[]TaskOffset", 0, 32767, 0, 32767, None, -1, False, False),
        ("shutdown_application", "bool", 0, 32767, -1, -1, False, -1, False, False),
    )

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

    class TopicInfo(Struct):
        __slots__ = ("name", "partitions", "replication_factor", "topic_configs")

        FIELDS: ClassVar[Fields] = (
            ("name", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("partitions", "int32", 0, 32767, -1, -1, 0, -1, False, False),
            ("replication_factor", "int16", 0, 32767, -1, -1, 0, -1, False, False),
            ("topic_configs", "[]KeyValue", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            name: str = "",
            partitions: int = 0,
            replication_factor: int = 0,
            topic_configs: list[StreamsGroupHeartbeatRequest.KeyValue] = UNSET,
        ) -> None:
            self.name = name
            self.partitions = partitions
            self.replication_factor = replication_factor
            self.topic_configs: list[StreamsGroupHeartbeatRequest.KeyValue] = [] if topic_configs is UNSET else topic_configs

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

    class TaskOffset(Struct):
        __slots__ = ("subtopology_id", "partition", "offset")

        FIELDS: ClassVar[Fields] = (
            ("subtopology_id", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("partition", "int32", 0, 32767, -1, -1, 0, -1, False, False),
            ("offset", "int64", 0, 32767, -1, -1, 0, -1, False, False),
        )

        def __init__(
            self,
            *,
            subtopology_id: str = "",
            partition: int = 0,
            offset: int = 0,
        ) -> None:
            self.subtopology_id = subtopology_id
            self.partition = partition
            self.offset = offset

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
            state_changelog_topics: list[StreamsGroupHeartbeatRequest.TopicInfo] = UNSET,
            repartition_sink_topics: list[str] = UNSET,
            repartition_source_topics: list[StreamsGroupHeartbeatRequest.TopicInfo] = UNSET,
            copartition_groups: list[StreamsGroupHeartbeatRequest.CopartitionGroup] = UNSET,
        ) -> None:
            self.subtopology_id = subtopology_id
            self.source_topics: list[str] = [] if source_topics is UNSET else source_topics
            self.source_topic_regex: list[str] = [] if source_topic_regex is UNSET else source_topic_regex
            self.state_changelog_topics: list[StreamsGroupHeartbeatRequest.TopicInfo] = [] if state_changelog_topics is UNSET else state_changelog_topics
            self.repartition_sink_topics: list[str] = [] if repartition_sink_topics is UNSET else repartition_sink_topics
            self.repartition_source_topics: list[StreamsGroupHeartbeatRequest.TopicInfo] = [] if repartition_source_topics is UNSET else repartition_source_topics
            self.copartition_groups: list[StreamsGroupHeartbeatRequest.CopartitionGroup] = [] if copartition_groups is UNSET else copartition_groups

    class Topology(Struct):
        __slots__ = ("epoch", "subtopologies")

        FIELDS: ClassVar[Fields] = (
            ("epoch", "int32", 0, 32767, -1, -1, 0, -1, False, False),
            ("subtopologies", "[]Subtopology", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            epoch: int = 0,
            subtopologies: list[StreamsGroupHeartbeatRequest.Subtopology] = UNSET,
        ) -> None:
            self.epoch = epoch
            self.subtopologies: list[StreamsGroupHeartbeatRequest.Subtopology] = [] if subtopologies is UNSET else subtopologies

    def __init__(
        self,
        *,
        group_id: str = "",
        member_id: str = "",
        member_epoch: int = 0,
        endpoint_information_epoch: int = 0,
        instance_id: str | None = None,
        rack_id: str | None = None,
        rebalance_timeout_ms: int = -1,
        topology: StreamsGroupHeartbeatRequest.Topology | None = None,
        active_tasks: list[StreamsGroupHeartbeatRequest.TaskIds] | None = None,
        standby_tasks: list[StreamsGroupHeartbeatRequest.TaskIds] | None = None,
        warmup_tasks: list[StreamsGroupHeartbeatRequest.TaskIds] | None = None,
        process_id: str | None = None,
        user_endpoint: StreamsGroupHeartbeatRequest.Endpoint | None = None,
        client_tags: list[StreamsGroupHeartbeatRequest.KeyValue] | None = None,
        task_offsets: list[StreamsGroupHeartbeatRequest.TaskOffset] | None = None,
        task_end_offsets: list[StreamsGroupHeartbeatRequest.TaskOffset] | None = None,
        shutdown_application: bool = False,
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.endpoint_information_epoch = endpoint_information_epoch
        self.instance_id = instance_id
        self.rack_id = rack_id
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.topology = topology
        self.active_tasks = active_tasks
        self.standby_tasks = standby_tasks
        self.warmup_tasks = warmup_tasks
        self.process_id = process_id
        self.user_endpoint = user_endpoint
        self.client_tags = client_tags
        self.task_offsets = task_offsets
        self.task_end_offsets = task_end_offsets
        self.shutdown_application = shutdown_application


class StreamsGroupHeartbeatResponse(Message):
    __slots__ = ("throttle_time_ms", "error_code", "error_message", "member_id", "member_epoch", "heartbeat_interval_ms", "acceptable_recovery_lag_legacy", "task_offset_interval_ms", "acceptable_recovery_lag", "status", "active_tasks", "standby_tasks", "warmup_tasks", "topology_description_required", "endpoint_information_epoch", "partitions_by_user_endpoint")

    API_KEY: ClassVar[int] = 88
    VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_FROM: ClassVar[int | None] = 0
    FIELDS: ClassVar[Fields] = (
        ("throttle_time_ms", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("error_code", "int16", 0, 32767, -1, -1, 0, -1, False, False),
        ("error_message", "string", 0, 32767, 0, 32767, None, -1, False, False),
        ("member_id", "string", 0, 32767, -1, -1, "", -1, False, False),
        ("member_epoch", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("heartbeat_interval_ms", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("acceptable_recovery_lag_legacy", "int32", 0, 0, -1, -1, 0, -1, False, False),
        ("task_offset_interval_ms", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("acceptable_recovery_lag", "int64", 1, 32767, -1, -1, -1, -1, True, False),
        ("status", "[]Status", 0, 32767, 0, 32767, ..., -1, False, False),
        ("active_tasks", "[]TaskIds", 0, 32767, 0, 32767, None, -1, False, False),
        ("standby_tasks", "[]TaskIds", 0, 32767, 0, 32767, None, -1, False, False),
        ("warmup_tasks", "[]TaskIds", 0, 32767, 0, 32767, None, -1, False, False),
        ("topology_description_required", "bool", 1, 32767, -1, -1, False, -1, False, False),
        ("endpoint_information_epoch", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("partitions_by_user_endpoint", "[]EndpointToPartitions", 0, 32767, 0, 32767, None, -1, False, False),
    )

    class Status(Struct):
        __slots__ = ("status_code", "status_detail")

        FIELDS: ClassVar[Fields] = (
            ("status_code", "int8", 0, 32767, -1, -1, 0, -1, False, False),
            ("status_detail", "string", 0, 32767, -1, -1, "", -1, False, False),
        )

        def __init__(
            self,
            *,
            status_code: int = 0,
            status_detail: str = "",
        ) -> None:
            self.status_code = status_code
            self.status_detail = status_detail

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

    class EndpointToPartitions(Struct):
        __slots__ = ("user_endpoint", "active_partitions", "standby_partitions")

        FIELDS: ClassVar[Fields] = (
            ("user_endpoint", "Endpoint", 0, 32767, -1, -1, ..., -1, False, False),
            ("active_partitions", "[]TopicPartition", 0, 32767, -1, -1, ..., -1, False, False),
            ("standby_partitions", "[]TopicPartition", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            user_endpoint: StreamsGroupHeartbeatResponse.Endpoint = UNSET,
            active_partitions: list[StreamsGroupHeartbeatResponse.TopicPartition] = UNSET,
            standby_partitions: list[StreamsGroupHeartbeatResponse.TopicPartition] = UNSET,
        ) -> None:
            self.user_endpoint: StreamsGroupHeartbeatResponse.Endpoint = StreamsGroupHeartbeatResponse.Endpoint() if user_endpoint is UNSET else user_endpoint
            self.active_partitions: list[StreamsGroupHeartbeatResponse.TopicPartition] = [] if active_partitions is UNSET else active_partitions
            self.standby_partitions: list[StreamsGroupHeartbeatResponse.TopicPartition] = [] if standby_partitions is UNSET else standby_partitions

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
        member_id: str = "",
        member_epoch: int = 0,
        heartbeat_interval_ms: int = 0,
        acceptable_recovery_lag_legacy: int = 0,
        task_offset_interval_ms: int = 0,
        acceptable_recovery_lag: int = -1,
        status: list[StreamsGroupHeartbeatResponse.Status] | None = UNSET,
        active_tasks: list[StreamsGroupHeartbeatResponse.TaskIds] | None = None,
        standby_tasks: list[StreamsGroupHeartbeatResponse.TaskIds] | None = None,
        warmup_tasks: list[StreamsGroupHeartbeatResponse.TaskIds] | None = None,
        topology_description_required: bool = False,
        endpoint_information_epoch: int = 0,
        partitions_by_user_endpoint: list[StreamsGroupHeartbeatResponse.EndpointToPartitions] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
        self.member_id = member_id
        self.member_epoch = member_epoch
        self.heartbeat_interval_ms = heartbeat_interval_ms
        self.acceptable_recovery_lag_legacy = acceptable_recovery_lag_legacy
        self.task_offset_interval_ms = task_offset_interval_ms
        self.acceptable_recovery_lag = acceptable_recovery_lag
        self.status: list[StreamsGroupHeartbeatResponse.Status] | None = [] if status is UNSET else status
        self.active_tasks = active_tasks
        self.standby_tasks = standby_tasks
        self.warmup_tasks = warmup_tasks
        self.topology_description_required = topology_description_required
        self.endpoint_information_epoch = endpoint_information_epoch
        self.partitions_by_user_endpoint = partitions_by_user_endpoint
