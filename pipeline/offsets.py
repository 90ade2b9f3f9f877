"""Offsets as Spark writes them: JSON of {"topic": {"partition": offset}}.

In options -2 is the earliest and -1 the latest offset. Checkpoints have the same form, so that a
query of Spark's own `kafka` source can be read on here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from kcore.limits import MAX_INT64
from kcore.pipeline.errors import OptionError, PlanError
from kcore.structs import TopicPartition

EARLIEST: Final = -2
LATEST: Final = -1
_INT32_MAX: Final = (1 << 31) - 1

Offsets = dict[TopicPartition, int]


def parse(option: str, text: str, *, what: str, minimum: int) -> Offsets:
    """{partition: number} of an option's JSON. OptionError says where it cannot be read.

    what: of the numbers, for the error. minimum: the least of them.
    """
    found: Offsets = {}
    for topic, partitions in _object(option, _load(option, text), "topics").items():
        for number, value in _object(option, partitions, f"partitions of {topic!r}").items():
            tp = TopicPartition(topic, _number(option, topic, number))
            if tp in found:  # "0" and "00"
                raise OptionError(option, f"{topic}-{tp.partition} is there twice")
            wrong = isinstance(value, bool) or not isinstance(value, int)
            if wrong or not minimum <= value <= MAX_INT64:
                raise OptionError(
                    option, f"{topic}-{number}: {value!r} is no {what} (an integer from {minimum})"
                )
            found[tp] = value
    if not found:
        raise OptionError(option, f"names no partition: {text!r}")
    return found


def parse_assign(option: str, text: str) -> list[TopicPartition]:
    """The partitions of {"topic": [0, 1]}."""
    found: list[TopicPartition] = []
    for topic, numbers in _object(option, _load(option, text), "topics").items():
        if not isinstance(numbers, list):
            raise OptionError(
                option, f'{topic}: a list of partitions is wanted, as in {{"{topic}": [0, 1]}}'
            )
        found += [TopicPartition(topic, _number(option, topic, number)) for number in numbers]
    if not found:
        raise OptionError(option, f"names no partition: {text!r}")
    return list(dict.fromkeys(found))


def _load(option: str, text: str) -> Any:
    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in items:
            if key in found:
                raise OptionError(option, f"{key!r} is there twice in {text!r}")
            found[key] = value
        return found

    try:
        return json.loads(text, object_pairs_hook=pairs)
    except json.JSONDecodeError as error:
        begin = max(0, error.pos - 30)
        raise OptionError(
            option,
            f"no JSON ({error.msg} at character {error.pos}): "
            f"...{text[begin : error.pos]}<<here>>{text[error.pos : error.pos + 30]}",
        ) from None
    except OptionError:
        raise
    except RecursionError:
        raise OptionError(option, "no JSON that could be offsets: it is nested too deep") from None
    except ValueError as error:  # numbers of thousands of digits
        raise OptionError(option, f"no JSON that could be offsets: {error}") from None


def _object(option: str, value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise OptionError(
            option,
            f"{what}: a JSON object is wanted, not {json.dumps(value)}; "
            'the form is {"topic": {"0": 23, "1": -2}}',
        )
    return value


def _number(option: str, topic: str, number: Any) -> int:
    text = str(number)
    short = not isinstance(number, bool) and text.isascii() and text.isdigit() and len(text) <= 10
    if not short or int(text) > _INT32_MAX:
        raise OptionError(option, f"{topic}: {number!r} is no partition number")
    return int(text)


def to_mapping(offsets: Mapping[TopicPartition, int]) -> dict[str, dict[str, int]]:
    """As Spark keeps it: topics and partitions in order."""
    found: dict[str, dict[str, int]] = {}
    for tp in sorted(offsets):
        found.setdefault(tp.topic, {})[str(tp.partition)] = offsets[tp]
    return found


def from_mapping(mapping: Mapping[str, Mapping[str, int]]) -> Offsets:
    """What Spark gives back. PlanError: it is of another kind of source, or damaged."""
    try:
        found = {
            TopicPartition(topic, int(number)): offset
            for topic, numbers in mapping.items()
            for number, offset in numbers.items()
        }
    except (AttributeError, TypeError, ValueError):
        found = None
    if found is None or not all(type(offset) is int for offset in found.values()):
        raise PlanError(
            f'{mapping!r} is no place in topics, such as {{"topic": {{"0": 23}}}}: the checkpoint '
            "is of another query, or damaged"
        )
    return found


def listed(partitions: Iterable[TopicPartition], most: int = 10) -> str:
    """A few names for a message."""
    names = [f"{tp.topic}-{tp.partition}" for tp in sorted(partitions)]
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
