"""Transactions that hang: open in a partition for longer than any may be, and no coordinator will
end them. Found as by Kafka's `kafka-transactions find-hanging`, with a second look at the end.

What is open is asked of the partitions first, then who coordinates it: so a transaction that begins
or ends meanwhile could look like one that nobody knows. Hence the second look, at the leaders: a
coordinator forgets a partition only when the marker is in its log.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from kcore.admin.asking import Outcome
from kcore.admin.cluster import ask_metadata
from kcore.admin.core import Procedure
from kcore.admin.producers import ask_producers
from kcore.admin.topics import describe_topics
from kcore.admin.transaction_values import AbortTransactionSpec, TransactionDescription
from kcore.admin.transactions import TransactionFilter, ask_transactions, list_transactions
from kcore.admin.values import ProducerState
from kcore.errors import (
    BrokerNotAvailableError,
    TransactionalIdNotFoundError,
    UnknownTopicOrPartitionError,
    for_code,
)
from kcore.structs import TopicPartition
from kcore.tuples import NamedTuple

_NOBODY: Final = -1  # leads a partition
_LOOKING: Final = "looking for transactions"


class _Open(NamedTuple):
    """A transaction that is open in a partition, as its producer and its first offset say."""

    tp: TopicPartition
    producer_id: int
    start_offset: int


_Found = dict[_Open, ProducerState]
_Known = dict[int, tuple[str, TransactionDescription | None]]


def find_hanging_transactions(
    topics: Mapping[str, Sequence[int]] | Sequence[str] | None,
    brokers: Sequence[int] | None,
    max_timeout_ms: int,
    wall_ms: int,
) -> Procedure[list[dict[str, Any]]]:
    """Rows of transactions that nobody has written to for more than `max_timeout_ms` before
    `wall_ms`, and that no coordinator will end.

    topics: these partitions, or topics; None: all that there are. brokers: and of these the ones
    that they have replicas of; None: leaders are asked.
    """
    if topics is not None and not topics:
        return []
    wanted = yield from _partitions(topics, brokers)
    outcomes = yield [ask_producers(tps, broker) for broker, tps in wanted.items()]
    found: _Found = {}
    for outcome in outcomes:
        found |= _open_since(outcome, wall_ms - max_timeout_ms)
    if not found:
        return []
    known = yield from _coordinated(sorted({one.producer_id for one in found}))
    left = [one for one in found if not _is_kept(one, known)]
    (outcome,) = yield [ask_producers(sorted({one.tp for one in left}), None)]
    still = _open_since(outcome, wall_ms - max_timeout_ms)
    return [_row(one, still[one], known, wall_ms) for one in sorted(left) if one in still]


# Where to look ------------------------------------------------------------------------------------


def _partitions(
    topics: Mapping[str, Sequence[int]] | Sequence[str] | None, brokers: Sequence[int] | None
) -> Procedure[dict[int | None, list[TopicPartition]]]:
    """{broker, or None for the leaders: which partitions it is asked for}."""
    if isinstance(topics, Mapping) and brokers is None:
        return {None: [TopicPartition(name, one) for name in topics for one in topics[name]]}
    if brokers is not None:
        yield from _check_brokers(brokers)
    rows = yield from describe_topics(None if topics is None else list(topics))
    found: dict[int | None, list[TopicPartition]] = {}
    for row in rows:
        if row["error_code"]:
            if topics is None:  # it is being made, or deleted
                continue
            raise for_code(row["error_code"])(f"{_LOOKING} in {row['name']}")
        for part in _looked_through(row, topics):
            tp = TopicPartition(row["name"], part["partition_index"])
            if brokers is not None:
                for broker in set(brokers).intersection(part["replica_nodes"]):
                    found.setdefault(broker, []).append(tp)
            elif part["leader_id"] != _NOBODY:
                found.setdefault(None, []).append(tp)
    return found


def _check_brokers(brokers: Sequence[int]) -> Procedure[None]:
    """Nothing would be found on one that is not there."""
    (outcome,) = yield [ask_metadata()]
    known = sorted(broker.node_id for broker in outcome.all_done()[None].brokers)
    for broker in brokers:
        if broker not in known:
            raise BrokerNotAvailableError(
                f"{_LOOKING} on broker {broker}: the cluster has brokers "
                + ", ".join(map(str, known))
            )


def _looked_through(
    row: dict[str, Any], topics: Mapping[str, Sequence[int]] | Sequence[str] | None
) -> list[dict[str, Any]]:
    """The partitions of a topic, or those of it that are named."""
    parts = {part["partition_index"]: part for part in row["partitions"]}
    if not isinstance(topics, Mapping):
        return list(parts.values())
    numbers = topics[row["name"]]
    for number in numbers:
        if number not in parts:
            raise UnknownTopicOrPartitionError(
                f"{_LOOKING} in {row['name']}-{number}: there are partitions 0 to {len(parts) - 1}"
            )
    return [parts[number] for number in numbers]


def _open_since(outcome: Outcome, before_ms: int) -> _Found:
    """What is open, and was written to before a time."""
    return {
        _Open(tp, state.producer_id, state.current_transaction_start_offset): state
        for tp, found in outcome.all_done().items()
        for state in found.active_producers
        if state.current_transaction_start_offset >= 0 and state.last_timestamp < before_ms
    }


# Who ends it --------------------------------------------------------------------------------------


def _coordinated(producer_ids: Sequence[int]) -> Procedure[_Known]:
    """{producer id: its transactional id, and what its coordinator knows of that}."""
    listed = yield from list_transactions(None, TransactionFilter(producer_ids=producer_ids))
    names = {row.producer_id: row.transactional_id for rows in listed.values() for row in rows}
    (outcome,) = yield [ask_transactions(sorted(names.values()))]
    gone = [
        name
        for name, error in outcome.failed.items()
        if isinstance(error, TransactionalIdNotFoundError)
    ]
    for name in gone:
        del outcome.failed[name]
    described = {
        name: one._replace(coordinator_id=outcome.nodes[name])
        for name, one in outcome.all_done().items()
    }
    return {number: (name, described.get(name)) for number, name in names.items()}


def _is_kept(one: _Open, known: _Known) -> bool:
    """Whether a coordinator will write the marker: it tells of all partitions that have none."""
    _, described = known.get(one.producer_id, ("", None))
    return (
        described is not None
        and described.producer_id == one.producer_id
        and one.tp in described.topic_partitions
    )


def _row(one: _Open, state: ProducerState, known: _Known, wall_ms: int) -> dict[str, Any]:
    name, described = known.get(one.producer_id, (None, None))
    return {
        "transactional_id": name,
        "producer_id": one.producer_id,
        "producer_epoch": state.producer_epoch,
        "coordinator_epoch": state.coordinator_epoch,
        "start_offset": one.start_offset,
        "last_timestamp": state.last_timestamp,
        "age_ms": wall_ms - state.last_timestamp,
        "state": None if described is None else described.state.value,
        "coordinator_id": None if described is None else described.coordinator_id,
        "topic_partitions": [one.tp],
        "spec": AbortTransactionSpec(one.tp, one.producer_id, state.producer_epoch),
    }
