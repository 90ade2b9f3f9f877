"""What one answer brought of one partition: its bytes, what of them is acquired, and what becomes
of that.
"""

from __future__ import annotations

import struct
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from operator import attrgetter
from typing import Final

from kcore.errors import CorruptRecordError, DeserializationError, UnsupportedCodecError
from kcore.records import ConsumerRecord, RecordReader
from kcore.records.acquired import Acquired, Range
from kcore.records.batches import describe_batches
from kcore.share.config import ReadConfig
from kcore.share.marks import DONE, GAP, HELD, REJECT, RELEASE, RENEWING, WAITING, Marks
from kcore.structs import TopicPartition
from kcore.tuples import NamedTuple

_offset_of = attrgetter("offset")
_PREFIX: Final = struct.Struct(">qi")  # of a batch: offset, length of what follows


class Place(NamedTuple):
    """Where records were acquired: acknowledgements go there, whoever leads the partition now."""

    tp: TopicPartition
    topic_id: bytes
    node_id: int


class Parcel:
    """place: where it was acquired. ranges: what was, as (first, last, delivery count), in order.
    data: record batches, which hold more. expires_at: when the locks have run out for certain (ms),
    but for those that were renewed.

    marks: what has become of each offset. size: bytes held. taken: all that was handed over and may
    be needed again, in order. again: what is to be handed over once more, before all else. fetched:
    the bytes of it. handed_over: how many records, each once.
    """

    __slots__ = (
        "_config",
        "_data",
        "_ranges",
        "_reader",
        "_renewed",
        "_superseded",
        "again",
        "expires_at",
        "fetched",
        "handed_over",
        "marks",
        "place",
        "size",
        "taken",
    )

    def __init__(
        self,
        place: Place,
        ranges: Iterable[Range],
        data: bytes | bytearray | memoryview,
        expires_at: int,
        config: ReadConfig,
    ) -> None:
        self.place = place
        self.expires_at = expires_at
        self.again: list[ConsumerRecord] = []
        self.taken: list[ConsumerRecord] = []
        self._renewed: dict[int, int] = {}  # offset -> when its lock has run out
        self._ranges = tuple(ranges)
        self.marks = Marks(self._ranges)
        self._config = config
        self._data: bytes | bytearray | memoryview | None = data
        self.size = self.fetched = len(data)
        self.handed_over = 0
        self._reader: RecordReader | None = None
        self._superseded = False

    @property
    def waiting(self) -> bool:
        """Whether there may be records to hand over, or something to raise."""
        return bool(self.again) or self._data is not None

    @property
    def through(self) -> bool:
        """Whether nothing is left to be done with it."""
        return not self.waiting and self.marks.through

    # Handing over ----------------------------------------------------------------------------

    def take(self, max_records: int, max_bytes: int) -> tuple[list[ConsumerRecord], int]:
        """Up to so many records, which the application has from here on, and the bytes they took.

        What cannot be read is raised when all before it was handed over, and is seen to: a corrupt
        batch is rejected, one whose codec is missing here and a record that a deserializer refused
        are released. The call behind that goes on behind it.
        """
        if self.again:
            return self._take_again(max_records)
        try:
            reader = self._reader
            if reader is None:
                reader = self._reader = self._open(self._ranges)
            records = reader.take(max_records, max_bytes)
        except DeserializationError as error:
            self._pass_over(-1 if error.offset is None else error.offset, RELEASE)
            raise
        except UnsupportedCodecError as error:
            self._pass_over_batch(error.first_offset, RELEASE)
            raise
        except CorruptRecordError as error:
            self._pass_over_batch(error.first_offset, REJECT)
            raise
        self._note_gaps(reader)
        if records:
            self.handed_over += len(records)
            self.marks.change(WAITING, HELD, records[0].offset, records[-1].offset)
            if self._superseded:
                records = [one for one in records if self.marks.at(one.offset) == HELD]
            if self._config.explicit:
                self.taken += records
        if reader.exhausted or reader.acquired is None or reader.acquired.through:
            self.marks.change(WAITING, GAP)  # there is no record of these
            self._close()
        return records, reader.taken_bytes

    def _take_again(self, max_records: int) -> tuple[list[ConsumerRecord], int]:
        records, self.again = self.again[:max_records], self.again[max_records:]
        for record in records:
            self.marks.put(record.offset, HELD)
        return records, sum(
            max(record.serialized_key_size, 0) + max(record.serialized_value_size, 0)
            for record in records
        )

    def give_back(self, records: Iterable[ConsumerRecord]) -> None:
        """These were taken, and are to be taken again."""
        back = [record for record in records if self.marks.at(record.offset) == HELD]
        for record in back:
            self.marks.put(record.offset, WAITING)
        self.again = back + self.again

    def _open(self, ranges: tuple[Range, ...]) -> RecordReader:
        config, tp = self._config, self.place.tp
        assert self._data is not None
        return RecordReader(
            tp.topic,
            tp.partition,
            self._data,
            ranges[0][0],
            check_crcs=config.check_crcs,
            key_deserializer=config.key_deserializer,
            value_deserializer=config.value_deserializer,
            max_batch_bytes=config.max_batch_bytes,
            acquired=Acquired(ranges),
        )

    def _note_gaps(self, reader: RecordReader | None) -> None:
        if reader is None or reader.acquired is None:
            return
        gaps = reader.acquired.gaps
        for first, last in gaps:
            self.marks.change(WAITING, GAP, first, last)
        gaps.clear()

    def _pass_over_batch(self, first: int | None, mark: int) -> None:
        """The batch that the reader stands at cannot be read, from `first` on: cut it off."""
        reader, data = self._reader, self._data
        if data is None or first is None or reader is None or first >= reader.end_offset:
            self._note_gaps(reader)
            self.marks.change(WAITING, mark)  # its header cannot be used: what is behind it?
            self._close()
            return
        at = len(data) - reader.size_bytes
        behind = at + _PREFIX.size + _PREFIX.unpack_from(data, at)[1]
        self._data, self._reader = memoryview(data)[behind:], None
        following = next(describe_batches(self._data), None)
        self._note_gaps(reader)
        if following is None:
            self.marks.change(WAITING, mark)
            self._close()
        else:
            self._pass_over(following.base_offset - 1, mark)

    def _pass_over(self, last: int, mark: int) -> None:
        """What is acquired up to `last` cannot be handed over; go on behind it."""
        self._note_gaps(self._reader)
        self.marks.change(WAITING, mark, 0, last)
        reader, data = self._reader, self._data
        if reader is not None and data is not None:
            self._data = memoryview(data)[len(data) - reader.size_bytes :]  # whole batches
        self._reader = None
        self._ranges = tuple(
            (max(first, last + 1), end, count) for first, end, count in self._ranges if end > last
        )
        if not self._ranges:
            self._close()

    # Ends ------------------------------------------------------------------------------------

    def _close(self) -> None:
        self._reader, self._data, self.size = None, None, 0

    def release(self) -> None:
        """Hand over no more: who else wants it is to have it."""
        self.again = []
        self.marks.change(WAITING, RELEASE)
        self._close()

    def supersede(self, ranges: Iterable[Range]) -> None:
        """These were acquired anew, elsewhere perhaps: nothing here is about them any more."""
        for first, last, _ in ranges:
            self.marks.drop(first, last)
        self.again = [one for one in self.again if self.marks.at(one.offset) == WAITING]
        self._superseded = True

    def lock_until(self, first: int, last: int, expires_at: int) -> None:
        """The locks of these were renewed; others in the parcel end when they did."""
        self._renewed.update(dict.fromkeys(range(first, last + 1), expires_at))

    def expire(self, now_ms: int) -> None:
        """Let go of what was not handed over while its lock lasted: others have it by now."""
        kept: list[ConsumerRecord] = []
        gone: list[ConsumerRecord] = []
        for record in self.again:
            lasts = self._renewed.get(record.offset, self.expires_at) > now_ms
            (kept if lasts else gone).append(record)
        if self.expires_at <= now_ms:
            self.lose()
            for record in kept:
                self.marks.put(record.offset, WAITING)
        for record in gone:
            self.marks.put(record.offset, DONE)
        self.again = kept

    def lose(self) -> None:
        """What was not handed over is not ours any more."""
        self.again = []
        self.marks.change(WAITING, DONE)
        self._close()

    def renewed(self, first: int, last: int, *, kept: bool) -> None:
        """The broker was asked to renew these. kept: it has, so they are handed over once more; one
        that could not be read here is released after all.
        """
        start = bisect_left(self.taken, first, key=_offset_of)
        end = bisect_right(self.taken, last, key=_offset_of)
        for record in self.taken[start:end]:
            if kept and self.marks.at(record.offset) == RENEWING:
                self.marks.put(record.offset, WAITING)
                self.again.append(record)
        self.marks.change(RENEWING, RELEASE if kept else DONE, first, last)
