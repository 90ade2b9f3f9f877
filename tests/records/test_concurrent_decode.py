"""Many threads at once, on builds with and without a GIL: each its own reader, and all the same.

What is shared and may not be is refused with a ConcurrentUseError or done one after the other; no
record is lost, given twice or made of other bytes. On a free-threaded build this is where a race
would show, on others the threads are switched as often as can be.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from itertools import chain
from typing import Any

import pytest
from record_batches import CODECS, read, rows, take_all, vectors
from threads import THREADS, together

from kcore.errors import ConcurrentUseError, CorruptRecordError
from kcore.records import BatchBuilder, RecordReader, encode_batch
from kcore.records.arrow import ArrowBatch
from kcore.records.batch import batches_of
from kcore.records.columns import Columns
from kcore.records.message_set import encode_message_set

EACH = 40  # records a batch
BATCHES = 12


pytestmark = pytest.mark.usefixtures("switch_often")


def log_of(codec: str) -> bytes:
    """Batches of one codec, with headers and nulls, and a message set behind them."""
    parts = []
    for base in range(0, EACH * BATCHES, EACH):
        made = [
            (7, None if at % 5 == 0 else b"k%d" % at, b"v" * (at % 30), [("h", b"%d" % at)])
            for at in range(base, base + EACH)
        ]
        parts.append(encode_batch(made, base_offset=base, codec=codec))
    old = [(7, b"k", b"v")] * EACH
    for magic in (0, 1):
        kind = "none" if codec == "zstd" else codec
        base = (BATCHES + magic) * EACH
        parts.append(encode_message_set(old, magic=magic, base_offset=base, codec=kind))
    return b"".join(parts)


COUNT = EACH * (BATCHES + 2)
LOGS = {codec: log_of(codec) for codec in CODECS}


def test_the_extensions_leave_the_gil_as_it_is() -> None:
    """Importing one that does not say that it is safe would switch the GIL on for all."""
    code = """
