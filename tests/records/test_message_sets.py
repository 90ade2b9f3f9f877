"""Formats v0 and v1: what is written, nested offsets and times, and messages that are broken."""

from __future__ import annotations

import json
import struct

import lz4.frame
import pytest
from hypothesis import given
from hypothesis import strategies as st
from malformed_messages import (
    BASE,
    CASES,
    GOOD,
    NAMES,
    NUMBERS,
    field,
    message,
    wrapper,
)
from record_batches import Vector, of_format, read, row, run_java, take_all

from kcore.errors import CorruptRecordError
from kcore.records import RecordReader, codecs, encode_batch
from kcore.records.message_set import encode_message_set
from kcore.structs import TopicPartition

MIB = 1 << 20
CODEC = st.sampled_from(NAMES)
MAGIC = st.sampled_from([0, 1])
FIELD = st.none() | st.binary(max_size=40) | st.binary(min_size=100, max_size=300)
ROWS = st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1), FIELD, FIELD), max_size=12)
magics = pytest.mark.parametrize("magic", [0, 1])
packed_magics = pytest.mark.parametrize(
    ("magic", "codec"), [(magic, codec) for magic in (0, 1) for codec in NAMES[1:]]
)


def seen(log: bytes, start: int = 0) -> list[tuple]:
    records = read(log, start)
    return [(one.offset, one.timestamp, one.timestamp_type, one.value) for one in records]


# Writing ------------------------------------------------------------------------------------------


def written(vector: Vector) -> bytes:
    head = vector.head
    logged = head["timestamp_type"] == 1
    return encode_message_set(
        [(time, unhex(key), unhex(value)) for _, time, key, value, _ in vector.rows],
        magic=head["magic"],
        base_offset=4_000_000_000 if "gaps" in vector.name else head["base_offset"],
        codec=head["codec"],
        offsets=[offset for offset, *_ in vector.rows],
        append_time_ms=vector.rows[0][1] if logged else None,
    )


def unhex(text: str | None) -> bytes | None:
    return None if text is None else bytes.fromhex(text)


WHOLE = [one for one in of_format(0, 1) if "sha256" not in str(one.rows)]


@pytest.mark.parametrize("vector", WHOLE, ids=lambda vector: vector.name)
def test_kafka_s_own_bytes(vector: Vector) -> None:
    ours = written(vector)
    if vector.head["codec"] == "none":
        assert ours == vector.data
    else:  # compressors may differ; what stands around and inside may not
        assert ours[:8] == vector.data[:8]
        head_end = 30 if vector.head["magic"] else 22  # up to the value's length
        assert ours[16:head_end] == vector.data[16:head_end]
        assert inner_of(ours) == inner_of(vector.data)


def inner_of(log: bytes) -> bytes:
    """What a wrapper holds."""
    magic, attributes = log[16], log[17]
    unpack = (codecs.DECOMPRESS_V0, codecs.DECOMPRESS_V1)[magic][attributes & 7]
    return unpack(memoryview(log)[34 if magic else 26 :], MIB)


def test_lz4_has_kafka_s_header_checksums() -> None:
    for vector in WHOLE:
        if vector.head["codec"] == "lz4":
            at = 34 if vector.head["magic"] else 26
            ours = written(vector)
            assert ours[at : at + 7] == vector.data[at : at + 7]


@pytest.mark.kafka
def test_kafka_reads_what_we_write() -> None:
    many = [(i, b"%d" % i, b"value" * 50) for i in range(1000)]
    logs = [written(vector) for vector in WHOLE]
    logs += [
        encode_message_set(many, magic=magic, codec=codec, base_offset=7)
        for magic in (0, 1)
        for codec in NAMES
    ]
    lines = run_java("read", stdin="".join(f"{log.hex()}\n" for log in logs)).splitlines()
    for log, line in zip(logs, lines, strict=True):
        theirs = [record for batch in json.loads(line) for record in batch["records"]]
        assert theirs == [row(one) for one in read(log)]


@given(ROWS, MAGIC, CODEC, st.integers(0, 2**62))
def test_round_trip(rows: list[tuple], magic: int, codec: str, base: int) -> None:
    log = encode_message_set(rows, magic=magic, codec=codec, base_offset=base)
    reader = RecordReader("t", 3, log, base)
    assert reader.end_offset == base + len(rows)
    records = take_all(reader, 5)
    times = [time for time, _, _ in rows] if magic else [-1] * len(rows)
    assert [one.timestamp for one in records] == times
    assert [(one.key, one.value) for one in records] == [one[1:] for one in rows]
    assert [one.offset for one in records] == list(range(base, base + len(rows)))
    for one in records:
        assert (one.leader_epoch, one.headers, one.timestamp_type) == (-1, [], 0 if magic else None)
        assert one.serialized_key_size == (-1 if one.key is None else len(one.key))


