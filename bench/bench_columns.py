"""Decoding into columns alone, on one core: 16 KiB batches, slices of the size of a fetch answer.

`columns` copies keys and values, `views` leaves them; `arrow` is views and making the Arrow array.
The slice is read again and again, as if it had just been received.
"""

from __future__ import annotations

from typing import Any

import pytest
from bench_records import encode, measured, rows

from kcore.limits import COLUMN_BYTES, COLUMN_ROWS
from kcore.records import RecordReader
from kcore.records.arrow import ArrowBatch
from kcore.records.columns import Columns

SLICE_BYTES = 4_000_000
CASES = [(10, "none"), (100, "none"), (1024, "none"), (10_240, "none"), (100, "lz4")]


def decode(log: bytes, views: bool, arrow: bool = False) -> int:
    """How many records there are, in columns of the size that a poll gives."""
    reader = RecordReader("t", 0, log, 0)
    count = 0
    while not reader.exhausted:
        columns = Columns(COLUMN_ROWS, COLUMN_BYTES, views=views)
        count += reader.take_columns(columns)
        if arrow:
            ArrowBatch(columns).__arrow_c_array__()
    return count


def log_of(size: int, codec: str) -> tuple[bytes, int]:
    count = SLICE_BYTES // (size + 16)
    return encode(rows(size, count), codec), count


@pytest.mark.parametrize("views", [False, True], ids=["columns", "views"])
@pytest.mark.parametrize(("size", "codec"), CASES)
def test_decode_columns(benchmark: Any, size: int, codec: str, views: bool) -> None:
    log, count = log_of(size, codec)
    assert measured(benchmark, count, decode, log, views) == count
    fastest = benchmark.stats.stats.min
    benchmark.extra_info["gigabytes_per_s"] = round(count * size / fastest / 1e9, 2)


@pytest.mark.parametrize(("size", "codec"), CASES)
def test_decode_arrow(benchmark: Any, size: int, codec: str) -> None:
    log, count = log_of(size, codec)
    assert measured(benchmark, count, decode, log, True, True) == count
