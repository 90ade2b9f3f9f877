"""Where groups are, when an answer tells of some partitions and refuses others.

Java's admin client leaves out what was refused and says so in its log alone. Here it is an error,
unless the caller asks for the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kcore.admin.asking import Outcome, Reply
from kcore.admin.hints import HINTS
from kcore.errors import for_code
from kcore.errors.parts import of_partitions
from kcore.structs import TopicPartition
from kcore.tuples import NamedTuple
from kcore.wire.codes import ErrorCode

# Kafka calls it retriable, and it is not: the coordinator has looked.
_FINAL: Final = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


class Told(NamedTuple):
    """What an answer says of one group: values, the codes of what was refused, words of those."""

    done: dict[TopicPartition, Any]
    codes: dict[TopicPartition, int]
    words: dict[TopicPartition, str | None]


def reply_of(group: str, code: int, words: str | None, told: Told) -> Reply:
    """The group is asked for again if that may help one of its partitions."""
    for tp, refused in told.codes.items():
        if not code and refused != _FINAL and for_code(refused).retriable:
            said = told.words.get(tp) or for_code(refused).description
            code, words = refused, f"{tp.topic}-{tp.partition}: {said}"
    return Reply(group, code, told, words)


def offsets_of(outcome: Outcome, what: str, *, raise_errors: bool = True) -> dict[str, Any]:
    """{group: {partition: value}}. What was refused is raised, or else left out; what is wrong with
    a group is raised in any case. what: see Ask.
    """
    found: Mapping[str, Told] = dict(outcome.done)
    for group, told in found.items():
        outcome.done[group] = told.done
        if told.codes and raise_errors:
            del outcome.done[group]
            outcome.failed[group] = of_partitions(
                f"{what} {group}:", told.codes, told.done, words=told.words, hints=HINTS
            )
    return outcome.all_done()
