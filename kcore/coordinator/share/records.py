"""What the journal keeps of share groups: entries out of groups, groups out of entries.

    group epoch, target epoch, topics whose state is kept     one record each, of the group
    member, its target, what it has                           one record each, of the member

A member goes by three tombstones, what it has first and itself last; a group by those of all, its
epoch last (Java: GroupCoordinatorRecordHelpers, ShareGroup.createGroupTombstoneRecords).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from kcore.coordinator.consumer.member import by_topic
from kcore.coordinator.journal import Entry, Item, entry_of
from kcore.coordinator.share.group import Initialized, ShareGroup
from kcore.coordinator.share.member import LEAVING, NOTHING, Partitions, ShareMember
from kcore.wire import messages as m
from kcore.wire.message import Message

_Member = m.ShareGroupMemberMetadataValue
_Target = m.ShareGroupTargetAssignmentMemberValue
_Current = m.ShareGroupCurrentMemberAssignmentValue
_States = m.ShareGroupStatePartitionMetadataValue

# Java: MemberState.STABLE, the only one that members of share groups have.
_STABLE: Final = 0

# A target that was deleted: no epoch is before it.
_NO_TARGET_EPOCH: Final = -1

KEYS: Final = (
    m.ShareGroupMemberMetadataKey,
    m.ShareGroupMetadataKey,
    m.ShareGroupTargetAssignmentMetadataKey,
    m.ShareGroupTargetAssignmentMemberKey,
    m.ShareGroupCurrentMemberAssignmentKey,
    m.ShareGroupStatePartitionMetadataKey,
)


# Entries ------------------------------------------------------------------------------------------


def epoch_entry(group_id: str, epoch: int, metadata_hash: int) -> Entry:
    """The group is in this epoch, with these topics."""
    return entry_of(
        m.ShareGroupMetadataKey(group_id=group_id),
        m.ShareGroupMetadataValue(epoch=epoch, metadata_hash=metadata_hash),
    )


def target_epoch_entry(group_id: str, epoch: int, wall_ms: int) -> Entry:
    """There is a target assignment for this epoch, as of this time of day."""
    return entry_of(
        m.ShareGroupTargetAssignmentMetadataKey(group_id=group_id),
        m.ShareGroupTargetAssignmentMetadataValue(
            assignment_epoch=epoch, assignment_timestamp=wall_ms
        ),
    )


def target_entry(group_id: str, member_id: str, target: Partitions) -> Entry:
    """What a member is to get."""
    return entry_of(
        m.ShareGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id),
        _Target(
            topic_partitions=[
                _Target.TopicPartition(topic_id=topic_id, partitions=numbers)
                for topic_id, numbers in by_topic(target).items()
            ]
        ),
    )


def member_entry(group_id: str, member: ShareMember) -> Entry:
    """Who a member is and what it wants."""
    return entry_of(
        m.ShareGroupMemberMetadataKey(group_id=group_id, member_id=member.member_id),
        _Member(
            rack_id=member.rack_id,
            client_id=member.client_id,
            client_host=member.client_host,
            subscribed_topic_names=sorted(member.topics),
        ),
    )


def current_entry(group_id: str, member: ShareMember) -> Entry:
    """What a member has, in which epoch."""
    return entry_of(
        m.ShareGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member.member_id),
        _Current(
            member_epoch=member.epoch,
            previous_member_epoch=member.previous_epoch,
            state=_STABLE,
            assigned_partitions=[
                _Current.TopicPartitions(topic_id=topic_id, partitions=numbers)
                for topic_id, numbers in by_topic(member.assigned).items()
            ],
        ),
    )


def initialized_entry(group_id: str, topics: Mapping[bytes, Initialized]) -> Entry:
    """The partitions whose state is kept for the group, all of them."""
    return entry_of(
        m.ShareGroupStatePartitionMetadataKey(group_id=group_id),
        _States(
            initialized_topics=[
                _States.TopicPartitionsInfo(
                    topic_id=topic_id, topic_name=one.name, partitions=sorted(one.partitions)
                )
                for topic_id, one in topics.items()
            ]
        ),
    )


def member_tombstones(group_id: str, member_id: str) -> list[Item]:
    """A member goes."""
    names = {"group_id": group_id, "member_id": member_id}
    return [
        entry_of(m.ShareGroupCurrentMemberAssignmentKey(**names), None),
        entry_of(m.ShareGroupTargetAssignmentMemberKey(**names), None),
        entry_of(m.ShareGroupMemberMetadataKey(**names), None),
    ]


def group_tombstones(group: ShareGroup) -> list[Item]:
    """A group goes, with all of its members."""
    group_id = group.group_id
    each = [member_tombstones(group_id, member_id) for member_id in group.members]
    return [
        *(current for current, _, _ in each),
        *(target for _, target, _ in each),
        entry_of(m.ShareGroupTargetAssignmentMetadataKey(group_id=group_id), None),
        *(member for _, _, member in each),
        entry_of(m.ShareGroupStatePartitionMetadataKey(group_id=group_id), None),
        entry_of(m.ShareGroupMetadataKey(group_id=group_id), None),
    ]


# Replay -------------------------------------------------------------------------------------------


def replay(groups: dict[str, ShareGroup], key: Message, value: Message | None) -> str | None:
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
        group = groups[group_id] = ShareGroup(group_id)
        made = group_id
    if isinstance(value, m.ShareGroupMetadataValue):
        group.epoch, group.metadata_hash = value.epoch, value.metadata_hash
    elif isinstance(value, m.ShareGroupTargetAssignmentMetadataValue):
        group.target_epoch = value.assignment_epoch
        group.target_wall_ms = value.assignment_timestamp
    elif isinstance(value, _States):
        # What was being initialized or deleted by another Kafka is begun anew where it is needed.
        group.initialized = {
            topic.topic_id: Initialized(topic.topic_name, frozenset(topic.partitions))
            for topic in value.initialized_topics
        }
    else:
        _replay_member(group, key, value)
    return made


def _replay_member(group: ShareGroup, key: Message, value: Message) -> None:
    member_id: str = getattr(key, "member_id")  # noqa: B009 - all that are left have it
    if isinstance(value, _Target):
        group.target[member_id] = _partitions(value.topic_partitions)
        return
    member = group.members.get(member_id) or ShareMember(member_id)
    if isinstance(value, _Current):
        member = replace(
            member,
            epoch=value.member_epoch,
            previous_epoch=value.previous_member_epoch,
            assigned=_partitions(value.assigned_partitions),
        )
    else:
        assert isinstance(value, _Member)
        member = replace(
            member,
            rack_id=value.rack_id,
            client_id=value.client_id,
            client_host=value.client_host,
            topics=frozenset(value.subscribed_topic_names),
        )
    group.members[member_id] = member


def _replay_tombstone(groups: dict[str, ShareGroup], group: ShareGroup, key: Message) -> None:
    if isinstance(key, m.ShareGroupMetadataKey):
        del groups[group.group_id]
    elif isinstance(key, m.ShareGroupTargetAssignmentMetadataKey):
        group.target_epoch, group.target_wall_ms = _NO_TARGET_EPOCH, 0
    elif isinstance(key, m.ShareGroupTargetAssignmentMemberKey):
        group.target.pop(key.member_id, None)
    elif isinstance(key, m.ShareGroupMemberMetadataKey):
        group.members.pop(key.member_id, None)
    elif isinstance(key, m.ShareGroupStatePartitionMetadataKey):
        group.initialized = {}
    elif isinstance(key, m.ShareGroupCurrentMemberAssignmentKey):
        member = group.members.get(key.member_id)
        if member is not None:
            group.members[key.member_id] = replace(
                member, epoch=LEAVING, previous_epoch=LEAVING, assigned=NOTHING
            )


def _partitions(
    parts: Iterable[_Target.TopicPartition] | Iterable[_Current.TopicPartitions],
) -> Partitions:
    return frozenset((part.topic_id, number) for part in parts for number in part.partitions)
