"""Deserializers: how they are called, and what a failing one does."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest
from record_batches import take_all

from kcore.errors import DeserializationError
from kcore.records import RecordReader, encode_batch
from kcore.records.batch import batches_of
from kcore.records.columns import Columns

HEADERS = [("h", b"1")]
LOG = encode_batch([(5, b"k", b"a"), (6, None, b"bad", HEADERS), (7, b"k", None), (8, b"k", b"d")])
MORE = encode_batch([(9, b"k", b"e"), (10, b"k", b"f")], base_offset=4)


def reader(value: Any = None, key: Any = None, start: int = 0, log: bytes = LOG) -> RecordReader:
    return RecordReader("t", 3, log, start, key_deserializer=key, value_deserializer=value)


def test_they_get_topic_headers_and_bytes_or_none() -> None:
    calls = []

    def note(topic: str, headers: list[Any], data: bytes | None) -> object:
        calls.append((topic, headers, data))
        return len(calls)

    records = take_all(reader(note, note))
    assert calls[:4] == [
        ("t", [], b"k"),
        ("t", [], b"a"),
        ("t", HEADERS, None),
        ("t", HEADERS, b"bad"),
    ]
    assert calls[5] == ("t", [], None)
    assert [(record.key, record.value) for record in records] == [(1, 2), (3, 4), (5, 6), (7, 8)]
    sizes = [(record.serialized_key_size, record.serialized_value_size) for record in records]
    assert sizes == [(1, 1), (-1, 3), (1, -1), (1, 1)]


def test_only_one_is_set() -> None:
    assert [r.value for r in take_all(reader(lambda *args: args[2] and args[2].decode()))] == [
        "a",
        "bad",
        None,
        "d",
    ]
    assert [r.key for r in take_all(reader(key=lambda *args: 9))] == [9] * 4


@pytest.mark.parametrize("part", ["key", "value"])
def test_a_failing_one(part: str) -> None:
    bad = (lambda key: key is None) if part == "key" else (lambda value: value == b"bad")
    calls = 0

    def fail(topic: str, headers: list[Any], data: bytes | None) -> bytes | None:
        nonlocal calls
        calls += 1
        if bad(data):
            raise KeyError("no such schema")
        return data

    one = reader(**{part: fail})
    assert [record.offset for record in one.take(100)] == [0]
    assert one.next_offset == 1
    for _ in range(3):
        with pytest.raises(DeserializationError) as caught:
            one.take(100)
        error = caught.value
        assert (error.partition, error.offset, error.part) == (("t", 3), 1, part)
        assert isinstance(error.__cause__, KeyError)
        assert "t-3" in str(error)
        assert "no such schema" in str(error)
        assert "seek to 2 to skip it" in str(error)
        assert (error.record.offset, error.record.key, error.record.value) == (1, None, b"bad")
        assert error.record.headers == HEADERS
        assert (one.next_offset, one.exhausted) == (1, False)
    assert calls == 5  # once each for two records, and again at each call

    after = reader(start=2, **{part: fail})
    assert [record.offset for record in after.take(100)] == [2, 3]


def test_one_that_recovers_goes_on() -> None:
    broken = True

    def moody(topic: str, headers: list[Any], data: bytes | None) -> bytes | None:
        if broken and data == b"bad":
            raise ValueError("not now")
        return data

    one = reader(moody)
    one.take(1)
    with pytest.raises(DeserializationError):
        one.take(10)
    broken = False
    assert [record.offset for record in one.take(10)] == [1, 2, 3]


@pytest.mark.parametrize("stop_at", range(6))
@pytest.mark.parametrize("taken_before", range(3))
def test_an_interrupt_loses_no_record(stop_at: int, taken_before: int) -> None:
    armed = False

    def interrupted(topic: str, headers: list[Any], data: bytes | None) -> bytes | None:
        if armed and data == b"aabdef"[stop_at : stop_at + 1]:
            raise KeyboardInterrupt
        return data

    one = reader(interrupted, log=LOG + MORE)
    before = [record.offset for record in one.take(taken_before)] if taken_before else []
    armed = True
    try:
        got = [record.offset for record in one.take(100)]
    except KeyboardInterrupt:
        got = []
        assert one.next_offset == taken_before
    armed = False
    while not one.exhausted:
        got += [record.offset for record in one.take(100)]
    assert before + got == list(range(6))
    assert one.next_offset == 6


def test_values_that_know_their_record_are_collected() -> None:
    class Value:
        record: object = None

    (record,) = reader(lambda *_: Value(), log=encode_batch([(1, None, b"v")])).take(1)
    record.value.record = record
    alive = weakref.ref(record.value)
    del record
    gc.collect()
    assert alive() is None


@pytest.mark.parametrize("part", ["key", "value"])
def test_a_failing_one_of_a_batch(part: str) -> None:
    bad = (lambda key: key is None) if part == "key" else (lambda value: value == b"bad")

    def fail(topic: str, headers: list[Any], data: bytes | None) -> object:
        if bad(data):
            raise KeyError("no such schema")
        return (topic, data)

    columns = Columns(with_headers=True)
    reader().take_columns(columns)
    (batch,) = batches_of(columns, **{f"{part}_deserializer": fail})
    for _ in range(2):
        seen = []
        with pytest.raises(DeserializationError) as caught:
            seen.extend(record.offset for record in batch)
        error = caught.value
        assert (error.partition, error.offset, error.part) == (("t", 3), 1, part)
        assert (error.record.key, error.record.value) == (None, b"bad")
        assert error.record.headers == HEADERS
        assert isinstance(error.__cause__, KeyError)
    it = iter(batch)
    assert getattr(next(it), part)[0] == "t"
    with pytest.raises(DeserializationError):
        next(it)
    assert [record.offset for record in it] == [2, 3], "it goes on behind the one that failed"
    assert [record.offset for record in batch[2:]] == [2, 3]
    with pytest.raises(DeserializationError):
        batch.tolist()
    assert batch.values[1] == b"bad"
