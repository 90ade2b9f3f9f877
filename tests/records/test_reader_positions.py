"""Where a reader is: offsets, epochs, what is passed over (rules I1 and I3, vectors F11-F15)."""

from __future__ import annotations

import random
import struct

import pytest
from record_batches import CODECS, raw_batch, read, take_all

from kcore.errors import ConcurrentUseError, CorruptRecordError
from kcore.records import RecordReader, encode_batch

ABORT, COMMIT = 0, 1
P1, P2 = 1000, 2000


def data(base: int, count: int, producer: int = -1, **options: object) -> bytes:
    """A batch of `count` records from `base` on; transactional if it has a producer."""
    rows = [(100 + base + i, b"k", b"%d" % (base + i)) for i in range(count)]
    return encode_batch(
        rows,
        base_offset=base,
        producer_id=producer,
        producer_epoch=0 if producer >= 0 else -1,
        base_sequence=0 if producer >= 0 else -1,
        **{"transactional": producer >= 0, **options},
    )


def marker(base: int, producer: int, kind: int, **options: object) -> bytes:
    row = (1, struct.pack(">hh", 0, kind), struct.pack(">hi", 0, 0))
    return encode_batch(
        [row],
        base_offset=base,
        producer_id=producer,
        producer_epoch=0,
        transactional=True,
        control=True,
        **options,
    )


def offsets(log: bytes, aborted: list[tuple[int, int]] | None = None, start: int = 0) -> list[int]:
    return [record.offset for record in read(log, start, aborted=aborted)]


def test_nothing() -> None:
    reader = RecordReader("t", 0, b"", 5)
    assert not reader.has_batches
    assert reader.exhausted
    assert (reader.size_bytes, reader.next_offset, reader.end_offset) == (0, 5, 5)
    assert reader.take(1) == []


@pytest.mark.parametrize("count", [0, -1])
def test_take_wants_at_least_one(count: int) -> None:
    with pytest.raises(ValueError, match="max_records"):
        RecordReader("t", 0, data(0, 1), 0).take(count)


def test_a_take_ends_with_the_record_that_fills_it() -> None:
    log = encode_batch([(0, None, bytes(92))] * 7) + data(7, 2)
    each = log.index(b"\0" * 92, 61) + 92 + 1 - 61  # up to behind the header count
    reader = RecordReader("t", 0, log, 0)
    assert len(reader.take(100, 1)) == 1
    assert reader.taken_bytes == each
    assert len(reader.take(100, 2 * each)) == 2
    assert len(reader.take(100, 2 * each + 1)) == 3
    assert reader.taken_bytes == 3 * each
    assert len(reader.take(100, 1000)) == 3  # across batches
    assert reader.exhausted
    with pytest.raises(ValueError, match="max_bytes"):
        reader.take(1, 0)


def test_the_position_moves_with_each_take() -> None:
    log = data(0, 3, leader_epoch=4) + data(3, 2, leader_epoch=9)
    reader = RecordReader("t", 0, log, 0)
    assert (reader.next_offset, reader.next_epoch) == (0, -1)
    assert (reader.end_offset, reader.end_epoch) == (5, 9)
    seen = []
    while not reader.exhausted:
        taken = reader.take(2)
        seen.append((len(taken), reader.next_offset, reader.next_epoch))
    assert seen == [(2, 2, 4), (2, 4, 9), (1, 5, 9)]


def test_size_goes_down_batch_by_batch_and_the_bytes_are_let_go() -> None:
    first, second = data(0, 3), data(3, 3)
    held = bytearray(first + second)
    reader = RecordReader("t", 0, held, 0)
    sizes = [reader.size_bytes]
    while not reader.exhausted:
        with pytest.raises(BufferError):
            held.append(0)
        reader.take(2)
        sizes.append(reader.size_bytes)
    assert sizes == [len(held), len(held), len(second), 0]
    held.append(0)


