"""Parts of what admin clients are given, as users of kafka-python and aiokafka give them: checked.

Each raises what is wrong: TypeError, or IllegalArgumentError (a ValueError).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final
from uuid import UUID

from kcore.clients import arguments
from kcore.errors import IllegalArgumentError
from kcore.limits import MAX_INT32
from kcore.structs import TopicPartition

_ISOLATION: Final = {"read_uncommitted": 0, "read_committed": 1}


def listed(values: object, what: str) -> list[Any]:
    """Several of something, or none. A bare string is a TypeError."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise TypeError(f"{what} must be a list, not {values!r}")
    return list(values)


def some(values: object, what: str) -> list[Any]:
    """At least one of something."""
    found = listed(values, what)
    if not found:
        raise IllegalArgumentError(f"{what}: none is given")
    return found


def mapped(values: object, what: str) -> Mapping[Any, Any]:
    if not isinstance(values, Mapping):
        raise TypeError(f"{what}, not {values!r}")
    return values


def string(value: object, what: str) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{what} must be a string, not {value!r}")
    return value


def name(value: object, what: str) -> str:
    """A string that is not empty."""
    found = string(value, what)
    if not found:
        raise IllegalArgumentError(f"{what} is empty")
    return found


def group_id(value: object) -> str:
    return string(value, "a group id")


def group_ids(values: object) -> list[str]:
    return list(dict.fromkeys(group_id(value) for value in listed(values, "group_ids")))


def count(value: object, what: str, lowest: int, highest: int = MAX_INT32) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{what} must be a whole number, not {value!r}")
    if not lowest <= value <= highest:
        raise IllegalArgumentError(f"{what}={value}: must be from {lowest} to {highest}")
    return int(value)


def broker_ids(values: object) -> list[int] | None:
    if values is None:
        return None
    found = some(values, "brokers")
    return list(dict.fromkeys(count(value, "a broker's number", 0) for value in found))


def partitions(values: object, what: str) -> list[TopicPartition]:
    return list(dict.fromkeys(arguments.named(value) for value in listed(values, what)))


def numbered(values: object) -> dict[str, list[int]]:
    """{topic: numbers of partitions}."""
    given = mapped(values, "topic_partitions must map topics to lists of partitions")
    return {
        arguments.topic_name(topic): [
            count(number, "a partition's number", 0) for number in listed(numbers, "partitions")
        ]
        for topic, numbers in given.items()
    }


def topics(values: object) -> list[str | UUID]:
    """Names, or ids."""
    found = listed(values, "topics")
    return list(
        dict.fromkeys(one if isinstance(one, UUID) else arguments.topic_name(one) for one in found)
    )


def plain(value: object) -> object:
    """Of somebody else's enum its value."""
    return getattr(value, "value", value)


def isolation(value: object) -> int:
    """Its number; also Kafka's own, or somebody else's enum."""
    number = plain(value)
    if isinstance(number, str) and number.lower() in _ISOLATION:
        return _ISOLATION[number.lower()]
    if type(number) is int and number in _ISOLATION.values():
        return number
    raise IllegalArgumentError(
        f"isolation_level must be one of {', '.join(_ISOLATION)}, not {value!r}"
    )


def texts(values: object, what: str) -> dict[str, str | None]:
    """{name: value}, values as text: numbers and truth values as Kafka writes them."""
    found: dict[str, str | None] = {}
    for key, value in mapped(values or {}, f"{what} must map names to values").items():
        if not isinstance(key, str) or not key:
            raise TypeError(f"{what}: names must be strings, not {key!r}")
        found[key] = text(value, f"{what}: {key}")
    return found


def text(value: object, what: str) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return str(value)
    raise TypeError(f"{what} must be a string, not {value!r}")


def placed(values: object, what: str) -> list[int]:
    return [count(value, f"{what}: a broker's number", 0) for value in some(values, what)]
