"""What the journal keeps of consumer groups: entries out of groups, groups out of entries.

    group epoch, target epoch            one record each, of the group
    member, its target, what it has      one record each, of the member
    a regular expression                 the topics it was found to stand for

A member goes by three tombstones, what it has first and itself last; a group by those of all, its
epoch last (Java: GroupCoordinatorRecordHelpers, ConsumerGroup.createGroupTombstoneRecords).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from kcore.coordinator.consumer.group import ConsumerGroup, Resolved, Target
from kcore.coordinator.consumer.member import (
    LEAVING,
    ClassicSide,
    ConsumerMember,
    Owned,
    TopicIdPartition,
    by_topic,
)
from kcore.coordinator.consumer.states import MemberState
from kcore.coordinator.journal import Entry, Item, entry_of
from kcore.wire import messages as m
from kcore.wire.message import Message

_Member = m.ConsumerGroupMemberMetadataValue
_Classic = _Member.ClassicMemberMetadata
_Target = m.ConsumerGroupTargetAssignmentMemberValue
_Current = m.ConsumerGroupCurrentMemberAssignmentValue

_STATES = {state.value: state for state in MemberState}

# A target that was deleted: no epoch is before it.
_NO_TARGET_EPOCH = -1


# Entries ------------------------------------------------------------------------------------------


def epoch_entry(group_id: str, epoch: int, metadata_hash: int) -> Entry:
    """The group is in this epoch, with these topics."""
    return entry_of(
        m.ConsumerGroupMetadataKey(group_id=group_id),
        m.ConsumerGroupMetadataValue(epoch=epoch, metadata_hash=metadata_hash),
    )


def target_epoch_entry(group_id: str, epoch: int, wall_ms: int) -> Entry:
    """There is a target assignment for this epoch, as of this time of day."""
    return entry_of(
        m.ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id),
        m.ConsumerGroupTargetAssignmentMetadataValue(
            assignment_epoch=epoch, assignment_timestamp=wall_ms
        ),
    )


def target_entry(group_id: str, member_id: str, target: Target | None) -> Entry:
    """What a member is to get; None: a tombstone."""
    key = m.ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id)
    if target is None:
        return entry_of(key, None)
    parts = [
        _Target.TopicPartition(topic_id=topic_id, partitions=numbers)
        for topic_id, numbers in by_topic(target).items()
    ]
    return entry_of(key, _Target(topic_partitions=parts))


def member_entry(group_id: str, member: ConsumerMember) -> Entry:
    """Who a member is and what it wants."""
    classic = None
    if member.classic is not None:
        classic = _Classic(
            session_timeout_ms=member.classic.session_timeout_ms,
            supported_protocols=[
                _Member.ClassicProtocol(name=name, metadata=data)
                for name, data in member.classic.protocols
            ],
        )
    return entry_of(
        m.ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member.member_id),
        _Member(
            instance_id=member.instance_id,
            rack_id=member.rack_id,
            client_id=member.client_id,
            client_host=member.client_host,
            subscribed_topic_names=sorted(member.topics),
            subscribed_topic_regex=member.regex,
            rebalance_timeout_ms=member.rebalance_timeout_ms,
            server_assignor=member.assignor,
            classic_member_metadata=classic,
        ),
    )


def current_entry(group_id: str, member: ConsumerMember) -> Entry:
    """Where a member is on its way to the target."""
    return entry_of(
        m.ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member.member_id),
        _Current(
            member_epoch=member.epoch,
            previous_member_epoch=member.previous_epoch,
            state=member.state.value,
            assigned_partitions=_with_epochs(member.assigned),
            partitions_pending_revocation=_with_epochs(member.pending),
        ),
    )


def regex_entry(group_id: str, regex: str, found: Resolved | None) -> Entry:
    """The topics a regular expression stands for; None: a tombstone."""
    key = m.ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=regex)
    if found is None:
        return entry_of(key, None)
    return entry_of(
        key,
        m.ConsumerGroupRegularExpressionValue(
            topics=sorted(found.topics), version=found.version, timestamp=found.wall_ms
        ),
    )


def member_tombstones(group_id: str, member_id: str) -> list[Item]:
    """A member goes."""
    names = {"group_id": group_id, "member_id": member_id}
    return [
        entry_of(m.ConsumerGroupCurrentMemberAssignmentKey(**names), None),
        entry_of(m.ConsumerGroupTargetAssignmentMemberKey(**names), None),
        entry_of(m.ConsumerGroupMemberMetadataKey(**names), None),
    ]


def group_tombstones(group: ConsumerGroup) -> list[Item]:
    """A group goes, with all of its members."""
    group_id = group.group_id
    each = [member_tombstones(group_id, member_id) for member_id in group.members]
    return [
        *(current for current, _, _ in each),
        *(target for _, target, _ in each),
        entry_of(m.ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id), None),
        *(member for _, _, member in each),
        *(regex_entry(group_id, regex, None) for regex in group.regexes),
        entry_of(m.ConsumerGroupPartitionMetadataKey(group_id=group_id), None),
        entry_of(m.ConsumerGroupMetadataKey(group_id=group_id), None),
    ]


def _with_epochs(owned: Owned) -> list[_Current.TopicPartitions]:
    return [
        _Current.TopicPartitions(
            topic_id=topic_id,
            partitions=numbers,
            assignment_epochs=[owned[topic_id, number] for number in numbers],
        )
        for topic_id, numbers in by_topic(owned).items()
    ]


# Replay -------------------------------------------------------------------------------------------


def replay(groups: dict[str, ConsumerGroup], key: Message, value: Message | None) -> str | None:
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
        group = groups[group_id] = ConsumerGroup(group_id)
        made = group_id
    if isinstance(value, m.ConsumerGroupMetadataValue):
        group.epoch, group.metadata_hash = value.epoch, value.metadata_hash
    elif isinstance(value, m.ConsumerGroupTargetAssignmentMetadataValue):
        group.target_epoch, group.target_wall_ms = (
            value.assignment_epoch,
            value.assignment_timestamp,
        )
    elif isinstance(key, m.ConsumerGroupRegularExpressionKey):
        assert isinstance(value, m.ConsumerGroupRegularExpressionValue)
        group.regexes[key.regular_expression] = Resolved(
            frozenset(value.topics), value.version, value.timestamp
        )
    else:
        _replay_member(group, key, value)
    return made


def _replay_member(group: ConsumerGroup, key: Message, value: Message) -> None:
    member_id: str = getattr(key, "member_id")  # noqa: B009 - all that are left have it
    if isinstance(value, _Target):
        group.target[member_id] = frozenset(
            (part.topic_id, number) for part in value.topic_partitions for number in part.partitions
        )
        return
    member = group.members.get(member_id) or ConsumerMember(member_id)
    if isinstance(value, _Current):
        member = replace(
            member,
            epoch=value.member_epoch,
            previous_epoch=value.previous_member_epoch,
            state=_STATES.get(value.state, MemberState.UNKNOWN),
            assigned=_read_owned(value.assigned_partitions, value.member_epoch),
            pending=_read_owned(value.partitions_pending_revocation, value.member_epoch),
        )
    else:
        assert isinstance(value, _Member)
        member = _read_member(member, value)
    group.put(member)


def _replay_tombstone(groups: dict[str, ConsumerGroup], group: ConsumerGroup, key: Message) -> None:
    if isinstance(key, m.ConsumerGroupMetadataKey):
        del groups[group.group_id]
    elif isinstance(key, m.ConsumerGroupTargetAssignmentMetadataKey):
        group.target_epoch, group.target_wall_ms = _NO_TARGET_EPOCH, 0
    elif isinstance(key, m.ConsumerGroupTargetAssignmentMemberKey):
        group.target.pop(key.member_id, None)
    elif isinstance(key, m.ConsumerGroupRegularExpressionKey):
        group.regexes.pop(key.regular_expression, None)
    elif isinstance(key, m.ConsumerGroupMemberMetadataKey):
        group.remove(key.member_id)
    elif isinstance(key, m.ConsumerGroupCurrentMemberAssignmentKey):
        member = group.members.get(key.member_id)
        if member is not None:
            group.put(
                replace(member, epoch=LEAVING, previous_epoch=LEAVING, assigned={}, pending={})
            )


def _read_member(member: ConsumerMember, value: _Member) -> ConsumerMember:
    classic = value.classic_member_metadata
    return replace(
        member,
        instance_id=value.instance_id,
        rack_id=value.rack_id,
        client_id=value.client_id,
        client_host=value.client_host,
        topics=frozenset(value.subscribed_topic_names),
        regex=value.subscribed_topic_regex,
        rebalance_timeout_ms=value.rebalance_timeout_ms,
        assignor=value.server_assignor,
        classic=None
        if classic is None or not classic.supported_protocols
        else ClassicSide(
            classic.session_timeout_ms,
            tuple((one.name, bytes(one.metadata)) for one in classic.supported_protocols),
        ),
    )


def _read_owned(
    parts: Iterable[_Current.TopicPartitions], epoch: int
) -> Mapping[TopicIdPartition, int]:
    """What older Kafkas wrote has no epochs: taken for that of the member."""
    return {
        (part.topic_id, number): since
        for part in parts
        for number, since in zip(
            part.partitions,
            part.assignment_epochs or [epoch] * len(part.partitions),
            strict=False,
        )
    }
