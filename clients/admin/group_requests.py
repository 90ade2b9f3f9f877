"""What admin clients are asked for about groups: arguments checked and made into procedures, as in
`requests.py`.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from enum import Enum
from typing import Any, Final

from kcore.admin import (
    GroupState,
    GroupType,
    MemberToRemove,
    OffsetDuration,
    OffsetShift,
    OffsetSpec,
    PartitionLag,
    commits,
    groups,
    shares,
)
from kcore.admin.core import Procedure
from kcore.clients import arguments
from kcore.clients.admin import arguments as args
from kcore.durations import parse_ms
from kcore.errors import IllegalArgumentError, KafkaError
from kcore.limits import MAX_INT64
from kcore.structs import TopicPartition

_NS_PER_MS: Final = 1_000_000
_Verdicts = dict[TopicPartition, type[KafkaError]]

# Groups -------------------------------------------------------------------------------------------


def list_groups(brokers: object, states: object, types: object) -> Procedure[list[dict[str, Any]]]:
    """Filters are GroupState and GroupType, or their names in any spelling."""
    return groups.list_groups(
        args.broker_ids(brokers),
        [GroupState.of(one) for one in args.listed(states, "states_filter")] if states else [],
        [GroupType.of(one) for one in args.listed(types, "types_filter")] if types else [],
    )


def describe_groups(
    values: object, *, operations: bool, topologies: bool
) -> Procedure[dict[str, Any]]:
    """Group ids."""
    return groups.describe_groups(
        args.group_ids(values), operations=operations, topologies=topologies
    )


def find_coordinator(key: object, kind: object) -> Procedure[int]:
    """A group id, or with the kind 1 a transactional id."""
    return groups.find_coordinator(args.group_id(key), args.count(kind, "coordinator_type", 0, 1))


def delete_groups(values: object, *, raise_errors: bool) -> Procedure[Any]:
    """Group ids."""
    return groups.delete_groups(args.group_ids(values), raise_errors=raise_errors)


def remove_group_members(
    group: object, members: object, *, raise_errors: bool
) -> Procedure[dict[str, type[KafkaError]]]:
    """MemberToRemove objects."""
    given = [_member(one) for one in args.listed(members, "members")]
    return groups.remove_group_members(args.group_id(group), given, raise_errors=raise_errors)


def _member(one: Any) -> MemberToRemove:
    try:
        member = MemberToRemove(one.member_id, one.group_instance_id, getattr(one, "reason", None))
    except AttributeError:
        raise TypeError(f"members must be MemberToRemove, not {one!r}") from None
    for value in (member.member_id, member.group_instance_id, member.reason):
        if value is not None and not isinstance(value, str):
            raise TypeError(f"a member is named by strings, not {value!r}")
    if not member.member_id and not member.group_instance_id:
        raise IllegalArgumentError("a member is named by its member_id or its group_instance_id")
    return member


# Offsets ------------------------------------------------------------------------------------------


def list_group_offsets(
    specs: object, *, raise_errors: bool
) -> Procedure[dict[str, commits.Offsets]]:
    """A group, several, or {group: partitions or None for all}."""
    return commits.list_group_offsets(_specs(specs), raise_errors=raise_errors)


def _specs(specs: object) -> dict[str, list[TopicPartition] | None]:
    if isinstance(specs, str):
        specs = {specs: None}
    elif not isinstance(specs, Mapping):
        specs = dict.fromkeys(args.group_ids(specs))
    return {
        args.group_id(group): None if parts is None else args.partitions(parts, "partitions")
        for group, parts in specs.items()
    }


def alter_group_offsets(
    group: object, values: object, *, raise_errors: bool
) -> Procedure[_Verdicts]:
    """{partition: OffsetAndMetadata}."""
    wanted = arguments.offsets_of(values)
    return commits.alter_group_offsets(args.group_id(group), wanted, raise_errors=raise_errors)


def reset_group_offsets(
    group: object, specs: object, **how: bool
) -> Procedure[dict[TopicPartition, dict[str, Any]]]:
    """{partition: where to}, or where to for all that the group has committed."""
    wanted: Mapping[TopicPartition, commits.Target] | commits.Target
    if isinstance(specs, Mapping):
        wanted = {arguments.named(tp): _target(spec) for tp, spec in specs.items()}
    else:
        wanted = _target(specs)
    return commits.reset_group_offsets(args.group_id(group), wanted, **how)


def _target(spec: Any) -> commits.Target:
    kinds = {kind.__name__ for kind in type(spec).__mro__}  # kafka-python's are as good
    if isinstance(spec, OffsetDuration):
        try:
            ago_ms = parse_ms(spec)
        except ValueError as error:
            raise IllegalArgumentError(f"{spec!r}: {error}; as in 'P1DT12H'") from None
        return commits.Target(timestamp=max(0, time.time_ns() // _NS_PER_MS - ago_ms))
    if isinstance(spec, (str, Enum)):
        try:
            return commits.Target(timestamp=int(OffsetSpec.of(spec)))
        except IllegalArgumentError as error:
            raise IllegalArgumentError(f"{error}; a time is an OffsetTimestamp(ms)") from None
    if not isinstance(spec, int) or isinstance(spec, bool):
        raise TypeError(
            "where to reset is an OffsetSpec, OffsetTimestamp, OffsetDuration, OffsetShift or an "
            f"offset, not {spec!r}"
        )
    if isinstance(spec, OffsetShift):
        return commits.Target(shift=int(spec))
    if "OffsetTimestamp" in kinds:
        return commits.Target(timestamp=args.count(spec, "a time", 0, MAX_INT64))
    return commits.Target(offset=args.count(spec, "an offset", 0, MAX_INT64))


def list_share_group_offsets(
    specs: object, *, raise_errors: bool
) -> Procedure[dict[str, shares.Starts]]:
    """A group, several, or {group: partitions or None for all}."""
    return shares.list_share_group_offsets(_specs(specs), raise_errors=raise_errors)


def alter_share_group_offsets(
    group: object, values: object, *, raise_errors: bool
) -> Procedure[_Verdicts]:
    """{partition: start offset}."""
    given = args.mapped(values, "offsets must map partitions to start offsets")
    wanted = {
        arguments.named(tp): args.count(offset, "a start offset", 0, MAX_INT64)
        for tp, offset in given.items()
    }
    return shares.alter_share_group_offsets(args.group_id(group), wanted, raise_errors=raise_errors)


def delete_share_group_offsets(
    group: object, values: object, *, raise_errors: bool
) -> Procedure[dict[str, type[KafkaError]]]:
    """Topics."""
    names = [arguments.topic_name(one) for one in args.listed(values, "topics")]
    return shares.delete_share_group_offsets(
        args.group_id(group), list(dict.fromkeys(names)), raise_errors=raise_errors
    )


def delete_group_offsets(
    group: object, values: object, *, raise_errors: bool
) -> Procedure[_Verdicts]:
    """Partitions."""
    wanted = args.partitions(values, "partitions")
    return commits.delete_group_offsets(args.group_id(group), wanted, raise_errors=raise_errors)


def lag(
    group: object, values: object, isolation_level: object
) -> Procedure[dict[TopicPartition, PartitionLag]]:
    """Partitions; None: all that the group reads or has read."""
    wanted = None if values is None else args.partitions(values, "partitions")
    return commits.lag(args.group_id(group), wanted, args.isolation(isolation_level))
