"""What becomes of a record that was sent from an event loop: aiokafka's metadata, and who tells
the future of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from kcore.errors import TransactionAbortedError
from kcore.produce.feeding import PartitionDelivery, RowsDelivery
from kcore.produce.intake import Ticket
from kcore.structs import TopicPartition
from kcore.tuples import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcore.clients.interceptors import Headers, ProducerInterceptors
    from kcore.produce.batch import Batch, Outcome
    from kcore.transports.loops import Loop

CREATE_TIME, LOG_APPEND_TIME = 0, 1

_Result = TypeVar("_Result")
RowsFuture = asyncio.Future[dict[TopicPartition, PartitionDelivery]]


class RecordMetadata(NamedTuple):
    """Where a record is; aiokafka's fields.

    offset: -1 if the broker did not say (acks=0). timestamp: ms; timestamp_type: 0, the record's
    own, 1, of the log append. log_start_offset: where the log began then, -1 if nobody said.
    """

    topic: str
    partition: int
    topic_partition: TopicPartition
    offset: int
    timestamp: int
    timestamp_type: int
    log_start_offset: int


def unknown(tp: TopicPartition) -> RecordMetadata:
    """Of a record that was not delivered; for interceptors, which are given something always."""
    return RecordMetadata(*tp, tp, -1, -1, -1, -1)


class LoopTicket(Ticket):
    """One record on its way, for the loop's future in `calls`. Used in that loop alone."""

    __slots__ = ()

    def settle(self, batch: Batch) -> tuple[()]:
        """Tell the future, if the record is over and nobody has cancelled it; nothing is left to be
        called.
        """
        future: asyncio.Future[RecordMetadata] | None = self.calls
        outcome = None if future is None else self.batch.outcome(self.number)
        if future is None or outcome is None:
            return ()
        self.calls = None
        if future.done():
            return ()
        if outcome.error is None:
            future.set_result(metadata_of(self.batch.tp, outcome, self.timestamp_ms))
        else:
            future.set_exception(outcome.error)
            # Loops say of futures that nobody has looked at that they failed: once a batch is
            # enough, and what the user has aborted is no news.
            if self.courier.told_of is batch or _is_users_own(outcome.error):
                future.exception()
            self.courier.told_of = batch
        return ()


def metadata_of(tp: TopicPartition, outcome: Outcome, timestamp_ms: int) -> RecordMetadata:
    """Of a record that was delivered. timestamp_ms: its own."""
    kind = CREATE_TIME
    if outcome.timestamp_ms >= 0:
        kind, timestamp_ms = LOG_APPEND_TIME, outcome.timestamp_ms
    return RecordMetadata(
        tp.topic, tp.partition, tp, outcome.offset, timestamp_ms, kind, outcome.log_start_offset
    )


class Witness:
    """Has interceptors told what becomes of a record, whatever becomes of its future."""

    __slots__ = ("_headers", "_interceptors", "_ticket")

    def __init__(
        self, ticket: LoopTicket, interceptors: ProducerInterceptors, headers: Headers
    ) -> None:
        self._ticket: LoopTicket | None = ticket
        self._interceptors = interceptors
        self._headers = headers

    def settle(self, _batch: Batch) -> list[Callable[[], object]]:
        """What is to be called, once, if the record is over."""
        ticket, interceptors, headers = self._ticket, self._interceptors, self._headers
        outcome = None if ticket is None else ticket.batch.outcome(ticket.number)
        if ticket is None or outcome is None:
            return []
        self._ticket = None
        if outcome.error is not None:
            tp = ticket.batch.tp
            return [partial(interceptors.failed, tp, outcome.error, headers)]
        at = metadata_of(ticket.batch.tp, outcome, ticket.timestamp_ms)
        return [partial(interceptors.on_acknowledgement, at, None, headers)]


def _is_users_own(error: Exception) -> bool:
    """Whether nothing has failed, but a transaction was aborted."""
    return isinstance(error, TransactionAbortedError) and error.__cause__ is None


def rows_future(loop: Loop, delivery: RowsDelivery) -> RowsFuture:
    """A future of a table that was taken to its last row: what each partition has got, or the first
    error there was.
    """
    return tell_rows(loop, delivery, lambda: delivery.partitions)


def tell_rows(
    loop: Loop, delivery: RowsDelivery, result: Callable[[], _Result]
) -> asyncio.Future[_Result]:
    """A future of many records that were taken: `result()` when all are delivered, or the first
    error there was.
    """
    future: asyncio.Future[_Result] = loop.create_future()

    def tell() -> Any:
        if future.done():
            return
        if delivery.error is None:
            future.set_result(result())
        else:
            future.set_exception(delivery.error)
            if _is_users_own(delivery.error):
                future.exception()  # as above

    delivery.calls.append(tell)
    for call in delivery.finished():
        call()
    return future
