"""ShareGroupDescribe."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcore.coordinator.numbered import grouped
from kcore.coordinator.share.assignor import NAME
from kcore.coordinator.share.group import ShareGroup
from kcore.coordinator.share.member import ShareMember
from kcore.limits import MAX_NAME_CHARS
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import ShareGroupDescribeResponse

if TYPE_CHECKING:
    from kcore.coordinator.context import AnyGroup, Topics

_Described = ShareGroupDescribeResponse.DescribedGroup
_Member = ShareGroupDescribeResponse.Member
_Assignment = ShareGroupDescribeResponse.Assignment
_TopicPartitions = ShareGroupDescribeResponse.TopicPartitions


def describe(group_id: str, group: AnyGroup | None, topics: Topics) -> _Described:
    """A group as an administrator sees it."""
    if not isinstance(group, ShareGroup):
        why = "not found" if group is None else "is not a share group"
        return _Described(
            group_id=group_id,
            error_code=ErrorCode.GROUP_ID_NOT_FOUND,
            error_message=f"Group {group_id[:MAX_NAME_CHARS]} {why}.",
        )
    return _Described(
        group_id=group_id,
        group_state=group.state.value,
        group_epoch=group.epoch,
        assignment_epoch=group.target_epoch,
        assignor_name=NAME,
        members=[_describe_member(one, topics) for one in group.members.values()],
    )


def _describe_member(member: ShareMember, topics: Topics) -> _Member:
    shown = []
    for topic_id, numbers in grouped(member.assigned).items():
        name = topics.name_of(topic_id)
        if name is not None:  # the topic may be gone
            shown.append(_TopicPartitions(topic_id=topic_id, topic_name=name, partitions=numbers))
    return _Member(
        member_id=member.member_id,
        rack_id=member.rack_id,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted(member.topics),
        assignment=_Assignment(topic_partitions=shown),
    )