@given(ROWS, MAGIC, CODEC, st.data())
def test_any_prefix(rows: list[tuple], magic: int, codec: str, data: st.DataObject) -> None:
    log = encode_message_set(rows, magic=magic, codec=codec)
    log += encode_message_set(rows, magic=1 - magic, codec=codec, base_offset=len(rows))
    cut = log[: data.draw(st.integers(0, len(log)))]
    records, whole = read(cut), read(log)
    assert records == whole[: len(records)]


def test_what_cannot_be_written() -> None:
    rows = [(1, None, b"x")]
    with pytest.raises(ValueError, match="not 2"):
        encode_message_set(rows, magic=2)
    with pytest.raises(ValueError, match="zstd needs v2"):
        encode_message_set(rows, magic=1, codec="zstd")
    with pytest.raises(ValueError, match="unknown codec"):
        encode_message_set(rows, magic=1, codec="zip")
    with pytest.raises(ValueError, match="no time"):
        encode_message_set(rows, magic=0, append_time_ms=5)
    with pytest.raises(ValueError, match="offset 3 after 4"):
        encode_message_set(rows, magic=0, base_offset=5, offsets=[3])
    assert encode_message_set([], magic=1, codec="gzip") == b""


# Offsets and times --------------------------------------------------------------------------------


@packed_magics
def test_a_wrapper_that_begins_before_the_position(magic: int, codec: str) -> None:
    rows = [(i, None, b"%d" % i) for i in range(5)]
    log = encode_message_set(rows, magic=magic, codec=codec, base_offset=100)
    for start in range(99, 107):
        reader = RecordReader("t", 3, log, start)
        offsets = [one.offset for one in take_all(reader, 2)]
        assert offsets == list(range(max(start, 100), 105))
        assert reader.next_offset == max(start, 105)


@packed_magics
def test_compacted_wrappers(magic: int, codec: str) -> None:
    rows = [(i, None, b"%d" % i) for i in range(3)]
    log = encode_message_set(
        rows, magic=magic, codec=codec, base_offset=100, offsets=[101, 105, 109]
    )
    log += encode_message_set(rows[:1], magic=magic, base_offset=200)
    assert [one.offset for one in read(log, 100)] == [101, 105, 109, 200]


def test_only_the_differences_of_v1_offsets_inside_count() -> None:
    for first in (0, 7, 98):
        inner = message(first) + message(first + 2)
        assert [offset for offset, *_ in seen(wrapper(inner, 100))] == [98, 100]


def test_v0_offsets_inside_are_absolute() -> None:
    inner = message(98, 0) + message(99, 0)
    reader = RecordReader("t", 3, wrapper(inner, 100, 0), 0)
    assert [one.offset for one in reader.take(9)] == [98, 99]
    assert (reader.next_offset, reader.exhausted) == (101, True)


def test_times() -> None:
    v0, v1 = message(3, 0), message(4, time=70)
    logged = message(5, time=71, attributes=8)
    inner = message(0, time=9) + message(1, time=2**62)
    made = wrapper(inner, 7, time=2**62)
    given_by_the_broker = wrapper(inner, 9, time=99, attributes=8)
    assert seen(v0 + v1 + logged + made + given_by_the_broker) == [
        (3, -1, None, b"v"),
        (4, 70, 0, b"v"),
        (5, 71, 1, b"v"),
        (6, 9, 0, b"v"),
        (7, 2**62, 0, b"v"),
        (8, 99, 1, b"v"),
        (9, 99, 1, b"v"),
    ]


@packed_magics
def test_checksums_are_the_messages_own(magic: int, codec: str) -> None:
    rows = [(i, None, b"%d" % i) for i in range(3)]
    plain = read(encode_message_set(rows, magic=magic))
    packed = read(encode_message_set(rows, magic=magic, codec=codec))
    assert packed == plain
    at = struct.unpack_from(">I", encode_message_set(rows, magic=magic), 12)[0]
    assert plain[0].checksum == at
    assert read(encode_batch(rows))[0].checksum is None