def test_records_do_not_hold_the_buffer() -> None:
    held = bytearray(data(0, 3, codec="none"))
    records = read(held)
    held.clear()
    assert [record.value for record in records] == [b"0", b"1", b"2"]


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("start", range(7))
def test_i1_records_below_the_fetch_offset_are_passed_over(start: int, codec: str) -> None:
    log = data(0, 3, codec=codec) + data(3, 3, codec=codec)
    reader = RecordReader("t", 0, log, start)
    assert [record.offset for record in take_all(reader, 2)] == list(range(start, 6))
    assert reader.next_offset == 6


def test_a_batch_wholly_below_does_not_move_the_position() -> None:
    reader = RecordReader("t", 0, data(0, 3), 9)
    assert (reader.has_batches, reader.end_offset) == (True, 9)
    assert reader.take(10) == []
    assert (reader.exhausted, reader.next_offset) == (True, 9)


def test_f11_the_last_record_is_compacted_away() -> None:
    log = encode_batch([(1, None, b"x")] * 3, last_offset=3)
    reader = RecordReader("t", 0, log, 0)
    assert len(reader.take(3)) == 3
    assert (reader.next_offset, reader.exhausted) == (4, True)


def test_gaps_inside_and_between_batches() -> None:
    rows = [(1, None, b"x")] * 3
    log = encode_batch(rows, base_offset=5, offsets=[6, 8, 11], last_offset=20) + data(40, 1)
    assert offsets(log) == [6, 8, 11, 40]
    reader = RecordReader("t", 0, log, 0)
    reader.take(3)
    assert reader.next_offset == 21
    assert offsets(log, start=9) == [11, 40]
    assert offsets(log, start=30) == [40]


@pytest.mark.parametrize("codec", CODECS)
def test_an_empty_batch_moves_the_position(codec: str) -> None:
    log = encode_batch([], base_offset=5, last_offset=9, codec=codec, leader_epoch=2) + data(10, 1)
    reader = RecordReader("t", 0, log, 5)
    assert [record.offset for record in reader.take(1)] == [10]
    bare = raw_batch(b"", 0, base_offset=5, last_delta=4, attributes=3)
    reader = RecordReader("t", 0, bare, 5)
    assert reader.take(1) == []
    assert (reader.exhausted, reader.next_offset, reader.next_epoch) == (True, 10, 5)


@pytest.mark.parametrize("aborted", [None, []])
def test_control_batches_only_move_the_position(aborted: list[tuple[int, int]] | None) -> None:
    reader = RecordReader("t", 0, marker(4, P1, COMMIT, leader_epoch=3), 4, aborted=aborted)
    assert (reader.has_batches, reader.exhausted, reader.end_offset) == (True, False, 5)
    assert reader.take(10) == []
    assert (reader.exhausted, reader.next_offset, reader.next_epoch) == (True, 5, 3)


F12 = (
    data(0, 2, P1)
    + data(2, 1, P2)
    + marker(3, P1, COMMIT)
    + data(4, 1, P2)
    + marker(5, P2, ABORT)
    + data(6, 1, P1)
    + data(7, 1, P2)
    + data(8, 1, P1)
    + marker(9, P1, ABORT)
    + marker(10, P2, COMMIT)
)
F13 = data(0, 2, P1) + marker(2, P1, ABORT) + marker(3, P1, ABORT) + data(4, 2, P1)
F13 += marker(6, P1, COMMIT)


@pytest.mark.parametrize("turn", [1, -1])
@pytest.mark.parametrize("at_a_time", [1, 2, 500])
def test_f12_interleaved_transactions(turn: int, at_a_time: int) -> None:
    aborted = [(P2, 2), (P1, 6)][::turn]
    reader = RecordReader("t", 0, F12, 0, aborted=aborted)
    assert [record.offset for record in take_all(reader, at_a_time)] == [0, 1, 7]
    assert reader.next_offset == 11
    assert offsets(F12) == [0, 1, 2, 4, 6, 7, 8]


def test_f13_two_abort_markers_in_a_row() -> None:
    assert offsets(F13, [(P1, 0)]) == [4, 5]
    assert offsets(F13) == [0, 1, 4, 5]


def test_f14_an_empty_control_batch() -> None:
    empty = encode_batch([], base_offset=0, producer_id=P1, transactional=True, control=True)
    log = empty + data(1, 2, P1) + marker(3, P1, COMMIT)
    assert offsets(log, []) == [1, 2]
    assert offsets(log, [(P2, 0)]) == [1, 2]


