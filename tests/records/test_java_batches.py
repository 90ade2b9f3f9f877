"""Batches written by Kafka's own encoder: whole, cut, in a row, damaged."""

from __future__ import annotations

import json
import random
import struct

import pytest
from record_batches import VECTORS, Vector, read, rows, run_java, take_all, vectors

from kcore.errors import CorruptRecordError, KafkaError
from kcore.records import RecordReader

ALL = list(vectors().values())
SINGLE = [vector for vector in ALL if vector.batches == 1]
every = pytest.mark.parametrize("vector", ALL, ids=lambda vector: vector.name)
single = pytest.mark.parametrize("vector", SINGLE, ids=lambda vector: vector.name)
SPLITS = (1, 2, 7, 500)


@every
def test_whole(vector: Vector) -> None:
    reader = RecordReader("t", 3, vector.data, vector.rows[0][0])
    assert (reader.end_offset, reader.end_epoch) == (vector.end, vector.head["leader_epoch"])
    records = take_all(reader)
    assert rows(records) == vector.delivered
    assert reader.next_offset == vector.end
    assert reader.next_epoch == vector.head["leader_epoch"]
    assert reader.size_bytes == 0
    for record in records:
        assert (record.topic, record.partition) == ("t", 3)
        assert record.leader_epoch == vector.head["leader_epoch"]
        kind = vector.head["timestamp_type"]
        assert record.timestamp_type == (None if kind < 0 else kind)


@every
@pytest.mark.parametrize("tail", [b"", b"\0", b"\xff" * 11, "head", "all but one"])
def test_with_a_tail(vector: Vector, tail: bytes | str) -> None:
    if tail == "head":
        tail = vector.data[: 61 if vector.head["magic"] == 2 else 17]
    elif tail == "all but one":
        tail = vector.data[: -1 if vector.batches == 1 else 11]
    assert rows(read(vector.data + tail)) == vector.delivered


@single
def test_every_prefix_gives_whole_batches_only(vector: Vector) -> None:
    data = memoryview(vector.data + vectors()["compacted"].data[:70])
    step = 1 if len(data) < 3000 else 7
    for size in [*range(0, len(vector.data), step), len(vector.data) - 1]:
        reader = RecordReader("t", 3, data[:size], 17)
        assert not reader.has_batches
        assert reader.exhausted
        assert reader.size_bytes == size
        assert (reader.next_offset, reader.end_offset, reader.end_epoch) == (17, 17, -1)
        assert reader.take(5) == []
        assert reader.next_offset == 17
    for size in range(len(vector.data), len(data)):
        assert rows(read(data[:size])) == vector.delivered


@every
@pytest.mark.parametrize("at_a_time", SPLITS)
def test_any_split_gives_the_same(vector: Vector, at_a_time: int) -> None:
    reader = RecordReader("t", 3, vector.data, 0)
    assert rows(take_all(reader, at_a_time)) == vector.delivered
    assert reader.next_offset == vector.end


@pytest.mark.parametrize("buffer", [bytes, bytearray, memoryview])
def test_any_buffer(buffer: type) -> None:
    vector = vectors()["none_mixed"]
    assert rows(read(buffer(vector.data))) == vector.rows


@single
def test_a_flipped_bit_is_found_by_the_checksum(vector: Vector) -> None:
    rng = random.Random(7)
    places = range(21 * 8, len(vector.data) * 8)
    for place in rng.sample(places, min(len(places), 1500)):
        damaged = bytearray(vector.data)
        damaged[place // 8] ^= 1 << place % 8
        with pytest.raises(CorruptRecordError):
            read(bytes(damaged))


@every
def test_a_flipped_bit_without_checksums_is_no_crash(vector: Vector) -> None:
    rng = random.Random(8)
    places = range(len(vector.data) * 8)
    for place in rng.sample(places, min(len(places), 1500)):
        damaged = bytearray(vector.data)
        damaged[place // 8] ^= 1 << place % 8
        try:
            records = read(bytes(damaged), check_crcs=False, max_batch_bytes=1 << 20)
        except KafkaError:
            continue
        assert len(records) <= 400
        [tuple(record) for record in records]


MESSAGES = [vector for vector in ALL if vector.batches > 1]


@pytest.mark.parametrize("vector", MESSAGES, ids=lambda vector: vector.name)
def test_every_prefix_gives_whole_messages(vector: Vector) -> None:
    for size in range(len(vector.data)):
        records = read(vector.data[:size])
        assert rows(records) == vector.rows[: len(records)]
    assert len(records) == len(vector.rows) - 1


# The offsets inside of a v0 message cannot be changed from outside.
MOVABLE = [one for one in ALL if one.head["magic"] or one.head["codec"] == "none"]


@every
def test_formats_in_a_row(vector: Vector) -> None:
    for other in MOVABLE:
        both = vector.data + moved(other, vector.end)
        records = read(both)
        assert rows(records)[: len(vector.delivered)] == vector.delivered
        assert len(records) == len(vector.delivered) + len(other.delivered)
        if vector.rows[0][0] > 500:
            records = read(moved(other, 5) + vector.data)
            assert rows(records)[len(other.delivered) :] == vector.delivered


def moved(vector: Vector, to: int) -> bytes:
    """The vector's batches, with offsets from `to` on."""
    out = bytearray(vector.data)
    at = 0
    shift = to - vector.head["base_offset"]
    while at < len(out):
        offset, size = struct.unpack_from(">qi", out, at)
        struct.pack_into(">q", out, at, offset + shift)
        at += 12 + size
    return bytes(out)


@pytest.mark.kafka
def test_the_vectors_are_what_kafka_writes() -> None:
    assert json.loads(run_java()) == json.loads(VECTORS.read_text("utf-8"))
