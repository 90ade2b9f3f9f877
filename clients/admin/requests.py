"""What admin clients are asked for: arguments checked, as users of kafka-python and aiokafka give
them, and made into the procedure of `kcore.admin` that does it.

Each function is named after the method that it is for, and raises what is wrong with the arguments
before anything is sent: TypeError, or IllegalArgumentError (a ValueError).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, Final

from kcore.admin import (
    AlterConfigOp,
    BrokerVersionData,
    ConfigFilterType,
    ConfigResource,
    ConfigResourceType,
    ElectionType,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    PartitionProducerState,
    ReplicaLogDirs,
    TopicPartitionReplica,
    UpdateFeatureType,
    cluster,
    configs,
    directories,
    features,
    offsets,
    partitions,
    producers,
    reassignments,
    resources,
    topics,
    versions,
)
from kcore.admin.core import Procedure
from kcore.clients import arguments
from kcore.clients.admin import arguments as args
from kcore.errors import IllegalArgumentError, KafkaError
from kcore.limits import MAX_INT64
from kcore.structs import OffsetAndTimestamp, TopicPartition
from kcore.wire.messages import CreatePartitionsResponse, ElectLeadersResponse

_MAX_INT16: Final = 32_767

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
        given = [_new_topic(one) for one in args.listed(new_topics, "new_topics")]
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
    options = args.mapped(
        {} if row is None else row, f"the options of topic {name!r} must be a dict"
    )
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
    count = -1 if count is None else args.count(count, "num_partitions", -1)
    factor = -1 if factor is None else args.count(factor, "replication_factor", -1, _MAX_INT16)
    if 0 in (count, factor):
        raise IllegalArgumentError(
            f"topic {topic!r}: num_partitions and replication_factor are 1 or more, or -1 for the "
            "cluster's default"
        )
    assignments = {
        args.count(number, "a partition's number", 0): args.placed(
            brokers, "the brokers of a partition"
        )
        for number, brokers in args.mapped(
            placed or {}, "assignments must map partitions to lists of brokers"
        ).items()
    }
    if assignments and count not in (-1, len(assignments)):
        raise IllegalArgumentError(
            f"topic {topic!r}: num_partitions={count}, and replicas of {len(assignments)}"
        )
    return NewTopic(topic, count, factor, assignments, args.texts(entries, "configs"))


def list_topics() -> Procedure[list[str]]:
    """Nothing to check."""
    return topics.list_topics()


def delete_topics(values: object, *, raise_errors: bool) -> Procedure[dict[str, Any]]:
    """Names or ids."""
    return topics.delete_topics(args.topics(values), raise_errors=raise_errors)


def describe_topics(values: object) -> Procedure[list[dict[str, Any]]]:
    """Names or ids; None: all topics."""
    return topics.describe_topics(None if values is None else args.topics(values))


def wait_for_topics(values: object) -> Procedure[None]:
    """Names."""
    names = [arguments.topic_name(one) for one in args.listed(values, "topic_names")]
    return topics.wait_for_topics(list(dict.fromkeys(names)))


def create_partitions(
    values: object, *, validate_only: bool, raise_errors: bool
) -> Procedure[CreatePartitionsResponse]:
    """{topic: total, {"count": total, "assignments": [[brokers]]}, or NewPartitions}."""
    given = args.mapped(values, "topic_partitions must map topics to numbers of partitions")
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
        placed = [
            args.placed(brokers, "assignments") for brokers in args.some(placed, "assignments")
        ]
    return NewPartitions(args.count(count, "the number of partitions", 1), placed)


# The cluster --------------------------------------------------------------------------------------


def describe_cluster() -> Procedure[dict[str, Any]]:
    """Nothing to check."""
    return cluster.describe_cluster()


def describe_log_dirs(values: object, brokers: object) -> Procedure[list[dict[str, Any]]]:
    """{topic: partitions}; None: all."""
    wanted = None if values is None else args.numbered(values)
    return cluster.describe_log_dirs(wanted, args.broker_ids(brokers))


def alter_replica_log_dirs(
    values: object, *, raise_errors: bool
) -> Procedure[dict[TopicPartitionReplica, type[KafkaError]]]:
    """{replica: path}."""
    given = args.mapped(values, "replica_assignments must map replicas to directories")
    wanted = {_replica(one): _directory(path) for one, path in given.items()}
    return directories.alter_replica_log_dirs(wanted, raise_errors=raise_errors)


def describe_replica_log_dirs(
    values: object,
) -> Procedure[dict[TopicPartitionReplica, ReplicaLogDirs]]:
    """Replicas."""
    wanted = [_replica(one) for one in args.listed(values, "replicas")]
    return directories.describe_replica_log_dirs(list(dict.fromkeys(wanted)))


def _replica(one: object) -> TopicPartitionReplica:
    if not isinstance(one, tuple) or len(one) != 3:
        raise TypeError(f"a replica is (topic, partition, broker), not {one!r}")
    tp = arguments.named(one[:2])
    return TopicPartitionReplica(*tp, args.count(one[2], "a broker's number", 0))


def _directory(path: object) -> str:
    if not isinstance(path, str):
        raise TypeError(f"a directory must be a string, not {path!r}")
    if not path:
        raise IllegalArgumentError("a directory is empty")
    return path


def list_config_resources(values: object) -> Procedure[dict[str, list[str]]]:
    """ConfigResourceType, or their names; None: all."""
    given = [] if values is None else args.listed(values, "resource_types")
    return resources.list_config_resources([ConfigResourceType.of(one) for one in given])


def api_versions() -> Procedure[BrokerVersionData]:
    """Of any broker."""
    return versions.api_versions(None)


def get_broker_version_data(broker_id: object) -> Procedure[BrokerVersionData]:
    """Of a broker by its number."""
    return versions.api_versions(args.count(broker_id, "broker_id", 0))


def elect_leaders(
    kind: object, values: object, *, raise_errors: bool
) -> Procedure[ElectLeadersResponse]:
    """{topic: partitions}, topics, or None for everything."""
    wanted: Mapping[str, Sequence[int]] | Sequence[str] | None = None
    if isinstance(values, Mapping):
        wanted = args.numbered(values)
    elif values is not None:
        wanted = sorted(
            {arguments.topic_name(one) for one in args.listed(values, "topic_partitions")}
        )
    return partitions.elect_leaders(ElectionType.of(kind), wanted, raise_errors=raise_errors)


def describe_features(
    broker_id: object, *, of_controller: bool
) -> Procedure[dict[str, dict[str, Any]]]:
    """A broker by its number, or None."""
    if broker_id is None:
        return features.describe_features(of_controller=of_controller)
    if of_controller:
        raise IllegalArgumentError("broker_id or send_request_to_controller, not both")
    of_broker = args.count(broker_id, "broker_id", 0)
    return features.describe_features(of_controller=False, of_broker=of_broker)


def update_features(
    values: object, *, validate_only: bool, raise_errors: bool
) -> Procedure[dict[str, str]]:
    """{feature: version} or {feature: (UpdateFeatureType, version)}."""
    given = args.mapped(values, "feature_updates must map features to versions")
    wanted = {args.name(name, "a feature's name"): _update(one) for name, one in given.items()}
    return features.update_features(wanted, validate_only=validate_only, raise_errors=raise_errors)


def _update(one: object) -> features.FeatureUpdate:
    how, level = one if isinstance(one, tuple) and len(one) == 2 else ("UPGRADE", one)
    kind: UpdateFeatureType = UpdateFeatureType.of(how)
    if kind is UpdateFeatureType.UNKNOWN:
        raise IllegalArgumentError("upgrade_type: UNKNOWN is none")
    return features.FeatureUpdate(args.count(level, "a feature's version", -1, _MAX_INT16), kind)


def alter_partition_reassignments(
    values: object, *, change_factor: bool, raise_errors: bool
) -> Procedure[dict[TopicPartition, type[KafkaError] | None]]:
    """{partition: brokers, or None}."""
    given = args.mapped(values, "reassignments must map partitions to lists of brokers")
    wanted = {
        arguments.named(tp): None if brokers is None else args.placed(brokers, "replicas")
        for tp, brokers in given.items()
    }
    return reassignments.alter_partition_reassignments(
        wanted, change_factor=change_factor, raise_errors=raise_errors
    )


def list_partition_reassignments(
    values: object,
) -> Procedure[dict[TopicPartition, dict[str, list[int]]]]:
    """{topic: partitions}, or partitions; None: all."""
    wanted: dict[str, list[int]] | None = None
    if isinstance(values, Mapping):
        wanted = args.numbered(values)
    elif values is not None:
        wanted = {}
        for tp in args.partitions(values, "topic_partitions"):
            wanted.setdefault(tp.topic, []).append(tp.partition)
    return reassignments.list_partition_reassignments(wanted)


def describe_topic_partitions(
    values: object, limit: object, cursor: object
) -> Procedure[dict[str, Any]]:
    """Names; None: all topics. cursor: a "next_cursor"."""
    names = None
    if values is not None:
        names = [arguments.topic_name(one) for one in args.listed(values, "topics")]
        names = list(dict.fromkeys(names))
    at = None
    if cursor is not None:
        given = args.mapped(cursor, "a cursor has a topic_name and a partition_index")
        if set(given) != {"topic_name", "partition_index"}:
            raise IllegalArgumentError(f"a cursor has topic_name, partition_index, not {cursor!r}")
        number = args.count(given["partition_index"], "a partition's number", 0)
        at = arguments.topic_name(given["topic_name"]), number
    most = args.count(limit, "response_partition_limit", 1)
    return topics.describe_topic_partitions(names, most, at)


def describe_producers(
    values: object, broker: object
) -> Procedure[dict[TopicPartition, PartitionProducerState]]:
    """Partitions."""
    wanted = args.partitions(values, "partitions")
    number = None if broker is None else args.count(broker, "broker_id", 0)
    return producers.describe_producers(wanted, number)


# Configurations -----------------------------------------------------------------------------------


def _resources(values: object) -> list[ConfigResource]:
    found = []
    for one in args.listed(values, "config_resources"):
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
    values: object,
    *,
    include_synonyms: bool,
    config_filter: object,
    raise_errors: bool,
    documentation: bool,
) -> Procedure[dict[str, dict[str, dict[str, Any]]]]:
    """ConfigResource objects."""
    wanted = {
        configs.resource_key(one): None if one.configs is None else _entries(one)
        for one in _resources(values)
    }
    shown = ConfigFilterType.of(config_filter)
    return configs.describe_configs(
        wanted,
        synonyms=include_synonyms,
        shown=shown,
        raise_errors=raise_errors,
        documentation=documentation,
    )


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
        given = args.mapped(one.configs, f"{one.name}: configs must map entries to values")
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
    text = args.text(value, name)
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


# Offsets of partitions ----------------------------------------------------------------------------


def list_partition_offsets(
    specs: object, isolation_level: object
) -> Procedure[dict[TopicPartition, OffsetAndTimestamp]]:
    """{partition: OffsetSpec, its name, or a time}."""
    given = args.mapped(specs, "topic_partition_specs must map partitions to OffsetSpec or a time")
    wanted = {arguments.named(tp): _timestamp(spec) for tp, spec in given.items()}
    return offsets.list_partition_offsets(wanted, args.isolation(isolation_level))


def _timestamp(spec: object) -> int:
    if isinstance(spec, (str, Enum)):
        return int(OffsetSpec.of(spec))
    found = args.count(spec, "a time", -6, MAX_INT64)
    return int(OffsetSpec.of(found)) if found < 0 else found


def delete_records(values: object) -> Procedure[dict[TopicPartition, dict[str, int]]]:
    """{partition: offset or RecordsToDelete}; -1: the high watermark."""
    given = args.mapped(values, "records_to_delete must map partitions to offsets")
    wanted = {
        arguments.named(tp): args.count(
            getattr(offset, "before_offset", offset), "an offset", -1, MAX_INT64
        )
        for tp, offset in given.items()
    }
    return offsets.delete_records(wanted)
