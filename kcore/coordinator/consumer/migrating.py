"""Groups that change their protocol while there are members (rules M1, M5).

What members have is theirs afterwards, too. Pure: the group that there was stays as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from kcore.coordinator.config import CoordinatorConfig
from kcore.coordinator.consumer import records
from kcore.coordinator.consumer.blobs import (
    ids_and_partitions,
    read_assignment,
    read_subscription,
    version_of,
    write_assignment,
)
from kcore.coordinator.consumer.group import NO_TARGET, ConsumerGroup, Target
from kcore.coordinator.consumer.member import ClassicSide, ConsumerMember
from kcore.coordinator.consumer.topics import metadata_hash
from kcore.coordinator.group import CONSUMER_PROTOCOL, Group, Member
from kcore.coordinator.journal import Item, group_entry
from kcore.coordinator.refused import RefusedError
from kcore.coordinator.states import GroupState
from kcore.errors import ProtocolError
from kcore.wire.codes import ErrorCode

if TYPE_CHECKING:
    from kcore.coordinator.context import Topics

UPGRADES: Final = ("bidirectional", "upgrade")
DOWNGRADES: Final = ("bidirectional", "downgrade")


# To the consumer protocol -------------------------------------------------------------------------


def upgraded(
    group: Group, config: CoordinatorConfig, topics: Topics
) -> tuple[ConsumerGroup, list[Item]]:
    """M1: the group that a classic one becomes, and how that is written. RefusedError."""
    why = None
    if config.group_consumer_migration_policy not in UPGRADES:
        why = "classic groups are not upgraded here"
    elif group.protocol_type != CONSUMER_PROTOCOL:
        why = "the group is not of consumers"
    elif len(group.members) > config.group_consumer_max_size:
        why = "the group has too many members"
    if why is not None:
        raise RefusedError(ErrorCode.GROUP_ID_NOT_FOUND, why)
    found = ConsumerGroup(group.group_id)
    found.epoch = found.target_epoch = group.generation
    try:
        for old in group.members.values():
            member = _upgraded_member(group, old, topics)
            found.put(member)
            found.target[member.member_id] = frozenset(member.assigned)
    except ProtocolError:
        raise RefusedError(
            ErrorCode.GROUP_ID_NOT_FOUND, "what the group's members say cannot be read"
        ) from None
    found.metadata_hash = metadata_hash(topics, found.named)
    members = list(found.members.values())
    group_id = group.group_id
    return found, [
        group_entry(group_id, None),
        *(records.member_entry(group_id, member) for member in members),
        records.epoch_entry(group_id, found.epoch, found.metadata_hash),
        *(
            records.target_entry(group_id, member_id, target)
            for member_id, target in found.target.items()
        ),
        records.target_epoch_entry(group_id, found.target_epoch, 0),
        *(records.current_entry(group_id, member) for member in members),
    ]


def _upgraded_member(group: Group, old: Member, topics: Topics) -> ConsumerMember:
    assignment = read_assignment(old.assignment)
    if assignment.user_data:
        raise RefusedError(
            ErrorCode.GROUP_ID_NOT_FOUND, "the group's assignor keeps data that would be lost"
        )
    named = [(part.topic, part.partitions) for part in assignment.assigned_partitions]
    subscription = read_subscription(old.metadata(group.protocol_name) or old.protocols[0][1])
    return ConsumerMember(
        old.member_id,
        group.generation,
        group.generation,
        instance_id=old.instance_id,
        rack_id=subscription.rack_id,
        rebalance_timeout_ms=old.rebalance_timeout_ms,
        client_id=old.client_id,
        client_host=old.client_host,
        topics=frozenset(subscription.topics),
        assigned=dict.fromkeys(ids_and_partitions(named, topics), group.generation),
        classic=ClassicSide(old.session_timeout_ms, old.protocols),
    )


# To the classic protocol --------------------------------------------------------------------------


def may_downgrade(staying: Sequence[ConsumerMember], config: CoordinatorConfig) -> bool:
    """M5: whether those that stay are a classic group."""
    return (
        config.group_consumer_migration_policy in DOWNGRADES
        and 0 < len(staying) <= config.group_max_size
        and all(member.classic is not None for member in staying)
    )


def downgraded(
    group: ConsumerGroup,
    staying: Sequence[ConsumerMember],
    targets: Mapping[str, Target],
    topics: Topics,
    wall_ms: int,
) -> tuple[Group, list[Item]]:
    """M5: the classic group of these members, each with its target, and how that is written."""
    found = Group(group.group_id)
    found.protocol_type = CONSUMER_PROTOCOL
    found.generation = group.epoch
    found.state = GroupState.STABLE
    found.state_since_ms = wall_ms
    for member in staying:
        assert member.classic is not None
        found.add(
            Member(
                member.member_id,
                member.instance_id,
                member.client_id,
                member.client_host,
                member.rebalance_timeout_ms,
                member.classic.session_timeout_ms,
                member.classic.protocols,
            )
        )
    found.protocol_name = found.select_protocol()
    found.recompute_subscribed()
    for one in found.members.values():
        target = targets.get(one.member_id, NO_TARGET)
        version = version_of(one.metadata(found.protocol_name))
        one.assignment = write_assignment(target, topics, version)
    value = found.value(found.assignments())
    return found, [*records.group_tombstones(group), group_entry(group.group_id, value)]
