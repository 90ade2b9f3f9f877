"""The encoder: Kafka's bytes where the format fixes them, and read back by both readers."""

from __future__ import annotations

import json
import struct
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from record_batches import CODECS, Vector, of_format, read, row, run_java, take_all, vectors

from kcore.errors import KafkaError
from kcore.records import BatchBuilder, RecordReader, encode_batch

INT64 = st.integers(-(2**63), 2**63 - 1)
FIELD = st.none() | st.binary(max_size=40) | st.binary(min_size=100, max_size=300)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
HEADERS = st.lists(st.tuples(TEXT, FIELD), max_size=4)
ROWS = st.lists(st.tuples(INT64, FIELD, FIELD, HEADERS), max_size=12)
CODEC = st.sampled_from(CODECS)


def options(vector: Vector) -> dict[str, object]:
    """The options that make the header of a vector."""
    head = vector.head
    names = ("base_offset", "leader_epoch", "codec", "producer_id", "producer_epoch")
    names += ("base_sequence", "transactional", "control")
    chosen = {name: head[name] for name in names}
    if head["timestamp_type"]:
        chosen["append_time_ms"] = head["max_timestamp"]
    if head["delete_horizon"] >= 0:
        chosen["delete_horizon_ms"] = head["delete_horizon"]
    return chosen


def written(vector: Vector) -> bytes:
    """The vector's records, encoded by us."""
    # Log-append time hides the times that were appended; they are those of the plain vector.
    plain = vectors()["none_mixed"].rows
    times = plain if vector.head["timestamp_type"] else vector.rows
    rows = []
    for (_, _, key, value, headers), (_, time, *_) in zip(vector.rows, times, strict=True):
        pairs = [(bytes.fromhex(name).decode(), unhex(item)) for name, item in headers]
        rows.append((time, unhex(key), unhex(value), pairs))
    offsets = [offset for offset, *_ in vector.rows]
    last = vector.head["last_offset"]
    return encode_batch(rows, offsets=offsets, last_offset=last, **options(vector))


def unhex(text: str | None) -> bytes | None:
    return None if text is None else bytes.fromhex(text)


def hashed(vector: Vector) -> bool:
    return any("sha256" in str(fields) for fields in vector.rows)


WHOLE = [vector for vector in of_format(2) if not hashed(vector)]


@pytest.mark.parametrize("vector", WHOLE, ids=lambda vector: vector.name)
def test_kafka_s_own_bytes(vector: Vector) -> None:
    ours = written(vector)
    if vector.head["codec"] == "none":
        assert ours == vector.data
    else:  # all of the header but length and checksum; compressors may differ
        assert ours[:8] == vector.data[:8]
        assert ours[12:17] == vector.data[12:17]
        assert ours[21:61] == vector.data[21:61]
    start = vector.head["base_offset"]
    assert read(ours, start) == read(vector.data, start)


@given(ROWS, CODEC, st.integers(0, 2**62), st.integers(-1, 2**31 - 1))
def test_round_trip(rows: list[tuple], codec: str, base: int, epoch: int) -> None:
    log = encode_batch(rows, base_offset=base, codec=codec, leader_epoch=epoch)
    reader = RecordReader("t", 3, log, base)
    records = take_all(reader)
    seen = [(one.timestamp, one.key, one.value, one.headers) for one in records]
    assert seen == rows
    assert [one.offset for one in records] == list(range(base, base + len(rows)))
    assert all(one.leader_epoch == epoch for one in records)
    assert reader.next_offset == base + max(len(rows), 1)


@given(st.sets(st.integers(0, 2**31 - 1), min_size=1, max_size=8), CODEC, st.data())
def test_round_trip_of_gaps(deltas: set[int], codec: str, data: st.DataObject) -> None:
    offsets = [100 + delta for delta in sorted(deltas)]
    last = data.draw(st.integers(offsets[-1], 100 + 2**31 - 1))
    rows = [(1, None, b"x")] * len(offsets)
    log = encode_batch(rows, base_offset=100, offsets=offsets, last_offset=last, codec=codec)
    reader = RecordReader("t", 3, log, 100)
    assert [one.offset for one in take_all(reader, 2)] == offsets
    assert reader.next_offset == last + 1


