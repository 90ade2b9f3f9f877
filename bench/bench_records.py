"""Decoding and encoding alone, on one core: 16 KiB batches, `take(500)`, values of 10 B to 1 KiB.

`decode`: the objects are made and dropped. `touch`: key, value and offset of each are read in a
Python loop, too. `encode`: from tuples to bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kcore.records import RecordReader, encode_batch

SIZES = (10, 100, 1024)
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
BATCH_BYTES = 16_384
RECORDS = 100_000
POLL = 500
TIME = 1_700_000_000_000

Row = tuple[int, bytes, bytes]


def rows(size: int, count: int) -> list[list[Row]]:
    """Batches of records with a key of up to 9 bytes and a value that compresses about 3:1."""
    each = max(1, BATCH_BYTES // (size + 16))
    word = b"".join(b"%06x," % (i * 2654435761 % 2**24) for i in range(size // 14 + 1))
    made = [(TIME + i, b"k%d" % i, (b"%d," % i + word * 2)[:size]) for i in range(count)]
    return [made[at : at + each] for at in range(0, count, each)]


def encode(batches: list[list[Row]], codec: str) -> bytes:
    base, log = 0, []
    for batch in batches:
        log.append(encode_batch(batch, base_offset=base, codec=codec))
        base += len(batch)
    return b"".join(log)


def decode(log: bytes) -> int:
    """How many records there are."""
    reader = RecordReader("t", 0, log, 0)
    count = 0
    while not reader.exhausted:
        count += len(reader.take(POLL))
    return count


def touch(log: bytes) -> int:
    """The bytes of all keys and values, plus all offsets."""
    reader = RecordReader("t", 0, log, 0)
    total = 0
    while not reader.exhausted:
        for record in reader.take(POLL):
            key = record.key
            total += len(record.value) + (len(key) if key is not None else 0)
            total += record.offset
    return total


def expected(batches: list[list[Row]]) -> int:
    """What `touch` must find."""
    made = [row for batch in batches for row in batch]
    return sum(len(key) + len(value) for _, key, value in made) + sum(range(len(made)))


def measured(benchmark: Any, count: int, job: Callable[..., Any], *args: Any) -> Any:
    result = benchmark(job, *args)
    mean = benchmark.stats.stats.min
    benchmark.extra_info["million_records_per_s"] = round(count / mean / 1e6, 2)
    return result


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("size", SIZES)
def test_decode(benchmark: Any, size: int, codec: str) -> None:
    log = encode(rows(size, RECORDS), codec)
    assert measured(benchmark, RECORDS, decode, log) == RECORDS


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("size", SIZES)
def test_touch(benchmark: Any, size: int, codec: str) -> None:
    batches = rows(size, RECORDS)
    assert measured(benchmark, RECORDS, touch, encode(batches, codec)) == expected(batches)


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("size", SIZES)
def test_encode(benchmark: Any, size: int, codec: str) -> None:
    batches = rows(size, RECORDS)
    assert decode(measured(benchmark, RECORDS, encode, batches, codec)) == RECORDS
