"""Transactions (KIP-664): listed, described, aborted where they hang; producers fenced (KIP-98).

Who keeps a transaction going is its coordinator: it ends it by a marker in every partition that
takes part, at the latest when its timeout is over. A transaction that is open in a partition and
not known to any coordinator is never ended: it hangs, and consumers that read what is committed
stand still before it (`hanging.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from kcore.admin.asking import Ask, Reply, Route, plain_name
from kcore.admin.cluster import of_brokers
from kcore.admin.core import Procedure
from kcore.admin.producers import describe_producers
from kcore.admin.transaction_values import (
    AbortTransactionSpec,
    FencedProducer,
    TransactionDescription,
    TransactionListing,
    TransactionState,
)
from kcore.admin.values import ProducerState
from kcore.errors import InvalidTxnStateError, UnsupportedVersionError
from kcore.structs import TopicPartition
from kcore.tuples import NamedTuple
from kcore.wire.apis import ApiKey
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import (
    DescribeTransactionsRequest,
    InitProducerIdRequest,
    ListTransactionsRequest,
    WriteTxnMarkersRequest,
)

_DURATION_SINCE: Final = 1  # ListTransactions with a filter of durations (KIP-994, Kafka 3.8)
_PATTERN_SINCE: Final = 2  # and with one of transactional ids (KIP-1152, Kafka 4.1)
_LOWEST_EPOCH: Final = 0  # of a coordinator: whoever keeps the id knows it or a later one
_ABORTING: Final = "aborting the transaction in"
_HINTS: Final[Mapping[int, str]] = {
    ErrorCode.TRANSACTIONAL_ID_NOT_FOUND: "check the name; coordinators forget an id that nobody "
    "has used for transactional.id.expiration.ms",
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "grant this principal the operation on the "
    "transactional id",
    ErrorCode.INVALID_PRODUCER_EPOCH: "the partition knows a later epoch of this producer: look "
    "again (describe_producers)",
    ErrorCode.TRANSACTION_COORDINATOR_FENCED: "the partition has a marker of a later coordinator: "
    "give its epoch, or -1",
    ErrorCode.INVALID_TRANSACTION_TIMEOUT: "the brokers' transaction.max.timeout.ms is below what "
    "this request was given: set a lower request_timeout_ms",
}


class TransactionFilter(NamedTuple):
    """Which transactions are listed: those that pass all of these; empty or None: any.

    duration_ms: they are open for longer. pattern: a regular expression (RE2) of whole ids.
    """

    states: Sequence[str] = ()
    producer_ids: Sequence[int] = ()
    duration_ms: int | None = None
    pattern: str | None = None


# Asking -------------------------------------------------------------------------------------------


def list_transactions(
    brokers: Sequence[int] | None, wanted: TransactionFilter
) -> Procedure[dict[int, list[TransactionListing]]]:
    """{broker: what it coordinates} of these brokers, or of all. Raises with `done`, the part that
    is known.
    """

    def make(ids: tuple[int, ...]) -> Ask:
        return Ask(
            ApiKey.LIST_TRANSACTIONS,
            ids,
            "listing the transactions of broker",
            lambda _keys, version, _limit_ms: _listing(wanted, version),
            _read_listing,
            route=Route.BROKER,
        )

    _, outcome = yield from of_brokers(brokers, make)
    return outcome.all_done()


def _listing(wanted: TransactionFilter, version: int) -> ListTransactionsRequest:
    request = ListTransactionsRequest(
        state_filters=list(wanted.states), producer_id_filters=list(wanted.producer_ids)
    )
    if wanted.duration_ms is not None:
        if version < _DURATION_SINCE:
            raise UnsupportedVersionError(
                "listing transactions by duration: this broker (before 3.8) cannot"
            )
        request.duration_filter = wanted.duration_ms
    if wanted.pattern is not None:
        if version < _PATTERN_SINCE:
            raise UnsupportedVersionError(
                "listing transactions by a pattern of their ids: this broker (before 4.1) cannot"
            )
        request.transactional_id_pattern = wanted.pattern
    return request


def _read_listing(body: Any, _version: int, keys: list[int]) -> Iterable[Reply]:
    rows = [
        TransactionListing(
            row.transactional_id, row.producer_id, TransactionState.read(row.transaction_state)
        )
        for row in body.transaction_states
    ]
    yield Reply(keys[0], body.error_code, rows)


def describe_transactions(ids: Sequence[str]) -> Procedure[dict[str, TransactionDescription]]:
    """{transactional id: what its coordinator knows}. TransactionalIdNotFoundError."""
    (outcome,) = yield [ask_transactions(ids)]
    found = outcome.all_done()
    return {name: one._replace(coordinator_id=outcome.nodes[name]) for name, one in found.items()}


def ask_transactions(ids: Iterable[str]) -> Ask:
    """The same as a question. Values: TransactionDescription, whose coordinator_id is not known."""
    return Ask(
        ApiKey.DESCRIBE_TRANSACTIONS,
        tuple(dict.fromkeys(ids)),
        "describing transactional id",
        lambda keys, _version, _limit_ms: DescribeTransactionsRequest(transactional_ids=keys),
        _read_descriptions,
        route=Route.TRANSACTIONS,
        hints=_HINTS,
    )


def _read_descriptions(body: Any, _version: int, _keys: list[str]) -> Iterable[Reply]:
    for row in body.transaction_states:
        found = TransactionDescription(
            -1,
            TransactionState.read(row.transaction_state),
            row.producer_id,
            row.producer_epoch,
            row.transaction_timeout_ms,
            row.transaction_start_time_ms,
            {
                TopicPartition(topic.topic, number)
                for topic in row.topics
                for number in topic.partitions
            },
        )
        yield Reply(row.transactional_id, row.error_code, found)


# Ending -------------------------------------------------------------------------------------------


def abort_transaction(spec: AbortTransactionSpec) -> Procedure[None]:
    """Have the leader of a partition write a marker that aborts a producer's transaction there,
    whatever its coordinator knows of it.

    InvalidTxnStateError: the producer has none there (if the leader is asked for the epoch of the
    marker). InvalidProducerEpochError, TransactionCoordinatorFencedError: epochs are older.
    """
    epoch = spec.coordinator_epoch
    if epoch < 0:
        found = yield from describe_producers([spec.topic_partition], None)
        epoch = _epoch_of(spec, found[spec.topic_partition].active_producers)

    (outcome,) = yield [_ask_abort(spec._replace(coordinator_epoch=epoch))]
    outcome.all_done()


def _epoch_of(spec: AbortTransactionSpec, producers: Iterable[ProducerState]) -> int:
    """The epoch of the coordinator whose marker was the last of this producer's in a partition."""
    for state in producers:
        if state.producer_id == spec.producer_id and state.current_transaction_start_offset >= 0:
            return max(state.coordinator_epoch, _LOWEST_EPOCH)
    raise InvalidTxnStateError(
        f"{_ABORTING} {plain_name(spec.topic_partition)}: producer {spec.producer_id} has none "
        "there that is open"
    )