@given(ROWS, CODEC, st.data())
def test_any_prefix_of_two_batches(rows: list[tuple], codec: str, data: st.DataObject) -> None:
    first = encode_batch(rows, codec=codec)
    log = first + encode_batch(rows, base_offset=len(rows) + 1, codec=codec)
    size = data.draw(st.integers(0, len(log)))
    whole = (size >= len(first)) + (size == len(log))
    assert len(read(log[:size])) == whole * len(rows)


@given(st.binary(max_size=300), st.booleans())
def test_noise_is_no_crash(noise: bytes, sealed: bool) -> None:
    head = struct.pack(">qiib", 0, len(noise) + 5, 0, 2) if sealed else b""
    with suppress(KafkaError):
        read(head + noise, check_crcs=False, max_batch_bytes=1 << 16)


@pytest.mark.parametrize("level", [None, 0, 9])
def test_levels(level: int | None) -> None:
    for codec in ("gzip", "lz4", "zstd"):
        log = encode_batch([(1, None, b"x" * 500)], codec=codec, level=level)
        assert len(read(log)) == 1


def test_a_builder_counts_and_can_be_asked_before_the_end() -> None:
    builder = BatchBuilder(base_offset=5)
    assert (builder.record_count, builder.size_bytes) == (0, 61)
    builder.append(1, b"k", bytearray(b"v"))
    builder.append(2, memoryview(b"k"), None, [("h", None)], offset=8)
    assert builder.record_count == 2
    log = builder.finish()
    assert builder.size_bytes == len(log)
    assert [(one.offset, one.key, one.value) for one in read(log)] == [
        (5, b"k", b"v"),
        (8, b"k", None),
    ]


def test_large_records() -> None:
    rows = [(1, b"k" * 100_000, b"v" * 1_000_000), (2, b"", b"v" * 70_000)]
    assert [(one.key, one.value) for one in read(encode_batch(rows))] == [row[1:] for row in rows]


@pytest.mark.parametrize("expected_bytes", [-1, 0, 100, 20_000, 1 << 40])
@pytest.mark.parametrize("sizes", [[10] * 700, [9_000] * 90, [30_000, 1, 2_000_000, 5]])
def test_what_is_expected_changes_no_byte(expected_bytes: int, sizes: list[int]) -> None:
    rows = [(at, b"k", bytes([at % 256]) * size) for at, size in enumerate(sizes)]
    assert encode_batch(rows, expected_bytes=expected_bytes) == encode_batch(rows)


@pytest.mark.parametrize("offset", [4, 5, 6, 2**31 + 5, -1])
def test_offsets_that_cannot_be(offset: int) -> None:
    builder = BatchBuilder(base_offset=5)
    builder.append(1, None, None, offset=6)
    with pytest.raises(ValueError, match=r"offset .* after 6"):
        builder.append(1, None, None, offset=offset)
    with pytest.raises(ValueError, match="last offset"):
        builder.finish(last_offset=5)
    assert len(read(builder.finish())) == 1


def test_wrong_arguments() -> None:
    with pytest.raises(ValueError, match="snappy has no levels"):
        encode_batch([(1, None, None)], codec="snappy", level=1)
    with pytest.raises(ValueError, match="unknown codec 'zip'"):
        BatchBuilder(codec="zip")
    with pytest.raises(TypeError, match="bytes or None, not str"):
        encode_batch([(1, "k", None)])
    with pytest.raises(TypeError, match="bytes or None, not int"):
        encode_batch([(1, None, None, [("h", 5)])])
    with pytest.raises(TypeError):
        encode_batch([(1, None, None, [(b"h", b"")])])
    with pytest.raises(ValueError, match="zip"):
        encode_batch([(1, None, None)], offsets=[])


@pytest.mark.kafka
def test_kafka_reads_what_we_write() -> None:
    logs = [written(vector) for vector in WHOLE]
    many = [(i, b"%d" % i, b"value" * 50, [("h", None)]) for i in range(1000)]
    logs += [encode_batch(many, codec=codec) for codec in CODECS]
    lines = run_java("read", stdin="".join(f"{log.hex()}\n" for log in logs)).splitlines()
    for log, line in zip(logs, lines, strict=True):
        (head,) = json.loads(line)
        if not head["control"]:
            assert head["records"] == [row(one) for one in read(log)]
        assert head["base_offset"] == struct.unpack_from(">q", log)[0]
