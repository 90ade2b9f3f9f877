"""`take_columns` against `take`: the same rows, positions and errors, whatever the bytes."""

import importlib
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from longer import examples
from record_batches import patched, raw_batch, raw_record, sealed, vectors

from kcore.errors import ConcurrentUseError, KafkaError
from kcore.records import RecordReader, encode_batch
from kcore.records.batch import PartitionBatch, batches_of
from kcore.records.columns import Columns

_testcapi = pytest.importorskip("_testcapi")

ROWS = [
    (1_000, b"k", b"v" * 40),
    (1_001, None, None),
    (900, b"", b"x" * 12),
    (1_002, b"a" * 13, b"", [("h", b"1"), ("é", None)]),
    (1_003, b"key", b"y" * 300, [("", b"")]),
]


def records_of(columns):
    return [record for batch in batches_of(columns) for record in batch]


def outcome(call):
    """What a call gives: its result, or the error as text."""
    try:
        return call()
    except KafkaError as error:
        return f"{type(error).__name__}: {error}"


def same(data, offset=0, *, step=1_000, views=True, steps=40, **options):
    """Drive both ways over the same bytes, `step` records a call, and compare after each call."""

    def opened():
        return outcome(lambda: RecordReader("t", 3, data, offset, **options))

    one, other = opened(), opened()
    if isinstance(one, str):
        assert one == other
        return []
    found = []
    for _ in range(steps):
        columns = Columns(step, views=views, with_headers=True)
        expected = outcome(lambda: one.take(step))
        taken = outcome(lambda columns=columns: other.take_columns(columns))
        if isinstance(expected, str):
            assert taken == expected
            assert len(columns) == 0
        else:
            assert taken == len(columns) == len(expected)
            # the checksums of v0 and v1 messages are not kept in columns
            expected = [record._replace(checksum=None) for record in expected]
            assert records_of(columns) == expected
            found += expected
        for name in ("next_offset", "next_epoch", "end_offset", "exhausted", "size_bytes"):
            assert getattr(one, name) == getattr(other, name), name
        if one.exhausted:
            break
    return found


def log(count=3, **options):
    return b"".join(
        encode_batch(ROWS, base_offset=len(ROWS) * number, **options) for number in range(count)
    )


@pytest.mark.parametrize("views", [False, True])
@pytest.mark.parametrize("vector", vectors().values(), ids=lambda vector: vector.name)
def test_kafkas_own_batches(vector, views):
    same(vector.data, vector.head["base_offset"], views=views)
    same(vector.data, vector.head["base_offset"], views=views, step=2)


@pytest.mark.parametrize("codec", ["none", "gzip"])
@pytest.mark.parametrize("views", [False, True])
@pytest.mark.parametrize("step", [1, 2, 5, 7, 15, 16])
def test_any_step_anywhere(step, views, codec):
    data = log(codec=codec)
    for offset in range(15):
        found = same(data, offset, step=step, views=views)
        assert [record.offset for record in found] == list(range(offset, 15))


ODD = {
    "no key": (1_000, None, b"v"),
    "no value": (1_000, b"k", None),
    "headers": (1_000, b"k", b"v", [("h", b"1")]),
    "a long value": (1_000, b"k", b"v" * 20_000),
    "a time far off": (1_000 + 2**40, b"k", b"v"),
}


@pytest.mark.parametrize("views", [False, True])
@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_one_record_that_is_not_as_the_others(odd, views):
    plain = [(1_000 + number, b"k%d" % number, b"value" * 5) for number in range(6)]
    for place in range(6):
        rows = [*plain[:place], odd, *plain[place:]]
        data = encode_batch(rows, base_offset=10) + encode_batch(plain, base_offset=17)
        assert len(same(data, 10, views=views)) == 13
        assert len(same(data, 12, step=4, views=views)) == 11


@pytest.mark.parametrize("views", [False, True])
@pytest.mark.parametrize("delta", [0, 1, 4, -1])
def test_an_offset_out_of_order_among_plain_records(delta, views):
    records = [raw_record(at, b"\x02k", b"\x02v") for at in (0, 1, delta, 3)]
    body = b"".join(records)
    assert len(same(raw_batch(body, 4), views=views)) == 2
    assert len(same(raw_batch(body, 4), 1, views=views)) == 1


@pytest.mark.parametrize("views", [False, True])
def test_cut_at_every_prefix(views):
    data = log(2)
    for size in range(len(data)):
        same(data[:size], views=views, steps=4)


@pytest.mark.parametrize("views", [False, True])
def test_every_byte_broken(views):
    data = log(2)
    for at in range(len(data)):
        for bits in (0x01, 0x80, 0xFF):
            broken = bytearray(data)
            broken[at] ^= bits
            same(bytes(broken), views=views, steps=4, check_crcs=False)
            same(bytes(broken), views=views, steps=4)