def test_deserializers_and_epochs() -> None:
    log = encode_message_set([(1, b"k", b"v")], magic=1, codec="lz4")
    log += encode_batch([(1, b"k", b"v")], base_offset=1, leader_epoch=6)
    reader = RecordReader(
        "t", 3, log, 0, value_deserializer=lambda _, headers, data: (headers, data)
    )
    assert [one.value for one in reader.take(1)] == [([], b"v")]
    assert (reader.next_epoch, reader.end_epoch) == (-1, 6)
    (record,) = reader.take(5)
    assert (record.leader_epoch, reader.next_epoch) == (6, 6)


@magics
def test_lz4_header_checksums(magic: int) -> None:
    """Right or as old Kafka wrote it: v0 believes none; v1 wants the right one."""
    inner = message(0, magic)
    right = lz4.frame.compress(inner, store_size=False)
    old = codecs.seal_lz4(right, broken=True)
    assert old != right
    for packed in (right, old):
        log = message(0, magic, value=field(packed), attributes=3)
        if magic and packed is old:
            with pytest.raises(CorruptRecordError, match="lz4"):
                read(log)
        else:
            assert len(read(log)) == 1


@magics
def test_lz4_with_a_content_size(magic: int) -> None:
    packed = lz4.frame.compress(message(0, magic), store_size=True)
    assert len(read(message(0, magic, value=field(packed), attributes=3))) == 1


# Broken messages ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "log"), CASES, ids=[name for name, _ in CASES])
def test_a_bad_message_after_good_ones(name: str, log: bytes) -> None:
    later = encode_batch([(1, None, b"later")], base_offset=BASE + 5)
    reader = RecordReader("t", 3, GOOD + log + later, 10)
    assert reader.end_offset == BASE + 6
    assert [record.value for record in reader.take(100)] == [b"1", b"2"]
    messages = set()
    for _ in range(3):
        with pytest.raises(CorruptRecordError) as caught:
            reader.take(100)
        error = caught.value
        assert error.partition == TopicPartition("t", 3)
        assert 12 <= error.first_offset <= BASE <= error.last_offset <= BASE + 4
        assert f"seek to {error.last_offset + 1} to skip it" in str(error)
        assert not reader.exhausted
        assert reader.next_offset == 12
        messages.add(str(error))
    assert len(messages) == 1


@magics
def test_unusable_heads(magic: int) -> None:
    for log in (
        message(-1, magic),
        message(2**63 - 1, magic),
        message(11, magic),
        message(BASE, magic, size=13),
        message(BASE, 3),
    ):
        reader = RecordReader("t", 3, GOOD + log, 10)
        assert reader.end_offset == 12
        assert len(reader.take(10)) == 2
        with pytest.raises(CorruptRecordError) as caught:
            reader.take(10)
        assert caught.value.first_offset == 12


@magics
def test_offsets_inside_that_no_batch_can_span(magic: int) -> None:
    log = wrapper(message(0, magic) + message(2**33, magic), 2**33, magic)
    with pytest.raises(CorruptRecordError, match="offsets from 0 to 8589934592 inside"):
        read(log)


def test_a_v1_message_of_the_size_of_a_v0_one() -> None:
    short = struct.pack(">qi", BASE, 14) + b"\0\0\0\0\1\0" + b"\xff" * 8
    with pytest.raises(CorruptRecordError):
        read(short, check_crcs=False)


def test_a_wrong_checksum_before_a_wrapper_skips_only_its_own() -> None:
    """Where a wrapper's first record is, its header does not say."""
    log = message(BASE, crc=1) + encode_message_set(
        [(1, None, b"x")] * 3, magic=1, codec="gzip", base_offset=BASE + 5
    )
    with pytest.raises(CorruptRecordError) as caught:
        read(log, BASE)
    assert (caught.value.first_offset, caught.value.last_offset) == (BASE, BASE)


@packed_magics
def test_a_bomb_is_refused(magic: int, codec: str) -> None:
    rows = [(1, None, b"\0" * MIB)] * 3
    log = encode_message_set(rows, magic=magic, codec=codec)
    assert len(read(log)) == 3
    with pytest.raises(CorruptRecordError, match=f"more than {MIB} bytes"):
        read(log, max_batch_bytes=MIB)


@given(st.binary(max_size=200), MAGIC, CODEC)
def test_noise_inside_is_no_crash(noise: bytes, magic: int, codec: str) -> None:
    compress = codecs.COMPRESS_V1 if magic else codecs.COMPRESS_V0
    packed = compress[NUMBERS[codec]](noise, None) if NUMBERS[codec] else noise
    log = message(5, magic, value=field(packed), attributes=NUMBERS[codec])
    for check_crcs in (True, False):
        try:
            records = read(log, check_crcs=check_crcs)
        except CorruptRecordError:
            continue
        assert all(0 <= one.offset <= 5 for one in records)