def _ask_abort(spec: AbortTransactionSpec) -> Ask:
    def build(_keys: list[TopicPartition], _v: int, _limit_ms: int) -> WriteTxnMarkersRequest:
        cls, tp = WriteTxnMarkersRequest, spec.topic_partition
        # Not of transaction.version 2, whose markers have an epoch above that of the records
        # (KIP-1228): this one has theirs.
        marker = cls.WritableTxnMarker(
            producer_id=spec.producer_id,
            producer_epoch=spec.producer_epoch,
            transaction_result=False,
            topics=[cls.WritableTxnMarkerTopic(name=tp.topic, partition_indexes=[tp.partition])],
            coordinator_epoch=spec.coordinator_epoch,
        )
        return cls(markers=[marker])

    def read(body: Any, _version: int, _keys: list[TopicPartition]) -> Iterable[Reply]:
        for marker in body.markers:
            if marker.producer_id == spec.producer_id:
                for topic in marker.topics:
                    for part in topic.partitions:
                        tp = TopicPartition(topic.name, part.partition_index)
                        yield Reply(tp, part.error_code)

    return Ask(
        ApiKey.WRITE_TXN_MARKERS,
        (spec.topic_partition,),
        _ABORTING,
        build,
        read,
        route=Route.LEADER,
        changes=True,
        hints=_HINTS,
    )


def fence_producers(ids: Sequence[str]) -> Procedure[dict[str, FencedProducer]]:
    """Give these transactional ids their next epochs, which ends what is open under them and shuts
    out whoever has produced. {transactional id: FencedProducer}.
    """

    def build(keys: list[str], _version: int, limit_ms: int) -> InitProducerIdRequest:
        # The timeout is also what a coordinator gives its journal to take the epoch: a short one
        # would fail (Java: FenceProducersHandler).
        return InitProducerIdRequest(transactional_id=keys[0], transaction_timeout_ms=limit_ms)

    def read(body: Any, _version: int, keys: list[str]) -> Iterable[Reply]:
        yield Reply(keys[0], body.error_code, FencedProducer(body.producer_id, body.producer_epoch))

    ask = Ask(
        ApiKey.INIT_PRODUCER_ID,
        tuple(dict.fromkeys(ids)),
        "fencing the producers of transactional id",
        build,
        read,
        route=Route.TRANSACTIONS,
        most=lambda _version: 1,
        changes=True,
        hints=_HINTS,
    )
    (outcome,) = yield [ask]
    return outcome.all_done()