@pytest.mark.parametrize(
    "body",
    [
        raw_record(0) + raw_record(0),
        raw_record(0) + raw_record(9),
        raw_record(0) + raw_record(1) + b"\x00",
        raw_record(0) + raw_record(1, key=b"\x7f"),
        raw_record(0) + raw_record(1, headers=b"\x04\x00\x00"),
        raw_record(0) + raw_record(1, length=3),
    ],
)
def test_what_is_wrong_under_a_right_checksum(body):
    data = raw_batch(body, 2) + raw_batch(raw_record(0), 1, base_offset=2)
    assert same(data, steps=3)[0].offset == 0
    same(data, 1, steps=3)


def test_aborted_transactions_are_passed_over():
    marker = raw_batch(
        raw_record(0, key=b"\x08\x00\x00\x00\x00", value=b"\x0c" + b"\x00" * 6),
        1, base_offset=4, attributes=0x30, producer_id=7,
    )  # fmt: skip
    mine = [
        raw_batch(raw_record(0), 1, base_offset=n, attributes=0x10, producer_id=7) for n in (0, 5)
    ]
    plain = raw_batch(raw_record(0), 1, base_offset=2)
    data = mine[0] + plain + marker + mine[1]
    found = same(data, aborted=[(7, 0)])
    assert [record.offset for record in found] == [2, 5]
    assert same(data[: len(mine[0])], aborted=[(7, 0)]) == []


def test_a_compressed_bomb_is_the_same_error():
    data = encode_batch([(1, None, b"\0" * 100_000)], codec="gzip")
    assert same(data, steps=2, max_batch_bytes=50_000) == []


def test_timestamps_wrap_as_take_has_them():
    data = patched(encode_batch(ROWS[:2]), 27, "q", 2**63 - 1)
    same(data)
    same(patched(data, 21, "h", 0x08))  # log-append time: the batch's largest for all


@given(
    st.lists(
        st.tuples(
            st.integers(-1, 2**50),
            st.none() | st.binary(max_size=30),
            st.none() | st.binary(max_size=60),
            st.lists(
                st.tuples(st.text(max_size=5), st.none() | st.binary(max_size=20)), max_size=3
            ),
        ),
        min_size=1,
        max_size=20,
    ),
    st.booleans(),
    st.integers(1, 25),
)
@settings(max_examples=examples(150))
def test_any_records(rows, views, step):
    data = encode_batch(rows, base_offset=3)
    found = same(data, 3, views=views, step=step)
    assert [(r.timestamp, r.key, r.value, r.headers) for r in found] == rows


# Bounds ---------------------------------------------------------------------------------------


def test_bytes_are_bounded_and_a_first_record_comes_in_any_case():
    data = encode_batch([(1, None, b"x" * 100)] * 10)
    reader = RecordReader("t", 0, data, 0)
    sizes = []
    while not reader.exhausted:
        columns = Columns(max_bytes=250)
        reader.take_columns(columns)
        assert columns.full or reader.exhausted
        assert columns.size_bytes <= 250
        sizes.append(len(columns))
    assert sizes == [2] * 5
    reader = RecordReader("t", 0, data, 0)
    columns = Columns(max_bytes=1)
    assert reader.take_columns(columns) == 1
    assert reader.take_columns(columns) == 0
    assert reader.next_offset == 1


def test_no_room_at_all_is_an_error():
    for wrong in ({"max_rows": 0}, {"max_bytes": 0}, {"max_rows": -1}):
        with pytest.raises(ValueError, match="no room"):
            Columns(**wrong)


def test_bounds_are_cut_to_what_32_bit_offsets_hold():
    columns = Columns(2**40, 2**50)
    assert columns.max_bytes == 2**31 - 1
    assert columns.max_rows * 249 <= 2**31 - 1
    # each byte of a header's name may become three
    assert Columns(1, 2**50, with_headers=True).max_bytes * 3 <= 2**31 - 1


def test_several_partitions_share_columns():
    columns = Columns(12, with_headers=True)
    readers = [RecordReader(topic, number, log(1), 0) for topic, number in
               [("a", 0), ("b", 1), ("a", 0)]]  # fmt: skip
    assert [reader.take_columns(columns) for reader in readers] == [5, 5, 2]
    assert columns.full
    assert readers[2].next_offset == 2
    assert columns.spans() == [("a", 0, 0, 5), ("b", 1, 5, 10), ("a", 0, 10, 12)]
    for batch, reader in zip(batches_of(columns), readers, strict=True):
        assert (batch.topic, batch.partition) == (reader.topic, reader.partition)
        assert list(batch) == RecordReader(reader.topic, reader.partition, log(1), 0).take(
            len(batch)
        )


