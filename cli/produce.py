"""`kcore produce`: write what comes on standard input to a topic, a record a line.

Records go out as they are read. What was read when it ends, by the end of the input or Ctrl-C, is
delivered, or counted as not written if that is interrupted; what could not be is said with the
number of its line, and nothing behind it is begun.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, BinaryIO, Final

from kcore.cli.endings import DONE, RefusalError, say
from kcore.cli.lines import Line, LineError, Parser, lines
from kcore.errors import KafkaConfigurationError, KafkaError

if TYPE_CHECKING:
    from kcore import Producer
    from kcore.clients.producer.deliveries import RecordFuture

# A topic that is not there is said sooner than a program would want it.
_MAX_BLOCK_MS: Final = 10_000
# After so many lines it is looked which are written: what fails before is said no later.
_LOOK_EVERY: Final = 1_000


@dataclass(frozen=True)
class ProduceOptions:
    """What was asked for. key, headers, partition: of all records, where their line says nothing;
    empty_is_null: an empty key or value is none. settings: of `Producer`.
    """

    topic: str
    bootstrap: str
    key: bytes | None = None
    headers: tuple[tuple[str, bytes], ...] = ()
    partition: int | None = None
    empty_is_null: bool = False
    keep_partitions: bool = False
    quiet: bool = False
    settings: Mapping[str, object] = field(default_factory=dict)


def produce(options: ProduceOptions, parse: Parser, file: BinaryIO) -> int:
    """Write until the end of the input. Raises KafkaError, RefusalError."""
    if file.isatty() and not options.quiet:
        say("a record a line; Ctrl-D ends")
    producer = open_producer(options)
    writer = Writer(producer, options)
    try:
        try:
            writer.write_all(file, parse)
        finally:
            writer.finish()
    finally:
        # Nothing is left; or somebody has interrupted `finish`, and wants no more of it.
        producer.close(0)
        writer.look()
        if not options.quiet:
            say(writer.summary())
    writer.check()
    return DONE


def open_producer(options: ProduceOptions) -> Producer:
    """A producer that knows a broker."""
    from kcore import Producer  # noqa: PLC0415 (it loads the compiled core: not for --help)

    if "transactional_id" in options.settings:
        raise KafkaConfigurationError("transactional_id: kcore produce makes no transactions")
    settings: dict[str, object] = {
        "bootstrap_servers": options.bootstrap.split(","),
        "client_id": "kcore-produce",
        "max_block_ms": _MAX_BLOCK_MS,
    }
    return Producer(**(settings | dict(options.settings)))


class Writer:
    """The loop's state: what is under way, by line, and what is written where."""

    def __init__(self, producer: Producer, options: ProduceOptions) -> None:
        self._producer = producer
        self._options = options
        self._under_way: deque[tuple[int, RecordFuture]] = deque()
        self._written: dict[int, tuple[int, int, int]] = {}  # count, first and last offset
        self._failed: list[tuple[int, Exception | None]] = []

    def write_all(self, file: BinaryIO, parse: Parser) -> None:
        """RefusalError: a line that is no record, or a record that could not be written."""
        source = lines(file)
        for number in count(1):
            try:
                line = next(source, None)
                if line is None:
                    return
                record = parse(line)
            except LineError as wrong:
                raise RefusalError(f"line {number}: {wrong}") from None
            self._write(number, record)
            if not number % _LOOK_EVERY:
                self.look()
                self.check()

    def finish(self) -> None:
        """Wait until all that was read is written, or has failed."""
        self._producer.flush()
        self.look()

    def check(self) -> None:
        """RefusalError: a record could not be written."""
        if self._failed:
            number, error = self._failed[0]
            more = f"; {len(self._failed) - 1} more" if self._failed[1:] else ""
            raise RefusalError(f"line {number}: {type(error).__name__}: {error}{more}") from error

    def summary(self) -> str:
        """What was written, in a line."""
        written = sum(number for number, _, _ in self._written.values())
        places = (
            f"partition {number}: {first}" + f" to {last}" * (last > first)
            for number, (_, first, last) in sorted(self._written.items())
            if first >= 0  # with acks=0 nobody says
        )
        where = ", ".join(places)
        text = f"{written} record{'s' * (written != 1)} written to {self._options.topic}"
        text += f" ({where})" if where else ""
        return text + (f", {len(self._failed)} not" if self._failed else "")

    def _write(self, number: int, line: Line) -> None:
        options = self._options
        value, key = line.value, options.key if line.key is None else line.key
        if options.empty_is_null:
            value, key = value or None, key or None
        partition = line.partition if options.keep_partitions else None
        try:
            future = self._producer.send(
                options.topic,
                value,
                key,
                [*options.headers, *line.headers] or None,
                options.partition if partition is None else partition,
                line.timestamp_ms,
            )
        except (KafkaError, ValueError, OverflowError) as error:
            self._failed.append((number, error))
            self.check()
        except BaseException:  # Ctrl-C, before it was taken
            self._failed.append((number, None))
            raise
        else:
            self._under_way.append((number, future))

    def look(self) -> None:
        """Of those that were taken first: what became of them."""
        while self._under_way and self._under_way[0][1].is_done:
            number, future = self._under_way.popleft()
            found = future.value
            if found is None:
                self._failed.append((number, future.exception))
                continue
            counted, first, _ = self._written.get(found.partition, (0, found.offset, 0))
            self._written[found.partition] = counted + 1, first, found.offset
