"""What an AdminClient asks about topics, groups and the cluster, and how that is told."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from kcore.admin.asking import Outcome
from kcore.admin.cluster import describe_cluster as ask_cluster
from kcore.admin.core import Procedure
from kcore.admin.groups import ask_classic, describe_each
from kcore.admin.groups import list_groups as ask_groups
from kcore.admin.places import ask_coordinators
from kcore.admin.rows import operations_of
from kcore.admin.topics import ask_topics
from kcore.clients.stand_in.confluent.admin_metadata import (
    BrokerMetadata,
    GroupMember,
    GroupMetadata,
    error_of,
)
from kcore.clients.stand_in.confluent.admin_results import (
    ConsumerGroupDescription,
    ConsumerGroupListing,
    DescribeClusterResult,
    ListConsumerGroupsResult,
    MemberAssignment,
    MemberDescription,
    TopicDescription,
)
from kcore.clients.stand_in.confluent.admin_values import AclOperation
from kcore.clients.stand_in.confluent.errors import told
from kcore.clients.stand_in.confluent.structures import (
    ConsumerGroupState,
    ConsumerGroupType,
    Node,
    TopicPartition,
    TopicPartitionInfo,
    Uuid,
)
from kcore.errors import GroupIdNotFoundError, KafkaError, for_code

_CONSUMER: Final = "consumer"
_STATES: Final[Mapping[str, ConsumerGroupState]] = {
    "PreparingRebalance": ConsumerGroupState.PREPARING_REBALANCING,
    "CompletingRebalance": ConsumerGroupState.COMPLETING_REBALANCING,
    "Stable": ConsumerGroupState.STABLE,
    "Dead": ConsumerGroupState.DEAD,
    "Empty": ConsumerGroupState.EMPTY,
}
_TYPES: Final[Mapping[str, ConsumerGroupType]] = {
    "classic": ConsumerGroupType.CLASSIC,
    "consumer": ConsumerGroupType.CONSUMER,
}


def _operations(names: Iterable[str] | None, *, wanted: bool) -> list[AclOperation] | None:
    known = AclOperation.__members__
    return [AclOperation[name] for name in names or () if name in known] if wanted else None


# Topics and the cluster ---------------------------------------------------------------------------


def describe_topics(names: Sequence[str], *, operations: bool) -> Procedure[dict[str, Any]]:
    """{topic: TopicDescription}."""
    if not names:
        return {}
    (outcome,) = yield [ask_topics(names)]
    body = outcome.all_done()[None]
    nodes = {one.node_id: Node(one.node_id, one.host, one.port, one.rack) for one in body.brokers}
    rows = {row.name: row for row in body.topics}
    return {name: _topic(rows[name], nodes, operations=operations) for name in names}


def _topic(row: Any, nodes: Mapping[int, Node], *, operations: bool) -> Any:
    if row.error_code:
        return for_code(row.error_code)(f"describing topic {row.name}")
    allowed = operations_of(row.topic_authorized_operations)
    return TopicDescription(
        row.name,
        _uuid(bytes(row.topic_id)),
        bool(row.is_internal),
        [_partition(part, nodes) for part in sorted(row.partitions, key=_number)],
        _operations(allowed, wanted=operations),
    )


def _number(part: Any) -> int:
    return int(part.partition_index)


def _partition(part: Any, nodes: Mapping[int, Node]) -> TopicPartitionInfo:
    return TopicPartitionInfo(
        part.partition_index,
        nodes.get(part.leader_id),  # type: ignore[arg-type] # None: nobody leads
        [_node(number, nodes) for number in part.replica_nodes],
        [_node(number, nodes) for number in part.isr_nodes],
    )


def _node(number: int, nodes: Mapping[int, Node]) -> Node:
    """One that is not there now has its number alone."""
    return nodes.get(number) or Node(number, "", -1)


def _uuid(raw: bytes) -> Uuid:
    halves = (int.from_bytes(raw[at : at + 8], signed=True) for at in (0, 8))
    return Uuid(*halves)


def uuid_of(text: str) -> Uuid:
    """Of a topic's id as text."""
    return _uuid(UUID(text).bytes)


def describe_cluster(*, operations: bool) -> Procedure[dict[None, DescribeClusterResult]]:
    """{None: DescribeClusterResult}."""
    told_of = yield from ask_cluster()
    nodes = {
        row["broker_id"]: Node(row["broker_id"], row["host"], row["port"], row["rack"])
        for row in told_of["brokers"]
        if not row.get("is_fenced")
    }
    allowed = _operations(told_of["authorized_operations"], wanted=operations)
    controller = nodes.get(told_of["controller_id"])
    result = DescribeClusterResult(controller, [*nodes.values()], told_of["cluster_id"], allowed)
    return {None: result}


# Groups -------------------------------------------------------------------------------------------


