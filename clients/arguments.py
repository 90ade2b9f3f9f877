"""Arguments as users give them, checked and made into what the core takes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from operator import index

from kcore.errors import IllegalArgumentError, InvalidTopicError
from kcore.hints import Any
from kcore.limits import MAX_INT32, MAX_INT64, MAX_NAME_CHARS, MAX_STRING_BYTES, MAX_TIMEOUT_MS
from kcore.settings.parsers import is_legal_name
from kcore.structs import (
    AcknowledgeType,
    ConsumerGroupMetadata,
    GroupMembershipOperation,
    OffsetAndMetadata,
    SubscriptionPattern,
    TopicPartition,
)


def partition_of(value: object) -> TopicPartition:
    """A TopicPartition from one, or from any tuple of a topic and a number. TypeError."""
    if type(value) is TopicPartition or (isinstance(value, tuple) and len(value) == 2):
        topic, number = value
    else:
        raise TypeError(f"partition must be a TopicPartition, not {value!r}")
    if not isinstance(topic, str) or not isinstance(number, int) or isinstance(number, bool):
        raise TypeError(f"a partition is a topic name and a number, not {value!r}")
    if number < 0 or number > MAX_INT32:
        raise IllegalArgumentError(f"partition number {number} is out of range")
    return value if type(value) is TopicPartition else TopicPartition(topic, number)


def partitions_of(values: object) -> list[TopicPartition]:
    """A list of them, each once, in order. TypeError."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise TypeError(f"partitions must be a list of TopicPartition, not {values!r}")
    return list(dict.fromkeys(partition_of(value) for value in values))


def chosen(values: tuple[Any, ...]) -> list[TopicPartition]:
    """Partitions as arguments of their own, or as one list or set of them, which is how Java's and
    confluent's clients take them. TypeError.
    """
    if len(values) == 1 and is_several(values[0]):
        return partitions_of(values[0])
    return partitions_of(values)


def is_several(value: object) -> bool:
    """Whether these are partitions, and not one (which is a tuple)."""
    return isinstance(value, (list, set, frozenset))


def named(value: object) -> TopicPartition:
    """A partition of a topic that Kafka could have. TypeError, InvalidTopicError."""
    tp = partition_of(value)
    topic_name(tp.topic)
    return tp


def assignable(values: object) -> list[TopicPartition]:
    """Several, each once, in order."""
    return [named(tp) for tp in partitions_of(values)]


def topic_name(value: object) -> str:
    """A legal topic name, as plain text: an Enum's would be told as its member's. TypeError,
    InvalidTopicError.
    """
    if not isinstance(value, str):
        if isinstance(value, Mapping):  # which may hold a password
            raise TypeError("topics must be strings, not a dict: options are keyword arguments")
        raise TypeError(f"topics must be strings, not {value!r:.200}")
    if not is_legal_name(value):
        raise InvalidTopicError(
            f"{value[: MAX_NAME_CHARS + 1]!r} is no topic name: 1 to {MAX_NAME_CHARS} of the "
            "characters a-z A-Z 0-9 . _ -, and neither '.' nor '..'"
        )
    return str.__str__(value)


