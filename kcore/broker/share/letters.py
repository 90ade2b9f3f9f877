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

from kcore.broker.batches import CONTROL, HEADER_SIZE, Batch, RefusedError, read_header
from kcore.broker.markers import marker_record, read_marker
from kcore.broker.remaking import read_records
from kcore.records import ConsumerRecord, encode_batch
from kcore.tuples import NamedTuple

if TYPE_CHECKING:
    from kcore.broker.log import PartitionLog
    from kcore.broker.share.partition import Dead

_PREFIX: Final = "__dlq.errors."
_READ_BYTES: Final = 1_048_576

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
    at: Address, dead: Dead, log: PartitionLog | None, timestamp: int, most: int
) -> Iterator[bytes]:
    """Batches to append for those of a range, in order. log: where key and value are copied from;
    None: nowhere. most: bytes of a batch; one that has a single record may have more.
    """
    copies = {} if log is None else _copied(log, dead, most)
    records: list[_Letter] = [
        (timestamp, *copies.get(offset, _NONE), _headers(at, dead, offset))
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


def _copied(log: PartitionLog, dead: Dead, most: int) -> dict[int, Copy]:
    """By offset, what the log has of a range; nothing of what would be too large for a letter, of
    no record of a compressed batch that is with all that it has.
    """
    found: dict[int, Copy] = {}
    offset = dead.first
    while offset <= dead.last:
        try:
            batches = log.read(offset, _READ_BYTES, at_least_one=True).batches
        except RefusedError:
            break
        if not batches:
            break
        for data in batches:
            header = read_header(data)
            found |= _copied_from(data, header, dead, most)
            offset = header.last_offset + 1
    return found


def _copied_from(data: bytes, header: Batch, dead: Dead, most: int) -> dict[int, Copy]:
    if header.attributes & CONTROL:
        marker = read_marker(data)
        return {} if marker is None else {header.base_offset: marker_record(marker)}
    records = read_records(data, header) or ()
    whole = sum(map(_size_of, records)) if header.codec else 0
    return {
        record.offset: (record.key, record.value)
        for record in records
        if dead.first <= record.offset <= dead.last and max(whole, _size_of(record)) <= most
    }


def _size_of(record: ConsumerRecord) -> int:
    """Of a record in a batch, in bytes, or a few less: there its offset and time are others."""
    return len(encode_batch([(0, record.key, record.value, record.headers)])) - HEADER_SIZE
