"""What admin clients are asked for: arguments checked, as users of kafka-python and aiokafka give
them, and made into the procedure of `kcore.admin` that does it.

Each function is named after the method that it is for, and raises what is wrong with the arguments
before anything is sent: TypeError, or IllegalArgumentError (a ValueError).
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, Final
from uuid import UUID

from kcore.admin import (
    AlterConfigOp,
    ConfigFilterType,
    ConfigResource,
    ConfigResourceType,
    ElectionType,
    GroupState,
    GroupType,
    MemberToRemove,
    NewPartitions,
    NewTopic,
    OffsetDuration,
    OffsetShift,
    OffsetSpec,
    PartitionLag,
    cluster,
    commits,
    configs,
    groups,
    offsets,
    partitions,
    topics,
)
from kcore.admin.core import Procedure
from kcore.clients import arguments
from kcore.durations import parse_ms
from kcore.errors import IllegalArgumentError, KafkaError
from kcore.limits import MAX_INT32, MAX_INT64
from kcore.structs import OffsetAndTimestamp, TopicPartition
from kcore.wire.messages import CreatePartitionsResponse, ElectLeadersResponse

_ISOLATION: Final = {"read_uncommitted": 0, "read_committed": 1}
_NS_PER_MS: Final = 1_000_000
_MAX_INT16: Final = 32_767
_Verdicts = dict[TopicPartition, type[KafkaError]]

# Parts of arguments -------------------------------------------------------------------------------


def _listed(values: object, what: str) -> list[Any]:
    """Several of something, or none. A bare string is a TypeError."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise TypeError(f"{what} must be a list, not {values!r}")
    return list(values)


def _some(values: object, what: str) -> list[Any]:
    """At least one of something."""
    found = _listed(values, what)
    if not found:
        raise IllegalArgumentError(f"{what}: none is given")
    return found


def _mapped(values: object, what: str) -> Mapping[Any, Any]:
    if not isinstance(values, Mapping):
        raise TypeError(f"{what}, not {values!r}")
    return values


def _group(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"a group id must be a string, not {value!r}")
    return value


def _groups(values: object) -> list[str]:
    return list(dict.fromkeys(_group(value) for value in _listed(values, "group_ids")))


def _count(value: object, what: str, lowest: int, highest: int = MAX_INT32) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{what} must be a whole number, not {value!r}")
    if not lowest <= value <= highest:
        raise IllegalArgumentError(f"{what}={value}: must be from {lowest} to {highest}")
    return int(value)


def _brokers(values: object) -> list[int] | None:
    if values is None:
        return None
    found = _some(values, "brokers")
    return list(dict.fromkeys(_count(value, "a broker's number", 0) for value in found))


def _partitions(values: object, what: str) -> list[TopicPartition]:
    return list(dict.fromkeys(arguments.named(value) for value in _listed(values, what)))


def _topics(values: object) -> list[str | UUID]:
    """Names, or ids."""
    found = _listed(values, "topics")
    return list(
        dict.fromkeys(one if isinstance(one, UUID) else arguments.topic_name(one) for one in found)
    )


def _isolation(value: object) -> int:
    """Its number; also Kafka's own, or somebody else's enum."""
    plain = getattr(value, "value", value)
    if isinstance(plain, str) and plain.lower() in _ISOLATION:
        return _ISOLATION[plain.lower()]
    if type(plain) is int and plain in _ISOLATION.values():
        return plain
    raise IllegalArgumentError(
        f"isolation_level must be one of {', '.join(_ISOLATION)}, not {value!r}"
    )


def _texts(values: object, what: str) -> dict[str, str | None]:
    """{name: value}, values as text: numbers and truth values as Kafka writes them."""
    found: dict[str, str | None] = {}
    for name, value in _mapped(values or {}, f"{what} must map names to values").items():
        if not isinstance(name, str) or not name:
            raise TypeError(f"{what}: names must be strings, not {name!r}")
        found[name] = _text(value, f"{what}: {name}")
    return found