def topic_names(values: object) -> frozenset[str]:
    """Several. A bare string is a TypeError: it would be read letter by letter."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise TypeError(f"topics must be a list of strings, not {values!r}")
    return frozenset(topic_name(value) for value in values)


# What a compiled expression has beside its text, as text begins with it.
_FLAGS = {"a": re.ASCII, "i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL, "x": re.VERBOSE}


def pattern_text(value: object) -> str:
    """A regular expression as text; one that brokers match is for them to judge. TypeError,
    IllegalArgumentError.
    """
    if isinstance(value, SubscriptionPattern):
        if not isinstance(value.pattern, str) or not value.pattern:
            raise IllegalArgumentError(f"pattern must be a regular expression, not {value!r}")
        return value.pattern
    text = value.pattern if isinstance(value, re.Pattern) else value
    if not isinstance(text, str):
        raise TypeError(f"pattern must be a regular expression, not {value!r}")
    if isinstance(value, re.Pattern):
        flags = "".join(name for name, flag in _FLAGS.items() if value.flags & flag)
        text = f"(?{flags}){text}" if flags else text
    try:
        re.compile(text)
    except re.error as error:
        raise IllegalArgumentError(f"pattern {text!r}: {error}") from error
    return text


def partition_number(value: object) -> int:
    """The number of a partition; whether there is one, the cluster says. TypeError."""
    return _whole(value, "partition must be a partition's number")


def record_time(value: object) -> int:
    """The timestamp of a record, ms since 1970. TypeError, IllegalArgumentError."""
    found = _whole(value, "timestamp_ms must be a whole number of ms since 1970")
    if found < 0:
        raise IllegalArgumentError(f"timestamp_ms={found}: must not be negative")
    if found > MAX_INT64:
        raise IllegalArgumentError(f"timestamp_ms={found}: must be at most {MAX_INT64}")
    return found


def _whole(value: Any, wanted: str) -> int:
    try:
        return index(value)
    except TypeError:
        raise TypeError(f"{wanted}, not {value!r}") from None


def offset_of(value: object) -> int:
    """An offset that can be sought. IllegalArgumentError (a ValueError)."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MAX_INT64:
        raise IllegalArgumentError(f"offset must be a whole number from 0, not {value!r}")
    return value


def place_of(value: Any) -> OffsetAndMetadata:
    """Where to go on: an offset, or an OffsetAndMetadata. TypeError, IllegalArgumentError."""
    return _committable(value) if isinstance(value, tuple) else OffsetAndMetadata(offset_of(value))


def offsets_of(values: object) -> dict[TopicPartition, OffsetAndMetadata]:
    """{partition: OffsetAndMetadata} from that or from plain tuples. TypeError, ValueError."""
    if not isinstance(values, Mapping):
        raise TypeError(
            f"offsets must map TopicPartition to OffsetAndMetadata, not {values!r:.200}"
        )
    return {named(tp): _committable(value) for tp, value in values.items()}


def group_of(value: object) -> ConsumerGroupMetadata:
    """Whose offsets are meant: from `group_metadata()`, ours or another client's, or from a group
    id. TypeError, IllegalArgumentError (a ValueError).
    """
    if isinstance(value, str):
        value = ConsumerGroupMetadata(value)
    found: Any = value
    try:
        group = ConsumerGroupMetadata(
            found.group_id, found.generation_id, found.member_id, found.group_instance_id
        )
    except AttributeError:
        raise TypeError(f"a group is its id, or group_metadata(), not {value!r}") from None
    if not isinstance(group.group_id, str) or not group.group_id:
        raise IllegalArgumentError(f"the consumer has no group: {value!r}")
    _check_text("a group's id", group.group_id)
    return group


def ends_of(values: object) -> dict[TopicPartition, int]:
    """{partition: offset} to read up to. TypeError, IllegalArgumentError (a ValueError)."""
    if not isinstance(values, Mapping):
        raise TypeError(f"ends must map TopicPartition to an offset, not {values!r}")
    return {named(tp): offset_of(value) for tp, value in values.items()}


def _committable(value: Any) -> OffsetAndMetadata:
    if not isinstance(value, tuple) or not 2 <= len(value) <= 3:
        raise TypeError(
            "a committed offset is an OffsetAndMetadata, as OffsetAndMetadata"
            f"({value if isinstance(value, int) else 5}, ''), not {value!r:.200}"
        )
    offset, metadata = offset_of(value[0]), value[1]
    epoch = value[2] if len(value) == 3 and value[2] is not None else -1
    if metadata is None:
        metadata = ""
    if not isinstance(metadata, str) or not isinstance(epoch, int):
        raise TypeError(f"a committed offset is (int, str, int), not {value!r}")
    if not -MAX_INT32 - 1 <= epoch <= MAX_INT32:
        raise IllegalArgumentError(f"leader_epoch {epoch} is out of range")
    _check_text("the metadata of an offset", metadata)
    return OffsetAndMetadata(offset, metadata, epoch)