import sys
has_gil = getattr(sys, "_is_gil_enabled", lambda: True)
before = has_gil()
import kcore.records.batch, kcore.wire.frames, kcore.wire.codec
sys.exit(has_gil() is not before)
"""
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


@pytest.mark.parametrize("codec", CODECS)
def test_readers_of_their_own(codec: str) -> None:
    log = LOGS[codec]
    wanted = rows(read(log))

    def work(number: int) -> None:
        for turn in range(3):
            assert rows(take_all(RecordReader("t", 0, log, 0), 1 + 7 * number + turn)) == wanted
            columns = Columns(views=bool(number & 1), with_headers=True)
            reader = RecordReader("t", 0, log, 0)
            while not reader.exhausted and not columns.full:
                reader.take_columns(columns)
            (batch,) = batches_of(columns)
            assert batch.offsets.tolist() == list(range(COUNT))
            assert rows(batch.tolist()) == wanted

    together(work)


def test_kafka_s_vectors() -> None:
    wanted = {name: vector.delivered for name, vector in vectors().items()}

    def work(_number: int) -> None:
        for name, vector in vectors().items():
            assert rows(read(vector.data)) == wanted[name]

    together(work)


def serialised(call: Callable[[], Any]) -> Any:
    """What a call gave once nobody else was in."""
    while True:
        try:
            return call()
        except ConcurrentUseError:
            continue


@pytest.mark.parametrize("codec", ["none", "lz4", "gzip"])
def test_a_shared_reader_gives_each_record_once(codec: str) -> None:
    reader = RecordReader("t", 0, LOGS[codec], 0, keep_control=True)

    def work(_number: int) -> list[int]:
        got = []
        while not reader.exhausted:
            got += [record.offset for record in serialised(lambda: reader.take(5))]
            assert 0 <= reader.size_bytes <= len(LOGS[codec])
            repr(reader), reader.control_records
        return got

    found = together(work)
    assert sorted(chain.from_iterable(found)) == list(range(COUNT))
    assert all(got == sorted(got) for got in found)


def test_a_shared_reader_of_objects_and_columns() -> None:
    reader = RecordReader("t", 0, LOGS["none"], 0)

    def work(number: int) -> list[int]:
        got: list[int] = []
        while not reader.exhausted:
            if number & 1:
                got += [record.offset for record in serialised(lambda: reader.take(3))]
                continue
            columns = Columns(3, views=True, with_headers=True)
            serialised(lambda columns=columns: reader.take_columns(columns))
            for batch in batches_of(columns):
                got += batch.offsets.tolist()
        return got

    assert sorted(chain.from_iterable(together(work))) == list(range(COUNT))


@pytest.mark.parametrize("views", [False, True])
def test_shared_columns(views: bool) -> None:
    """Several readers fill the same columns while others look at them."""
    columns = Columns(views=views, with_headers=True)

    def work(number: int) -> None:
        reader = RecordReader(f"t{number}", number, LOGS["none"], 0)
        while not reader.exhausted:
            serialised(lambda: reader.take_columns(columns))
            len(columns), repr(columns), columns.size_bytes
            serialised(columns.spans)

    together(work)
    assert columns.rows == THREADS * COUNT
    found: dict[str, list[int]] = {}
    for batch in batches_of(columns):
        found.setdefault(batch.topic, []).extend(batch.offsets)
    assert found == {f"t{number}": list(range(COUNT)) for number in range(THREADS)}


@pytest.mark.parametrize("views", [False, True])
def test_columns_that_are_shown_while_they_are_filled(views: bool) -> None:
    for _ in range(20):
        columns = Columns(views=views, with_headers=True)
        shown: list[int] = []

        def work(number: int, columns: Columns = columns, shown: list[int] = shown) -> None:
            if number == 0:
                reader = RecordReader("t", 0, LOGS["none"], 0)
                while not reader.exhausted and not columns.full:
                    serialised(lambda: reader.take_columns(columns))
                return
            batch = serialised(lambda: ArrowBatch(columns, include_headers=True))
            batch.__arrow_c_array__()
            shown.append(batch.num_rows)

        together(work, 3)
        assert columns.full
        assert shown == [columns.rows] * 2, "nothing is added behind what was shown"


def test_columns_come_and_go() -> None:
    """What they leave behind for the next ones goes to one of them."""

    def work(number: int) -> None:
        for turn in range(60):
            made = [Columns(100, views=bool(turn & 1)) for _ in range(3)]
            for columns in made:
                RecordReader("t", 0, LOGS["none"], number).take_columns(columns)
            for columns in made:
                assert columns.rows == 100

    together(work)


def test_one_record_in_many_threads() -> None:
    record = read(LOGS["none"])[7]
    wanted = tuple(record)

    def work(_number: int) -> None:
        for _ in range(100):
            assert tuple(record) == wanted
            assert pickle.loads(pickle.dumps(record)) == record
            assert record.headers == [("h", b"7")]

    together(work)


def test_damaged_bytes() -> None:
    log = bytearray(LOGS["lz4"])
    log[len(log) // 2] ^= 0xFF
    wanted = RecordReader("t", 0, bytes(log), 0).take(10_000)
    reader = RecordReader("t", 0, bytes(log), 0)

    def work(_number: int) -> int:
        got = 0
        while True:
            try:
                got += len(serialised(lambda: reader.take(9)))
            except CorruptRecordError:
                return got

    assert sum(together(work)) == len(wanted)


def test_a_shared_builder() -> None:
    """Records of several threads in one batch: each whole, in some order."""
    builder = BatchBuilder()

    def work(number: int) -> None:
        for turn in range(300):
            value = bytes([number]) * (turn % 50)
            serialised(lambda value=value: builder.append(1, value, value, [("h", value)]))

    def serialised(call: Callable[[], None]) -> None:
        while True:
            try:
                return call()
            except ValueError:  # another thread has taken the offset in between
                continue

    together(work)
    found = read(builder.finish())
    assert [record.offset for record in found] == list(range(300 * THREADS))
    for record in found:
        assert record.key == record.value == record.headers[0][1]
        assert len(set(record.value)) <= 1
