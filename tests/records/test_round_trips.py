"""Logs of any formats and codecs in a row: what was written is read, as objects and as columns."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from longer import examples
from record_batches import CODECS, take_all

from kcore.records import RecordReader, encode_batch
from kcore.records.arrow import ArrowBatch
from kcore.records.batch import batches_of
from kcore.records.columns import Columns
from kcore.records.message_set import encode_message_set

BYTES = st.none() | st.binary(max_size=40)
HEADERS = st.lists(st.tuples(st.text(max_size=6), st.none() | st.binary(max_size=15)), max_size=3)
ROWS = st.lists(
    st.tuples(st.integers(-1, 2**50), BYTES, BYTES, HEADERS, st.integers(1, 90)),
    min_size=1,
    max_size=12,
)
PART = st.tuples(
    st.sampled_from([(magic, codec) for magic in (0, 1, 2) for codec in CODECS])
    .filter(lambda one: one != (0, "zstd"))
    .filter(lambda one: one != (1, "zstd")),
    ROWS,
    st.none() | st.integers(0, 2**50),  # log-append time
)


def written(parts: list[Any], base: int) -> tuple[bytes, list[Any]]:
    """The log, and what is to be read: offset, timestamp, its type, key, value, headers."""
    log, rows = b"", []
    for (magic, codec), part, append_time in parts:
        time = None if magic == 0 else append_time
        offsets = []
        for timestamp, key, value, headers, step in part:
            offsets.append(base)
            base += step
            at = time if time is not None else timestamp if magic else -1
            kind = None if magic == 0 else int(time is not None)
            rows.append((offsets[-1], at, kind, key, value, headers if magic == 2 else []))
        options: dict[str, Any] = {"offsets": offsets, "base_offset": offsets[0], "codec": codec}
        if time is not None:
            options["append_time_ms"] = time
        if magic == 2:
            log += encode_batch([row[:4] for row in part], **options)
        else:
            log += encode_message_set([row[:3] for row in part], magic=magic, **options)
    return log, rows


def seen(record: Any) -> Any:
    place = (record.offset, record.timestamp, record.timestamp_type)
    return (*place, record.key, record.value, record.headers)


@settings(max_examples=examples(40))
@given(
    st.lists(PART, min_size=1, max_size=5),
    st.integers(0, 2**60),
    st.integers(1, 9),
    st.booleans(),
    st.data(),
)
def test_what_was_written_is_read(
    parts: list[Any], base: int, at_a_time: int, views: bool, data: st.DataObject
) -> None:
    log, rows = written(parts, base)
    start = data.draw(st.sampled_from([row[0] for row in rows])) if rows else base
    rows = [row for row in rows if row[0] >= start]
    objects = take_all(RecordReader("t", 0, log, start), at_a_time)
    assert [seen(record) for record in objects] == rows

    reader = RecordReader("t", 0, log, start)
    found = []
    while not reader.exhausted:
        columns = Columns(at_a_time, views=views, with_headers=True)
        reader.take_columns(columns)
        assert ArrowBatch(columns, include_headers=True).num_rows == columns.rows
        for batch in batches_of(columns):
            found += [seen(record) for record in batch]
            assert list(zip(batch.offsets, batch.keys, batch.values, strict=True)) == [
                (one.offset, one.key, one.value) for one in batch
            ]
    assert found == rows
    assert reader.next_offset == reader.end_offset == rows[-1][0] + 1
