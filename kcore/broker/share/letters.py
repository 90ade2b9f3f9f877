"""Dead letters (KIP-1191): the records that tell of records that were given up.

    headers    __dlq.errors.topic, .partition, .offset, .group, .delivery.count, .message, as text
    key, value the record's own if the group wants them copied, else null; its headers never
    timestamp  when it was written

Source of the rules: a Kafka 4.4.0, and Java's ShareGroupDLQStateManager, ShareGroupDLQRecordFetcher
there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from kcore.broker.batches import CONTROL, HEADER_SIZE, RefusedError, read_header
from kcore.broker.markers import marker_record, read_marker
from kcore.broker.remaking import read_records
from kcore.records import ConsumerRecord, encode_batch
from kcore.tuples import NamedTuple

if TYPE_CHECKING:
    from kcore.broker.log import PartitionLog
    from kcore.broker.share.partition import Dead

_PREFIX: Final = "__dlq.errors."

# Key and value of a record.
Copy = tuple[bytes | None, bytes | None]
_NONE: Final[Copy] = (None, None)

_Letter = tuple[int, bytes | None, bytes | None, list[tuple[str, bytes | None]]]


class Address(NamedTuple):
    """Where records that were given up are, and the group that gave them up."""

    group_id: str
    topic: str
    partition: int


def letters(
    at: Address, dead: Dead, copies: Copies | None, timestamp: int, most: int
) -> Iterator[bytes]:
    """Batches to append for those of a range, in order. copies: where key and value are from; None:
    nowhere. most: bytes of a batch; one that has a single record may have more.
    """
    copied = {} if copies is None else copies.of(dead, most)
    records: list[_Letter] = [
        (timestamp, *copied.get(offset, _NONE), _headers(at, dead, offset))
        for offset in range(dead.first, dead.last + 1)
    ]
    return _batches(records, most)


def _headers(at: Address, dead: Dead, offset: int) -> list[tuple[str, bytes | None]]:
    said = {
        "topic": at.topic,
        "partition": at.partition,
        "offset": offset,
        "group": at.group_id,
        "delivery.count": dead.deliveries,
        "message": dead.why,
    }
    return [(_PREFIX + name, str(value).encode()) for name, value in said.items()]


def _batches(records: list[_Letter], most: int) -> Iterator[bytes]:
    data = encode_batch(records)
    if len(data) <= most or len(records) == 1:
        yield data
        return
    middle = len(records) // 2
    yield from _batches(records[:middle], most)
    yield from _batches(records[middle:], most)


class Copies:
    """Keys and values of records of a log. Ranges that are asked for are in one batch often: it is
    unpacked once.
    """

    def __init__(self, log: PartitionLog) -> None:
        self._log = log
        self._batch: _Unpacked | None = None

    def of(self, dead: Dead, most: int) -> dict[int, Copy]:
        """By offset, what the log has of a range; nothing of what would be too large for a letter,
        of no record of a compressed batch that is with all that it has.
        """
        found: dict[int, Copy] = {}
        offset = dead.first
        while offset <= dead.last:
            batch = self._unpacked(offset)
            if batch is None:
                break
            for one in range(offset, min(dead.last, batch.last) + 1):
                copy, size = batch.records.get(one, (_NONE, 0))
                if max(size, batch.whole) <= most:
                    found[one] = copy
            offset = batch.last + 1
        return found

    def _unpacked(self, offset: int) -> _Unpacked | None:
        """The batch that has an offset, or the next one; None if there is none."""
        batch = self._batch
        if batch is None or not batch.first <= offset <= batch.last:
            try:
                data = self._log.read(offset, 1, at_least_one=True).batches
            except RefusedError:
                return None
            if not data:
                return None
            batch = self._batch = _unpack(data[0])
        return batch


class _Unpacked(NamedTuple):
    """What a batch has, by offset, each with its size; whole: the size of all that was packed."""

    first: int
    last: int
    records: dict[int, tuple[Copy, int]]
    whole: int


def _unpack(data: bytes) -> _Unpacked:
    header = read_header(data)
    marker = read_marker(data) if header.attributes & CONTROL else None
    found: dict[int, tuple[Copy, int]] = {}
    if marker is not None:
        found[header.base_offset] = marker_record(marker), 0
    for record in read_records(data, header) or ():
        found[record.offset] = (record.key, record.value), _size_of(record)
    whole = sum(size for _, size in found.values()) if header.codec else 0
    return _Unpacked(header.base_offset, header.last_offset, found, whole)


def _size_of(record: ConsumerRecord) -> int:
    """Of a record in a batch, in bytes, or a few less: there its offset and time are others."""
    return len(encode_batch([(0, record.key, record.value, record.headers)])) - HEADER_SIZE
