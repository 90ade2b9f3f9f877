"""Groups: listed, described, deleted, and members taken out of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from kcore.admin.asking import Ask, Outcome, Reply, Route, plain_name
from kcore.admin.cluster import of_brokers
from kcore.admin.core import Procedure
from kcore.admin.places import ask_coordinators
from kcore.admin.rows import epochs_row, operations_of, row_of, verdict
from kcore.admin.streams import streams_row
from kcore.admin.values import MemberToRemove
from kcore.assignors.blobs import decode_assignment, decode_subscription
from kcore.errors import (
    BrokerResponseError,
    FencedInstanceIdError,
    GroupIdNotFoundError,
    KafkaError,
    ProtocolError,
    UnknownMemberIdError,
    UnsupportedVersionError,
)
from kcore.structs import TopicPartition
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode
from kcore.wire.message import Message
from kcore.wire.messages import (
    ConsumerGroupDescribeRequest,
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    LeaveGroupRequest,
    ListGroupsRequest,
    ShareGroupDescribeRequest,
    StreamsGroupDescribeRequest,
)

_STATES_SINCE: Final = 4  # ListGroups with a filter of states (KIP-518, Kafka 2.6)
_TYPES_SINCE: Final = 5  # and one of types (KIP-848, Kafka 3.8)
_OPERATIONS_SINCE: Final = 3  # DescribeGroups with authorized operations
_MEMBERS_SINCE: Final = 3  # LeaveGroup with a list of members (KIP-345, Kafka 2.4)
_REASON_SINCE: Final = 5  # and with reasons (KIP-800)
_TOPOLOGIES_SINCE: Final = 1  # StreamsGroupDescribe with what topologies are made of (Kafka 4.4)
_DEAD: Final = "Dead"
# Of streams groups; a Kafka 4.3 knows the state by another name when it filters.
_NOT_READY: Final = "NotReady"
_NOT_READY_FILTER: Final = "not_ready"
_CONSUMER: Final = "consumer"
_SHARE: Final = "share"
# What a coordinator says of a group of another kind, and one that knows no such kind.
_OF_NO_SUCH_KIND: Final = (GroupIdNotFoundError, UnsupportedVersionError)
_ByEpochs = type[ConsumerGroupDescribeRequest] | type[ShareGroupDescribeRequest]
_MEMBER_HINT: Final[Mapping[int, str]] = {
    ErrorCode.UNKNOWN_MEMBER_ID: "the group has no such member (any more)",
}


# Listing ------------------------------------------------------------------------------------------


def list_groups(
    brokers: Sequence[int] | None, states: Sequence[str], types: Sequence[str]
) -> Procedure[list[dict[str, Any]]]:
    """kafka-python's rows of the groups that these brokers coordinate, or all do."""

    def build(_keys: list[int], version: int, _limit_ms: int) -> ListGroupsRequest:
        request = ListGroupsRequest()
        if states:
            if version < _STATES_SINCE:
                raise UnsupportedVersionError(
                    "listing groups by state: this broker (before 2.6) cannot"
                )
            request.states_filter = list(states)
            if _NOT_READY in states:
                request.states_filter.append(_NOT_READY_FILTER)
        if types:
            if version < _TYPES_SINCE:
                raise UnsupportedVersionError(
                    "listing groups by type: this broker (before 3.8) cannot"
                )
            request.types_filter = list(types)
        return request

    def read(body: Any, _version: int, keys: list[int]) -> Iterable[Reply]:
        yield Reply(keys[0], body.error_code, [row_of(group) for group in body.groups])

    def make(ids: tuple[int, ...]) -> Ask:
        return Ask(
            ApiKey.LIST_GROUPS, ids, "listing the groups of broker", build, read, route=Route.BROKER
        )

    _, outcome = yield from of_brokers(brokers, make)
    # One that moves from a broker to another meanwhile is told by both.
    rows = [row for found in outcome.all_done().values() for row in found]
    return list({row["group_id"]: row for row in rows}.values())


# Describing ---------------------------------------------------------------------------------------


def describe_groups(
    groups: Sequence[str], *, operations: bool, topologies: bool = False
) -> Procedure[dict[str, Any]]:
    """{group: kafka-python's row}; what is wrong with one is its "error".

    Groups of the consumer protocol (KIP-848), share groups (KIP-932) and streams groups (KIP-1071)
    are asked for first, classic ones for what is none of them. topologies: of streams groups with
    what they are made of (KIP-1331).
    """
    outcome = yield from describe_each(groups, operations=operations, topologies=topologies)
    for group, error in [*outcome.failed.items()]:
        if isinstance(error, BrokerResponseError):
            outcome.done[group] = _refused_row(group, error)
            del outcome.failed[group]
    found = outcome.all_done()
    return {group: found[group] for group in dict.fromkeys(groups)}


