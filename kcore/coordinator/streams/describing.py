"""StreamsGroupDescribe."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from kcore.coordinator.numbered import grouped
from kcore.coordinator.streams.described import Stored, description_of
from kcore.coordinator.streams.group import NOTHING_REPORTED, StreamsGroup
from kcore.coordinator.streams.member import Offsets, StreamsMember, Task
from kcore.coordinator.streams.topology import InternalTopic, Subtopology
from kcore.limits import MAX_NAME_CHARS
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import StreamsGroupDescribeResponse

if TYPE_CHECKING:
    from kcore.coordinator.context import AnyGroup

_Described = StreamsGroupDescribeResponse.DescribedGroup
_Member = StreamsGroupDescribeResponse.Member
_Topology = StreamsGroupDescribeResponse.Topology
_Subtopology = StreamsGroupDescribeResponse.Subtopology
_TopicInfo = StreamsGroupDescribeResponse.TopicInfo
_Assignment = StreamsGroupDescribeResponse.Assignment
_TaskIds = StreamsGroupDescribeResponse.TaskIds
_TaskOffset = StreamsGroupDescribeResponse.TaskOffset
_KeyValue = StreamsGroupDescribeResponse.KeyValue
_Endpoint = StreamsGroupDescribeResponse.Endpoint


def describe(
    group_id: str, group: AnyGroup | None, assignor_name: str, *, with_description: bool
) -> _Described:
    """A group as an administrator sees it. assignor_name: of the one that makes its next target.
    with_description: of its topology.
    """
    if not isinstance(group, StreamsGroup):
        why = "not found" if group is None else "is not a streams group"
        return _Described(
            group_id=group_id,
            error_code=ErrorCode.GROUP_ID_NOT_FOUND,
            error_message=f"Group {group_id[:MAX_NAME_CHARS]} {why}.",
        )
    description, stored = None, Stored.NOT_REQUESTED
    if with_description:
        description = description_of(group)
        stored = Stored.NOT_STORED if description is None else Stored.AVAILABLE
    return _Described(
        group_id=group_id,
        group_state=group.state.value,
        group_epoch=group.epoch,
        assignment_epoch=group.target_epoch,
        topology=_describe_topology(group),
        members=[_describe_member(group, one) for one in group.members.values()],
        topology_description=description,
        topology_description_status=stored,
        assignor_name=assignor_name,
    )


def _describe_topology(group: StreamsGroup) -> _Topology | None:
    """With the numbers of the cluster, once all of its topics are there."""
    configured = group.configured
    if configured is not None and configured.ready:
        return _Topology(
            epoch=configured.topology.epoch,
            subtopologies=[
                _describe_part(part.subtopology, part.repartitions, part.changelogs)
                for part in configured.parts.values()
            ],
        )
    if group.topology is None:
        return None  # of a journal that says nothing of it
    return _Topology(
        epoch=group.topology.epoch,
        subtopologies=[
            _describe_part(one, one.repartitions, one.changelogs)
            for one in group.topology.subtopologies.values()
        ],
    )


def _describe_part(
    one: Subtopology, repartitions: Iterable[InternalTopic], changelogs: Iterable[InternalTopic]
) -> _Subtopology:
    return _Subtopology(
        subtopology_id=one.subtopology_id,
        source_topics=sorted(one.sources),
        repartition_sink_topics=sorted(one.sinks),
        state_changelog_topics=_describe_topics(changelogs),
        repartition_source_topics=_describe_topics(repartitions),
    )


def _describe_topics(topics: Iterable[InternalTopic]) -> list[_TopicInfo]:
    return [
        _TopicInfo(
            name=topic.name,
            partitions=topic.partitions,
            replication_factor=topic.replication_factor,
            topic_configs=[_KeyValue(key=key, value=value) for key, value in topic.configs],
        )
        for topic in sorted(topics, key=lambda topic: topic.name)
    ]


def _describe_member(group: StreamsGroup, member: StreamsMember) -> _Member:
    endpoint = None
    if member.endpoint is not None:
        host, port = member.endpoint
        endpoint = _Endpoint(host=host, port=port)
    assigned, target = member.assigned, group.target_of(member.member_id)
    reported = group.offsets.get(member.member_id, NOTHING_REPORTED)
    return _Member(
        member_id=member.member_id,
        member_epoch=member.epoch,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        topology_epoch=member.topology_epoch,
        process_id=member.process_id,
        user_endpoint=endpoint,
        client_tags=[_KeyValue(key=key, value=value) for key, value in member.tags.items()],
        assignment=_assignment(assigned.active, assigned.standby, assigned.warmup),
        target_assignment=_assignment(target.active, target.standby, target.warmup),
        task_offsets=_task_offsets(reported.done),
        task_end_offsets=_task_offsets(reported.ends),
    )


def _assignment(
    active: Iterable[Task], standby: Iterable[Task], warmup: Iterable[Task]
) -> _Assignment:
    return _Assignment(
        active_tasks=_task_ids(active),
        standby_tasks=_task_ids(standby),
        warmup_tasks=_task_ids(warmup),
    )


def _task_offsets(offsets: Offsets) -> list[_TaskOffset]:
    return [
        _TaskOffset(subtopology_id=name, partition=number, offset=offset)
        for (name, number), offset in sorted(offsets.items())
    ]


def _task_ids(tasks: Iterable[Task]) -> list[_TaskIds]:
    return [
        _TaskIds(subtopology_id=name, partitions=numbers)
        for name, numbers in grouped(tasks).items()
    ]
