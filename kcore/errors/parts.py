"""One error of several partitions, when some of those that a call is about were refused."""

from __future__ import annotations

from collections.abc import Mapping

from kcore.errors import TopicAuthorizationFailedError, for_code
from kcore.errors.base import BrokerResponseError
from kcore.hints import Any, Final
from kcore.structs import TopicPartition

_NAMES_MAX: Final = 10  # of partitions spelled out


def of_partitions(
    what: str,
    codes: Mapping[TopicPartition, int],
    done: Mapping[TopicPartition, Any],
    *,
    words: Mapping[TopicPartition, str | None] | None = None,
    hints: Mapping[int, str] | None = None,
) -> BrokerResponseError:
    """`codes` (not empty) as an error that has them in `failed`, by partition, and in `done` what
    was told of the others. It is a TopicAuthorizationFailedError if one of them is, as in Java,
    with `topics`; else of the first one's class. words: what the broker said of each. hints: what
    to do, by code.
    """
    told, failed = [], {}
    for tp in sorted(codes):
        kind = for_code(codes[tp])
        said = ((words or {}).get(tp) or kind.description).rstrip(".")
        text = f"{tp.topic}-{tp.partition}: {said}"
        told.append(text)
        failed[tp] = _one(kind, f"{what} {text}", {tp.topic})
    first = next((one for one in failed.values() if _is_denied(one)), None)
    first = first or next(iter(failed.values()))
    text = "; ".join(told[:_NAMES_MAX])
    if len(told) > _NAMES_MAX:
        text += f"; and {len(told) - _NAMES_MAX} more"
    hint = (hints or {}).get(first.errno)
    if hint:
        text += f"; {hint}"
    denied = {tp.topic for tp, one in failed.items() if _is_denied(one)}
    whole = _one(type(first), f"{what} {text}", denied)
    whole.failed, whole.done = failed, dict(done)
    return whole


def _one(kind: type[BrokerResponseError], text: str, topics: set[str]) -> BrokerResponseError:
    if issubclass(kind, TopicAuthorizationFailedError):
        return kind(text, topics=frozenset(topics))
    return kind(text)


def _is_denied(error: BrokerResponseError) -> bool:
    return isinstance(error, TopicAuthorizationFailedError)