def test_f15_only_aborted_data() -> None:
    reader = RecordReader("t", 0, data(0, 3, P1) + marker(3, P1, ABORT), 0, aborted=[(P1, 0)])
    assert reader.take(10) == []
    assert (reader.exhausted, reader.next_offset) == (True, 4)


def test_i3_idempotent_batches_are_never_left_out() -> None:
    log = data(0, 2, P1, transactional=False) + data(2, 1, P1)
    assert offsets(log, [(P1, 0)]) == [0, 1]


def test_i3_transactions_begin_where_the_broker_says() -> None:
    log = data(0, 2, P1) + marker(2, P1, COMMIT) + data(3, 2, P1) + marker(5, P1, ABORT)
    assert offsets(log, [(P1, 3)]) == [0, 1]
    assert offsets(log, [(P1, 3), (P1, 3)]) == [0, 1]


def test_a_slice_that_begins_inside_a_transaction() -> None:
    log = data(0, 4, P1) + marker(4, P1, ABORT) + data(5, 1)
    assert offsets(log, [(P1, 0)], start=2) == [5]


@pytest.mark.parametrize("key", [None, b"", b"\0\0\0", b"\xff\xff\0\0"])
def test_a_control_record_without_a_type(key: bytes | None) -> None:
    log = data(0, 1) + encode_batch(
        [(1, key, b"")], base_offset=1, producer_id=P1, transactional=True, control=True
    )
    assert offsets(log) == [0]  # not looked into
    reader = RecordReader("t", 0, log, 0, aborted=[])
    assert len(reader.take(10)) == 1
    with pytest.raises(CorruptRecordError, match="control record"):
        reader.take(10)


def test_a_control_record_of_an_unknown_type_is_passed_over() -> None:
    log = data(0, 1, P1) + marker(1, P1, 77) + data(2, 1, P1) + marker(3, P1, ABORT)
    assert offsets(log, [(P1, 0)]) == []
    assert offsets(log, []) == [0, 2]


def test_log_append_time_is_the_batch_s() -> None:
    rows = [(5, None, b"a"), (900, None, b"b")]
    records = read(encode_batch(rows, append_time_ms=1234))
    assert [(record.timestamp, record.timestamp_type) for record in records] == [(1234, 1)] * 2


def test_timestamps_wrap_as_in_java() -> None:
    rows = [(2**63 - 1, None, None), (-(2**63), None, None), (-1, None, None)]
    assert [record.timestamp for record in read(encode_batch(rows))] == [row[0] for row in rows]


@pytest.mark.parametrize("seed", range(20))
def test_any_split_of_any_log_gives_the_same(seed: int) -> None:
    rng = random.Random(seed)
    log, base = b"", 0
    for _ in range(12):
        producer = rng.choice([-1, P1, P2])
        count = rng.randrange(1, 6)
        if producer >= 0 and rng.random() < 0.4:
            log += marker(base, producer, rng.choice([ABORT, COMMIT]))
            count = 1
        else:
            log += data(base, count, producer, codec=rng.choice(CODECS))
        base += count + rng.choice([0, 0, 3])
    aborted = rng.choice([None, [], [(P1, rng.randrange(9)), (P2, 4)]])
    start = rng.randrange(base)
    whole = read(log, start, aborted=aborted)
    for at_a_time in (1, 2, 7, 500):
        reader = RecordReader("t", 3, log, start, aborted=aborted)
        assert take_all(reader, at_a_time) == whole
        assert reader.next_offset == reader.end_offset
    mixed = RecordReader("t", 3, log, start, aborted=aborted)
    taken = []
    while not mixed.exhausted:
        taken += mixed.take(rng.randrange(1, 5))
    assert taken == whole


def test_take_inside_take() -> None:
    reader = RecordReader("t", 0, data(0, 3), 0, value_deserializer=lambda *_: reader.take(1))
    with pytest.raises(Exception, match="is running") as caught:
        reader.take(1)
    assert isinstance(caught.value.__cause__, ConcurrentUseError)