def describe_each(
    groups: Sequence[str], *, operations: bool, topologies: bool = False
) -> Procedure[Outcome]:
    """How it went with each. A group that is not there: a GroupIdNotFoundError."""
    newer, share, streams, classic = yield [
        _ask_newer(groups, operations=operations),
        ask_share(groups, operations=operations),
        _ask_streams(groups, operations=operations, topologies=topologies),
        replace(ask_classic(groups, operations=operations), after=_is_of_another_kind),
    ]
    kinds = newer, share, streams
    whole = Outcome(plain_name)
    for group in groups:
        if group in newer.done:
            whole.done[group] = _newer_row(newer.done[group])
        elif group in share.done:
            whole.done[group] = _share_row(share.done[group])
        elif group in streams.done:
            whole.done[group] = streams_row(streams.done[group])
        elif group not in classic.done:
            error = classic.failed.get(group) or _of_another_kind(*kinds, group=group)
            whole.failed[group] = error
        elif _is_gone(classic.done[group]):
            words = f"describing group {group}: there is no such group"
            whole.failed[group] = GroupIdNotFoundError(words)
        else:
            whole.done[group] = _classic_row(classic.done[group])
    return whole


def _is_gone(group: Any) -> bool:
    """Before v6 (KIP-1043) that is how a group is told that is not there."""
    return bool(group.group_state == _DEAD and not group.members)


def _is_of_another_kind(group: str, kinds: Sequence[Outcome]) -> bool | None:
    """Whether none of these kinds has a group of this id; None: one has yet to be told of it."""
    if any(group not in kind.done and group not in kind.failed for kind in kinds):
        return None
    return is_of_no(*kinds, group=group)


def is_of_no(*kinds: Outcome, group: str) -> bool:
    """Whether there is no group of this id of any of these kinds."""
    return all(isinstance(kind.failed.get(group), _OF_NO_SUCH_KIND) for kind in kinds)


def _of_another_kind(*kinds: Outcome, group: str) -> KafkaError:
    """What is wrong with a group, of those answers that are about more than its kind."""
    errors = [kind.failed[group] for kind in kinds]
    return next(error for error in errors if not isinstance(error, _OF_NO_SUCH_KIND))


def _ask_newer(groups: Sequence[str], *, operations: bool) -> Ask:
    return _ask_by_epochs(
        ApiKey.CONSUMER_GROUP_DESCRIBE, ConsumerGroupDescribeRequest, groups, operations=operations
    )


def ask_share(groups: Sequence[str], *, operations: bool = False) -> Ask:
    """Share groups as they are told. GroupIdNotFoundError: also of what is another kind of group;
    UnsupportedVersionError: this cluster has none.
    """
    return _ask_by_epochs(
        ApiKey.SHARE_GROUP_DESCRIBE, ShareGroupDescribeRequest, groups, operations=operations
    )


def _ask_streams(groups: Sequence[str], *, operations: bool, topologies: bool) -> Ask:
    def build(keys: list[str], version: int, _limit_ms: int) -> StreamsGroupDescribeRequest:
        request = StreamsGroupDescribeRequest(
            group_ids=keys, include_authorized_operations=operations
        )
        request.include_topology_description = topologies and version >= _TOPOLOGIES_SINCE
        return request

    return _ask(ApiKey.STREAMS_GROUP_DESCRIBE, groups, build)


def _ask_by_epochs(
    api: ApiKey, request: _ByEpochs, groups: Sequence[str], *, operations: bool
) -> Ask:
    """Groups of one of the protocols with epochs."""
    return _ask(
        api,
        groups,
        lambda keys, _version, _limit_ms: request(
            group_ids=keys, include_authorized_operations=operations
        ),
    )


def _ask(
    api: ApiKey, groups: Sequence[str], build: Callable[[list[str], int, int], Message]
) -> Ask:
    return Ask(
        api,
        tuple(dict.fromkeys(groups)),
        "describing group",
        build,
        _read_groups,
        route=Route.COORDINATOR,
    )


def ask_classic(groups: Sequence[str], *, operations: bool = False) -> Ask:
    """Groups of the classic protocol as they are told, with what members said in bytes."""

    def build(keys: list[str], version: int, _limit_ms: int) -> DescribeGroupsRequest:
        request = DescribeGroupsRequest(groups=keys)
        request.include_authorized_operations = operations and version >= _OPERATIONS_SINCE
        return request

    return _ask(ApiKey.DESCRIBE_GROUPS, groups, build)


