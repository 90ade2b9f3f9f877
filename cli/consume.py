"""`kcore consume`: print a topic's records, as a member of a group or alone.

What was printed is what gets committed: offsets move only behind records that left this process.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, BinaryIO, Final

from kcore.cli.endings import DONE, RefusalError, held
from kcore.cli.reading import is_number, is_place
from kcore.errors import (
    CommitFailedError,
    KafkaError,
    LogTruncationError,
    OffsetOutOfRangeError,
    RebalanceInProgressError,
)
from kcore.limits import MAX_INT64
from kcore.structs import OffsetAndMetadata, TopicPartition

if TYPE_CHECKING:
    from kcore import Consumer, ConsumerRecord
    from kcore.cli.formats import Formatter

POLL_MS: Final = 200
POLL_RECORDS: Final = 500
COMMIT_EVERY_S: Final = 1.0
# Where to go on is the user's, by one of these.
_POLICIES: Final = frozenset({"auto_offset_reset", "out_of_range_reset"})


@dataclass(frozen=True)
class ConsumeOptions:
    """What was asked for. `start` is earliest, latest, by_duration:..., an offset, -N (the last N
    of each partition), or @MS (from that time on); `count` 0 is without end.
    """

    topic: str
    bootstrap: str
    group: str | None = None
    partitions: tuple[int, ...] = ()
    start: str = "latest"
    count: int = 0
    stop_at_end: bool = False
    settings: Mapping[str, object] = field(default_factory=dict)

    @property
    def by_nearest(self) -> bool:
        """Whether a place that the log does not have means the nearest one that it has."""
        return is_number(self.start) and _POLICIES.isdisjoint(self.settings)


def consume(options: ConsumeOptions, formatter: Formatter, out: BinaryIO) -> int:
    """Print until `count`, the end, or Ctrl-C. Raises KafkaError, RefusalError, BrokenPipeError."""
    with open_consumer(options) as consumer:
        printer = Printer(consumer, options, formatter, out)
        _begin(consumer, options, printer)
        try:
            while not printer.finished():
                printer.step()
        finally:
            printer.end()
    return DONE


def open_consumer(options: ConsumeOptions) -> Consumer:
    """A consumer that has not begun to read."""
    from kcore import Consumer  # noqa: PLC0415 (it loads the compiled core: not for --help)

    settings: dict[str, object] = {
        "bootstrap_servers": options.bootstrap.split(","),
        "group_id": options.group,
        "client_id": "kcore-consume",
        "enable_auto_commit": False,
        "auto_offset_reset": "latest" if is_place(options.start) else options.start,
    }
    if options.by_nearest:
        settings["out_of_range_reset"] = "none"  # `Printer` hears of it
    return Consumer(**(settings | dict(options.settings)))


def _begin(consumer: Consumer, options: ConsumeOptions, printer: Printer) -> None:
    known = consumer.partitions_for_topic(options.topic)
    if not known:
        raise RefusalError(f"there is no topic {options.topic!r} at {options.bootstrap}")
    if options.group is not None:
        consumer.subscribe([options.topic], listener=printer)
        return
    wanted = options.partitions or tuple(sorted(known))
    strangers = sorted(set(wanted) - set(known))
    if strangers:
        raise RefusalError(f"{options.topic} has no partition {strangers[0]}: {len(known)} in all")
    partitions = [TopicPartition(options.topic, number) for number in wanted]
    consumer.assign(partitions)
    _seek(consumer, options.start, partitions)


def _seek(consumer: Consumer, start: str, partitions: Sequence[TopicPartition]) -> None:
    if start == "earliest":
        consumer.seek_to_beginning(*partitions)
    elif start == "latest":
        consumer.seek_to_end(*partitions)
    elif start.startswith("-"):
        begins = consumer.beginning_offsets(partitions)
        for partition, end in consumer.end_offsets(partitions).items():
            consumer.seek(partition, max(begins[partition], end + int(start)))
    elif start.startswith("@"):
        times = dict.fromkeys(partitions, int(start[1:]))
        for partition, found in consumer.offsets_for_times(times).items():
            if found is None:
                consumer.seek_to_end(partition)
            else:
                consumer.seek(partition, found.offset)
    elif is_place(start):  # by duration begins where nothing is sought
        for partition in partitions:
            consumer.seek(partition, int(start))


class Printer:
    """The loop's state: what was printed, what is committed, where the ends are. A listener of the
    consumer's: what goes to others is committed before.
    """

    def __init__(
        self, consumer: Consumer, options: ConsumeOptions, formatter: Formatter, out: BinaryIO
    ) -> None:
        self._consumer = consumer
        self._options = options
        self._format = formatter
        self._out = out
        self._printed = 0
        self._uncommitted: dict[TopicPartition, OffsetAndMetadata] = {}
        self._commit_at_s = time.monotonic() + COMMIT_EVERY_S
        self._ends: dict[TopicPartition, int] = {}
        self._failure: KafkaError | None = None  # of a commit inside a poll

    def step(self) -> None:
        """Poll once, print what came, commit now and then."""
        left = self._options.count - self._printed if self._options.count else POLL_RECORDS
        try:
            polled = self._consumer.poll(timeout_ms=POLL_MS, max_records=min(left, POLL_RECORDS))
        except (OffsetOutOfRangeError, LogTruncationError) as error:
            if not self._options.by_nearest:
                raise
            self._go_to_nearest(error)
            return
        for partition, records in polled.items():
            self._print(partition, records)
        if self._failure is not None:
            raise self._failure
        if time.monotonic() >= self._commit_at_s:
            self.commit()
            self._take_what_is_new()

    def _take_what_is_new(self) -> None:
        """Partitions that the topic has got meanwhile, as a group would: from their beginning."""
        options = self._options
        if options.group is not None or options.partitions or options.stop_at_end:
            return
        try:
            known = self._consumer.partitions_for_topic(options.topic)
        except KafkaError:  # it is gone, and nobody says whether it is there again
            return
        assigned = self._consumer.assignment()
        new = {TopicPartition(options.topic, number) for number in known} - assigned
        if new:
            self._consumer.assign([*assigned, *new])
            self._consumer.seek_to_beginning(*new)

    def finished(self) -> bool:
        """Whether `count` records were printed, or (if asked for) every partition is at its end."""
        if self._options.count and self._printed >= self._options.count:
            return True
        return self._options.stop_at_end and self._at_end()

    def commit(self) -> None:
        """Commit behind what was printed; without a group there is nothing to do. While the group
        rebalances it has to wait for another time.
        """
        self._commit_at_s = time.monotonic() + COMMIT_EVERY_S
        behind, self._uncommitted = self._uncommitted, {}
        if self._options.group is None or not behind:
            return
        with held():
            try:
                self._consumer.commit(behind)
            except CommitFailedError:
                self._say_printed_again()
            except RebalanceInProgressError:
                self._uncommitted = behind

    def end(self) -> None:
        """The last commit."""
        self.commit()
        if self._options.group is not None and self._uncommitted:
            self._say_printed_again()

    def on_partitions_assigned(self, _assigned: set[TopicPartition]) -> None:
        """They begin where the group is."""

    def on_partitions_revoked(self, _revoked: set[TopicPartition]) -> None:
        """Others go on with these, in a moment."""
        try:
            self.commit()
        except KafkaError as error:
            self._failure = error

    def _say_printed_again(self) -> None:
        """The group has moved on; whoever has these partitions now prints them again."""
        print("kcore: the group rebalanced before a commit", file=sys.stderr)

    def _go_to_nearest(self, error: OffsetOutOfRangeError | LogTruncationError) -> None:
        """Where the log begins, or ends. A leader that has the place, as it says when it is asked,
        is left to its backoff.
        """
        if isinstance(error, LogTruncationError):
            cut = error.divergent_offsets.items()
            wanted = {tp: MAX_INT64 if at is None else at.offset for tp, at in cut}
            asked = {}
        else:
            wanted = asked = dict(error.offsets or {})
        begins = self._consumer.beginning_offsets([*wanted])
        for tp, end in self._consumer.end_offsets([*wanted]).items():
            place = max(begins[tp], min(end, wanted[tp]))
            if place != asked.get(tp):
                self._consumer.seek(tp, place)
                lost = f"has no offset {asked[tp]}" if asked else "was truncated"
                text = f"kcore: {tp.topic}-{tp.partition} {lost}: going on at {place}"
                print(text, file=sys.stderr)

    def _print(self, partition: TopicPartition, records: Sequence[ConsumerRecord]) -> None:
        with held():
            for record in records:
                self._out.write(self._format(record))
            self._out.flush()
            self._printed += len(records)
            last = records[-1]
            self._uncommitted[partition] = OffsetAndMetadata(last.offset + 1, "", -1)

    def _at_end(self) -> bool:
        """The ends are those of when a partition was assigned: a busy topic has an end, too."""
        assigned = self._consumer.assignment()
        new = [partition for partition in assigned if partition not in self._ends]
        if new:
            self._ends.update(self._consumer.end_offsets(new))
        return bool(assigned) and all(self._position(tp) >= self._ends[tp] for tp in assigned)

    def _position(self, partition: TopicPartition) -> int:
        try:
            position = self._consumer.position(partition, timeout_ms=POLL_MS)
        except KafkaError:  # it was taken away meanwhile, or its offset is not known yet
            return -1
        return -1 if position is None else position