def test_errors_leave_columns_as_they_were():
    bad = sealed(encode_batch(ROWS)[:-3])
    for views in (False, True):
        columns = Columns(views=views, with_headers=True)
        RecordReader("t", 0, log(1), 0).take_columns(columns)
        before = records_of(columns)
        reader = RecordReader("t", 1, bad, 0)
        columns = Columns(views=views, with_headers=True)
        RecordReader("t", 0, log(1), 0).take_columns(columns)
        assert reader.take_columns(columns) == 4
        with pytest.raises(KafkaError):
            reader.take_columns(columns)
        assert records_of(columns)[:5] == before


@pytest.mark.parametrize("views", [False, True])
def test_no_memory_at_any_point_loses_nothing(views):
    data = log(40)
    expected = RecordReader("t", 0, data, 0).take(1_000)
    failures = 0
    for number in range(60):
        columns = Columns(views=views, with_headers=True)
        reader = RecordReader("t", 0, data, 0)
        _testcapi.set_nomemory(number, number + 1)
        try:
            reader.take_columns(columns)
        except MemoryError:
            failures += 1
            assert len(columns) == 0
            assert reader.next_offset == 0
            reader.take_columns(columns)
        finally:
            _testcapi.remove_mem_hooks()
        assert records_of(columns) == expected
    assert failures > 3


def test_readers_and_columns_serve_one_thread_at_a_time():
    data = encode_batch([(1, None, b"x" * 10)] * 50_000) * 1
    reader = RecordReader("t", 0, data, 0)
    told = []

    def take():
        columns = Columns()
        try:
            told.append(reader.take_columns(columns))
        except ConcurrentUseError as error:
            told.append(error)

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(one for one in told if isinstance(one, int)) == 50_000


def test_threads_decode_side_by_side():
    data = log(200)
    expected = RecordReader("t", 0, data, 0).take(10_000)
    wrong = []

    def decode():
        for _ in range(20):
            columns = Columns(views=True, with_headers=True)
            RecordReader("t", 0, data, 0).take_columns(columns)
            if records_of(columns) != expected:
                wrong.append(columns)

    threads = [threading.Thread(target=decode) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


# Batches --------------------------------------------------------------------------------------


def batch(views=True):
    columns = Columns(views=views, with_headers=True)
    RecordReader("t", 3, log(1), 0).take_columns(columns)
    (made,) = batches_of(columns)
    return made


@pytest.mark.parametrize("views", [False, True])
def test_a_batch_is_a_sequence_of_records(views):
    expected = RecordReader("t", 3, log(1), 0).take(10)
    made = batch(views)
    assert len(made) == 5
    assert [made[n] for n in range(-5, 5)] == expected + expected
    for first in range(-6, 7):
        for after in range(-6, 7):
            part = made[first:after]
            assert isinstance(part, PartitionBatch)
            assert list(part) == part.tolist() == expected[first:after]
            assert part.keys.tolist() == [record.key for record in expected[first:after]]
            assert part.offsets.tolist() == [record.offset for record in expected[first:after]]
    for wrong in (5, -6):
        with pytest.raises(IndexError):
            made[wrong]
    with pytest.raises(ValueError, match="step"):
        made[::2]


@pytest.mark.parametrize("views", [False, True])
def test_columns_of_a_batch(views):
    made = batch(views)
    assert made.offsets.tolist() == [0, 1, 2, 3, 4]
    assert made.timestamps.tolist() == [row[0] for row in ROWS]
    assert made.offsets.readonly
    for column, at in ((made.keys, 1), (made.values, 2)):
        wanted = [row[at] for row in ROWS]
        assert list(column) == [column[n] for n in range(5)] == wanted
        assert column[1:3].tolist() == wanted[1:3]
        for number, item in enumerate(wanted):
            view = column.view(number)
            assert (None if view is None else view.tobytes()) == item
        with pytest.raises(IndexError):
            column.view(5)


def test_a_column_outlives_its_batch():
    made = batch()
    view, offsets, part = made.values.view(4), made.offsets, made[2:]
    del made
    assert view.tobytes() == b"y" * 300
    assert offsets[4] == 4
    assert part[0].offset == 2


def test_batches_are_not_made_by_hand():
    with pytest.raises(TypeError, match="poll_batches"):
        PartitionBatch()
    with pytest.raises(ValueError, match="without headers"):
        batches_of(Columns())


def test_the_bench_still_runs(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2] / "bench"))
    cases = importlib.import_module("bench_columns")
    log = cases.encode(cases.rows(100, 700), "gzip")
    assert cases.decode(log, views=False) == cases.decode(log, views=True, arrow=True) == 700