def _read_groups(body: Any, _version: int, _keys: list[str]) -> Iterable[Reply]:
    for group in body.groups:
        yield Reply(group.group_id, group.error_code, group, group.error_message)


def _refused_row(group: str, error: KafkaError) -> dict[str, Any]:
    unknown = isinstance(error, GroupIdNotFoundError)
    return {
        "error": str(error),
        "group_id": group,
        "group_state": _DEAD if unknown else "Unknown",
        "group_type": "Unknown",
        "protocol_type": "",
        "protocol_data": "",
        "members": [],
        "authorized_operations": None,
    }


def _classic_row(group: Any) -> dict[str, Any]:
    known = group.protocol_type == _CONSUMER
    return {
        "error": None,
        "group_id": group.group_id,
        "group_state": group.group_state,
        "group_type": "classic",
        "protocol_type": group.protocol_type,
        "protocol_data": group.protocol_data,
        "members": [_classic_member(member, known=known) for member in group.members],
        "authorized_operations": operations_of(group.authorized_operations),
    }


def _classic_member(member: Any, *, known: bool) -> dict[str, Any]:
    row = row_of(member, "member_metadata", "member_assignment")
    metadata: Any = bytes(member.member_metadata)
    assignment: Any = bytes(member.member_assignment)
    if known:
        metadata = _subscription(metadata)
        assignment = _assignment(assignment)
    return row | {"member_metadata": metadata, "member_assignment": assignment}


def _subscription(blob: bytes) -> Any:
    """As kafka-python tells it; what cannot be read stays as it is."""
    try:
        found = decode_subscription(blob)
    except ProtocolError:
        return blob
    return {
        "topics": list(found.topics),
        "user_data": found.userdata,
        "owned_partitions": _by_topic(found.owned),
        "generation_id": found.generation,
        "rack_id": found.rack,
    }


def _assignment(blob: bytes) -> Any:
    try:
        found, userdata = decode_assignment(blob)
    except ProtocolError:
        return blob
    return {"assigned_partitions": _by_topic(found), "user_data": userdata}


def _by_topic(partitions: Iterable[TopicPartition]) -> list[dict[str, Any]]:
    topics: dict[str, list[int]] = {}
    for tp in partitions:
        topics.setdefault(tp.topic, []).append(tp.partition)
    return [{"topic": topic, "partitions": numbers} for topic, numbers in topics.items()]


def _newer_row(group: Any) -> dict[str, Any]:
    members = [_newer_member(member) for member in group.members]
    return epochs_row(group, _CONSUMER, group.assignor_name, members)


def _share_row(group: Any) -> dict[str, Any]:
    members = [_share_member(member) for member in group.members]
    return epochs_row(group, _SHARE, group.assignor_name, members)


def _newer_member(member: Any) -> dict[str, Any]:
    assigned = _named_partitions(member.assignment)
    return {
        "member_id": member.member_id,
        "group_instance_id": member.instance_id,
        "client_id": member.client_id,
        "client_host": member.client_host,
        "member_epoch": member.member_epoch,
        "member_type": {0: "classic", 1: _CONSUMER}.get(member.member_type, "Unknown"),
        "subscribed_topic_regex": member.subscribed_topic_regex,
        "member_metadata": {
            "topics": list(member.subscribed_topic_names),
            "user_data": None,
            "owned_partitions": assigned,
            "generation_id": member.member_epoch,
            "rack_id": member.rack_id,
        },
        "member_assignment": {"assigned_partitions": assigned, "user_data": None},
        "target_assignment": {
            "assigned_partitions": _named_partitions(member.target_assignment),
            "user_data": None,
        },
    }


def _share_member(member: Any) -> dict[str, Any]:
    return {
        "member_id": member.member_id,
        "group_instance_id": None,
        "client_id": member.client_id,
        "client_host": member.client_host,
        "member_epoch": member.member_epoch,
        "member_metadata": {
            "topics": list(member.subscribed_topic_names),
            "user_data": None,
            "rack_id": member.rack_id,
        },
        "member_assignment": {
            "assigned_partitions": _named_partitions(member.assignment),
            "user_data": None,
        },
    }


def is_share(row: Mapping[str, Any]) -> bool:
    """Whether a described group is a share group: its offsets are start offsets."""
    return bool(row["group_type"] == _SHARE)


def _named_partitions(assignment: Any) -> list[dict[str, Any]]:
    return [
        {"topic": entry.topic_name, "partitions": list(entry.partitions)}
        for entry in assignment.topic_partitions
    ]


