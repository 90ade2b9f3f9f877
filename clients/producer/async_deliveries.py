"""Who is told what becomes of records that were sent from an event loop, beside the futures of
single ones (`loop_door.pyx`): interceptors, and the futures of many.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from kcore.clients.producer.loop_door import is_users_own, metadata_of
from kcore.produce.feeding import PartitionDelivery, RowsDelivery
from kcore.structs import TopicPartition

if TYPE_CHECKING:
    from kcore.clients.interceptors import Headers, ProducerInterceptors
    from kcore.produce.batch import Batch
    from kcore.transports.loops import Loop

_Result = TypeVar("_Result")
Taken = tuple["Batch", int, int]  # a record: its batch, its number there, its timestamp
RowsFuture = asyncio.Future[dict[TopicPartition, PartitionDelivery]]


class Witness:
    """Has interceptors told what becomes of a record, whatever becomes of its future."""

    __slots__ = ("_headers", "_interceptors", "_taken")

    def __init__(
        self, taken: Taken, interceptors: ProducerInterceptors, headers: Headers
    ) -> None:
        self._taken: Taken | None = taken
        self._interceptors = interceptors
        self._headers = headers

    def settle(self, _batch: Batch) -> list[Callable[[], object]]:
        """What is to be called, once, if the record is over."""
        interceptors, headers = self._interceptors, self._headers
        if self._taken is None:
            return []
        batch, number, timestamp_ms = self._taken
        outcome = batch.outcome(number)
        if outcome is None:
            return []
        self._taken = None
        if outcome.error is not None:
            return [partial(interceptors.failed, batch.tp, outcome.error, headers)]
        at = metadata_of(batch.tp, outcome, timestamp_ms)
        return [partial(interceptors.on_acknowledgement, at, None, headers)]


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
            if is_users_own(delivery.error):
                future.exception()  # else the loop would say that nobody has looked at it

    delivery.calls.append(tell)
    for call in delivery.finished():
        call()
    return future