def _text(value: object, what: str) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return str(value)
    raise TypeError(f"{what} must be a string, not {value!r}")


def _placed(values: object, what: str) -> list[int]:
    return [_count(value, f"{what}: a broker's number", 0) for value in _some(values, what)]


# Topics -------------------------------------------------------------------------------------------


def create_topics(
    new_topics: object,
    *,
    validate_only: bool,
    raise_errors: bool,
    wait_for_metadata: bool,
) -> Procedure[dict[str, Any]]:
    """Names, {name: options}, or NewTopic objects."""
    if validate_only and wait_for_metadata:
        raise IllegalArgumentError("validate_only makes no topics that could be waited for")
    if isinstance(new_topics, Mapping):
        given = [_from_options(name, row) for name, row in new_topics.items()]
    else:
        given = [_new_topic(one) for one in _listed(new_topics, "new_topics")]
    if not given:
        raise IllegalArgumentError("new_topics: none is given")
    names = [topic.name for topic in given]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise IllegalArgumentError(f"new_topics: {', '.join(twice)} is given twice")
    return topics.create_topics(
        given, validate_only=validate_only, raise_errors=raise_errors, wait=wait_for_metadata
    )


_TOPIC_OPTIONS: Final = ("num_partitions", "replication_factor", "assignments", "configs")


def _from_options(name: object, row: object) -> NewTopic:
    options = _mapped({} if row is None else row, f"the options of topic {name!r} must be a dict")
    unknown = sorted(set(map(str, options)) - set(_TOPIC_OPTIONS))
    if unknown:
        raise IllegalArgumentError(
            f"topic {name!r}: there is no {', '.join(unknown)}, only {', '.join(_TOPIC_OPTIONS)}"
        )
    return _checked_topic(
        name,
        options.get("num_partitions", -1),
        options.get("replication_factor", -1),
        options.get("assignments"),
        options.get("configs"),
    )


def _new_topic(one: Any) -> NewTopic:
    if isinstance(one, str):
        return _checked_topic(one, -1, -1, None, None)
    try:
        name, count, factor = one.name, one.num_partitions, one.replication_factor
    except AttributeError:
        raise TypeError(f"new_topics must be names or NewTopic objects, not {one!r}") from None
    placed = getattr(one, "replica_assignments", None)
    return _checked_topic(name, count, factor, placed, getattr(one, "topic_configs", None))


def _checked_topic(
    name: object, count: object, factor: object, placed: object, entries: object
) -> NewTopic:
    topic = arguments.topic_name(name)
    count = -1 if count is None else _count(count, "num_partitions", -1)
    factor = -1 if factor is None else _count(factor, "replication_factor", -1, _MAX_INT16)
    if 0 in (count, factor):
        raise IllegalArgumentError(
            f"topic {topic!r}: num_partitions and replication_factor are 1 or more, or -1 for the "
            "cluster's default"
        )
    assignments = {
        _count(number, "a partition's number", 0): _placed(brokers, "the brokers of a partition")
        for number, brokers in _mapped(
            placed or {}, "assignments must map partitions to lists of brokers"
        ).items()
    }
    if assignments and count not in (-1, len(assignments)):
        raise IllegalArgumentError(
            f"topic {topic!r}: num_partitions={count}, and replicas of {len(assignments)}"
        )
    return NewTopic(topic, count, factor, assignments, _texts(entries, "configs"))


def list_topics() -> Procedure[list[str]]:
    """Nothing to check."""
    return topics.list_topics()


def delete_topics(values: object, *, raise_errors: bool) -> Procedure[dict[str, Any]]:
    """Names or ids."""
    return topics.delete_topics(_topics(values), raise_errors=raise_errors)


def describe_topics(values: object) -> Procedure[list[dict[str, Any]]]:
    """Names or ids; None: all topics."""
    return topics.describe_topics(None if values is None else _topics(values))


def wait_for_topics(values: object) -> Procedure[None]:
    """Names."""
    names = [arguments.topic_name(one) for one in _listed(values, "topic_names")]
    return topics.wait_for_topics(list(dict.fromkeys(names)))


