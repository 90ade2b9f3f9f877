"""Batches written by Kafka's own encoder: whole, cut, in a row, damaged."""

from __future__ import annotations

import json
import random

import pytest
from record_batches import VECTORS, Vector, read, readable, rows, run_java, take_all, vectors

from kcore.errors import CorruptRecordError, KafkaError, UnsupportedCodecError
from kcore.records import RecordReader

every = pytest.mark.parametrize("vector", readable(), ids=lambda vector: vector.name)
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
        assert record.timestamp_type == vector.head["timestamp_type"]


@every
@pytest.mark.parametrize("tail", [b"", b"\0", b"\xff" * 11, "head", "all but one"])
def test_with_a_tail(vector: Vector, tail: bytes | str) -> None:
    if tail == "head":
        tail = vector.data[:61]
    elif tail == "all but one":
        tail = vector.data[:-1]
    assert rows(read(vector.data + tail)) == vector.delivered


@every
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


@every
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


@pytest.mark.parametrize("name", ["v0", "v1"])
def test_formats_not_read_yet(name: str) -> None:
    vector, good = vectors()[name], vectors()["none_mixed"]
    codec = f"message format {name}"
    base = vector.head["base_offset"]
    with pytest.raises(UnsupportedCodecError, match="will follow; seek to") as caught:
        read(vector.data, base)
    assert caught.value.codec == codec
    assert caught.value.partition == ("t", 3)
    assert (caught.value.first_offset, caught.value.last_offset) == (base, vector.end - 1)

    before = bytearray(good.data)
    before[:8] = (base - 7 if base else 0).to_bytes(8, "big")
    reader = RecordReader("t", 3, bytes(before) + vector.data, 0)
    assert len(reader.take(100)) == 7
    for _ in range(3):
        with pytest.raises(UnsupportedCodecError):
            reader.take(100)
        assert not reader.exhausted


@pytest.mark.kafka
def test_the_vectors_are_what_kafka_writes() -> None:
    assert json.loads(run_java()) == json.loads(VECTORS.read_text("utf-8"))
