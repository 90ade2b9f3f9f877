"""What an AdminClient makes sure of before it asks: TypeError, ValueError, as confluent-kafka's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from kcore.clients.stand_in.confluent.admin_values import (
    AclBinding,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialAlteration,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)
from kcore.clients.stand_in.confluent.constants import OFFSET_INVALID
from kcore.clients.stand_in.confluent.structures import (
    ConsumerGroupTopicPartitions,
    ConsumerGroupType,
    ElectionType,
    IsolationLevel,
    TopicCollection,
    TopicPartition,
)

TIMEOUT_MAX_S: Final = 3_600.0


def objects(
    values: Any, kind: type[Any], wrong: type[TypeError | ValueError] = ValueError
) -> list[Any]:
    """A list of these, with something in it. ValueError; wrong: what one of another kind is."""
    if not isinstance(values, list) or not values:
        raise ValueError(f"Expected non-empty list of {kind.__name__} objects")
    if not all(isinstance(one, kind) for one in values):
        raise wrong(f"Expected list of {kind.__name__} objects")
    return values


def texts(values: Any, what: str) -> list[str]:
    """A list of strings, with something in it."""
    if not isinstance(values, list):
        raise TypeError(f"Expected input to be a list of {what}")
    if not values:
        raise ValueError(f"Expected at least one of {what}")
    for one in values:
        if not isinstance(one, str):
            raise ValueError(f"Expected a list of {what}, not {type(one).__name__}")
    return values


def unique(values: Sequence[Any], what: str) -> None:
    """ValueError: one is there twice."""
    if len(set(values)) < len(values):
        raise ValueError(f"duplicate {what} not allowed")


def flag(value: Any, what: str) -> bool:
    """A truth value."""
    if not isinstance(value, bool):
        raise TypeError(f"{what} requires bool, not {type(value).__name__}")
    return value


def timeout(value: Any, what: str, default: float) -> float:
    """A time (s) from 0 to an hour; None: the default."""
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{what} must be a real number, not {type(value).__name__}")
    if not 0 <= value <= TIMEOUT_MAX_S:
        raise ValueError(f"{what}={value}: expected 0 to {TIMEOUT_MAX_S:.0f} s")
    return float(value)


# Topics -------------------------------------------------------------------------------------------


def new_topics(values: list[NewTopic]) -> None:
    """What brokers could not be asked for."""
    for one in objects(values, NewTopic):
        count, factor = one.num_partitions, one.replication_factor
        if count < -1 or not -1 <= factor < 1 << 15:
            raise ValueError(f"Invalid NewTopic({one.topic}): num_partitions={count}, {factor=}")
        if one.replica_assignment is not None:
            if factor != -1:
                raise ValueError("replication_factor and replica_assignment are mutually exclusive")
            most = None if count == -1 else count
            _placed(one.replica_assignment, most, most, "num_partitions")


def new_partitions(values: list[NewPartitions]) -> None:
    """Likewise."""
    for one in objects(values, NewPartitions):
        if not one.topic or one.new_total_count < 1:
            raise ValueError(f"Invalid NewPartitions({one.topic}): {one.new_total_count}")
        if one.replica_assignment is not None:
            what = "new_total_count - existing partition count"
            _placed(one.replica_assignment, 1, one.new_total_count, what)


def _placed(given: Any, least: int | None, most: int | None, what: str) -> None:
    fits = isinstance(given, list) and (least or 0) <= len(given) <= (most or len(given))
    if not fits or not all(
        isinstance(brokers, list) and brokers and all(isinstance(one, int) for one in brokers)
        for brokers in given
    ):
        raise ValueError(
            f"replica_assignment must be a list of int lists with an outer size of {what}"
        )


def topic_names(topics: Any) -> list[str]:
    """Of a TopicCollection."""
    if not isinstance(topics, TopicCollection):
        raise TypeError("Expected input to be instance of TopicCollection")
    names = topics.topic_names
    if not isinstance(names, list) or not all(isinstance(one, str) for one in names):
        raise TypeError("Expected list of topic names to be described")
    if not all(names):
        raise ValueError(f"Empty topic name at index {names.index('')} isn't allowed")
    return names


# Configurations -----------------------------------------------------------------------------------


def resources(
    values: Any, wrong: type[TypeError | ValueError] = ValueError
) -> list[ConfigResource]:
    """With names."""
    if values is None:
        raise TypeError("Expected list of ConfigResource objects, not None")
    for one in objects(values, ConfigResource, wrong):
        if not one.name:
            raise ValueError(f"Invalid ConfigResource({one.restype_int},{one.name})")
    found: list[ConfigResource] = values
    return found


def resources_to_change(values: Any) -> list[ConfigResource]:
    """Likewise, where what is no list is a TypeError."""
    if isinstance(values, str):
        raise TypeError("Expected list of ConfigResource objects")
    return resources(values, TypeError)


def changes(values: list[ConfigResource]) -> None:
    """What `incremental_alter_configs` is to do."""
    for one in values:
        if not one.incremental_configs:
            raise ValueError("expected non-empty list of ConfigEntry in incremental_configs field")
        for entry in one.incremental_configs:
            _change(entry)


def _change(entry: Any) -> None:
    if not isinstance(entry, ConfigEntry):
        raise TypeError("expected ConfigEntry type in incremental_configs field")
    how = entry.incremental_operation
    if not isinstance(how, AlterConfigOpType):
        raise TypeError(f"incremental_operation must be an AlterConfigOpType, not {how!r}")
    if not isinstance(entry.name, str):
        raise TypeError(f"the name of a ConfigEntry must be a string, not {entry.name!r}")
    if how is not AlterConfigOpType.DELETE and not isinstance(entry.value, str):
        raise TypeError(f"{entry.name}: the value must be a string, not {entry.value!r}")


# Access -------------------------------------------------------------------------------------------


def bindings(values: Any, kind: type[AclBinding], what: str) -> list[Any]:
    """Of this kind, each once."""
    unique(values, what)
    return objects(values, kind)


def users(values: Any) -> None:
    """Names, or None for all."""
    if values is None:
        return
    if not isinstance(values, list):
        raise TypeError("Expected input to be list of String")
    for user in values:
        _user(user)


def _user(user: Any) -> None:
    if not isinstance(user, str):
        raise TypeError(f"'user' must be a string, not {user!r}")
    if not user:
        raise ValueError("'user' cannot be empty")


def alterations(values: Any) -> list[UserScramCredentialAlteration]:
    """Of passwords."""
    if not isinstance(values, list):
        raise TypeError("Expected input to be list")
    if not values:
        raise ValueError("Expected at least one alteration")
    for one in values:
        if not isinstance(one, UserScramCredentialAlteration):
            raise TypeError("Expected a list of UserScramCredentialAlteration objects")
        _user(one.user)
        if isinstance(one, UserScramCredentialUpsertion):
            _upsertion(one)
        elif not isinstance(one, UserScramCredentialDeletion):
            raise TypeError("an alteration is an upsertion or a deletion")
        elif not isinstance(one.mechanism, ScramMechanism):
            raise TypeError("Expected the mechanism to be ScramMechanism Type")
    return values


def _upsertion(one: UserScramCredentialUpsertion) -> None:
    _bytes(one.password, "password")
    if one.salt is not None:
        _bytes(one.salt, "salt")
    info = one.scram_credential_info
    if not isinstance(info, ScramCredentialInfo):
        raise TypeError("Expected credential_info to be ScramCredentialInfo Type")
    if not isinstance(info.iterations, int):
        raise TypeError(f"iterations must be a whole number, not {info.iterations!r}")
    if info.iterations < 1:
        raise ValueError("Iterations should be positive")
    if not isinstance(info.mechanism, ScramMechanism):
        raise TypeError("Expected the mechanism to be ScramMechanism Type")


def _bytes(value: Any, what: str) -> None:
    if value in (b"", ""):
        raise ValueError(f"'{what}' cannot be empty")
    if not isinstance(value, bytes):
        raise TypeError(f"'{what}' must be bytes")


# Offsets ------------------------------------------------------------------------------------------


def group_partitions(values: Any, *, to_alter: bool) -> ConsumerGroupTopicPartitions:
    """The one group of a list of one."""
    if not isinstance(values, list):
        raise TypeError("request must be a list")
    if len(values) != 1:
        raise ValueError("a single consumer group is taken only")
    one = values[0]
    if not isinstance(one, ConsumerGroupTopicPartitions):
        raise TypeError("Expected list of 'ConsumerGroupTopicPartitions'")
    if not isinstance(one.group_id, str):
        raise TypeError("'group_id' must be a string")
    if not one.group_id:
        raise ValueError("'group_id' cannot be empty")
    if one.topic_partitions is not None or to_alter:
        _partitions_of(one.topic_partitions, to_alter=to_alter)
    return one


def _partitions_of(parts: Any, *, to_alter: bool) -> None:
    what = "'topic_partitions'"
    if parts is None:
        raise ValueError(f"{what} cannot be null")
    if not isinstance(parts, list):
        raise TypeError(f"{what} must be a list or None")
    if not parts:
        raise ValueError(f"{what} cannot be empty")
    for tp in parts:
        if tp is None:
            raise ValueError(f"Element of {what} cannot be None")
        _partition(tp, f"Element of {what}")
        if to_alter and tp.offset < 0:
            raise ValueError(f"Element of {what} must not have a negative 'offset'")
        if not to_alter and tp.offset != OFFSET_INVALID:
            raise ValueError(f"Element of {what} must not have 'offset' value")


def _partition(tp: Any, what: str) -> None:
    if not isinstance(tp, TopicPartition):
        raise TypeError(f"{what} must be of type 'TopicPartition' got '{type(tp).__name__}' ")
    if not tp.topic:
        raise ValueError(f"{what}: 'topic' is empty")
    if tp.partition < 0:
        raise ValueError(f"{what} must not have negative value for 'partition' field")


def partitions(values: Any, named: str, element: str) -> list[TopicPartition]:
    """A list of them."""
    if not isinstance(values, list):
        raise TypeError(f"Expected {named} to be a list, got '{type(values).__name__}' ")
    for one in values:
        _partition(one, f"Element of the {element} list")
    return values


def election(kind: Any, values: Any) -> None:
    """A kind, and partitions or None for all."""
    if not isinstance(kind, ElectionType):
        raise TypeError("Expected 'election_type' to be of type 'ElectionType'")
    if values is not None:
        partitions(values, "'partitions'", "'partitions'")


def specs(values: Any) -> list[TopicPartition]:
    """{partition: OffsetSpec}, as partitions whose offsets are the numbers of the specs."""
    if not isinstance(values, dict):
        raise TypeError(
            "Expected topic_partition_offsets to be a dict of TopicPartition: OffsetSpec"
        )
    for tp, spec in values.items():
        _partition(tp, "a partition")
        if not isinstance(spec, OffsetSpec):
            raise TypeError("Value must be a OffsetSpec")
    return [
        TopicPartition(tp.topic, tp.partition, int(spec._value))  # noqa: SLF001 - ours
        for tp, spec in values.items()
    ]


def isolation(value: Any) -> int:
    """Its number; None: read uncommitted."""
    if value is None:
        return 0
    if not isinstance(value, IsolationLevel):
        raise TypeError("isolation_level argument should be an IsolationLevel")
    number: int = value.value
    return number


def members(values: Any, kind: type[Any], what: str) -> list[Any]:
    """A set of an enumeration's members; None: none."""
    if values is None:
        return []
    if not isinstance(values, set):
        raise TypeError(f"'{what}' must be a set")
    if not all(isinstance(one, kind) for one in values):
        raise TypeError(f"All elements of {what} must be of type {kind.__name__}")
    return [*values]


def group_types(values: Any) -> list[ConsumerGroupType]:
    """Likewise, of groups."""
    found = members(values, ConsumerGroupType, "types")
    if ConsumerGroupType.UNKNOWN in found:
        raise ValueError("UNKNOWN type is not allowed")
    return found


def has_twice(keys: Iterable[Any]) -> bool:
    """Whether one is there twice: what brokers are not asked then is an error of each."""
    given = [*keys]
    return len(set(given)) < len(given)
