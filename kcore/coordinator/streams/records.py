"""What the journal keeps of streams groups: entries out of groups, groups out of entries.

    group epoch, topology, target epoch   one record each, of the group
    member, its target, what it has       one record each, of the member

A member goes by three tombstones, what it has first and itself last; a group by those of all, its
epoch and its topology last (Java: StreamsCoordinatorRecordHelpers,
StreamsGroup.createGroupTombstoneRecords).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from kcore.coordinator.journal import Entry, Item, entry_of
from kcore.coordinator.streams.group import StreamsGroup
from kcore.coordinator.streams.member import (
    LEAVING,
    NOTHING,
    Assigned,
    Held,
    StreamsMember,
    Task,
    Tasks,
    by_subtopology,
)
from kcore.coordinator.streams.states import MemberState
from kcore.coordinator.streams.topology import InternalTopic, Subtopology, Topology, topology_of
from kcore.wire import messages as m
from kcore.wire.message import Message

_Member = m.StreamsGroupMemberMetadataValue
_Target = m.StreamsGroupTargetAssignmentMemberValue
_Current = m.StreamsGroupCurrentMemberAssignmentValue
_Group = m.StreamsGroupMetadataValue
_Topology = m.StreamsGroupTopologyValue

_STATES: Final = {state.value: state for state in MemberState}

# A target that was deleted: no epoch is before it.
_NO_TARGET_EPOCH: Final = -1

KEYS: Final = (
    m.StreamsGroupMetadataKey,
    m.StreamsGroupMemberMetadataKey,
    m.StreamsGroupTargetAssignmentMetadataKey,
    m.StreamsGroupTargetAssignmentMemberKey,
    m.StreamsGroupCurrentMemberAssignmentKey,
    m.StreamsGroupTopologyKey,
)


# Entries ------------------------------------------------------------------------------------------


def epoch_entry(
    group_id: str, epoch: int, metadata_hash: int, validated_epoch: int, configs: Mapping[str, str]
) -> Entry:
    """The group is in this epoch, with topics as they are, and assigns by these options."""
    return entry_of(
        m.StreamsGroupMetadataKey(group_id=group_id),
        _Group(
            epoch=epoch,
            metadata_hash=metadata_hash,
            validated_topology_epoch=validated_epoch,
            last_assignment_configs=[
                _Group.LastAssignmentConfig(key=key, value=value)
                for key, value in sorted(configs.items())
            ],
        ),
    )


def topology_entry(group_id: str, topology: Topology) -> Entry:
    """What the application reads and writes."""
    return entry_of(
        m.StreamsGroupTopologyKey(group_id=group_id),
        _Topology(
            epoch=topology.epoch,
            subtopologies=[_write_subtopology(one) for one in topology.subtopologies.values()],
        ),
    )


def _write_subtopology(one: Subtopology) -> _Topology.Subtopology:
    return _Topology.Subtopology(
        subtopology_id=one.subtopology_id,
        source_topics=list(one.sources),
        source_topic_regex=list(one.regexes),
        state_changelog_topics=[_write_topic(topic) for topic in one.changelogs],
        repartition_sink_topics=list(one.sinks),
        repartition_source_topics=[_write_topic(topic) for topic in one.repartitions],
        copartition_groups=[
            _Topology.CopartitionGroup(
                source_topics=list(sources),
                source_topic_regex=list(regexes),
                repartition_source_topics=list(repartitions),
            )
            for sources, regexes, repartitions in one.copartitions
        ],
    )


def _write_topic(topic: InternalTopic) -> _Topology.TopicInfo:
    return _Topology.TopicInfo(
        name=topic.name,
        partitions=topic.partitions,
        replication_factor=topic.replication_factor,
        topic_configs=[_Topology.TopicConfig(key=key, value=value) for key, value in topic.configs],
    )


def target_epoch_entry(group_id: str, epoch: int, wall_ms: int) -> Entry:
    """There is a target assignment for this epoch, as of this time of day."""
    return entry_of(
        m.StreamsGroupTargetAssignmentMetadataKey(group_id=group_id),
        m.StreamsGroupTargetAssignmentMetadataValue(
            assignment_epoch=epoch, assignment_timestamp=wall_ms
        ),
    )


def target_entry(group_id: str, member_id: str, target: Tasks) -> Entry:
    """What a member is to get."""
    return entry_of(
        m.StreamsGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id),
        _Target(
            active_tasks=_write_target(target.active),
            standby_tasks=_write_target(target.standby),
            warmup_tasks=_write_target(target.warmup),
        ),
    )


def _write_target(tasks: Iterable[Task]) -> list[_Target.TaskIds]:
    return [
        _Target.TaskIds(subtopology_id=name, partitions=numbers)
        for name, numbers in by_subtopology(tasks).items()
    ]


def member_entry(group_id: str, member: StreamsMember) -> Entry:
    """Who a member is."""
    endpoint = None
    if member.endpoint is not None:
        host, port = member.endpoint
        endpoint = _Member.Endpoint(host=host, port=port)
    return entry_of(
        m.StreamsGroupMemberMetadataKey(group_id=group_id, member_id=member.member_id),
        _Member(
            instance_id=None,
            rack_id=member.rack_id,
            client_id=member.client_id,
            client_host=member.client_host,
            rebalance_timeout_ms=member.rebalance_timeout_ms,
            topology_epoch=member.topology_epoch,
            process_id=member.process_id,
            user_endpoint=endpoint,
            client_tags=[
                _Member.KeyValue(key=key, value=value) for key, value in sorted(member.tags.items())
            ],
        ),
    )


def current_entry(group_id: str, member: StreamsMember) -> Entry:
    """Where a member is on its way to the target."""
    return entry_of(
        m.StreamsGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member.member_id),
        _Current(
            member_epoch=member.epoch,
            previous_member_epoch=member.previous_epoch,
            state=member.state.value,
            active_tasks=_write_active(member.assigned.active),
            standby_tasks=_write_current(member.assigned.standby),
            warmup_tasks=_write_current(member.assigned.warmup),
            active_tasks_pending_revocation=_write_active(member.pending.active),
            standby_tasks_pending_revocation=_write_current(member.pending.standby),
            warmup_tasks_pending_revocation=_write_current(member.pending.warmup),
        ),
    )


def _write_active(held: Held) -> list[_Current.TaskIds]:
    return [
        _Current.TaskIds(
            subtopology_id=name,
            partitions=numbers,
            assignment_epochs=[held[name, number] for number in numbers],
        )
        for name, numbers in by_subtopology(held).items()
    ]


def _write_current(tasks: Iterable[Task]) -> list[_Current.TaskIds]:
    return [
        _Current.TaskIds(subtopology_id=name, partitions=numbers)
        for name, numbers in by_subtopology(tasks).items()
    ]


def member_tombstones(group_id: str, member_id: str) -> list[Item]:
    """A member goes."""
    names = {"group_id": group_id, "member_id": member_id}
    return [
        entry_of(m.StreamsGroupCurrentMemberAssignmentKey(**names), None),
        entry_of(m.StreamsGroupTargetAssignmentMemberKey(**names), None),
        entry_of(m.StreamsGroupMemberMetadataKey(**names), None),
    ]


def group_tombstones(group: StreamsGroup) -> list[Item]:
    """A group goes, with all of its members."""
    group_id = group.group_id
    each = [member_tombstones(group_id, member_id) for member_id in group.members]
    return [
        *(current for current, _, _ in each),
        *(target for _, target, _ in each),
        entry_of(m.StreamsGroupTargetAssignmentMetadataKey(group_id=group_id), None),
        *(member for _, _, member in each),
        entry_of(m.StreamsGroupMetadataKey(group_id=group_id), None),
        entry_of(m.StreamsGroupTopologyKey(group_id=group_id), None),
    ]


# Replay -------------------------------------------------------------------------------------------


def replay(groups: dict[str, StreamsGroup], key: Message, value: Message | None) -> str | None:
    """Let a record take effect; the first one of a group makes it (the answer is its id then), its
    epoch's tombstone ends it. A tombstone of what is not there is no news.
    """
    group_id: str = getattr(key, "group_id")  # noqa: B009 - all of these keys have it
    group = groups.get(group_id)
    if value is None:
        if group is not None:
            _replay_tombstone(groups, group, key)
        return None
    made = None
    if group is None:
        group = groups[group_id] = StreamsGroup(group_id)
        made = group_id
    if isinstance(value, _Group):
        group.epoch, group.metadata_hash = value.epoch, value.metadata_hash
        group.validated_epoch = value.validated_topology_epoch
        group.configs = {one.key: one.value for one in value.last_assignment_configs or ()}
    elif isinstance(value, _Topology):
        group.topology = topology_of(value)
    elif isinstance(value, m.StreamsGroupTargetAssignmentMetadataValue):
        group.target_epoch = value.assignment_epoch
        group.target_wall_ms = value.assignment_timestamp
    else:
        _replay_member(group, key, value)
    return made


def _replay_member(group: StreamsGroup, key: Message, value: Message) -> None:
    member_id: str = getattr(key, "member_id")  # noqa: B009 - all that are left have it
    if isinstance(value, _Target):
        group.target[member_id] = Tasks(
            _read(value.active_tasks), _read(value.standby_tasks), _read(value.warmup_tasks)
        )
        return
    member = group.members.get(member_id) or StreamsMember(member_id)
    if isinstance(value, _Current):
        member = replace(
            member,
            epoch=value.member_epoch,
            previous_epoch=value.previous_member_epoch,
            state=_STATES.get(value.state, MemberState.UNKNOWN),
            assigned=Assigned(
                _read_active(value.active_tasks, value.member_epoch),
                _read(value.standby_tasks),
                _read(value.warmup_tasks),
            ),
            pending=Assigned(
                _read_active(value.active_tasks_pending_revocation, value.member_epoch),
                _read(value.standby_tasks_pending_revocation),
                _read(value.warmup_tasks_pending_revocation),
            ),
        )
    else:
        assert isinstance(value, _Member)
        endpoint = value.user_endpoint
        member = replace(
            member,
            rack_id=value.rack_id,
            client_id=value.client_id,
            client_host=value.client_host,
            rebalance_timeout_ms=value.rebalance_timeout_ms,
            topology_epoch=value.topology_epoch,
            process_id=value.process_id,
            endpoint=None if endpoint is None else (endpoint.host, endpoint.port),
            tags={one.key: one.value for one in value.client_tags},
        )
    group.put(member)


def _replay_tombstone(groups: dict[str, StreamsGroup], group: StreamsGroup, key: Message) -> None:
    if isinstance(key, m.StreamsGroupMetadataKey):
        del groups[group.group_id]
    elif isinstance(key, m.StreamsGroupTopologyKey):
        group.topology = None
    elif isinstance(key, m.StreamsGroupTargetAssignmentMetadataKey):
        group.target_epoch, group.target_wall_ms = _NO_TARGET_EPOCH, 0
    elif isinstance(key, m.StreamsGroupTargetAssignmentMemberKey):
        group.target.pop(key.member_id, None)
    elif isinstance(key, m.StreamsGroupMemberMetadataKey):
        group.remove(key.member_id)
    elif isinstance(key, m.StreamsGroupCurrentMemberAssignmentKey):
        member = group.members.get(key.member_id)
        if member is not None:
            group.put(
                replace(
                    member,
                    epoch=LEAVING,
                    previous_epoch=LEAVING,
                    assigned=NOTHING,
                    pending=NOTHING,
                )
            )


def _read(parts: Iterable[_Target.TaskIds] | Iterable[_Current.TaskIds]) -> frozenset[Task]:
    return frozenset((part.subtopology_id, number) for part in parts for number in part.partitions)


def _read_active(parts: Iterable[_Current.TaskIds], epoch: int) -> Held:
    """What has no epochs, or not one for each, is taken for that of the member."""
    held: dict[Task, int] = {}
    for part in parts:
        epochs = part.assignment_epochs
        if epochs is None or len(epochs) != len(part.partitions):
            epochs = [epoch] * len(part.partitions)
        for number, since in zip(part.partitions, epochs, strict=True):
            held[part.subtopology_id, number] = since
    return held