def create_partitions(
    values: object, *, validate_only: bool, raise_errors: bool
) -> Procedure[CreatePartitionsResponse]:
    """{topic: total, {"count": total, "assignments": [[brokers]]}, or NewPartitions}."""
    given = _mapped(values, "topic_partitions must map topics to numbers of partitions")
    wanted = {arguments.topic_name(name): _new_partitions(one) for name, one in given.items()}
    return partitions.create_partitions(
        wanted, validate_only=validate_only, raise_errors=raise_errors
    )


def _new_partitions(one: Any) -> NewPartitions:
    if isinstance(one, Mapping):
        unknown = sorted(set(map(str, one)) - {"count", "assignments"})
        if unknown or "count" not in one:
            raise IllegalArgumentError(f"partitions have a count and assignments, not {one!r}")
        count, placed = one["count"], one.get("assignments")
    elif isinstance(one, int):
        count, placed = one, None
    else:
        try:
            count, placed = one.total_count, one.new_assignments
        except AttributeError:
            raise TypeError(f"partitions must be a number or NewPartitions, not {one!r}") from None
    if placed is not None:
        placed = [_placed(brokers, "assignments") for brokers in _some(placed, "assignments")]
    return NewPartitions(_count(count, "the number of partitions", 1), placed)


# The cluster --------------------------------------------------------------------------------------


def describe_cluster() -> Procedure[dict[str, Any]]:
    """Nothing to check."""
    return cluster.describe_cluster()


def describe_log_dirs(values: object, brokers: object) -> Procedure[list[dict[str, Any]]]:
    """{topic: partitions}; None: all."""
    wanted = None if values is None else _numbered(values)
    return cluster.describe_log_dirs(wanted, _brokers(brokers))


def _numbered(values: object) -> dict[str, list[int]]:
    given = _mapped(values, "topic_partitions must map topics to lists of partitions")
    return {
        arguments.topic_name(topic): [
            _count(number, "a partition's number", 0) for number in _listed(numbers, "partitions")
        ]
        for topic, numbers in given.items()
    }


def elect_leaders(
    kind: object, values: object, *, raise_errors: bool
) -> Procedure[ElectLeadersResponse]:
    """{topic: partitions}, topics, or None for everything."""
    wanted: Mapping[str, Sequence[int]] | Sequence[str] | None = None
    if isinstance(values, Mapping):
        wanted = _numbered(values)
    elif values is not None:
        wanted = sorted({arguments.topic_name(one) for one in _listed(values, "topic_partitions")})
    return partitions.elect_leaders(ElectionType.of(kind), wanted, raise_errors=raise_errors)


# Configurations -----------------------------------------------------------------------------------


def _resources(values: object) -> list[ConfigResource]:
    found = []
    for one in _listed(values, "config_resources"):
        try:
            kind, name, entries = one.resource_type, one.name, one.configs
        except AttributeError:
            raise TypeError(f"config_resources must be ConfigResource, not {one!r}") from None
        resource = ConfigResource(kind, name if isinstance(name, str) else str(name), entries)
        broker = resource.resource_type in (
            ConfigResourceType.BROKER,
            ConfigResourceType.BROKER_LOGGER,
        )
        if broker and resource.name and not resource.name.isdecimal():
            raise IllegalArgumentError(
                f"the name of a broker is its number, or empty for the default of all: {one!r}"
            )
        found.append(resource)
    keys = [configs.resource_key(resource) for resource in found]
    if len(set(keys)) < len(keys):
        raise IllegalArgumentError("config_resources: one is given twice")
    return found


def _entries(resource: ConfigResource) -> list[str]:
    entries = resource.configs or ()
    if isinstance(entries, str) or not all(isinstance(name, str) for name in entries):
        raise TypeError(f"the entries of {resource!r} must be names")
    return list(dict.fromkeys(entries))


