"""`kcore consume`: print a topic's records, as a member of a group or alone.

What was printed is what gets committed: offsets move only behind records that left this process.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from kcore.cli.endings import DONE, RefusalError, held, say
from kcore.cli.places import Offsets, ends, later, patience, seek
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


def is_pattern(topic: str) -> bool:
    """Whether it stands for all topics that it matches: no name begins so."""
    return topic.startswith("^")


@dataclass(frozen=True)
class ConsumeOptions:
    """What was asked for. `topics` are names, or regular expressions that begin with ^; `start` is
    earliest, latest, by_duration:..., an offset, -N (the last N of each partition), or @MS (from
    that time on), `stop` an offset or @MS; `count` 0 is without end.
    """

    topics: tuple[str, ...]
    bootstrap: str
    group: str | None = None
    partitions: tuple[int, ...] = ()
    start: str = "latest"
    count: int = 0
    stop: str | None = None
    stop_at_end: bool = False
    settings: Mapping[str, object] = field(default_factory=dict)

    @property
    def pattern(self) -> str | None:
        """What all names match; None: they are names."""
        if not any(map(is_pattern, self.topics)):
            return None
        each = (name if is_pattern(name) else f"{re.escape(name)}$" for name in self.topics)
        return "|".join(f"(?:{one})" for one in each)

    @property
    def bounded(self) -> bool:
        """Whether partitions have ends here."""
        return self.stop_at_end or self.stop is not None

    @property
    def has_ends(self) -> bool:
        """Whether all that is to be printed is there already."""
        return self.stop_at_end or (self.stop is not None and not is_number(self.stop))

    @property
    def by_nearest(self) -> bool:
        """Whether a place that the log does not have means the nearest one that it has."""
        return is_number(self.start) and _POLICIES.isdisjoint(self.settings)


def consume(options: ConsumeOptions, formatter: Formatter, out: BinaryIO) -> int:
    """Print until `count`, the end, or Ctrl-C. Raises KafkaError, BrokenPipeError, RefusalError:
    also when what is known is printed, and nobody leads the other partitions.
    """
    with open_consumer(options) as consumer:
        printer = Printer(consumer, options, formatter, out)
        _begin(consumer, options, printer)
        try:
            while not printer.finished():
                printer.step()
        finally:
            printer.end()
        printer.check()
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
    known = _known(consumer, options)
    if not all(known.values()):
        missing = next(name for name, numbers in known.items() if not numbers)
        raise RefusalError(f"there is no topic {missing!r} at {options.bootstrap}")
    if not known:
        what = " ".join(options.topics)
        raise RefusalError(f"no topic at {options.bootstrap} matches {what!r}")
    if options.group is not None:
        pattern = options.pattern
        names = options.topics if pattern is None else ()
        consumer.subscribe(names, pattern=pattern, listener=printer)
        return
    if options.partitions:
        ((topic, numbers),) = known.items()
        strangers = sorted(set(options.partitions) - numbers)
        if strangers:
            raise RefusalError(f"{topic} has no partition {strangers[0]}: {len(numbers)} in all")
        known = {topic: set(options.partitions)}
    partitions = _partitions(known)
    consumer.assign(partitions)
    seek(consumer, printer.offsets, options.start, partitions)
    if printer.offsets.lost:
        consumer.assign([tp for tp in partitions if tp not in printer.offsets.lost])


def _known(consumer: Consumer, options: ConsumeOptions) -> dict[str, set[int]]:
    """The partitions of each topic that is wished for."""
    names: Iterable[str] = options.topics
    if options.pattern is not None:
        names = sorted(filter(re.compile(options.pattern).match, consumer.topics()))
    return {name: consumer.partitions_for_topic(name) for name in names}


def _partitions(known: Mapping[str, set[int]]) -> list[TopicPartition]:
    return [TopicPartition(name, number) for name in known for number in sorted(known[name])]


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
        self._look_at_s = 0.0
        # Without an end there is no end of waiting for a leader, either.
        self.offsets = Offsets(consumer, patience(options.settings) if options.bounded else None)
        self._ends: dict[TopicPartition, int] = {}
        self._doubt_at_s = later()
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
        if polled:
            self._doubt_at_s = later()
        elif self._options.has_ends and time.monotonic() >= self._doubt_at_s:
            self._look_for_leaders()
        if self._failure is not None:
            raise self._failure
        if time.monotonic() >= self._commit_at_s:
            self.commit()
            self._take_what_is_new()

    def _take_what_is_new(self) -> None:
        """Partitions and topics that there are meanwhile, as a group would: from their beginning.
        Metadata says of partitions, and is asked for now and then; of topics the cluster is asked.
        """
        options = self._options
        if options.group is not None or options.partitions or options.bounded:
            return
        if options.pattern is not None:
            if time.monotonic() < self._look_at_s:
                return
            every_ms: Any = self._consumer.config["metadata_max_age_ms"]
            self._look_at_s = time.monotonic() + every_ms / 1_000
        try:
            known = _known(self._consumer, options)
        except KafkaError:  # one is gone, and nobody says whether it is there again
            return
        assigned = self._consumer.assignment()
        new = [partition for partition in _partitions(known) if partition not in assigned]
        if new:
            self._consumer.assign([*assigned, *new])
            self._consumer.seek_to_beginning(*new)

    def finished(self) -> bool:
        """Whether `count` records were printed, or (if asked for) every partition is at its end."""
        return self._is_counted() or (self._options.bounded and self._at_end())

    def _is_counted(self) -> bool:
        return 0 < self._options.count <= self._printed

    def check(self) -> None:
        """RefusalError: not all that was asked for is printed, as nobody leads some partitions."""
        if not self._is_counted():
            self.offsets.check("was not read")

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

    def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:
        """Others go on with these, in a moment."""
        for partition in revoked:
            self.offsets.lost.pop(partition, None)
        try:
            self.commit()
        except KafkaError as error:
            self._failure = error

    def _say_printed_again(self) -> None:
        """The group has moved on; whoever has these partitions now prints them again."""
        say("the group rebalanced before a commit")

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
                say(f"{tp.topic}-{tp.partition} {lost}: going on at {place}")

    def _print(self, partition: TopicPartition, records: Sequence[ConsumerRecord]) -> None:
        if self._options.bounded:
            self.offsets.lost.pop(partition, None)  # somebody leads it again
            end = self._end_of([partition]).get(partition, 0)
            if records[-1].offset >= end:
                self._consumer.pause(partition)  # others may still have some
                records = [record for record in records if record.offset < end]
                if not records:
                    return
        with held():
            for record in records:
                self._out.write(self._format(record))
            self._out.flush()
            self._printed += len(records)
            last = records[-1]
            self._uncommitted[partition] = OffsetAndMetadata(last.offset + 1, "", -1)

    def _end_of(self, partitions: Iterable[TopicPartition]) -> Mapping[TopicPartition, int]:
        """The ends are those of when a partition was assigned: a busy topic has an end, too."""
        known = self._ends.keys() | self.offsets.lost.keys()
        new = [partition for partition in partitions if partition not in known]
        if new:
            options = self._options
            self._ends.update(ends(self.offsets, options.stop, options.stop_at_end, new))
        return self._ends

    def _at_end(self) -> bool:
        assigned = self._consumer.assignment()
        self._end_of(assigned)
        return bool(assigned) and not any(map(self._is_open, assigned))

    def _is_open(self, partition: TopicPartition) -> bool:
        """Whether there is still something to read."""
        if partition in self.offsets.lost:
            return False
        return self._position(partition) < self._ends[partition]

    def _look_for_leaders(self) -> None:
        """Nothing has come for a while: of those whose leader is gone nothing will."""
        self._doubt_at_s = later()
        known = self._consumer.assignment() & self._ends.keys()
        self.offsets.end(filter(self._is_open, known))

    def _position(self, partition: TopicPartition) -> int:
        try:
            position = self._consumer.position(partition, timeout_ms=POLL_MS)
        except KafkaError:  # it was taken away meanwhile, or its offset is not known yet
            return -1
        return -1 if position is None else position
