"""The same bytes read by kafka-python: the same records, field by field."""

from __future__ import annotations

import random

import pytest
from kafka.record import MemoryRecords
from record_batches import Vector, read, vectors

from kcore.records import ConsumerRecord, encode_batch
from kcore.records.message_set import encode_message_set


def theirs(log: bytes) -> list[tuple]:
    """What kafka-python's consumer would hand over, with its fields in its order."""
    found = []
    records = MemoryRecords(log)
    while (batch := records.next_batch()) is not None:
        assert batch.validate_crc()
        if batch.magic == 2 and batch.is_control_batch:
            continue
        epoch = batch.leader_epoch if batch.magic == 2 else -1
        for one in batch:
            assert one.validate_crc()
            sizes = [-1 if item is None else len(item) for item in (one.key, one.value)]
            header_size = -1
            if one.headers:
                header_size = sum(
                    len(name.encode()) + len(item or b"") for name, item in one.headers
                )
            place = ("t", 3, epoch, one.offset, one.timestamp, one.timestamp_type)
            headers = [(name, item) for name, item in one.headers]
            found.append((*place, one.key, one.value, headers, one.checksum, *sizes, header_size))
    return found


def comparable(record: ConsumerRecord) -> tuple:
    """Without a time, the timestamp is -1 here (as in Java) and None there."""
    if record.timestamp_type is None:
        assert record.timestamp == -1
        return tuple(record._replace(timestamp=None))
    return tuple(record)


def compare(log: bytes) -> None:
    assert [comparable(record) for record in read(log)] == theirs(log)


@pytest.mark.parametrize("vector", vectors().values(), ids=lambda vector: vector.name)
def test_vectors(vector: Vector) -> None:
    compare(vector.data)


def field(rng: random.Random) -> bytes | None:
    size = rng.choice([-1, 0, 1, 5, 100, 5000])
    return None if size < 0 else rng.randbytes(size) if rng.random() < 0.5 else b"z" * size


def rows(rng: random.Random) -> list[tuple]:
    return [
        (rng.randrange(2**41), field(rng), field(rng)) for _ in range(rng.choice([1, 2, 9, 60]))
    ]


def with_headers(rng: random.Random, row: tuple) -> tuple:
    names = ("trace", "", "grüß")
    return (*row, [(rng.choice(names), field(rng)) for _ in range(rng.randrange(3))])


@pytest.mark.parametrize("seed", range(40))
def test_random_logs_of_all_formats(seed: int) -> None:
    rng = random.Random(seed)
    log, base = b"", rng.choice([0, 2**31 - 5, 2**40])
    for _ in range(8):
        made = rows(rng)
        base += rng.choice([0, 0, 7])
        offsets = sorted(rng.sample(range(base, base + 2 * len(made)), len(made)))
        options = {"base_offset": base, "offsets": offsets}
        if rng.random() < 0.5:
            codec = rng.choice(["none", "gzip", "snappy", "lz4", "zstd"])
            epoch = rng.randrange(-1, 9)
            append = rng.choice([None, 5])
            made = [with_headers(rng, row) for row in made]
            log += encode_batch(
                made, codec=codec, leader_epoch=epoch, append_time_ms=append, **options
            )
        else:
            magic = rng.randrange(2)
            codec = rng.choice(["none", "gzip", "snappy", "lz4"])
            append = rng.choice([None, 5]) if magic else None
            log += encode_message_set(
                made, magic=magic, codec=codec, append_time_ms=append, **options
            )
        base = offsets[-1] + 1
    compare(log)
