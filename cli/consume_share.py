"""`kcore consume --share`: print a topic's records as a member of a share group (KIP-932).

What was printed is accepted; what was acquired beyond that is released when this ends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

from kcore.cli.consume import POLL_MS, POLL_RECORDS, ConsumeOptions
from kcore.cli.endings import DONE, held, say

if TYPE_CHECKING:
    from kcore import ShareConsumer
    from kcore.cli.formats import Formatter


def consume_share(options: ConsumeOptions, formatter: Formatter, out: BinaryIO) -> int:
    """Print until `count` or Ctrl-C. Raises KafkaError, BrokenPipeError."""
    with open_share_consumer(options) as consumer:
        printer = SharePrinter(consumer, options.count, formatter, out)
        try:
            while not printer.finished():
                printer.step()
        finally:
            printer.commit()
    return DONE


def open_share_consumer(options: ConsumeOptions) -> ShareConsumer:
    """A member that has not begun to read."""
    from kcore import ShareConsumer  # noqa: PLC0415 (it loads the compiled core: not for --help)

    settings: dict[str, object] = {
        "bootstrap_servers": options.bootstrap.split(","),
        "group_id": options.group,
        "client_id": "kcore-consume",
        "share_acknowledgement_mode": "explicit",
    }
    return ShareConsumer(*options.topics, **(settings | dict(options.settings)))


class SharePrinter:
    """The loop's state. count: how many to print; 0: without end."""

    def __init__(
        self, consumer: ShareConsumer, count: int, formatter: Formatter, out: BinaryIO
    ) -> None:
        self._consumer = consumer
        self._count = count
        self._format = formatter
        self._out = out
        self._printed = 0

    def step(self) -> None:
        """Poll once, print what came and accept it; brokers hear of that with the next poll."""
        left = self._count - self._printed if self._count else POLL_RECORDS
        polled = self._consumer.poll(timeout_ms=POLL_MS, max_records=min(left, POLL_RECORDS))
        with held():
            for records in polled.values():
                for record in records:
                    self._out.write(self._format(record))
                self._out.flush()
                for record in records:
                    self._consumer.acknowledge(record)
                self._printed += len(records)

    def finished(self) -> bool:
        """Whether as many were printed as were asked for."""
        return bool(self._count) and self._printed >= self._count

    def commit(self) -> None:
        """Tell brokers what was printed."""
        with held():
            for partition, error in self._consumer.commit().items():
                if error is not None:  # others print these again
                    name = f"{partition.topic}-{partition.partition}"
                    say(f"what was printed of {name} is not accepted: {error}")
