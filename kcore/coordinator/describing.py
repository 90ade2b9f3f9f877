"""DescribeGroups and ListGroups (rules A1, A2)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kcore.coordinator.consumer.group import ConsumerGroup
from kcore.coordinator.context import AnyGroup
from kcore.coordinator.group import CONSUMER_PROTOCOL, Group
from kcore.coordinator.share.group import ShareGroup
from kcore.coordinator.states import GroupState
from kcore.coordinator.streams.group import StreamsGroup
from kcore.coordinator.streams.states import StreamsGroupState
from kcore.limits import MAX_NAME_CHARS
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import DescribeGroupsResponse, ListGroupsResponse

CLASSIC = "classic"
CONSUMER = "consumer"
SHARE = "share"
STREAMS = "streams"

# From this version on a group that does not exist is said to be so (KIP-1043).
_GROUP_NOT_FOUND_VERSION = 6

_Described = DescribeGroupsResponse.DescribedGroup
_Member = DescribeGroupsResponse.DescribedGroupMember


def describe(group_id: str, group: Group | None, version: int) -> _Described:
    """A group as an administrator sees it. What its members say is only shown when it holds."""
    if group is None or group.state is GroupState.DEAD:
        missing = _Described(group_id=group_id, group_state=GroupState.DEAD.value)
        if version >= _GROUP_NOT_FOUND_VERSION:
            missing.error_code = ErrorCode.GROUP_ID_NOT_FOUND
            missing.error_message = f"Group {group_id[:MAX_NAME_CHARS]} not found."
        return missing
    protocol = group.protocol_name if group.state is GroupState.STABLE else None
    return _Described(
        group_id=group_id,
        group_state=group.state.value,
        protocol_type=group.protocol_type or "",
        protocol_data=protocol or "",
        members=[
            _Member(
                member_id=member.member_id,
                group_instance_id=member.instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                member_metadata=b"" if protocol is None else member.metadata(protocol),
                member_assignment=member.assignment,
            )
            for member in group.members.values()
        ],
    )


def listed(
    groups: Sequence[AnyGroup], states: Iterable[str], types: Iterable[str]
) -> list[ListGroupsResponse.ListedGroup]:
    """The groups that pass both filters; an empty filter lets everything pass."""
    wanted_states = {state.strip().lower() for state in states}
    wanted_types = {name.strip().lower() for name in types}
    return [
        one
        for group, one in zip(groups, map(_listed, groups), strict=True)
        if (not wanted_states or _filter_name(group) in wanted_states)
        and (not wanted_types or one.group_type in wanted_types)
    ]


def _filter_name(group: AnyGroup) -> str:
    state = group.state
    return state.filter_name if isinstance(state, StreamsGroupState) else state.value.lower()


def _listed(group: AnyGroup) -> ListGroupsResponse.ListedGroup:
    if isinstance(group, ConsumerGroup):
        protocol_type, group_type = CONSUMER_PROTOCOL, CONSUMER
    elif isinstance(group, ShareGroup):
        protocol_type, group_type = SHARE, SHARE
    elif isinstance(group, StreamsGroup):
        protocol_type, group_type = STREAMS, STREAMS
    else:
        protocol_type, group_type = group.protocol_type or "", CLASSIC
    return ListGroupsResponse.ListedGroup(
        group_id=group.group_id,
        protocol_type=protocol_type,
        group_state=group.state.value,
        group_type=group_type,
    )
