"""Streams groups (KIP-1071) as they are told: rows like those of other groups, with tasks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from kcore.admin.rows import epochs_row

_STREAMS: Final = "streams"
_ASSIGNOR: Final = "sticky"  # the only one until Kafka 4.3, whose answers do not name it

# Java: StreamsGroupTopologyDescriptionStatus, and the types of nodes.
_STATUSES: Final = ("NOT_REQUESTED", "NOT_STORED", "ERROR", "AVAILABLE")
_NODE_TYPES: Final = {1: "SOURCE", 2: "PROCESSOR", 3: "SINK"}

# Subtopology -> the topics that it reads.
_Inputs = Mapping[str, Sequence[str]]


def streams_row(group: Any) -> dict[str, Any]:
    """A group as StreamsGroupDescribe tells it. `topology`: what the application reads and writes;
    partitions of internal topics are 0 as long as topics are missing. `topology_description`: what
    it is made of, as its members say (KIP-1331), if the status is AVAILABLE.
    """
    topology = group.topology
    parts = () if topology is None else topology.subtopologies or ()
    inputs = {
        part.subtopology_id: (
            *part.source_topics,
            *(topic.name for topic in part.repartition_source_topics),
        )
        for part in parts
    }
    members = [_member(member, inputs) for member in group.members]
    row = epochs_row(group, _STREAMS, group.assignor_name or _ASSIGNOR, members)
    row["topology_epoch"] = None if topology is None else topology.epoch
    row["topology"] = [
        {
            "subtopology_id": part.subtopology_id,
            "source_topics": list(part.source_topics),
            "repartition_sink_topics": list(part.repartition_sink_topics),
            "repartition_source_topics": _internal(part.repartition_source_topics),
            "state_changelog_topics": _internal(part.state_changelog_topics),
        }
        for part in parts
    ]
    status = group.topology_description_status
    known = status in range(len(_STATUSES))
    row["topology_description_status"] = _STATUSES[status] if known else "Unknown"
    described = group.topology_description
    row["topology_description"] = None if described is None else _description(described)
    return row


def _description(described: Any) -> dict[str, Any]:
    return {
        "subtopologies": [
            {"subtopology_id": part.subtopology_id, "nodes": _nodes(part.nodes)}
            for part in described.subtopologies
        ],
        "global_stores": [
            dict(zip(("source", "processor"), _nodes((one.source, one.processor)), strict=True))
            for one in described.global_stores
        ],
    }


def _nodes(nodes: Sequence[Any]) -> list[dict[str, Any]]:
    """With what nodes of their type have, and who comes before each of them here."""
    rows = []
    for node in nodes:
        kind = _NODE_TYPES.get(node.node_type, "Unknown")
        own = {
            "SOURCE": {"source_topics": list(node.source_topics)},
            "PROCESSOR": {"stores": list(node.stores)},
            "SINK": {"sink_topic": node.sink_topic},
        }
        rows.append(
            {
                "name": node.name,
                "node_type": kind,
                **own.get(kind, {}),
                "successors": list(node.successors),
                "predecessors": [one.name for one in nodes if node.name in one.successors],
            }
        )
    return rows


def _internal(topics: Iterable[Any]) -> list[dict[str, Any]]:
    return [
        {
            "name": topic.name,
            "partitions": topic.partitions,
            "replication_factor": topic.replication_factor,
            "topic_configs": {one.key: one.value for one in topic.topic_configs},
        }
        for topic in topics
    ]


def _member(member: Any, inputs: _Inputs) -> dict[str, Any]:
    endpoint = member.user_endpoint
    return {
        "member_id": member.member_id,
        "group_instance_id": member.instance_id,
        "client_id": member.client_id,
        "client_host": member.client_host,
        "member_epoch": member.member_epoch,
        "member_type": "classic" if member.is_classic else _STREAMS,
        "member_metadata": {
            "process_id": member.process_id,
            "topology_epoch": member.topology_epoch,
            "user_endpoint": None if endpoint is None else f"{endpoint.host}:{endpoint.port}",
            "client_tags": {one.key: one.value for one in member.client_tags},
            "rack_id": member.rack_id,
        },
        "member_assignment": _assignment(member.assignment, inputs),
        "target_assignment": _assignment(member.target_assignment, inputs),
        "task_offsets": _offsets(member.task_offsets),
        "task_end_offsets": _offsets(member.task_end_offsets),
    }


def _offsets(entries: Iterable[Any]) -> dict[str, dict[int, int]]:
    """Subtopology -> partition -> offset."""
    found: dict[str, dict[int, int]] = {}
    for one in entries:
        found.setdefault(one.subtopology_id, {})[one.partition] = one.offset
    return found


def _assignment(assignment: Any, inputs: _Inputs) -> dict[str, Any]:
    """Tasks by role, and the partitions that active ones read, as of any other member."""
    read: dict[str, list[int]] = {}
    for task in assignment.active_tasks:
        for topic in inputs.get(task.subtopology_id, ()):
            read.setdefault(topic, []).extend(task.partitions)
    return {
        "assigned_partitions": [
            {"topic": topic, "partitions": sorted(numbers)} for topic, numbers in read.items()
        ],
        "active_tasks": _tasks(assignment.active_tasks),
        "standby_tasks": _tasks(assignment.standby_tasks),
        "warmup_tasks": _tasks(assignment.warmup_tasks),
    }


def _tasks(tasks: Iterable[Any]) -> dict[str, list[int]]:
    """Subtopology -> partitions."""
    return {task.subtopology_id: list(task.partitions) for task in tasks}