def describe_configs(
    values: object, *, include_synonyms: bool, config_filter: object
) -> Procedure[dict[str, dict[str, dict[str, Any]]]]:
    """ConfigResource objects."""
    wanted = {
        configs.resource_key(one): None if one.configs is None else _entries(one)
        for one in _resources(values)
    }
    shown = ConfigFilterType.of(config_filter)
    return configs.describe_configs(wanted, synonyms=include_synonyms, shown=shown)


def alter_configs(
    values: object,
    *,
    validate_only: bool,
    raise_on_unknown: bool,
    incremental: bool | None,
    raise_errors: bool,
) -> Procedure[dict[str, dict[str, str]]]:
    """ConfigResource objects with {entry: value or (op, value)}."""
    _check_incremental(incremental)
    changes = {}
    for one in _resources(values):
        given = _mapped(one.configs, f"{one.name}: configs must map entries to values")
        if not given:
            raise IllegalArgumentError(f"{one!r}: no entries are given")
        changes[configs.resource_key(one)] = {
            name: _change(name, change) for name, change in given.items()
        }
    return configs.alter_configs(
        changes,
        validate_only=validate_only,
        raise_on_unknown=raise_on_unknown,
        raise_errors=raise_errors,
    )


def _check_incremental(incremental: object) -> None:
    if incremental not in (None, True):
        raise IllegalArgumentError(
            "incremental=False: AlterConfigs resets every entry that it does not name, and is not "
            "available; brokers know incremental changes since 2.3"
        )


def _change(name: object, change: object) -> configs.Change:
    if not isinstance(name, str) or not name:
        raise TypeError(f"entries must be strings, not {name!r}")
    op, value = change if isinstance(change, tuple) and len(change) == 2 else ("SET", change)
    kind: AlterConfigOp = AlterConfigOp.of(op)
    text = _text(value, name)
    if kind is AlterConfigOp.DELETE:
        return kind, None
    if text is None:
        raise IllegalArgumentError(f"{name}: {kind.name} needs a value; DELETE takes it back")
    return kind, text


def reset_configs(
    values: object,
    *,
    validate_only: bool,
    raise_on_unknown: bool,
    incremental: bool | None,
    raise_errors: bool,
) -> Procedure[dict[str, dict[str, str]]]:
    """ConfigResource objects, with the names of entries or without."""
    _check_incremental(incremental)
    return configs.reset_configs(
        {configs.resource_key(one): _entries(one) for one in _resources(values)},
        validate_only=validate_only,
        raise_on_unknown=raise_on_unknown,
        raise_errors=raise_errors,
    )


# Groups -------------------------------------------------------------------------------------------


def list_groups(brokers: object, states: object, types: object) -> Procedure[list[dict[str, Any]]]:
    """Filters are GroupState and GroupType, or their names in any spelling."""
    return groups.list_groups(
        _brokers(brokers),
        [GroupState.of(one) for one in _listed(states, "states_filter")] if states else [],
        [GroupType.of(one) for one in _listed(types, "types_filter")] if types else [],
    )


def describe_groups(values: object, *, operations: bool) -> Procedure[dict[str, Any]]:
    """Group ids."""
    return groups.describe_groups(_groups(values), operations=operations)


def find_coordinator(key: object, kind: object) -> Procedure[int]:
    """A group id, or with the kind 1 a transactional id."""
    return groups.find_coordinator(_group(key), _count(kind, "coordinator_type", 0, 1))


def delete_groups(values: object, *, raise_errors: bool) -> Procedure[Any]:
    """Group ids."""
    return groups.delete_groups(_groups(values), raise_errors=raise_errors)


def remove_group_members(
    group: object, members: object, *, raise_errors: bool
) -> Procedure[dict[str, type[KafkaError]]]:
    """MemberToRemove objects."""
    given = [_member(one) for one in _listed(members, "members")]
    return groups.remove_group_members(_group(group), given, raise_errors=raise_errors)


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
    specs: object,
) -> Procedure[dict[str, commits.Offsets]]:
    """A group, several, or {group: partitions or None for all}."""
    if isinstance(specs, str):
        specs = {specs: None}
    elif not isinstance(specs, Mapping):
        specs = dict.fromkeys(_groups(specs))
    wanted = {
        _group(group): None if parts is None else _partitions(parts, "partitions")
        for group, parts in specs.items()
    }
    return commits.list_group_offsets(wanted)