def _check_text(what: str, text: str) -> None:
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        raise IllegalArgumentError(f"{what} cannot be written as UTF-8: {error}") from None
    if size > MAX_STRING_BYTES:
        raise IllegalArgumentError(
            f"{what} takes {size} bytes: {MAX_STRING_BYTES} at most can be sent"
        )


def timestamps_of(values: object) -> dict[TopicPartition, int]:
    """{partition: ms since 1970}. TypeError, IllegalArgumentError."""
    if not isinstance(values, Mapping):
        raise TypeError(f"timestamps must map TopicPartition to ms, not {values!r}")
    found: dict[TopicPartition, int] = {}
    for tp, value in values.items():
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            raise TypeError(f"the time for {tp} must be a number of ms, not {value!r}")
        if not 0 <= value <= MAX_INT64:
            raise IllegalArgumentError(f"the time for {tp} must not be negative: {value!r}")
        found[named(tp)] = int(value)
    return found


def timeout(value: object, default: float, name: str = "timeout_ms") -> float:
    """A timeout in ms, `default` for None. TypeError, IllegalArgumentError."""
    if type(value) is int and 0 <= value <= MAX_TIMEOUT_MS:
        return value
    if value is None:
        return default
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise TypeError(f"{name} must be a number, not {value!r}")
    if not value >= 0:  # NaN, too
        raise IllegalArgumentError(f"{name} must be a number that is not negative: {value!r}")
    return min(value, MAX_TIMEOUT_MS)


def seconds(value: object, name: str = "timeout") -> float:
    """A timeout in s; below 0 nothing is left of it. TypeError, IllegalArgumentError."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise TypeError(f"{name} must be a number of seconds, not {value!r}")
    if value != value:  # noqa: PLR0124 - NaN
        raise IllegalArgumentError(f"{name} must be a number of seconds, not {value!r}")
    return min(max(value, 0), MAX_TIMEOUT_MS // 1000)


def record_count(value: object, name: str = "max_records") -> int:
    """max_records of a poll, or another count. TypeError, IllegalArgumentError."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{name} must be an integer, not {value!r}")
    if value < 1:
        raise IllegalArgumentError(f"{name} must be positive, not {value}")
    return min(value, MAX_INT64)


def acknowledge_type(value: object) -> AcknowledgeType:
    """What is said of a record. TypeError, IllegalArgumentError."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"type must be an AcknowledgeType, not {value!r}")
    try:
        return AcknowledgeType(value)
    except ValueError:
        known = ", ".join(f"{kind.name} ({int(kind)})" for kind in AcknowledgeType)
        raise IllegalArgumentError(f"type must be one of {known}, not {value!r}") from None


def membership_operation(value: object) -> GroupMembershipOperation:
    """What a close means for the membership. TypeError, IllegalArgumentError."""
    if not isinstance(value, str):
        raise TypeError(f"group_membership_operation must be a string, not {value!r:.200}")
    try:
        return GroupMembershipOperation(value.lower())
    except ValueError:
        names = ", ".join(map(repr, map(str, GroupMembershipOperation)))
        raise IllegalArgumentError(
            f"group_membership_operation: one of {names}, not {value!r:.200}"
        ) from None


def column_names(
    columns: Iterable[str] | None, known: tuple[str, ...], *, headers: bool
) -> frozenset[str]:
    """The columns a batch is to have: all but headers unless they are named or asked for beside.

    TypeError, IllegalArgumentError.
    """
    if columns is None:
        return frozenset(known if headers else known[:-1])
    if isinstance(columns, (str, bytes)) or not isinstance(columns, Iterable):
        raise TypeError(f"columns must be names of columns, not {columns!r}")
    given = list(columns)
    if not all(isinstance(name, str) for name in given):
        raise TypeError(f"columns must be names of columns, not {given!r}")
    wanted = frozenset(given)
    if unknown := wanted - set(known):
        names = ", ".join(sorted(map(str, unknown)))
        raise IllegalArgumentError(f"columns: there is no {names}, only {', '.join(known)}")
    if not wanted:
        raise IllegalArgumentError("columns: none is asked for")
    if headers and "headers" not in wanted:
        raise IllegalArgumentError("columns leave out headers, include_headers asks for them")
    return wanted
