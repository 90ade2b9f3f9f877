"""What the journal keeps of share groups: what all groups have (`coordinator/records.py`), and the
topics whose state is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from kcore.coordinator.journal import Entry, Item, entry_of
from kcore.coordinator.numbered import grouped
from kcore.coordinator.records import Records
from kcore.coordinator.share.group import Initialized, ShareGroup
from kcore.coordinator.share.member import NOTHING, Partitions, ShareMember
from kcore.wire import messages as m
from kcore.wire.message import Message

_Member = m.ShareGroupMemberMetadataValue
_Target = m.ShareGroupTargetAssignmentMemberValue
_Current = m.ShareGroupCurrentMemberAssignmentValue
_States = m.ShareGroupStatePartitionMetadataValue

# Java: MemberState.STABLE, the only one that members of share groups have.
_STABLE: Final = 0


# Entries ------------------------------------------------------------------------------------------


def epoch_entry(group_id: str, epoch: int, metadata_hash: int) -> Entry:
    """The group is in this epoch, with these topics."""
    return entry_of(
        m.ShareGroupMetadataKey(group_id=group_id),
        m.ShareGroupMetadataValue(epoch=epoch, metadata_hash=metadata_hash),
    )


def target_entry(group_id: str, member_id: str, target: Partitions) -> Entry:
    """What a member is to get."""
    return entry_of(
        m.ShareGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id),
        _Target(
            topic_partitions=[
                _Target.TopicPartition(topic_id=topic_id, partitions=numbers)
                for topic_id, numbers in grouped(target).items()
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
                for topic_id, numbers in grouped(member.assigned).items()
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


def group_tombstones(group: ShareGroup) -> list[Item]:
    """A group goes, with all of its members."""
    key = m.ShareGroupStatePartitionMetadataKey(group_id=group.group_id)
    return RECORDS.tombstones(group, entry_of(key, None))


# Replay -------------------------------------------------------------------------------------------


def _read_epoch(group: ShareGroup, value: m.ShareGroupMetadataValue) -> None:
    group.epoch, group.metadata_hash = value.epoch, value.metadata_hash


def _read_initialized(group: ShareGroup, _key: Message, value: _States | None) -> None:
    # What was being initialized or deleted by another Kafka is begun anew where it is needed.
    group.initialized = {
        topic.topic_id: Initialized(topic.topic_name, frozenset(topic.partitions))
        for topic in (() if value is None else value.initialized_topics)
    }


def _read_member(member: ShareMember, value: _Member) -> ShareMember:
    return replace(
        member,
        rack_id=value.rack_id,
        client_id=value.client_id,
        client_host=value.client_host,
        topics=frozenset(value.subscribed_topic_names),
    )


def _read_current(member: ShareMember, value: _Current) -> ShareMember:
    return replace(
        member,
        epoch=value.member_epoch,
        previous_epoch=value.previous_member_epoch,
        assigned=_partitions(value.assigned_partitions),
    )


def _read_target(value: _Target) -> Partitions:
    return _partitions(value.topic_partitions)


def _partitions(
    parts: Iterable[_Target.TopicPartition] | Iterable[_Current.TopicPartitions],
) -> Partitions:
    return frozenset((part.topic_id, number) for part in parts for number in part.partitions)


RECORDS: Final = Records(
    group=ShareGroup,
    new_member=ShareMember,
    epoch=m.ShareGroupMetadataKey,
    target_epoch=m.ShareGroupTargetAssignmentMetadataKey,
    made_at=m.ShareGroupTargetAssignmentMetadataValue,
    member=m.ShareGroupMemberMetadataKey,
    target=m.ShareGroupTargetAssignmentMemberKey,
    current=m.ShareGroupCurrentMemberAssignmentKey,
    empty={"assigned": NOTHING},
    read_epoch=_read_epoch,
    read_target=_read_target,
    read_member=_read_member,
    read_current=_read_current,
    others={m.ShareGroupStatePartitionMetadataKey: _read_initialized},
)
member_tombstones = RECORDS.member_tombstones
target_epoch_entry = RECORDS.target_epoch_entry