def alter_group_offsets(
    group: object, values: object, *, raise_errors: bool
) -> Procedure[_Verdicts]:
    """{partition: OffsetAndMetadata}."""
    wanted = arguments.offsets_of(values)
    return commits.alter_group_offsets(_group(group), wanted, raise_errors=raise_errors)


def reset_group_offsets(
    group: object, specs: object, **how: bool
) -> Procedure[dict[TopicPartition, dict[str, Any]]]:
    """{partition: where to}, or where to for all that the group has committed."""
    wanted: Mapping[TopicPartition, commits.Target] | commits.Target
    if isinstance(specs, Mapping):
        wanted = {arguments.named(tp): _target(spec) for tp, spec in specs.items()}
    else:
        wanted = _target(specs)
    return commits.reset_group_offsets(_group(group), wanted, **how)


def _target(spec: Any) -> commits.Target:
    kinds = {kind.__name__ for kind in type(spec).__mro__}  # kafka-python's are as good
    if isinstance(spec, OffsetDuration):
        try:
            ago_ms = parse_ms(spec)
        except ValueError as error:
            raise IllegalArgumentError(f"{spec!r}: {error}; as in 'P1DT12H'") from None
        return commits.Target(timestamp=max(0, time.time_ns() // _NS_PER_MS - ago_ms))
    if isinstance(spec, (str, Enum)):
        return commits.Target(timestamp=int(OffsetSpec.of(spec)))
    if not isinstance(spec, int) or isinstance(spec, bool):
        raise TypeError(
            "where to reset is an OffsetSpec, OffsetTimestamp, OffsetDuration, OffsetShift or an "
            f"offset, not {spec!r}"
        )
    if isinstance(spec, OffsetShift):
        return commits.Target(shift=int(spec))
    if "OffsetTimestamp" in kinds:
        return commits.Target(timestamp=_count(spec, "a time", 0, MAX_INT64))
    return commits.Target(offset=_count(spec, "an offset", 0, MAX_INT64))


def delete_group_offsets(
    group: object, values: object, *, raise_errors: bool
) -> Procedure[_Verdicts]:
    """Partitions."""
    wanted = _partitions(values, "partitions")
    return commits.delete_group_offsets(_group(group), wanted, raise_errors=raise_errors)


def lag(
    group: object, values: object, isolation_level: object
) -> Procedure[dict[TopicPartition, PartitionLag]]:
    """Partitions; None: all that the group reads or has read."""
    wanted = None if values is None else _partitions(values, "partitions")
    return commits.lag(_group(group), wanted, _isolation(isolation_level))


def list_partition_offsets(
    specs: object, isolation_level: object
) -> Procedure[dict[TopicPartition, OffsetAndTimestamp]]:
    """{partition: OffsetSpec, its name, or a time}."""
    given = _mapped(specs, "topic_partition_specs must map partitions to OffsetSpec or a time")
    wanted = {arguments.named(tp): _timestamp(spec) for tp, spec in given.items()}
    return offsets.list_partition_offsets(wanted, _isolation(isolation_level))


def _timestamp(spec: object) -> int:
    if isinstance(spec, (str, Enum)):
        return int(OffsetSpec.of(spec))
    found = _count(spec, "a time", -6, MAX_INT64)
    return int(OffsetSpec.of(found)) if found < 0 else found


def delete_records(values: object) -> Procedure[dict[TopicPartition, dict[str, int]]]:
    """{partition: offset or RecordsToDelete}; -1: the high watermark."""
    given = _mapped(values, "records_to_delete must map partitions to offsets")
    wanted = {
        arguments.named(tp): _count(
            getattr(offset, "before_offset", offset), "an offset", -1, MAX_INT64
        )
        for tp, offset in given.items()
    }
    return offsets.delete_records(wanted)
