"""`Producer.send_arrow`: whole tables on their way, and the future of one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from kcore.clients import arguments
from kcore.clients.producer.packing import why_held_up
from kcore.errors import (
    IllegalArgumentError,
    KafkaTimeoutError,
    RecordTooLargeError,
    UsageError,
)
from kcore.produce.accumulator import BATCH_OVERHEAD
from kcore.produce.feeding import PartitionDelivery, RowsDelivery
from kcore.produce.rows import Rows, read_rows
from kcore.structs import TopicPartition

if TYPE_CHECKING:
    from kcore.clients.producer.courier import Courier
    from kcore.clients.producer.dispatch import Dispatch
    from kcore.producer.config import ProducerConfig


class TableFuture:
    """A table on its way. rows: those taken so far."""

    def __init__(self, courier: Courier, delivery: RowsDelivery) -> None:
        self._courier = courier
        self._delivery = delivery

    @property
    def rows(self) -> int:
        """How many rows were taken."""
        return self._delivery.rows

    @property
    def is_done(self) -> bool:
        """Whether every row was delivered, or has failed."""
        return self._delivery.done

    @property
    def failed_rows(self) -> int:
        """How many rows have failed so far."""
        return self._delivery.failed

    def get(self, timeout: float | None = None) -> dict[TopicPartition, PartitionDelivery]:
        """Wait, at most `timeout` seconds, for the end: what each partition has got.

        The first error is raised if a row has failed. KafkaTimeoutError: not over in time.
        ForkedError.
        """
        self._courier.check_process()

        delivery = self._delivery

        def attend(bell: Any) -> Callable[[], object]:
            def ring() -> None:
                bell.set()

            def leave() -> None:
                if ring in delivery.calls:
                    delivery.calls.remove(ring)

            delivery.calls.append(ring)
            return leave

        if not delivery.done:
            self._courier.hurry(delivery.batches)
        if not self._courier.wait(lambda: delivery.done, timeout, attend):
            raise KafkaTimeoutError(f"the table was not delivered within {timeout} s")
        if delivery.error is not None:
            raise delivery.error.with_traceback(None)  # or it grows each time
        return delivery.partitions


class Pour:
    """Rows of one topic that go into batches, as there is room for them.

    span: the first row, and the one behind the last. rows_max: of one attempt; None: no matter.
    held_up: why the last one took nothing.
    """

    def __init__(
        self,
        courier: Dispatch,
        rows: Rows,
        topic: str,
        span: tuple[int, int],
        delivery: RowsDelivery,
        rows_max: int | None,
    ) -> None:
        self.topic = topic
        self._courier = courier
        self._rows = rows
        self._row, self._end = span
        self._delivery = delivery
        self._rows_max = rows_max
        self._seen = courier.errors_seen
        self._since_ms = courier.now_ms()
        self.held_up = ""

    @property
    def done(self) -> bool:
        """Whether every row was taken."""
        return self._row == self._end

    def attempt(self) -> bool:
        """Take what there is room for; False: nothing. What cannot be sent is raised."""
        courier, row, end = self._courier, self._row, self._end
        courier.check()
        courier.raise_errors(self._seen)
        if self._rows_max is not None:
            end = min(end, row + self._rows_max)
        wall_ms = time.time_ns() // 1_000_000
        self._row = courier.core.append_rows(
            self._rows,
            self.topic,
            row,
            end,
            self._delivery,
            courier.now_ms(),
            wall_ms=wall_ms,
            since_ms=self._since_ms,
        )
        courier.nudge()
        self.held_up = courier.core.held_up
        return self._row > row or self.done

    def may_help(self) -> bool:
        """Whether another attempt may come to more than the last."""
        return bool(self._courier.core.takes_rows) or self._courier.errors_seen > self._seen


def pours(
    courier: Dispatch,
    settings: ProducerConfig,
    data: object,
    topic: str | None,
    delivery: RowsDelivery,
    rows_max: int | None = None,
) -> Iterator[Pour]:
    """The rows of `data`, topic by topic; each is to be done before the next is asked for. Errors
    are those of Producer.send_arrow.
    """
    if settings.partitioner is not None:
        raise UsageError(
            "send_arrow chooses partitions as Java's default: with a partitioner of your own, "
            "give a column `partition`"
        )
    name = None if topic is None else arguments.topic_name(topic)
    before = 0
    for rows in read_rows(data):
        _check(rows, settings, name, before)
        begin = 0
        while begin < rows.length:
            target, end = (name, rows.length) if name is not None else rows.topic_run(begin)
            if target is None:
                raise IllegalArgumentError(f"row {before + begin} has no topic")
            target = arguments.topic_name(target)
            yield Pour(courier, rows, target, (begin, end), delivery, rows_max)
            begin = end
        before += rows.length


def send_table(
    courier: Courier, settings: ProducerConfig, data: object, topic: str | None
) -> TableFuture:
    """Take every row of `data`, waiting for room as often as it needs; see Producer.send_arrow."""
    delivery = RowsDelivery()
    limit_ms = settings.max_block_ms
    try:
        for pour in pours(courier, settings, data, topic, delivery):
            while not pour.done:
                if not courier.wait(pour.attempt, limit_ms / 1000, may_help=pour.may_help):
                    why = why_held_up(courier.core, settings, pour.held_up, pour.topic)
                    raise KafkaTimeoutError(why, timeout_ms=limit_ms)
    finally:
        with courier.lock:
            delivery.complete = True
    return TableFuture(courier, delivery)


def _check(rows: Rows, settings: ProducerConfig, topic: str | None, before: int) -> None:
    if topic is None and not rows.has_topic:
        raise IllegalArgumentError("give a topic, or a column `topic`")
    unfit = rows.unfit()
    if unfit is not None:
        raise IllegalArgumentError(f"row {before + unfit[0]}: {unfit[1]}")
    limit = min(settings.max_request_size, settings.buffer_memory)
    found = rows.too_large(limit - BATCH_OVERHEAD)
    if found is not None:
        raise RecordTooLargeError(
            f"row {before + found[0]} takes up to {found[1] + BATCH_OVERHEAD} bytes"
            f"{settings.measured}: more than max_request_size={settings.max_request_size} or "
            f"buffer_memory={settings.buffer_memory}"
        )
