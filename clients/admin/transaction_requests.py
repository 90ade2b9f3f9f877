"""What admin clients are asked for about transactions: arguments checked and made into procedures,
as in `requests.py`.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from kcore.admin import (
    AbortTransactionSpec,
    FencedProducer,
    TransactionDescription,
    TransactionListing,
    TransactionState,
    hanging,
    transactions,
)
from kcore.admin.core import Procedure
from kcore.clients import arguments
from kcore.clients.admin import arguments as args
from kcore.errors import IllegalArgumentError
from kcore.limits import MAX_INT32, MAX_INT64

_NS_PER_MS: Final = 1_000_000
_MAX_INT16: Final = (1 << 15) - 1


def list_transactions(
    brokers: object, producer_ids: object, states: object, duration_ms: object, pattern: object
) -> Procedure[dict[int, list[TransactionListing]]]:
    """Filters; None: any."""
    if pattern is not None and not isinstance(pattern, str):
        raise TypeError(f"transactional_id_pattern must be a string, not {pattern!r}")
    wanted = transactions.TransactionFilter(
        states=[TransactionState.of(one) for one in _optional(states, "state_filters")],
        producer_ids=[
            args.count(one, "a producer id", 0, MAX_INT64)
            for one in _optional(producer_ids, "producer_id_filters")
        ],
        duration_ms=None if duration_ms is None else _ms(duration_ms, "duration_filter_ms"),
        pattern=pattern or None,
    )
    return transactions.list_transactions(args.broker_ids(brokers), wanted)


def _optional(values: object, what: str) -> list[Any]:
    return [] if values is None else args.listed(values, what)


def _ms(value: object, what: str) -> int:
    return args.count(value, what, 0, MAX_INT64)


def describe_transactions(values: object) -> Procedure[dict[str, TransactionDescription]]:
    """Transactional ids."""
    return transactions.describe_transactions(_ids(values))


def fence_producers(values: object) -> Procedure[dict[str, FencedProducer]]:
    """Transactional ids."""
    return transactions.fence_producers(_ids(values))


def _ids(values: object) -> list[str]:
    found = args.listed(values, "transactional_ids")
    for one in found:
        if not isinstance(one, str):
            raise TypeError(f"a transactional id must be a string, not {one!r}")
        if not one:
            raise IllegalArgumentError("a transactional id is empty")
    return list(dict.fromkeys(found))


def abort_transaction(spec: Any) -> Procedure[None]:
    """An AbortTransactionSpec, or what has its fields."""
    try:
        tp, number, epoch, of = (
            spec.topic_partition,
            spec.producer_id,
            spec.producer_epoch,
            spec.coordinator_epoch,
        )
    except AttributeError:
        raise TypeError(f"spec must be an AbortTransactionSpec, not {spec!r}") from None
    return transactions.abort_transaction(
        AbortTransactionSpec(
            arguments.named(tp),
            args.count(number, "producer_id", 0, MAX_INT64),
            args.count(epoch, "producer_epoch", 0, _MAX_INT16),
            args.count(of, "coordinator_epoch", -1, MAX_INT32),
        )
    )


def find_hanging_transactions(
    brokers: object, max_timeout_ms: object, values: object
) -> Procedure[list[dict[str, Any]]]:
    """{topic: partitions}, partitions, topics, or None for everything."""
    return hanging.find_hanging_transactions(
        _topics(values),
        args.broker_ids(brokers),
        _ms(max_timeout_ms, "max_transaction_timeout_ms"),
        time.time_ns() // _NS_PER_MS,
    )


def _topics(values: object) -> Mapping[str, Sequence[int]] | Sequence[str] | None:
    if values is None:
        return None
    if isinstance(values, Mapping):
        return args.numbered(values)
    found = args.listed(values, "topic_partitions")
    if all(isinstance(one, str) for one in found):
        return list(dict.fromkeys(arguments.topic_name(one) for one in found))
    return _by_topic(found)


def _by_topic(values: Iterable[object]) -> dict[str, list[int]]:
    """{topic: numbers} of partitions."""
    wanted: dict[str, list[int]] = {}
    for tp in args.partitions(values, "topic_partitions"):
        wanted.setdefault(tp.topic, []).append(tp.partition)
    return wanted
