"""Made by tools/generate_wire.py from kcore/wire/schema/89_streams_group_describe.txt; do not edit."""

# fmt: off
# ruff: noqa: RUF023, RUF100

from __future__ import annotations

from kcore.hints import ClassVar
from kcore.wire.message import UNSET, Fields, Message, Struct


class StreamsGroupDescribeRequest(Message):
    __slots__ = ("group_ids", "include_authorized_operations", "include_topology_description")

    API_KEY: ClassVar[int] = 89
    VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_FROM: ClassVar[int | None] = 0
    FIELDS: ClassVar[Fields] = (
        ("group_ids", "[]string", 0, 32767, -1, -1, ..., -1, False, False),
        ("include_authorized_operations", "bool", 0, 32767, -1, -1, False, -1, False, False),
        ("include_topology_description", "bool", 1, 32767, -1, -1, False, -1, False, False),
    )

    def __init__(
        self,
        *,
        group_ids: list[str] = UNSET,
        include_authorized_operations: bool = False,
        include_topology_description: bool = False,
    ) -> None:
        self.group_ids: list[str] = [] if group_ids is UNSET else group_ids
        self.include_authorized_operations = include_authorized_operations
        self.include_topology_description = include_topology_description


class StreamsGroupDescribeResponse(Message):
    __slots__ = ("throttle_time_ms", "groups")

    API_KEY: ClassVar[int] = 89
    VERSIONS: ClassVar[tuple[int, int]] = (0, 1)
    FLEXIBLE_FROM: ClassVar[int | None] = 0
    FIELDS: ClassVar[Fields] = (
        ("throttle_time_ms", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("groups", "[]DescribedGroup", 0, 32767, -1, -1, ..., -1, False, False),
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

    class Assignment(Struct):
        __slots__ = ("active_tasks", "standby_tasks", "warmup_tasks")

        FIELDS: ClassVar[Fields] = (
            ("active_tasks", "[]TaskIds", 0, 32767, -1, -1, ..., -1, False, False),
            ("standby_tasks", "[]TaskIds", 0, 32767, -1, -1, ..., -1, False, False),
            ("warmup_tasks", "[]TaskIds", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            active_tasks: list[StreamsGroupDescribeResponse.TaskIds] = UNSET,
            standby_tasks: list[StreamsGroupDescribeResponse.TaskIds] = UNSET,
            warmup_tasks: list[StreamsGroupDescribeResponse.TaskIds] = UNSET,
        ) -> None:
            self.active_tasks: list[StreamsGroupDescribeResponse.TaskIds] = [] if active_tasks is UNSET else active_tasks
            self.standby_tasks: list[StreamsGroupDescribeResponse.TaskIds] = [] if standby_tasks is UNSET else standby_tasks
            self.warmup_tasks: list[StreamsGroupDescribeResponse.TaskIds] = [] if warmup_tasks is UNSET else warmup_tasks

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
            topic_configs: list[StreamsGroupDescribeResponse.KeyValue] = UNSET,
        ) -> None:
            self.name = name
            self.partitions = partitions
            self.replication_factor = replication_factor
            self.topic_configs: list[StreamsGroupDescribeResponse.KeyValue] = [] if topic_configs is UNSET else topic_configs

    class TopologyDescription(Struct):
        __slots__ = ("subtopologies", "global_stores")

        FIELDS: ClassVar[Fields] = (
            ("subtopologies", "[]TopologyDescriptionSubtopology", 1, 32767, -1, -1, ..., -1, False, False),
            ("global_stores", "[]TopologyDescriptionGlobalStore", 1, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            subtopologies: list[StreamsGroupDescribeResponse.TopologyDescriptionSubtopology] = UNSET,
            global_stores: list[StreamsGroupDescribeResponse.TopologyDescriptionGlobalStore] = UNSET,
        ) -> None:
            self.subtopologies: list[StreamsGroupDescribeResponse.TopologyDescriptionSubtopology] = [] if subtopologies is UNSET else subtopologies
            self.global_stores: list[StreamsGroupDescribeResponse.TopologyDescriptionGlobalStore] = [] if global_stores is UNSET else global_stores

    class TopologyDescriptionSubtopology(Struct):
        __slots__ = ("subtopology_id", "nodes")

        FIELDS: ClassVar[Fields] = (
            ("subtopology_id", "string", 1, 32767, -1, -1, "", -1, False, False),
            ("nodes", "[]TopologyDescriptionNode", 1, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            subtopology_id: str = "",
            nodes: list[StreamsGroupDescribeResponse.TopologyDescriptionNode] = UNSET,
        ) -> None:
            self.subtopology_id = subtopology_id
            self.nodes: list[StreamsGroupDescribeResponse.TopologyDescriptionNode] = [] if nodes is UNSET else nodes

    class TopologyDescriptionNode(Struct):
        __slots__ = ("name", "node_type", "source_topics", "sink_topic", "stores", "successors")

        FIELDS: ClassVar[Fields] = (
            ("name", "string", 1, 32767, -1, -1, "", -1, False, False),
            ("node_type", "int8", 1, 32767, -1, -1, 0, -1, False, False),
            ("source_topics", "[]string", 1, 32767, -1, -1, ..., -1, False, False),
            ("sink_topic", "string", 1, 32767, 1, 32767, None, -1, False, False),
            ("stores", "[]string", 1, 32767, -1, -1, ..., -1, False, False),
            ("successors", "[]string", 1, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            name: str = "",
            node_type: int = 0,
            source_topics: list[str] = UNSET,
            sink_topic: str | None = None,
            stores: list[str] = UNSET,
            successors: list[str] = UNSET,
        ) -> None:
            self.name = name
            self.node_type = node_type
            self.source_topics: list[str] = [] if source_topics is UNSET else source_topics
            self.sink_topic = sink_topic
            self.stores: list[str] = [] if stores is UNSET else stores
            self.successors: list[str] = [] if successors is UNSET else successors

    class TopologyDescriptionGlobalStore(Struct):
        __slots__ = ("source", "processor")

        FIELDS: ClassVar[Fields] = (
            ("source", "TopologyDescriptionNode", 1, 32767, -1, -1, ..., -1, False, False),
            ("processor", "TopologyDescriptionNode", 1, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            source: StreamsGroupDescribeResponse.TopologyDescriptionNode = UNSET,
            processor: StreamsGroupDescribeResponse.TopologyDescriptionNode = UNSET,
        ) -> None:
            self.source: StreamsGroupDescribeResponse.TopologyDescriptionNode = StreamsGroupDescribeResponse.TopologyDescriptionNode() if source is UNSET else source
            self.processor: StreamsGroupDescribeResponse.TopologyDescriptionNode = StreamsGroupDescribeResponse.TopologyDescriptionNode() if processor is UNSET else processor

    class Subtopology(Struct):
        __slots__ = ("subtopology_id", "source_topics", "repartition_sink_topics", "state_changelog_topics", "repartition_source_topics")

        FIELDS: ClassVar[Fields] = (
            ("subtopology_id", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("source_topics", "[]string", 0, 32767, -1, -1, ..., -1, False, False),
            ("repartition_sink_topics", "[]string", 0, 32767, -1, -1, ..., -1, False, False),
            ("state_changelog_topics", "[]TopicInfo", 0, 32767, -1, -1, ..., -1, False, False),
            ("repartition_source_topics", "[]TopicInfo", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            subtopology_id: str = "",
            source_topics: list[str] = UNSET,
            repartition_sink_topics: list[str] = UNSET,
            state_changelog_topics: list[StreamsGroupDescribeResponse.TopicInfo] = UNSET,
            repartition_source_topics: list[StreamsGroupDescribeResponse.TopicInfo] = UNSET,
        ) -> None:
            self.subtopology_id = subtopology_id
            self.source_topics: list[str] = [] if source_topics is UNSET else source_topics
            self.repartition_sink_topics: list[str] = [] if repartition_sink_topics is UNSET else repartition_sink_topics
            self.state_changelog_topics: list[StreamsGroupDescribeResponse.TopicInfo] = [] if state_changelog_topics is UNSET else state_changelog_topics
            self.repartition_source_topics: list[StreamsGroupDescribeResponse.TopicInfo] = [] if repartition_source_topics is UNSET else repartition_source_topics

    class Topology(Struct):
        __slots__ = ("epoch", "subtopologies")

        FIELDS: ClassVar[Fields] = (
            ("epoch", "int32", 0, 32767, -1, -1, 0, -1, False, False),
            ("subtopologies", "[]Subtopology", 0, 32767, 0, 32767, None, -1, False, False),
        )

        def __init__(
            self,
            *,
            epoch: int = 0,
            subtopologies: list[StreamsGroupDescribeResponse.Subtopology] | None = None,
        ) -> None:
            self.epoch = epoch
            self.subtopologies = subtopologies

    class Member(Struct):
        __slots__ = ("member_id", "member_epoch", "instance_id", "rack_id", "client_id", "client_host", "topology_epoch", "process_id", "user_endpoint", "client_tags", "task_offsets", "task_end_offsets", "assignment", "target_assignment", "is_classic")

        FIELDS: ClassVar[Fields] = (
            ("member_id", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("member_epoch", "int32", 0, 32767, -1, -1, 0, -1, False, False),
            ("instance_id", "string", 0, 32767, 0, 32767, None, -1, False, False),
            ("rack_id", "string", 0, 32767, 0, 32767, None, -1, False, False),
            ("client_id", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("client_host", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("topology_epoch", "int32", 0, 32767, -1, -1, 0, -1, False, False),
            ("process_id", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("user_endpoint", "Endpoint", 0, 32767, 0, 32767, None, -1, False, False),
            ("client_tags", "[]KeyValue", 0, 32767, -1, -1, ..., -1, False, False),
            ("task_offsets", "[]TaskOffset", 0, 32767, -1, -1, ..., -1, False, False),
            ("task_end_offsets", "[]TaskOffset", 0, 32767, -1, -1, ..., -1, False, False),
            ("assignment", "Assignment", 0, 32767, -1, -1, ..., -1, False, False),
            ("target_assignment", "Assignment", 0, 32767, -1, -1, ..., -1, False, False),
            ("is_classic", "bool", 0, 32767, -1, -1, False, -1, False, False),
        )

        def __init__(
            self,
            *,
            member_id: str = "",
            member_epoch: int = 0,
            instance_id: str | None = None,
            rack_id: str | None = None,
            client_id: str = "",
            client_host: str = "",
            topology_epoch: int = 0,
            process_id: str = "",
            user_endpoint: StreamsGroupDescribeResponse.Endpoint | None = None,
            client_tags: list[StreamsGroupDescribeResponse.KeyValue] = UNSET,
            task_offsets: list[StreamsGroupDescribeResponse.TaskOffset] = UNSET,
            task_end_offsets: list[StreamsGroupDescribeResponse.TaskOffset] = UNSET,
            assignment: StreamsGroupDescribeResponse.Assignment = UNSET,
            target_assignment: StreamsGroupDescribeResponse.Assignment = UNSET,
            is_classic: bool = False,
        ) -> None:
            self.member_id = member_id
            self.member_epoch = member_epoch
            self.instance_id = instance_id
            self.rack_id = rack_id
            self.client_id = client_id
            self.client_host = client_host
            self.topology_epoch = topology_epoch
            self.process_id = process_id
            self.user_endpoint = user_endpoint
            self.client_tags: list[StreamsGroupDescribeResponse.KeyValue] = [] if client_tags is UNSET else client_tags
            self.task_offsets: list[StreamsGroupDescribeResponse.TaskOffset] = [] if task_offsets is UNSET else task_offsets
            self.task_end_offsets: list[StreamsGroupDescribeResponse.TaskOffset] = [] if task_end_offsets is UNSET else task_end_offsets
            self.assignment: StreamsGroupDescribeResponse.Assignment = StreamsGroupDescribeResponse.Assignment() if assignment is UNSET else assignment
            self.target_assignment: StreamsGroupDescribeResponse.Assignment = StreamsGroupDescribeResponse.Assignment() if target_assignment is UNSET else target_assignment
            self.is_classic = is_classic

    class DescribedGroup(Struct):
        __slots__ = ("error_code", "error_message", "group_id", "group_state", "group_epoch", "assignment_epoch", "topology", "members", "authorized_operations", "topology_description", "topology_description_status", "assignor_name")

        FIELDS: ClassVar[Fields] = (
            ("error_code", "int16", 0, 32767, -1, -1, 0, -1, False, False),
            ("error_message", "string", 0, 32767, 0, 32767, None, -1, False, False),
            ("group_id", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("group_state", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("group_epoch", "int32", 0, 32767, -1, -1, 0, -1, False, False),
            ("assignment_epoch", "int32", 0, 32767, -1, -1, 0, -1, False, False),
            ("topology", "Topology", 0, 32767, 0, 32767, None, -1, False, False),
            ("members", "[]Member", 0, 32767, -1, -1, ..., -1, False, False),
            ("authorized_operations", "int32", 0, 32767, -1, -1, -2147483648, -1, False, False),
            ("topology_description", "TopologyDescription", 1, 32767, 1, 32767, None, -1, False, False),
            ("topology_description_status", "int8", 1, 32767, -1, -1, 0, -1, False, False),
            ("assignor_name", "string", 1, 32767, 1, 32767, None, -1, True, False),
        )

        def __init__(
            self,
            *,
            error_code: int = 0,
            error_message: str | None = None,
            group_id: str = "",
            group_state: str = "",
            group_epoch: int = 0,
            assignment_epoch: int = 0,
            topology: StreamsGroupDescribeResponse.Topology | None = None,
            members: list[StreamsGroupDescribeResponse.Member] = UNSET,
            authorized_operations: int = -2147483648,
            topology_description: StreamsGroupDescribeResponse.TopologyDescription | None = None,
            topology_description_status: int = 0,
            assignor_name: str | None = None,
        ) -> None:
            self.error_code = error_code
            self.error_message = error_message
            self.group_id = group_id
            self.group_state = group_state
            self.group_epoch = group_epoch
            self.assignment_epoch = assignment_epoch
            self.topology = topology
            self.members: list[StreamsGroupDescribeResponse.Member] = [] if members is UNSET else members
            self.authorized_operations = authorized_operations
            self.topology_description = topology_description
            self.topology_description_status = topology_description_status
            self.assignor_name = assignor_name

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        groups: list[StreamsGroupDescribeResponse.DescribedGroup] = UNSET,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.groups: list[StreamsGroupDescribeResponse.DescribedGroup] = [] if groups is UNSET else groups
