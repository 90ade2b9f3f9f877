"""What the journal keeps of consumer groups: what all groups have (`coordinator/records.py`), and
of each regular expression the topics it was found to stand for.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from kcore.coordinator.consumer.group import ConsumerGroup, Resolved, Target
from kcore.coordinator.consumer.member import ClassicSide, ConsumerMember, Owned
from kcore.coordinator.consumer.states import MemberState
from kcore.coordinator.journal import Entry, Item, entry_of
from kcore.coordinator.numbered import grouped, held_of
from kcore.coordinator.records import Records
from kcore.wire import messages as m
from kcore.wire.message import Message

_Member = m.ConsumerGroupMemberMetadataValue
_Classic = _Member.ClassicMemberMetadata
_Target = m.ConsumerGroupTargetAssignmentMemberValue
_Current = m.ConsumerGroupCurrentMemberAssignmentValue

_STATES = {state.value: state for state in MemberState}


# Entries ------------------------------------------------------------------------------------------


def epoch_entry(group_id: str, epoch: int, metadata_hash: int) -> Entry:
    """The group is in this epoch, with these topics."""
    return entry_of(
        m.ConsumerGroupMetadataKey(group_id=group_id),
        m.ConsumerGroupMetadataValue(epoch=epoch, metadata_hash=metadata_hash),
    )


def target_entry(group_id: str, member_id: str, target: Target | None) -> Entry:
    """What a member is to get; None: a tombstone."""
    key = m.ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id)
    if target is None:
        return entry_of(key, None)
    parts = [
        _Target.TopicPartition(topic_id=topic_id, partitions=numbers)
        for topic_id, numbers in grouped(target).items()
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


def group_tombstones(group: ConsumerGroup) -> list[Item]:
    """A group goes, with all of its members."""
    return RECORDS.tombstones(
        group,
        *(regex_entry(group.group_id, regex, None) for regex in group.regexes),
        entry_of(m.ConsumerGroupPartitionMetadataKey(group_id=group.group_id), None),
    )


def _with_epochs(owned: Owned) -> list[_Current.TopicPartitions]:
    return [
        _Current.TopicPartitions(
            topic_id=topic_id,
            partitions=numbers,
            assignment_epochs=[owned[topic_id, number] for number in numbers],
        )
        for topic_id, numbers in grouped(owned).items()
    ]


# Replay -------------------------------------------------------------------------------------------


def _read_epoch(group: ConsumerGroup, value: m.ConsumerGroupMetadataValue) -> None:
    group.epoch, group.metadata_hash = value.epoch, value.metadata_hash


def _read_target(value: _Target) -> Target:
    return frozenset(
        (part.topic_id, number) for part in value.topic_partitions for number in part.partitions
    )


def _read_regex(
    group: ConsumerGroup,
    key: m.ConsumerGroupRegularExpressionKey,
    value: m.ConsumerGroupRegularExpressionValue | None,
) -> None:
    if value is None:
        group.regexes.pop(key.regular_expression, None)
    else:
        topics = frozenset(value.topics)
        group.regexes[key.regular_expression] = Resolved(topics, value.version, value.timestamp)


def _read_current(member: ConsumerMember, value: _Current) -> ConsumerMember:
    def held(parts: Iterable[_Current.TopicPartitions]) -> Owned:
        return held_of(((part.topic_id, part) for part in parts), value.member_epoch)

    return replace(
        member,
        epoch=value.member_epoch,
        previous_epoch=value.previous_member_epoch,
        state=_STATES.get(value.state, MemberState.UNKNOWN),
        assigned=held(value.assigned_partitions),
        pending=held(value.partitions_pending_revocation),
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


def _overlook(_group: ConsumerGroup, _key: Message, _value: None) -> None:
    """Topics, as Kafka 4.0 kept them, are only deleted."""


RECORDS: Final = Records(
    group=ConsumerGroup,
    new_member=ConsumerMember,
    epoch=m.ConsumerGroupMetadataKey,
    target_epoch=m.ConsumerGroupTargetAssignmentMetadataKey,
    made_at=m.ConsumerGroupTargetAssignmentMetadataValue,
    member=m.ConsumerGroupMemberMetadataKey,
    target=m.ConsumerGroupTargetAssignmentMemberKey,
    current=m.ConsumerGroupCurrentMemberAssignmentKey,
    empty={"assigned": {}, "pending": {}},
    read_epoch=_read_epoch,
    read_target=_read_target,
    read_member=_read_member,
    read_current=_read_current,
    others={
        m.ConsumerGroupRegularExpressionKey: _read_regex,
        m.ConsumerGroupPartitionMetadataKey: _overlook,
    },
)
member_tombstones = RECORDS.member_tombstones
target_epoch_entry = RECORDS.target_epoch_entry
