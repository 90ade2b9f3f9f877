"""What the journal keeps of streams groups: what all groups have (`coordinator/records.py`), and
the topology.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from kcore.coordinator.journal import Entry, Item, entry_of
from kcore.coordinator.numbered import grouped, held_of
from kcore.coordinator.records import Records
from kcore.coordinator.streams.group import StreamsGroup
from kcore.coordinator.streams.member import (
    NOTHING,
    Assigned,
    Held,
    StreamsMember,
    Task,
    Tasks,
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
        for name, numbers in grouped(tasks).items()
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
            instance_id=member.instance_id,
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
        for name, numbers in grouped(held).items()
    ]


def _write_current(tasks: Iterable[Task]) -> list[_Current.TaskIds]:
    return [
        _Current.TaskIds(subtopology_id=name, partitions=numbers)
        for name, numbers in grouped(tasks).items()
    ]


def replacing(group: StreamsGroup, before: StreamsMember, member: StreamsMember) -> list[Item]:
    """A member takes the place of another one, which may have had the same id."""
    target = group.target_of(before.member_id)
    return [
        *member_tombstones(group.group_id, before.member_id),
        member_entry(group.group_id, member),
        target_entry(group.group_id, member.member_id, target),
        current_entry(group.group_id, member),
    ]


def group_tombstones(group: StreamsGroup) -> list[Item]:
    """A group goes, with all of its members."""
    key = m.StreamsGroupTopologyKey(group_id=group.group_id)
    return [*RECORDS.tombstones(group), entry_of(key, None)]


# Replay -------------------------------------------------------------------------------------------


def _read_epoch(group: StreamsGroup, value: _Group) -> None:
    group.epoch, group.metadata_hash = value.epoch, value.metadata_hash
    group.validated_epoch = value.validated_topology_epoch
    group.configs = {one.key: one.value for one in value.last_assignment_configs or ()}


def _read_topology(group: StreamsGroup, _key: Message, value: _Topology | None) -> None:
    group.topology = None if value is None else topology_of(value)


def _read_target(value: _Target) -> Tasks:
    return Tasks(_read(value.active_tasks), _read(value.standby_tasks), _read(value.warmup_tasks))


def _read_member(member: StreamsMember, value: _Member) -> StreamsMember:
    endpoint = value.user_endpoint
    return replace(
        member,
        instance_id=value.instance_id,
        rack_id=value.rack_id,
        client_id=value.client_id,
        client_host=value.client_host,
        rebalance_timeout_ms=value.rebalance_timeout_ms,
        topology_epoch=value.topology_epoch,
        process_id=value.process_id,
        endpoint=None if endpoint is None else (endpoint.host, endpoint.port),
        tags={one.key: one.value for one in value.client_tags},
    )


def _read_current(member: StreamsMember, value: _Current) -> StreamsMember:
    def held(parts: Iterable[_Current.TaskIds]) -> Held:
        return held_of(((part.subtopology_id, part) for part in parts), value.member_epoch)

    return replace(
        member,
        epoch=value.member_epoch,
        previous_epoch=value.previous_member_epoch,
        state=_STATES.get(value.state, MemberState.UNKNOWN),
        assigned=Assigned(
            held(value.active_tasks), _read(value.standby_tasks), _read(value.warmup_tasks)
        ),
        pending=Assigned(
            held(value.active_tasks_pending_revocation),
            _read(value.standby_tasks_pending_revocation),
            _read(value.warmup_tasks_pending_revocation),
        ),
    )


def _read(parts: Iterable[_Target.TaskIds] | Iterable[_Current.TaskIds]) -> frozenset[Task]:
    return frozenset((part.subtopology_id, number) for part in parts for number in part.partitions)


RECORDS: Final = Records(
    group=StreamsGroup,
    new_member=StreamsMember,
    epoch=m.StreamsGroupMetadataKey,
    target_epoch=m.StreamsGroupTargetAssignmentMetadataKey,
    made_at=m.StreamsGroupTargetAssignmentMetadataValue,
    member=m.StreamsGroupMemberMetadataKey,
    target=m.StreamsGroupTargetAssignmentMemberKey,
    current=m.StreamsGroupCurrentMemberAssignmentKey,
    empty={"assigned": NOTHING, "pending": NOTHING},
    read_epoch=_read_epoch,
    read_target=_read_target,
    read_member=_read_member,
    read_current=_read_current,
    others={m.StreamsGroupTopologyKey: _read_topology},
)
member_tombstones = RECORDS.member_tombstones
target_epoch_entry = RECORDS.target_epoch_entry
