"""The transaction coordinator of a node: requests in, answers, journal entries and markers out.

    owner                                      TransactionCoordinator
      request, its caller, the time      -->    handle_request
      a connection is gone               -->    handle_closed
      time has come                      -->    handle_deadline
      append is through, or failed       -->    handle_appended
      markers are in their logs          -->    handle_marked
      partition gained, read, lost       -->    handle_elected, handle_entries, handle_loaded,
                                                handle_resigned
      what to append, markers, answers   <--    next_append, next_markers, next_reply
      when to come back                  <--    deadline

One input, drain the outputs to None, next input. An outcome counts when its entry is in the
journal: from then on markers are given out until they are written, by whichever node has the
partition. Every request is answered exactly once, or its connection is gone.

Source of the rules: Kafka 4.3 (TransactionCoordinator, TransactionStateManager), KIP-98, KIP-360,
KIP-588, KIP-664, KIP-890.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any, Final

from kcore.coordinator.context import Topics
from kcore.coordinator.desk import Caller, Ticket
from kcore.coordinator.front import Front, drop, partition_for
from kcore.coordinator.journal import OFFSETS_TOPIC
from kcore.coordinator.transactions import adding
from kcore.coordinator.transactions.config import TransactionConfig
from kcore.coordinator.transactions.describing import Described, describe, listed
from kcore.coordinator.transactions.ending import end
from kcore.coordinator.transactions.producers import NOBODY, Producer, init_producer
from kcore.coordinator.transactions.requests import (
    Added,
    AddRequest,
    add_response,
    asked_transactions,
    checked,
)
from kcore.coordinator.transactions.shard import Markers, ProducerIds, Shard
from kcore.coordinator.transactions.transaction import TV_BUMPS, Transaction
from kcore.errors import UsageError
from kcore.structs import TopicPartition
from kcore.wire.codes import ErrorCode
from kcore.wire.message import Message
from kcore.wire.messages import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
    AddPartitionsToTxnRequest,
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    EndTxnRequest,
    EndTxnResponse,
    InitProducerIdRequest,
    InitProducerIdResponse,
    ListTransactionsRequest,
    ListTransactionsResponse,
)

# From these versions on a client knows PRODUCER_FENCED; before, it is told INVALID_PRODUCER_EPOCH
# (KIP-588).
_FENCED_VERSION: Final = {
    InitProducerIdRequest: 4,
    AddPartitionsToTxnRequest: 2,
    AddOffsetsToTxnRequest: 2,
    EndTxnRequest: 2,
}

# From these versions on a client gets a new epoch with each end of a transaction (KIP-890).
_END_BUMPS_VERSION: Final = 5
_ADD_BUMPS_VERSION: Final = 4


class TransactionCoordinator(Front[Shard]):
    """The coordinator of the transactional ids whose partitions of `__transaction_state` this node
    leads.

    ids: gives out producer ids. offsets_partitions: of `__consumer_offsets`. The rest: see `Front`.
    """

    def __init__(
        self,
        config: TransactionConfig,
        ids: ProducerIds,
        topics: Topics | None = None,
        *,
        offsets_partitions: int = 50,
        wall_offset_ms: int = 0,
        immediate: bool = False,
    ) -> None:
        super().__init__(topics, wall_offset_ms=wall_offset_ms, immediate=immediate)
        self._config = config
        self._ids = ids
        self._offsets_partitions = offsets_partitions
        self._markers: deque[Markers] = deque()
        self._handlers: dict[type[Message], Callable[[Ticket, Any, int], None]] = {
            InitProducerIdRequest: self._init,
            AddPartitionsToTxnRequest: self._add_partitions,
            AddOffsetsToTxnRequest: self._add_offsets,
            EndTxnRequest: self._end,
            DescribeTransactionsRequest: self._describe,
            ListTransactionsRequest: self._list,
        }

    # World in ------------------------------------------------------------------------------------

    def handle_request(self, caller: Caller, version: int, request: Message, now_ms: int) -> None:
        """A request, decoded from this version of its API; its answer comes with `next_reply`.

        UsageError for messages that are not the coordinator's.
        """
        handler = self._handlers.get(type(request))
        if handler is None:
            raise UsageError(f"{type(request).__name__} is not for the transaction coordinator")
        handler(self._desk.take(caller, version), request, now_ms)
        self._purgatory.expire(now_ms)

    def handle_marked(
        self, markers: Markers, written: Iterable[TopicPartition], now_ms: int
    ) -> None:
        """These of the markers are in their logs, or their logs are gone. Ignored if the partition
        has been lost since.
        """
        shard = self._shards.get(markers.partition)
        if shard is not None and shard.epoch == markers.coordinator_epoch and not shard.loading:
            shard.marked(markers.transactional_id, written, now_ms)
            self._purgatory.expire(now_ms)

    def handle_finalized(self, transaction_version: int) -> None:
        """The cluster uses the feature `transaction.version` up to this level from now on."""
        self._config = replace(self._config, transaction_version=transaction_version)
        for shard in self._shards.values():
            shard.config = self._config

    def handle_elected(self, partition: int, epoch: int) -> None:
        """The partition is led here from now on, in this epoch; its entries are to come."""
        shard = Shard(
            self._config,
            partition,
            epoch,
            self._ids,
            self._purgatory,
            (self._appends, self._markers),
            self._numbers,
            wall_offset_ms=self._wall_offset_ms,
            immediate=self._immediate,
        )
        self._elect(partition, shard)

    def handle_resigned(self, partition: int, now_ms: int) -> None:
        """Another node leads the partition, or none; harmless if this one did not."""
        super().handle_resigned(partition, now_ms)
        drop(self._markers, partition)

    # Out -----------------------------------------------------------------------------------------

    def next_markers(self) -> Markers | None:
        """What to write to the logs next; None if there is nothing."""
        return self._markers.popleft() if self._markers else None

    def transaction(self, transactional_id: str) -> Transaction | None:
        """What is known of an id that is kept here, to look at; None if there is nothing."""
        shard = self._shards.get(self.partition_for(transactional_id))
        return None if shard is None else shard.get(transactional_id)

    def partition_for(self, transactional_id: str) -> int:
        """Which partition of `__transaction_state` keeps an id."""
        return partition_for(transactional_id, self._config.transaction_state_log_num_partitions)

    # Requests ------------------------------------------------------------------------------------

    def _init(self, ticket: Ticket, request: InitProducerIdRequest, now_ms: int) -> None:
        def done(error: ErrorCode, producer: Producer) -> None:
            ticket.answer(
                InitProducerIdResponse(
                    error_code=_told(error, request, ticket.version),
                    producer_id=producer.producer_id,
                    producer_epoch=producer.epoch,
                )
            )

        named = request.producer_id != NOBODY.producer_id
        shard: Shard | None = None
        error = ErrorCode.NONE
        if named != (request.producer_epoch != NOBODY.epoch):
            error = ErrorCode.INVALID_REQUEST
        elif request.transactional_id is None:
            done(error, Producer(self._ids.new_producer_id(), 0))  # whoever it was before
            return
        elif not request.transactional_id:
            error = ErrorCode.INVALID_REQUEST
        elif not 0 < request.transaction_timeout_ms <= self._config.transaction_max_timeout_ms:
            error = ErrorCode.INVALID_TRANSACTION_TIMEOUT
        else:
            shard, error = self._shard_of(request.transactional_id)
        if error or shard is None:
            done(error, NOBODY)
            return
        init_producer(shard, request, done, now_ms)

    def _add_partitions(
        self, ticket: Ticket, request: AddPartitionsToTxnRequest, now_ms: int
    ) -> None:
        asked = asked_transactions(request, ticket.version)
        results: dict[int, Added] = {}

        def finish(index: int, added: Added) -> None:
            results[index] = (
                {tp: _told(error, request, ticket.version) for tp, error in added.items()}
                if isinstance(added, dict)
                else _told(added, request, ticket.version)
            )
            if len(results) == len(asked):
                found = [results[number] for number in range(len(asked))]
                ticket.answer(add_response(asked, found, ticket.version))

        if not asked:
            ticket.answer(add_response([], [], ticket.version))
        for index, one in enumerate(asked):
            self._add(ticket, one, partial(finish, index), now_ms)

    def _add(
        self,
        ticket: Ticket,
        asked: AddRequest,
        done: Callable[[Added], None],
        now_ms: int,
    ) -> None:
        errors = checked(asked, self._topics, ticket.version)
        if errors:
            done(errors)
            return
        shard, error = self._shard_of(asked.transactional_id)
        if error or shard is None:
            done(dict.fromkeys(asked.partitions, error) if asked.verify_only else error)
            return
        if asked.verify_only:
            done(adding.verify(shard, asked.transactional_id, asked.producer, asked.partitions))
            return
        adding.add(
            shard,
            asked.transactional_id,
            asked.producer,
            asked.partitions,
            TV_BUMPS if ticket.version >= _ADD_BUMPS_VERSION else 0,
            done,
            now_ms,
        )

    def _add_offsets(self, ticket: Ticket, request: AddOffsetsToTxnRequest, now_ms: int) -> None:
        def done(error: ErrorCode) -> None:
            error = _told(error, request, ticket.version)
            ticket.answer(AddOffsetsToTxnResponse(error_code=error))

        shard, error = self._shard_of(request.transactional_id)
        if error or shard is None:
            done(error)
            return
        partition = partition_for(request.group_id, self._offsets_partitions)
        adding.add(
            shard,
            request.transactional_id,
            Producer(request.producer_id, request.producer_epoch),
            frozenset({TopicPartition(OFFSETS_TOPIC, partition)}),
            0,
            done,
            now_ms,
        )

    def _end(self, ticket: Ticket, request: EndTxnRequest, now_ms: int) -> None:
        def done(error: ErrorCode, producer: Producer) -> None:
            ticket.answer(
                EndTxnResponse(
                    error_code=_told(error, request, ticket.version),
                    producer_id=producer.producer_id,
                    producer_epoch=producer.epoch,
                )
            )

        shard, error = self._shard_of(request.transactional_id)
        if error or shard is None:
            done(error, NOBODY)
            return
        end(
            shard,
            request.transactional_id,
            Producer(request.producer_id, request.producer_epoch),
            committed=request.committed,
            client_version=TV_BUMPS if ticket.version >= _END_BUMPS_VERSION else 0,
            done=done,
            now_ms=now_ms,
        )

    def _describe(self, ticket: Ticket, request: DescribeTransactionsRequest, _now_ms: int) -> None:
        response = DescribeTransactionsResponse()
        for transactional_id in request.transactional_ids:
            shard, error = self._shard_of(transactional_id)
            if error or shard is None:
                one = Described(transactional_id=transactional_id, error_code=error)
            else:
                one = describe(transactional_id, shard)
            response.transaction_states.append(one)
        ticket.answer(response)

    def _list(self, ticket: Ticket, request: ListTransactionsRequest, now_ms: int) -> None:
        shards, error = self._all_shards()
        if error:
            ticket.answer(ListTransactionsResponse(error_code=error))
            return
        known = [
            transaction
            for shard in shards
            for transactional_id, transaction in shard.transactions.items()
            if not shard.dying(transactional_id)
        ]
        ticket.answer(listed(known, request, now_ms + self._wall_offset_ms))

    # Shards --------------------------------------------------------------------------------------

    def _shard_of(self, transactional_id: str) -> tuple[Shard | None, ErrorCode]:
        """Who keeps an id, or why nobody here does."""
        if not transactional_id:
            return None, ErrorCode.INVALID_REQUEST
        return self._shard_at(self.partition_for(transactional_id))


def _told(error: ErrorCode, request: Message, version: int) -> ErrorCode:
    """The error as a client of this version knows it."""
    old = version < _FENCED_VERSION[type(request)]
    if old and error == ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return error
