"""`Producer.send_arrow`: whole tables on their way, and the future of one."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kcore.clients import arguments
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
    from kcore.clients.courier import Courier
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

        def attend(bell: Any) -> None:
            self._delivery.calls.append(bell.set)

        if not self._courier.wait(lambda: self._delivery.done, timeout, attend):
            raise KafkaTimeoutError(f"the table was not delivered within {timeout} s")
        if self._delivery.error is not None:
            raise self._delivery.error
        return self._delivery.partitions


def send_table(
    courier: Courier,
    settings: ProducerConfig,
    why_held_up: Callable[[str, int], str],
    data: object,
    topic: str | None,
) -> TableFuture:
    """Take every row of `data`; see Producer.send_arrow."""
    if settings.partitioner is not None:
        raise UsageError(
            "send_arrow chooses partitions as Java's default: with a partitioner of your own, "
            "give a column `partition`"
        )
    name = None if topic is None else arguments.topic_name(topic)
    delivery = RowsDelivery()
    before = 0
    try:
        for rows in read_rows(data):
            _check(rows, settings, name, before)
            begin = 0
            while begin < rows.length:
                target, end = (name, rows.length) if name is not None else rows.topic_run(begin)
                if target is None:
                    raise IllegalArgumentError(f"row {before + begin} has no topic")
                target = arguments.topic_name(target)
                _pour(courier, settings, why_held_up, rows, target, (begin, end), delivery)
                begin = end
            before += rows.length
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
            f"row {before + found[0]} takes up to {found[1] + BATCH_OVERHEAD} bytes: more than "
            f"max_request_size={settings.max_request_size} or "
            f"buffer_memory={settings.buffer_memory}"
        )


def _pour(
    courier: Courier,
    settings: ProducerConfig,
    why_held_up: Callable[[str, int], str],
    rows: Rows,
    topic: str,
    span: tuple[int, int],
    delivery: RowsDelivery,
) -> None:
    """Take rows of one topic, waiting for room as often as it needs."""
    core = courier.core
    row, end = span
    seen = courier.errors_seen

    def attempt() -> bool:
        nonlocal row
        courier.check()
        courier.raise_errors(seen)
        before = row
        row = core.append_rows(
            rows, topic, row, end, delivery, courier.now_ms(), wall_ms=time.time_ns() // 1_000_000
        )
        courier.nudge()
        return bool(row == end or row > before)

    def may_help() -> bool:
        return core.takes_rows or courier.errors_seen > seen

    limit_ms = settings.max_block_ms
    while row < end:
        if not courier.wait(attempt, limit_ms / 1000, may_help=may_help):
            raise KafkaTimeoutError(why_held_up(topic, limit_ms), timeout_ms=limit_ms)
