"""Every shape of a record, well formed or not, against a slow reader with one check a byte.

The compiled reader takes most records a shorter way; this one knows no short ways.
"""

from __future__ import annotations

import random
from typing import Any

import pytest
from record_batches import raw_batch, raw_record, varint

from kcore.errors import CorruptRecordError
from kcore.records import RecordReader
from kcore.records.faults import RECORD_FAULTS

(
    BAD_VARINT,
    BAD_LENGTH,
    BAD_KEY,
    BAD_VALUE,
    BAD_HEADER_COUNT,
    BAD_HEADER,
    BAD_END,
) = RECORD_FAULTS[1:]
EDGES = (0, 1, 63, 64, 127, 128, 8191, 8192, 70_000)  # where varints become longer
BYTES = (0x00, 0x01, 0x02, 0x10, 0x7F, 0x80, 0x81, 0xFF)


class BadRecordError(Exception):
    """Its text is what the reader should say."""


def number(data: bytes, at: int, fault: str, bits: int = 32) -> tuple[int, int]:
    """A zigzag varint at `at` and what is behind it."""
    raw = shift = 0
    while True:
        if at >= len(data) or shift >= bits:
            raise BadRecordError(fault)
        raw |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            break
    if raw >> bits:
        raise BadRecordError(fault)
    return (raw >> 1) ^ -(raw & 1), at


def field(data: bytes, at: int, fault: str) -> tuple[bytes | None, int]:
    size, at = number(data, at, fault)
    if size < -1 or size > len(data) - at:
        raise BadRecordError(fault)
    return (None, at) if size < 0 else (data[at : at + size], at + size)


def record(data: bytes, at: int) -> tuple[tuple[Any, ...], int]:
    """Offset delta, timestamp delta, key, value, headers of the record at `at`; where it ends."""
    size, at = number(data, at, BAD_VARINT)
    if size < 1 or size > len(data) - at:
        raise BadRecordError(BAD_LENGTH)
    end = at + size
    data = data[:end]
    time, at = number(data, at + 1, BAD_VARINT, 64)
    delta, at = number(data, at, BAD_VARINT)
    key, at = field(data, at, BAD_KEY)
    value, at = field(data, at, BAD_VALUE)
    count, at = number(data, at, BAD_HEADER_COUNT)
    if count < 0 or (count and count > (end - at) // 2):
        raise BadRecordError(BAD_HEADER_COUNT)
    headers = []
    for _ in range(count):
        name, at = field(data, at, BAD_HEADER)
        item, at = field(data, at, BAD_HEADER)
        if name is None:
            raise BadRecordError(BAD_HEADER)
        headers.append((name.decode(errors="replace"), item))
    if at != end:
        raise BadRecordError(BAD_END)
    return (delta, time, key, value, headers), end


def slowly(body: bytes, count: int) -> tuple[list[tuple[Any, ...]], str]:
    """What the records of a batch are up to the first that is wrong, and what is wrong with it."""
    found: list[tuple[Any, ...]] = []
    at, prior = 0, -1
    for _ in range(count):
        try:
            one, at = record(body, at)
        except BadRecordError as error:
            return found, str(error)
        if not prior < one[0] <= 1_000_000:
            return found, f"offset delta {one[0]} after {prior}"
        found.append(one)
        prior = one[0]
    return found, "" if at == len(body) else "bytes left over after the last record"


def check(body: bytes, count: int) -> None:
    reader = RecordReader("t", 0, raw_batch(body, count, last_delta=1_000_000), 0)
    expected, fault = slowly(body, count)
    taken = []
    if expected:
        for one in reader.take(count):
            headers = [*one.headers]
            taken.append((one.offset, one.timestamp, one.key, one.value, headers))
    assert taken == expected
    if fault:
        with pytest.raises(CorruptRecordError, match=fault):
            reader.take(1)
    else:
        assert reader.exhausted


def sized(size: int) -> bytes:
    return varint(size) + b"x" * size


@pytest.mark.parametrize("behind", [0, 1, 3])
@pytest.mark.parametrize("size", EDGES)
def test_sizes_and_numbers_of_every_length(size: int, behind: int) -> None:
    shapes = [
        raw_record(size, b"\x02k", b"\x02v"),
        raw_record(0, sized(size), b"\x02v"),
        raw_record(0, b"\x01", sized(size)),
        raw_record(0, sized(size), b"\x01", b"\x02\x02h\x02i"),
        raw_record(0, b"\x02k", b"\x00", time=varint(size)),
        raw_record(0, b"\x02k", b"\x00", time=varint(-size - 1)),
    ]
    after = b"".join(raw_record(900_000 + number) for number in range(behind))
    for shape in shapes:
        check(shape + after, 1 + behind)


@pytest.mark.parametrize(
    "body",
    [
        raw_record(0, b"\x02k", b"\x02v"),
        raw_record(0, b"\x01", b"\x01"),
        raw_record(64, b"\x02k", b"\x02v", time=b"\x80\x01"),
        raw_record(0, b"\x02k", b"\x02v", b"\x02\x02h\x01"),
    ],
    ids=["plain", "nulls", "long numbers", "headers"],
)
@pytest.mark.parametrize("behind", [0, 2])
def test_any_two_bytes_of_a_record_changed(body: bytes, behind: int) -> None:
    after = b"".join(raw_record(1_000 + number, b"\x02q", b"\x02w") for number in range(behind))
    rng = random.Random(len(body))
    for first in range(len(body)):
        for byte in BYTES:
            broken = bytearray(body + after)
            broken[first] = byte
            check(bytes(broken), 1 + behind)
            broken[rng.randrange(len(body))] = rng.choice(BYTES)
            check(bytes(broken), 1 + behind)
