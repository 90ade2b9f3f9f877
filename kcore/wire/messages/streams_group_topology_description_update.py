"""Made by tools/generate_wire.py from kcore/wire/schema/93_streams_group_topology_description_update.txt; do not edit."""

# fmt: off
# ruff: noqa: RUF023, RUF100

from __future__ import annotations

from kcore.hints import ClassVar
from kcore.wire.message import UNSET, Fields, Message, Struct


class StreamsGroupTopologyDescriptionUpdateRequest(Message):
    __slots__ = ("group_id", "member_id", "topology_epoch", "topology_description")

    API_KEY: ClassVar[int] = 93
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int | None] = 0
    FIELDS: ClassVar[Fields] = (
        ("group_id", "string", 0, 32767, -1, -1, "", -1, False, False),
        ("member_id", "string", 0, 32767, -1, -1, "", -1, False, False),
        ("topology_epoch", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("topology_description", "TopologyDescription", 0, 32767, -1, -1, ..., -1, False, False),
    )

    class TopologyDescription(Struct):
        __slots__ = ("subtopologies", "global_stores")

        FIELDS: ClassVar[Fields] = (
            ("subtopologies", "[]TopologyDescriptionSubtopology", 0, 32767, -1, -1, ..., -1, False, False),
            ("global_stores", "[]TopologyDescriptionGlobalStore", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            subtopologies: list[StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescriptionSubtopology] = UNSET,
            global_stores: list[StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescriptionGlobalStore] = UNSET,
        ) -> None:
            self.subtopologies: list[StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescriptionSubtopology] = [] if subtopologies is UNSET else subtopologies
            self.global_stores: list[StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescriptionGlobalStore] = [] if global_stores is UNSET else global_stores

    class TopologyDescriptionSubtopology(Struct):
        __slots__ = ("subtopology_id", "nodes")

        FIELDS: ClassVar[Fields] = (
            ("subtopology_id", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("nodes", "[]TopologyDescriptionNode", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            subtopology_id: str = "",
            nodes: list[StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescriptionNode] = UNSET,
        ) -> None:
            self.subtopology_id = subtopology_id
            self.nodes: list[StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescriptionNode] = [] if nodes is UNSET else nodes

    class TopologyDescriptionNode(Struct):
        __slots__ = ("name", "node_type", "source_topics", "sink_topic", "stores", "successors")

        FIELDS: ClassVar[Fields] = (
            ("name", "string", 0, 32767, -1, -1, "", -1, False, False),
            ("node_type", "int8", 0, 32767, -1, -1, 0, -1, False, False),
            ("source_topics", "[]string", 0, 32767, -1, -1, ..., -1, False, False),
            ("sink_topic", "string", 0, 32767, 0, 32767, None, -1, False, False),
            ("stores", "[]string", 0, 32767, -1, -1, ..., -1, False, False),
            ("successors", "[]string", 0, 32767, -1, -1, ..., -1, False, False),
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
            ("source", "TopologyDescriptionNode", 0, 32767, -1, -1, ..., -1, False, False),
            ("processor", "TopologyDescriptionNode", 0, 32767, -1, -1, ..., -1, False, False),
        )

        def __init__(
            self,
            *,
            source: StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescriptionNode = UNSET,
            processor: StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescriptionNode = UNSET,
        ) -> None:
            self.source: StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescriptionNode = StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescriptionNode() if source is UNSET else source
            self.processor: StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescriptionNode = StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescriptionNode() if processor is UNSET else processor

    def __init__(
        self,
        *,
        group_id: str = "",
        member_id: str = "",
        topology_epoch: int = 0,
        topology_description: StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescription = UNSET,
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.topology_epoch = topology_epoch
        self.topology_description: StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescription = StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescription() if topology_description is UNSET else topology_description


class StreamsGroupTopologyDescriptionUpdateResponse(Message):
    __slots__ = ("throttle_time_ms", "error_code", "error_message")

    API_KEY: ClassVar[int] = 93
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_FROM: ClassVar[int | None] = 0
    FIELDS: ClassVar[Fields] = (
        ("throttle_time_ms", "int32", 0, 32767, -1, -1, 0, -1, False, False),
        ("error_code", "int16", 0, 32767, -1, -1, 0, -1, False, False),
        ("error_message", "string", 0, 32767, 0, 32767, None, -1, False, False),
    )

    def __init__(
        self,
        *,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        error_message: str | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.error_message = error_message