def list_consumer_groups(
    states: Sequence[ConsumerGroupState], types: Sequence[ConsumerGroupType]
) -> Procedure[dict[None, ListConsumerGroupsResult]]:
    """{None: ListConsumerGroupsResult}: groups of consumers, and those that only have offsets."""
    names = {state: name for name, state in _STATES.items()}
    kinds = {kind: name for name, kind in _TYPES.items()}
    errors: list[KafkaError] = []
    rows: list[dict[str, Any]]
    try:
        rows = yield from ask_groups(
            None,
            [names.get(state, "Unknown") for state in states],
            [kinds.get(kind, "Unknown") for kind in types],
        )
    except KafkaError as error:
        failed, done = getattr(error, "failed", {}), getattr(error, "done", {})
        if not done:
            raise
        errors = [*failed.values()]
        rows = [row for found in done.values() for row in found]
    valid = [
        ConsumerGroupListing(
            row["group_id"],
            not row["protocol_type"],
            _STATES.get(row["group_state"], ConsumerGroupState.UNKNOWN),
            _TYPES.get(row["group_type"].lower(), ConsumerGroupType.UNKNOWN),
        )
        for row in rows
        if row["protocol_type"] in ("", _CONSUMER)
    ]
    return {None: ListConsumerGroupsResult(valid, [told(error) for error in errors])}


def describe_consumer_groups(
    names: Sequence[str], *, operations: bool
) -> Procedure[dict[str, Any]]:
    """{group: ConsumerGroupDescription}. One that is not there is dead."""
    outcome = yield from describe_each(names, operations=operations)
    (coordinators,) = yield [ask_coordinators([*names], 0)]
    return {name: _group(name, outcome, coordinators, operations=operations) for name in names}


def _group(name: str, outcome: Outcome, coordinators: Outcome, *, operations: bool) -> Any:
    error = outcome.failed.get(name) or coordinators.failed.get(name)
    if error is not None and not isinstance(error, GroupIdNotFoundError):
        return error
    coordinator = Node(*coordinators.done[name])
    if error is not None:
        kind = ConsumerGroupType.CLASSIC
        return ConsumerGroupDescription(
            name, True, [], "", ConsumerGroupState.DEAD, coordinator, type=kind
        )
    row = outcome.done[name]
    return ConsumerGroupDescription(
        name,
        not row["protocol_type"],
        [_member(member) for member in row["members"]],
        row["protocol_data"],
        _STATES.get(row["group_state"], ConsumerGroupState.UNKNOWN),
        coordinator,
        _operations(row["authorized_operations"], wanted=operations),
        _TYPES.get(row["group_type"], ConsumerGroupType.UNKNOWN),
    )


def _member(row: Mapping[str, Any]) -> MemberDescription:
    target = row.get("target_assignment")
    return MemberDescription(
        row["member_id"],
        row["client_id"],
        row["client_host"],
        _assignment(row["member_assignment"]),
        row["group_instance_id"],
        None if target is None else _assignment(target),
    )


def _assignment(found: Any) -> MemberAssignment:
    """Of one that is in no language of ours nothing can be told."""
    rows = found["assigned_partitions"] if isinstance(found, dict) else ()
    return MemberAssignment(
        [TopicPartition(row["topic"], one) for row in rows for one in row["partitions"]]
    )


def list_groups(name: str | None) -> Procedure[list[GroupMetadata]]:
    """Groups of all kinds with their members, or one if it is there, as the old calls tell them."""
    rows = yield from ask_groups(None, (), ())
    names = [row["group_id"] for row in rows if name in (None, row["group_id"])]
    found, coordinators = yield [ask_classic(names), ask_coordinators(names, 0)]
    return [_old_group(one, found, coordinators) for one in names]


def _old_group(name: str, found: Outcome, coordinators: Outcome) -> GroupMetadata:
    made = GroupMetadata()
    made.id = name
    if name in coordinators.done:
        made.broker = BrokerMetadata()
        made.broker.id, made.broker.host, made.broker.port = coordinators.done[name]
    if name not in found.done:
        error = found.failed[name]
        if isinstance(error, GroupIdNotFoundError):  # of the consumer protocol, which this has not
            made.state, made.protocol_type, made.protocol = "Dead", "", ""
        else:
            made.error = told(error)
        return made
    row = found.done[name]
    made.error = error_of(row.error_code)
    made.state, made.protocol_type = row.group_state, row.protocol_type
    made.protocol = row.protocol_data
    made.members = [_old_member(member) for member in row.members]
    return made


def _old_member(row: Any) -> GroupMember:
    made = GroupMember()
    made.id, made.client_id, made.client_host = row.member_id, row.client_id, row.client_host
    made.metadata, made.assignment = bytes(row.member_metadata), bytes(row.member_assignment)
    return made