def owners_of(row: dict[str, Any]) -> dict[TopicPartition, list[dict[str, Any]]]:
    """{partition: the rows of the members it is assigned to} of a described group: one, but in
    share groups.
    """
    owners: dict[TopicPartition, list[dict[str, Any]]] = {}
    for member in row["members"]:
        assignment = member["member_assignment"]
        if isinstance(assignment, dict):
            for entry in assignment["assigned_partitions"]:
                for number in entry["partitions"]:
                    owners.setdefault(TopicPartition(entry["topic"], number), []).append(member)
    return owners


# Coordinators -------------------------------------------------------------------------------------


def find_coordinator(key: str, kind: int) -> Procedure[int]:
    """The node that coordinates a group (kind 0), or a transactional id (1)."""
    (outcome,) = yield [ask_coordinators([key], kind)]
    node_id: int = outcome.all_done()[key][0]
    return node_id


# Deleting -----------------------------------------------------------------------------------------


def delete_groups(groups: Sequence[str], *, raise_errors: bool) -> Procedure[Outcome]:
    """Delete groups with their offsets."""

    def read(body: Any, _version: int, _keys: list[str]) -> Iterable[Reply]:
        for row in body.results:
            yield Reply(row.group_id, row.error_code, words=row.error_message)

    ask = Ask(
        ApiKey.DELETE_GROUPS,
        tuple(dict.fromkeys(groups)),
        "deleting group",
        lambda keys, _version, _limit_ms: DeleteGroupsRequest(groups_names=keys),
        read,
        route=Route.COORDINATOR,
        changes=True,
    )
    (outcome,) = yield [ask]
    outcome.check(raise_errors=raise_errors)
    return outcome


def words_of(outcome: Outcome) -> dict[str, str]:
    """{group: "OK", or the name of the class of its error}."""
    return dict.fromkeys(outcome.done, "OK") | {
        group: type(error).__name__ for group, error in outcome.failed.items()
    }


def classes_of(outcome: Outcome) -> list[tuple[str, type[KafkaError]]]:
    """(group, the class of its error, or NoError)."""
    return [(group, verdict(None)) for group in outcome.done] + [
        (group, verdict(error)) for group, error in outcome.failed.items()
    ]


_Member = tuple[str, str | None]  # its id and its instance id


def remove_group_members(
    group: str, members: Sequence[MemberToRemove], *, raise_errors: bool
) -> Procedure[dict[str, type[KafkaError]]]:
    """{member id, or instance id of one that was named by it: the class of its error, or NoError}.

    What is wrong with the whole group is raised.
    """
    wanted = {(member.member_id or "", member.group_instance_id): member for member in members}
    ask = _ask_leave(group, {key: member.reason for key, member in wanted.items()})
    (outcome,) = yield [ask]
    whole = any(not _is_of_member(error) for error in outcome.failed.values())
    if outcome.failed and (raise_errors or whole):
        raise outcome.error()
    return {key[0] or str(key[1]): verdict(outcome.failed.get(key)) for key in wanted}


def _is_of_member(error: KafkaError) -> bool:
    """Whether a coordinator says it of one member: of the group it would say another thing."""
    return isinstance(error, (UnknownMemberIdError, FencedInstanceIdError))


def _ask_leave(group: str, reasons: Mapping[_Member, str | None]) -> Ask:
    def build(keys: list[_Member], version: int, _limit_ms: int) -> LeaveGroupRequest:
        if version < _MEMBERS_SINCE:
            member_id, instance_id = keys[0]
            if instance_id is not None:
                raise UnsupportedVersionError(
                    "removing members by group_instance_id: this broker (before 2.4) cannot"
                )
            return LeaveGroupRequest(group_id=group, member_id=member_id)
        cls = LeaveGroupRequest.MemberIdentity
        members = [cls(member_id=key[0], group_instance_id=key[1]) for key in keys]
        if version >= _REASON_SINCE:
            for key, member in zip(keys, members, strict=True):
                member.reason = reasons[key]
        return LeaveGroupRequest(group_id=group, members=members)

    def read(body: Any, version: int, keys: list[_Member]) -> Iterable[Reply]:
        if body.error_code or version < _MEMBERS_SINCE:
            for key in keys:
                yield Reply(key, body.error_code)
            return
        for row in body.members:
            # The coordinator may fill in the id of a member that was named by its instance id.
            key = (row.member_id, row.group_instance_id)
            yield Reply(key if key in reasons else ("", row.group_instance_id), row.error_code)

    return Ask(
        ApiKey.LEAVE_GROUP,
        tuple(reasons),
        f"removing from group {group} member",
        build,
        read,
        route=Route.COORDINATOR,
        place=lambda _key: group,
        most=lambda version: None if version >= _MEMBERS_SINCE else 1,
        changes=True,
        hints=_MEMBER_HINT,
        name=lambda key: repr(key[0] or key[1]),
    )
