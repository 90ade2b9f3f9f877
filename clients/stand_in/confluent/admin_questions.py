"""What an AdminClient asks: the procedures of `kcore.admin`, with arguments and results as
confluent-kafka has them.

Each gives {key: value, or the error of ours that stands in its place}. What is wrong with all that
was asked for is raised, or stands in the place of each.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeVar

from kcore import admin
from kcore.admin import acls, commits, configs, groups, offsets, partitions, scram, security, topics
from kcore.admin.asking import Ask, Reply
from kcore.admin.core import Procedure
from kcore.clients.admin import security_requests as admin_security_requests
from kcore.clients.stand_in.confluent.admin_results import (
    DeletedRecords,
    ListOffsetsResultInfo,
    UserScramCredentialsDescription,
)
from kcore.clients.stand_in.confluent.admin_values import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    NewPartitions,
    NewTopic,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialAlteration,
    UserScramCredentialUpsertion,
)
from kcore.clients.stand_in.confluent.errors import KafkaError, told, words_of
from kcore.clients.stand_in.confluent.offsets import as_here, as_there
from kcore.clients.stand_in.confluent.structures import (
    ConsumerGroupTopicPartitions,
    TopicPartition,
)
from kcore.errors import KafkaError as OurError
from kcore.structs import OffsetAndMetadata
from kcore.structs import TopicPartition as Partition
from kcore.wire.codes import ErrorCode

T = TypeVar("T")
Answers = dict[Any, Any]

_NOTHING_COMMITTED: Final = -1001  # OFFSET_INVALID
KINDS: Final[Mapping[ResourceType, admin.ConfigResourceType]] = {
    ResourceType.TOPIC: admin.ConfigResourceType.TOPIC,
    ResourceType.GROUP: admin.ConfigResourceType.GROUP,
    ResourceType.BROKER: admin.ConfigResourceType.BROKER,
}


def within(procedure: Procedure[T], limit_s: float | None) -> Procedure[T]:
    """The same, where brokers are told that they have so long (s); None: as long as the call has.

    With 0 they answer before it is done, and say that there was no time, which is no error then.
    """
    if limit_s is None:
        return (yield from procedure)
    asks = next(procedure)
    while True:
        outcomes = yield [_limited(ask, limit_s) for ask in asks]
        try:
            asks = procedure.send(outcomes)
        except StopIteration as end:
            result: T = end.value
            return result


def _limited(ask: Ask, limit_s: float) -> Ask:
    def build(keys: list[Any], version: int, limit_ms: int) -> Any:
        return ask.build(keys, version, min(limit_ms, int(limit_s * 1000)))

    def read(body: Any, version: int, keys: list[Any]) -> Iterable[Reply]:
        for reply in ask.read(body, version, keys):
            begun = not limit_s and reply.code == ErrorCode.REQUEST_TIMED_OUT
            yield Reply(reply.key, 0) if begun else reply

    return replace(ask, build=build, read=read)


def _each(procedure: Procedure[Any], keys: Iterable[Any]) -> Procedure[Answers]:
    """{key: None, or its error} of what has no other result."""
    failed: Mapping[Any, OurError] = {}
    try:
        yield from procedure
    except OurError as error:
        failed = _failed(error)
    return {key: failed.get(key) for key in keys}


def _failed(error: OurError) -> dict[Any, OurError]:
    """What failed, by key. Raises what is about no key."""
    failed: dict[Any, OurError] | None = getattr(error, "failed", None)
    if failed is None:
        raise error
    return failed


def _settled(error: OurError) -> Answers:
    """What is done and what failed, by key. Raises what is about no key."""
    failed = _failed(error)
    done: Answers = getattr(error, "done", {})
    return {**done, **failed}


def _told(procedure: Procedure[Mapping[Any, Any]]) -> Procedure[Answers]:
    """{key: value, or its error}, where results have the keys that errors have."""
    try:
        found = yield from procedure
    except OurError as error:
        return _settled(error)
    return dict(found)


# Topics -------------------------------------------------------------------------------------------


def create_topics(wanted: Sequence[NewTopic], *, validate_only: bool) -> Procedure[Answers]:
    """{topic: None}."""
    new = [
        admin.NewTopic(
            one.topic,
            one.num_partitions,
            one.replication_factor,
            dict(enumerate(one.replica_assignment or ())),
            {str(name): str(value) for name, value in (one.config or {}).items()},
        )
        for one in wanted
    ]
    procedure = topics.create_topics(
        new, validate_only=validate_only, raise_errors=True, wait=False
    )
    return _each(procedure, [one.topic for one in wanted])


def delete_topics(names: Sequence[str]) -> Procedure[Answers]:
    """{topic: None}."""
    return _each(topics.delete_topics(names, raise_errors=True), names)


def create_partitions(
    wanted: Sequence[NewPartitions], *, validate_only: bool
) -> Procedure[Answers]:
    """{topic: None}."""
    new = {
        one.topic: admin.NewPartitions(one.new_total_count, one.replica_assignment)
        for one in wanted
    }
    procedure = partitions.create_partitions(new, validate_only=validate_only, raise_errors=True)
    return _each(procedure, new)


def delete_records(wanted: Sequence[TopicPartition]) -> Procedure[Answers]:
    """{partition: DeletedRecords}."""
    given = {_ours(tp): tp for tp in wanted}
    found = yield from _told(offsets.delete_records({tp: one.offset for tp, one in given.items()}))
    return {
        given[tp]: one if isinstance(one, OurError) else DeletedRecords(one["low_watermark"])
        for tp, one in found.items()
    }


def list_offsets(wanted: Sequence[TopicPartition], isolation_level: int) -> Procedure[Answers]:
    """{partition: ListOffsetsResultInfo} of partitions whose offsets are numbers of specs."""
    given = {_ours(tp): tp for tp in wanted}
    found = yield from _told(
        offsets.list_partition_offsets(
            {tp: one.offset for tp, one in given.items()}, isolation_level
        )
    )
    return {
        given[tp]: one if isinstance(one, OurError) else ListOffsetsResultInfo(*one)
        for tp, one in found.items()
    }


def elect_leaders(kind: int, wanted: Sequence[TopicPartition] | None) -> Procedure[Answers]:
    """{partition: None, or what went wrong as a KafkaError}; of all (None): of those that needed
    an election.
    """
    named: dict[str, list[int]] | None = None
    if wanted is not None:
        named = {}
        for one in wanted:
            named.setdefault(one.topic, []).append(one.partition)
    body = yield from partitions.elect_leaders(admin.ElectionType(kind), named, raise_errors=False)
    answers: Answers = {}
    for topic in body.replica_election_results:
        for part in topic.partition_result:
            code = part.error_code
            if wanted is None and code == ErrorCode.ELECTION_NOT_NEEDED:
                continue
            key = TopicPartition(topic.topic, part.partition_id, 0)
            key.error = KafkaError(code, part.error_message or words_of(code)) if code else None
            answers[key] = key.error
    return answers


def _ours(tp: TopicPartition) -> Partition:
    return Partition(tp.topic, tp.partition)


# Configurations -----------------------------------------------------------------------------------


def _key(resource: ConfigResource) -> tuple[admin.ConfigResourceType, str]:
    return KINDS[resource.restype], resource.name


def describe_configs(wanted: Sequence[ConfigResource]) -> Procedure[Answers]:
    """{resource: {name: ConfigEntry}}."""
    keys = {one: _key(one) for one in wanted}
    procedure = configs.describe_configs(
        dict.fromkeys(keys.values()),
        synonyms=True,
        shown=admin.ConfigFilterType.ALL,
        raise_errors=True,
    )
    found: Answers
    try:
        rows = yield from procedure
        found = {key: rows[key[0].name.lower()][key[1]] for key in keys.values()}
    except OurError as error:
        found = _settled(error)
    return {one: _entries(found[key]) for one, key in keys.items()}


def _entries(found: Any) -> Any:
    if isinstance(found, OurError):
        return found
    return {name: _entry(name, row) for name, row in found.items()}


def _entry(name: str, row: Mapping[str, Any]) -> ConfigEntry:
    synonyms = {
        one["name"]: ConfigEntry(one["name"], one["value"], _source(one["source"]), is_synonym=True)
        for one in row["synonyms"]
    }
    source = _source(row["config_source"])
    default = source == ConfigSource.DEFAULT_CONFIG.value
    return ConfigEntry(
        name,
        row["value"],
        source,
        row["read_only"],
        default,
        row["is_sensitive"],
        synonyms=synonyms,
    )


def _source(name: str) -> int:
    """As a number, as theirs have it."""
    return admin.ConfigSourceType[name].value


def incremental_alter_configs(
    wanted: Sequence[ConfigResource], *, validate_only: bool
) -> Procedure[Answers]:
    """{resource: None}."""
    changes = {
        _key(one): {entry.name: _change(entry) for entry in one.incremental_configs}
        for one in wanted
    }
    procedure = configs.alter_configs(
        changes, validate_only=validate_only, raise_on_unknown=False, raise_errors=True
    )
    return _by_resource(procedure, wanted)


def _change(entry: ConfigEntry) -> configs.Change:
    how = entry.incremental_operation
    assert how is not None
    op = admin.AlterConfigOp[how.name]
    return op, None if op is admin.AlterConfigOp.DELETE else entry.value


def alter_configs(wanted: Sequence[ConfigResource], *, validate_only: bool) -> Procedure[Answers]:
    """{resource: None}."""
    changes = {
        _key(one): {str(name): str(value) for name, value in one.set_config_dict.items()}
        for one in wanted
    }
    procedure = configs.replace_configs(changes, validate_only=validate_only)
    return _by_resource(procedure, wanted)


def _by_resource(procedure: Procedure[Any], wanted: Sequence[ConfigResource]) -> Procedure[Answers]:
    keys = {one: _key(one) for one in wanted}
    found = yield from _each(procedure, keys.values())
    return {one: found[key] for one, key in keys.items()}


# Access -------------------------------------------------------------------------------------------


def create_acls(wanted: Sequence[AclBinding]) -> Procedure[Answers]:
    """{binding: None}."""
    keys = {one: admin_security_requests.acl_of(one) for one in wanted}
    procedure = acls.create_acls([*keys.values()], raise_errors=True)
    return _renamed(_each(procedure, keys.values()), keys)


def describe_acls(wanted: AclBindingFilter) -> Procedure[Answers]:
    """{None: bindings}."""
    found, _ = yield from acls.describe_acls(admin_security_requests.filter_of(wanted))
    return {None: _bindings(found)}


def delete_acls(wanted: Sequence[AclBindingFilter]) -> Procedure[Answers]:
    """{filter: the bindings that are gone}."""
    keys = {one: admin_security_requests.filter_of(one) for one in wanted}
    found: Answers
    try:
        rows = yield from acls.delete_acls([*keys.values()], raise_errors=True)
        found = {one: gone for one, gone, _ in rows}
    except OurError as error:
        found = _settled(error)
    return {
        one: found[key] if isinstance(found[key], OurError) else _bindings(found[key])
        for one, key in keys.items()
    }


def _renamed(procedure: Procedure[Answers], keys: Mapping[Any, Any]) -> Procedure[Answers]:
    found = yield from procedure
    return {one: found[key] for one, key in keys.items()}


def _bindings(entries: Iterable[security.ACL]) -> list[AclBinding]:
    return [
        AclBinding(
            _same(ResourceType, one.resource_pattern.resource_type),
            one.resource_pattern.resource_name,
            _same(ResourcePatternType, one.resource_pattern.pattern_type),
            one.principal,
            one.host,
            _same(AclOperation, one.operation),
            _same(AclPermissionType, one.permission_type),
        )
        for one in entries
    ]


def _same(kind: Any, number: int) -> Any:
    """What they have for a number; what they do not know is UNKNOWN."""
    return kind(number if any(one.value == number for one in kind) else 0)


# Passwords ----------------------------------------------------------------------------------------


def describe_user_scram_credentials(users: Sequence[str] | None) -> Procedure[Answers]:
    """{user: UserScramCredentialsDescription}."""
    found = yield from _told(scram.describe_user_scram_credentials(users, raise_errors=True))
    return {user: _described(user, one) for user, one in found.items()}


def _described(user: str, found: Any) -> Any:
    if isinstance(found, OurError):
        return found
    # What was done beside something that failed is told as the broker's own row.
    rows = found["credential_infos"] if isinstance(found, dict) else None
    infos = (
        [(row["mechanism"], row["iterations"]) for row in rows]
        if rows is not None
        else [(row.mechanism, row.iterations) for row in found.credential_infos]
    )
    return UserScramCredentialsDescription(
        user, [ScramCredentialInfo(_same(ScramMechanism, kind), count) for kind, count in infos]
    )


def alter_user_scram_credentials(
    wanted: Sequence[UserScramCredentialAlteration],
) -> Procedure[Answers]:
    """{user: None}."""
    given: list[Any] = []
    for one in wanted:
        if isinstance(one, UserScramCredentialUpsertion):
            info = one.scram_credential_info
            given.append(
                admin.UserScramCredentialUpsertion(
                    one.user,
                    admin.ScramMechanism(info.mechanism.value),
                    one.password,
                    info.iterations,
                    one.salt,
                )
            )
        else:
            mechanism: Any = one.mechanism  # type: ignore[attr-defined]
            given.append(admin.UserScramCredentialDeletion(one.user, mechanism.value))
    procedure = scram.alter_user_scram_credentials(
        [admin_security_requests.alteration_of(one) for one in given], raise_errors=True
    )
    return _each(procedure, dict.fromkeys(one.user for one in wanted))


# Offsets of groups, and their end -----------------------------------------------------------------


def delete_groups(names: Sequence[str]) -> Procedure[Answers]:
    """{group: None}."""
    return _each(groups.delete_groups(names, raise_errors=True), names)


def list_group_offsets(
    wanted: ConsumerGroupTopicPartitions, *, require_stable: bool
) -> Procedure[Answers]:
    """{group: ConsumerGroupTopicPartitions with what was wrong with each}."""
    group, parts = wanted.group_id, wanted.topic_partitions
    named = None if parts is None else [*dict.fromkeys(map(_ours, parts))]
    found = yield from commits.tell_group_offsets(group, named, require_stable=require_stable)
    rows = found.done
    order = sorted({*rows, *found.codes} if named is None else named)
    given = []
    for tp in order:
        if tp in rows:
            at, metadata, epoch = rows[tp]
            at = at if at >= 0 else _NOTHING_COMMITTED
            given.append(TopicPartition(tp.topic, tp.partition, at, as_here(metadata), epoch))
        elif tp in found.codes:
            made = TopicPartition(tp.topic, tp.partition, _NOTHING_COMMITTED)
            made.error = KafkaError(found.codes[tp])
            given.append(made)
    return {group: ConsumerGroupTopicPartitions(group, given)}


def alter_group_offsets(wanted: ConsumerGroupTopicPartitions) -> Procedure[Answers]:
    """{group: ConsumerGroupTopicPartitions with what was wrong with each}."""
    group, parts = wanted.group_id, wanted.topic_partitions or []
    offsets_of = {
        _ours(one): OffsetAndMetadata(
            one.offset, as_there(one.metadata), -1 if one.leader_epoch is None else one.leader_epoch
        )
        for one in parts
    }
    procedure = commits.alter_group_offsets(group, offsets_of, raise_errors=True)
    found = yield from _each(procedure, offsets_of)
    given = []
    for one in parts:
        made = TopicPartition(one.topic, one.partition, one.offset, one.metadata, one.leader_epoch)
        error = found[_ours(one)]
        made.error = None if error is None else told(error)
        given.append(made)
    return {group: ConsumerGroupTopicPartitions(group, given)}
