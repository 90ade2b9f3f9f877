"""A reader that gives what a share group has acquired, and nothing else."""

from __future__ import annotations

import pickle
import random

import pytest
from record_batches import of_format

from kcore.errors import DeserializationError
from kcore.records import RecordReader, encode_batch
from kcore.records.acquired import Acquired


def batch(base: int, count: int = 10) -> bytes:
    """A batch of `count` records without a gap."""
    rows = [(100, b"k", b"%d" % at) for at in range(base, base + count)]
    return encode_batch(rows, base_offset=base)


def reader(data: bytes, ranges: list[tuple[int, int, int]], **options: object) -> RecordReader:
    first = ranges[0][0] if ranges else 0
    return RecordReader("t", 0, data, first, acquired=Acquired(ranges), **options)


def drained(one: RecordReader, at_a_time: int = 100) -> list[tuple[int, int]]:
    found = []
    while not (one.exhausted or one.acquired.through):
        found += [(record.offset, record.delivery_count) for record in one.take(at_a_time)]
    return found


@pytest.mark.parametrize("at_a_time", [1, 3, 100])
def test_only_what_is_acquired_is_given_with_its_count(at_a_time):
    one = reader(batch(0) + batch(10), [(2, 3, 1), (4, 4, 7), (8, 12, 2)])
    assert drained(one, at_a_time) == [
        *((2, 1), (3, 1), (4, 7)),
        *((8, 2), (9, 2), (10, 2), (11, 2), (12, 2)),
    ]
    assert one.acquired.gaps == []
    assert one.acquired.through


def test_nothing_acquired_is_nothing_given():
    one = reader(batch(0), [])
    assert one.acquired.through
    assert one.take(5) == []


def test_offsets_without_a_record_are_gaps():
    one = reader(batch(0, count=3) + batch(7, count=3), [(0, 8, 1), (9, 30, 2)])
    assert drained(one) == [(0, 1), (1, 1), (2, 1), (7, 1), (8, 1), (9, 2)]
    assert one.acquired.gaps == [(3, 6), (10, 30)]


def test_an_ordinary_record_has_no_count_and_copies_are_of_the_fields():
    (ordinary,) = RecordReader("t", 0, batch(0, count=1), 0).take(5)
    (shared,) = reader(batch(0, count=1), [(0, 0, 4)]).take(5)
    assert ordinary.delivery_count is None
    assert shared.delivery_count == 4
    assert shared == ordinary
    assert pickle.loads(pickle.dumps(shared)) == shared
    assert shared._replace(value=b"x").delivery_count is None


def test_what_cannot_be_deserialized_is_raised_until_another_reader_begins_behind_it():
    def refuse(_topic: str, _headers: object, data: bytes) -> bytes:
        if data == b"2":
            raise ValueError("no")
        return data

    one = reader(batch(0, count=4), [(0, 3, 1)], value_deserializer=refuse)
    assert [record.offset for record in one.take(9)] == [0, 1]
    for _ in range(2):
        with pytest.raises(DeserializationError) as caught:
            one.take(9)
        assert caught.value.offset == 2
    assert one.acquired.gaps == []


def test_a_take_that_is_struck_gives_nothing_and_loses_nothing():
    strikes = iter([False, False, False, True])

    def strike(_topic: str, _headers: object, data: bytes) -> bytes:
        if next(strikes, False):
            raise KeyboardInterrupt
        return data

    data = batch(0, count=2) + batch(5, count=3)
    one = reader(data, [(0, 5, 1), (6, 9, 3)], value_deserializer=strike)
    assert [record.offset for record in one.take(1)] == [0]
    with pytest.raises(KeyboardInterrupt):
        one.take(9)
    assert drained(one) == [(1, 1), (5, 1), (6, 3), (7, 3)]
    assert one.acquired.gaps == [(2, 4), (8, 9)]


@pytest.mark.parametrize("vector", of_format(0, 1, 2), ids=lambda one: one.name)
def test_of_every_format(vector):
    """Kafka's own batches: every other offset is acquired."""
    offsets = [row[0] for row in vector.delivered][::2]
    if not offsets:
        return
    one = reader(vector.data, [(at, at, 1 + number % 3) for number, at in enumerate(offsets)])
    assert drained(one) == [(at, 1 + number % 3) for number, at in enumerate(offsets)]
    assert one.acquired.gaps == []


@pytest.mark.parametrize("seed", range(20))
def test_whatever_is_acquired_is_given_or_a_gap(seed):
    """Against sets: every offset acquired comes once, as a record or in a gap."""
    rng = random.Random(seed)
    data, there, base = b"", set(), 0
    for _ in range(rng.randint(1, 5)):
        count = rng.randint(1, 12)
        data += batch(base, count=count)
        there |= set(range(base, base + count))
        base += count + rng.choice([0, 0, 3])
    ranges, at = [], 0
    while at < base:
        at += rng.choice([0, 0, 1, 4])
        last = at + rng.randint(0, 7)
        ranges.append((at, last, rng.randint(1, 5)))
        at = last + 1
    one = reader(data, ranges)
    given = drained(one, rng.randint(1, 9))
    one.acquired.end()
    wanted = {at: count for first, last, count in ranges for at in range(first, last + 1)}
    assert given == [(at, wanted[at]) for at in sorted(there & wanted.keys())]
    gaps = [at for first, last in one.acquired.gaps for at in range(first, last + 1)]
    assert gaps == sorted(wanted.keys() - there)
