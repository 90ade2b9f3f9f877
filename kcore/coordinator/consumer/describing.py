"""ConsumerGroupDescribe, and such groups in ListGroups (rules A1, A4)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from kcore.coordinator.consumer.group import NO_TARGET, ConsumerGroup
from kcore.coordinator.consumer.member import ConsumerMember, TopicIdPartition
from kcore.coordinator.numbered import grouped
from kcore.limits import MAX_NAME_CHARS
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import ConsumerGroupDescribeResponse

if TYPE_CHECKING:
    from kcore.coordinator.context import Topics

_Described = ConsumerGroupDescribeResponse.DescribedGroup
_Member = ConsumerGroupDescribeResponse.Member
_Assignment = ConsumerGroupDescribeResponse.Assignment
_TopicPartitions = ConsumerGroupDescribeResponse.TopicPartitions

# MemberType.
_CLASSIC, _CONSUMER = 0, 1


def describe(
    group_id: str, group: ConsumerGroup | None, topics: Topics, default_assignor: str
) -> _Described:
    """A group as an administrator sees it."""
    if group is None:
        return _Described(
            group_id=group_id,
            error_code=ErrorCode.GROUP_ID_NOT_FOUND,
            error_message=f"{group_id[:MAX_NAME_CHARS]} is no consumer group.",
        )
    return _Described(
        group_id=group_id,
        group_state=group.state.value,
        group_epoch=group.epoch,
        assignment_epoch=group.target_epoch,
        assignor_name=group.assignor or default_assignor,
        members=[_describe_member(group, one, topics) for one in group.members.values()],
    )


def _describe_member(group: ConsumerGroup, member: ConsumerMember, topics: Topics) -> _Member:
    """What it is to give up counts as its own until it has."""
    target = group.target.get(member.member_id, NO_TARGET)
    return _Member(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted(member.topics),
        subscribed_topic_regex=member.regex,
        assignment=_assignment({*member.assigned, *member.pending}, topics),
        target_assignment=_assignment(target, topics),
        member_type=_CONSUMER if member.classic is None else _CLASSIC,
    )


def _assignment(partitions: Iterable[TopicIdPartition], topics: Topics) -> _Assignment:
    shown = []
    for topic_id, numbers in grouped(partitions).items():
        name = topics.name_of(topic_id)
        if name is not None:  # the topic may be gone
            shown.append(_TopicPartitions(topic_id=topic_id, topic_name=name, partitions=numbers))
    return _Assignment(topic_partitions=shown)
