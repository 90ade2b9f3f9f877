"""Control batches for who asks, and the headers of batches."""

from __future__ import annotations

import struct

import pytest
from record_batches import of_format, patched, raw_batch, raw_record, take_all, varint, vectors

from kcore.errors import CorruptRecordError
from kcore.records import ControlRecord, RecordReader, encode_batch
from kcore.records.batches import describe_batches
from kcore.records.message_set import encode_message_set
from kcore.structs import ABORT, COMMIT

P1 = 1000
CONTROL = 0x20 | 0x10


def marker(base: int, kind: int, value: bytes | None = b"\0\0\0\0\0\x09", **more: object) -> bytes:
    options = {"producer_id": P1, "producer_epoch": 4, "transactional": True} | more
    row = (70, struct.pack(">hh", 0, kind), value)
    return encode_batch([row], base_offset=base, control=True, leader_epoch=3, **options)


def data(base: int, count: int = 1) -> bytes:
    return encode_batch([(1, None, b"x")] * count, base_offset=base)


def kinds(log: bytes, start: int = 0, **options: object) -> list[tuple[int, int]]:
    reader = RecordReader("t", 0, log, start, keep_control=True, **options)
    take_all(reader, 1)
    return [(one.offset, one.kind) for one in reader.control_records]


def test_kafka_s_markers() -> None:
    log = vectors()["commit_marker"].data
    reader = RecordReader("t", 0, log, 0, keep_control=True)
    assert reader.control_records == []
    assert reader.take(9) == []
    (one,) = reader.control_records
    head = vectors()["commit_marker"].head
    assert one == ControlRecord(
        4_000_000_000, head["max_timestamp"], 7, 4000, 3, COMMIT, b"\0\0\0\1", one.value
    )
    assert one.coordinator_epoch == 9
    assert kinds(vectors()["abort_marker"].data) == [(4_000_000_000, ABORT)]


@pytest.mark.parametrize("aborted", [None, [], [(P1, 0)]])
def test_kinds_in_order_and_unknown_ones(aborted: list[tuple[int, int]] | None) -> None:
    log = marker(0, COMMIT) + data(1) + marker(2, 77) + marker(3, ABORT) + data(4) + marker(5, -1)
    assert kinds(log, aborted=aborted) == [(0, COMMIT), (2, 77), (3, ABORT), (5, -1)]
    assert kinds(log, 3, aborted=aborted) == [(3, ABORT), (5, -1)]
    reader = RecordReader("t", 0, log, 0)
    take_all(reader)
    assert reader.control_records is None


def test_coordinator_epoch() -> None:
    for value, kind, epoch in ((None, ABORT, -1), (b"\0\0\0", ABORT, -1), (b"\0" * 6, 7, -1)):
        reader = RecordReader("t", 0, marker(0, kind, value), 0, keep_control=True)
        take_all(reader)
        assert reader.control_records[0].coordinator_epoch == epoch


def test_control_batches_without_a_producer() -> None:
    log = marker(0, 2, producer_id=-1, producer_epoch=-1, transactional=False) + data(1)
    assert kinds(log) == kinds(log, aborted=[]) == [(0, 2)]


def test_append_time() -> None:
    reader = RecordReader("t", 0, marker(0, COMMIT, append_time_ms=99), 0, keep_control=True)
    take_all(reader)
    assert reader.control_records[0].timestamp == 99


def test_an_interrupted_call_notes_nothing_twice() -> None:
    calls = []

    def once(*_: object) -> None:
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt

    log = marker(0, COMMIT) + data(1) + marker(2, ABORT) + data(3) + marker(4, COMMIT)
    reader = RecordReader("t", 0, log, 0, keep_control=True, value_deserializer=once)
    with pytest.raises(KeyboardInterrupt):
        reader.take(9)
    assert reader.control_records == []
    assert len(reader.take(9)) == 2
    assert [one.offset for one in reader.control_records] == [0, 2, 4]


KEY = varint(4) + b"\0\0\0\1"
BAD = {
    "count too large": raw_batch(raw_record(key=KEY), 2, attributes=CONTROL),
    "count too small": raw_batch(
        raw_record(key=KEY) + raw_record(1, key=KEY), 1, last_delta=1, attributes=CONTROL
    ),
    "offsets the same": raw_batch(raw_record(key=KEY) * 2, 2, attributes=CONTROL),
    "offset behind the last": raw_batch(raw_record(1, key=KEY), 1, attributes=CONTROL),
    "short key": raw_batch(raw_record(key=varint(3) + b"\0\0\0"), 1, attributes=CONTROL),
    "no key": raw_batch(raw_record(), 1, attributes=CONTROL),
    "version negative": raw_batch(raw_record(key=varint(4) + b"\xff\0\0\1"), 1, attributes=CONTROL),
}


@pytest.mark.parametrize("options", [{"keep_control": True}, {"aborted": []}])
@pytest.mark.parametrize("batch", BAD.values(), ids=BAD)
def test_malformed_ones(batch: bytes, options: dict[str, object]) -> None:
    log = data(0) + patched(batch, 0, "q", 5)
    reader = RecordReader("t", 0, log, 0, **options)
    assert len(reader.take(9)) == 1
    for _ in range(3):
        with pytest.raises(CorruptRecordError) as caught:
            reader.take(9)
    assert caught.value.first_offset == 5
    assert not reader.control_records


# Headers ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("vector", of_format(0, 1, 2), ids=lambda vector: vector.name)
def test_headers_are_what_kafka_says(vector: object) -> None:
    found = list(describe_batches(vector.data))
    assert len(found) == vector.batches
    assert sum(one.size_bytes for one in found) == len(vector.data)
    one, head = found[0], vector.head
    names = ["magic", "last_offset", "leader_epoch", "codec", "producer_id", "producer_epoch"]
    names += ["base_sequence", "transactional", "control", "max_timestamp"]
    assert {name: getattr(one, name) for name in names} == {name: head[name] for name in names}
    kind = head["timestamp_type"]
    assert one.timestamp_type == (None if kind < 0 else kind)
    if head["magic"] == 2:
        assert (one.base_offset, one.record_count) == (head["base_offset"], len(vector.rows))
    for size in range(len(vector.data)):
        found = list(describe_batches(memoryview(vector.data)[:size]))
        assert len(found) < vector.batches
        if size > 200:
            break


def test_headers_of_what_is_none() -> None:
    good = data(0) + encode_message_set([(1, None, b"x")], magic=1, base_offset=1)
    for bad in (b"\0" * 200, b"\xff" * 200, patched(data(5), 16, "b", 3), b"x" * 25):
        assert len(list(describe_batches(good + bad))) == 2
    first, second = describe_batches(good)
    assert (second.at, second.base_offset) == (first.size_bytes, 1)
