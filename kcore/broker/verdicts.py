"""What is decided about a Produce before any of its batches is looked into: transactions."""

from __future__ import annotations

from typing import Final

from kcore.broker.batches import (
    HEADER_SIZE,
    NO_PRODUCER,
    TRANSACTIONAL,
    Batch,
    RefusedError,
    only_batch,
    read_header,
)
from kcore.broker.calls import Call
from kcore.broker.sequences import Origin
from kcore.broker.topics import Topic
from kcore.broker.verification import VERIFIES_SINCE, Support, ask_coordinator, support
from kcore.structs import TopicPartition
from kcore.wire.codes import ErrorCode
from kcore.wire.messages import ProduceRequest

_TOPIC_IDS_VERSION: Final = 13
_ABORTABLE_VERSION: Final = 11
_ATTRIBUTES_AT: Final = 22  # the lower byte

# Before, the brokers told producers that they did not know them (KIP-360).
_KNOWS_NOBODY_SINCE: Final = (2, 5)

# Old clients would not try again when told these (Java: ReplicaManager.handleProduceAppend).
_RETRIED: Final = (
    ErrorCode.NETWORK_EXCEPTION,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)


class ToldError(RefusedError):
    """The words are for the client, too."""


class Verdicts:
    """What holds for the batches of one request. origin: of all of them."""

    __slots__ = ("_all", "_errors", "origin")

    def __init__(self, origin: Origin) -> None:
        self.origin = origin
        self._all: RefusedError | None = None
        self._errors: dict[TopicPartition, RefusedError] = {}

    def check(self, topic: Topic | None, number: int) -> None:
        """RefusedError if the batch for this partition is not to be kept."""
        if self._all is not None:
            raise self._all
        error = None if topic is None else self._errors.get(TopicPartition(topic.name, number))
        if error is not None:
            raise error

    def refuse_all(self, code: ErrorCode, why: str) -> None:
        """Nothing of the request is kept."""
        self._all = RefusedError(code, why)

    def refuse(self, tp: TopicPartition, error: RefusedError) -> None:
        """Nothing for this partition is kept."""
        self._errors[tp] = error


def judge(call: Call, request: ProduceRequest) -> Verdicts:
    """Ask the transaction coordinator about batches that begin a transaction in their log."""
    release = call.node.cluster.config.release
    kind = support(call.version, _ABORTABLE_VERSION)
    verdicts = Verdicts(Origin(strict=release < _KNOWS_NOBODY_SINCE))
    batches = _transactional(call, request)
    if not batches:
        return verdicts
    # One without a producer says that it is in a transaction and is kept as if it were in none.
    batches = [one for one in batches if one[2].producer_id != NO_PRODUCER]
    producers = {(batch.producer_id, batch.producer_epoch) for _, _, batch in batches}
    if request.transactional_id is None:
        verdicts.refuse_all(
            ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "a transaction without its id"
        )
    elif len(producers) > 1:
        verdicts.refuse_all(
            ErrorCode.INVALID_PRODUCER_ID_MAPPING,
            "Transactional records contained more than one producer ID",
        )
    elif release >= VERIFIES_SINCE:
        _verify(call, request.transactional_id, batches, kind, verdicts)
    return verdicts


def _transactional(call: Call, request: ProduceRequest) -> list[tuple[Topic | None, int, Batch]]:
    """The headers of all transactional batches, and what they are for."""
    found = []
    by_id = call.version >= _TOPIC_IDS_VERSION
    for entry in request.topic_data:
        topic, _ = call.node.cluster.find(entry.name, entry.topic_id, by_id=by_id)
        for part in entry.partition_data:
            data = part.records
            if data is None or len(data) < HEADER_SIZE:
                continue
            if data[_ATTRIBUTES_AT] & TRANSACTIONAL:
                try:
                    found.append((topic, part.index, read_header(only_batch(data))))
                except RefusedError:
                    continue  # it is told when the batch would be kept
    return found


def _verify(
    call: Call,
    transactional_id: str,
    batches: list[tuple[Topic | None, int, Batch]],
    kind: Support,
    verdicts: Verdicts,
) -> None:
    wanted = []
    for topic, number, batch in batches:
        producer_id = batch.producer_id
        try:
            log = call.node.cluster.lead(call.node.node_id, topic, number).log
        except RefusedError:
            continue  # it is told when the batch would be kept
        ongoing = log.sequences.epoch_of(producer_id) == batch.producer_epoch
        if ongoing and producer_id in log.transactions:
            continue
        assert topic is not None
        tp = TopicPartition(topic.name, number)
        try:
            log.sequences.begin(batch, bumps=kind is Support.ADDS)
            wanted.append(tp)
        except RefusedError as refused:
            verdicts.refuse(tp, refused)  # the log is not asked: where it begins is not told
    if not wanted:
        return
    _, _, first = batches[0]
    errors = ask_coordinator(
        call.node,
        transactional_id,
        first.producer_id,
        first.producer_epoch,
        wanted,
        kind,
        call.now_ms,
    )
    for tp, error in errors.items():
        verdicts.refuse(tp, _refusal(error, kind))


def _refusal(error: ErrorCode, kind: Support) -> RefusedError:
    if error is ErrorCode.INVALID_TXN_STATE:
        return ToldError(error, "Partition was not added to the transaction")
    waits = error is ErrorCode.CONCURRENT_TRANSACTIONS and kind is not Support.ADDS
    if waits or error in _RETRIED:
        return ToldError(
            ErrorCode.NOT_ENOUGH_REPLICAS,
            "Unable to verify the partition has been added to the transaction."
            f" Underlying error: {error.name}",
        )
    return RefusedError(error, f"the transaction coordinator says {error.name}")
