"""The log of one partition: offsets, retention, looking up."""

import struct
from contextlib import contextmanager

import crc32c
import pytest
from broker_world import WALL_MS, batch

from kcore.broker import LogConfig, PartitionLog, RefusedError
from kcore.broker.lookup import latest_time, offset_for_time
from kcore.broker.markers import Marker, marker_batch
from kcore.records import RecordReader, encode_batch
from kcore.wire.codes import ErrorCode


@pytest.fixture
def log():
    return PartitionLog("t", 0, LogConfig())


def put(log, data, epoch=0):
    appended = log.append(memoryview(data), epoch, WALL_MS)
    log.high_watermark = log.end_offset
    return appended.base_offset


@contextmanager
def refused(code):
    with pytest.raises(RefusedError) as caught:
        yield
    assert caught.value.code == code


def values(read):
    reader = RecordReader("t", 0, b"".join(read.batches), 0)
    return [(record.offset, record.value) for record in reader.take(1_000)]


def test_offsets_are_handed_out_in_a_row(log):
    assert [put(log, batch(b"a", b"b")), put(log, batch(b"c"))] == [0, 2]
    assert (log.start_offset, log.high_watermark, log.end_offset) == (0, 3, 3)
    assert values(log.read(0, 1_000)) == [(0, b"a"), (1, b"b"), (2, b"c")]


@pytest.mark.parametrize("codec", ["none", "gzip", "lz4"])
def test_kept_bytes_differ_in_offset_and_epoch_only(log, codec):
    data = batch(b"a" * 100, codec=codec)
    put(log, batch(b"x"))
    put(log, data, epoch=3)
    (kept,) = log.read(1, 1_000).batches
    assert kept[:16] == struct.pack(">qii", 1, len(data) - 12, 3)
    assert kept[16:] == data[16:]


def test_a_read_gives_whole_batches_up_to_its_limit(log):
    size = len(batch(b"a"))
    for _ in range(3):
        put(log, batch(b"a"))
    assert log.read(0, 2 * size).size == 2 * size
    assert log.read(0, 2 * size - 1).size == size
    assert log.read(1, size - 1).size == 0
    assert log.read(1, size - 1, at_least_one=True).size == size
    assert log.read(3, size).batches == []


def test_a_read_inside_a_batch_begins_with_that_batch(log):
    put(log, batch(b"a"))
    put(log, batch(b"b", b"c"))
    assert values(log.read(2, 1_000))[0] == (1, b"b")


@pytest.mark.parametrize("offset", [-1, 2])
def test_a_read_outside_of_the_log_is_refused(log, offset):
    put(log, batch(b"a"))
    with refused(ErrorCode.OFFSET_OUT_OF_RANGE):
        log.read(offset, 1_000)


def test_delete_records_moves_the_start_and_frees_whole_batches(log):
    for _ in range(3):
        put(log, batch(b"a", b"b"))
    size = log.size_bytes
    assert log.delete_before(3) == 3
    assert (log.start_offset, log.size_bytes) == (3, size * 2 // 3)
    assert log.delete_before(1) == 3  # never back
    assert log.delete_before(-1) == 6
    assert (log.size_bytes, log.end_offset) == (0, 6)
    with refused(ErrorCode.OFFSET_OUT_OF_RANGE):
        log.delete_before(7)
    assert put(log, batch(b"z")) == 6


def test_retention_by_size_keeps_at_least_as_much_as_said(log):
    log.config.segment_bytes = 1
    for _ in range(4):
        put(log, batch(b"a"))
    log.config.retention_bytes = log.size_bytes // 2
    assert log.enforce_retention(WALL_MS) == 2
    assert (log.start_offset, log.end_offset) == (2, 4)


def test_retention_by_time(log):
    log.config.segment_bytes = 1
    put(log, batch(b"old", time=WALL_MS - 10_000))
    put(log, batch(b"new", time=WALL_MS))
    log.config.retention_ms = 5_000
    assert log.enforce_retention(WALL_MS) == 1
    assert log.start_offset == 1
    assert log.enforce_retention(WALL_MS + 5_001) == 1
    assert (log.start_offset, log.size_bytes) == (2, 0)
    log.config.retention_ms = -1
    put(log, batch(b"ancient", time=0))
    assert log.enforce_retention(WALL_MS) == 0


def test_offsets_by_time(log):
    put(log, batch(b"a", b"b", time=100))
    put(log, batch(b"c", b"d", time=200, codec="gzip"), epoch=1)
    assert offset_for_time(log, 0)[:2] == (0, 100)
    assert offset_for_time(log, 101)[:2] == (1, 101)
    assert offset_for_time(log, 102) == (2, 200, 1)
    assert offset_for_time(log, 202) is None
    assert latest_time(log) == (3, 201, 1)
    log.delete_before(1)
    assert offset_for_time(log, 0)[:2] == (1, 101)


def test_the_latest_record_is_one_that_is_left(log):
    """A Kafka 4.3.1 goes on naming one that DeleteRecords took away."""
    for times in ((900, 850), (300, 250), (280,)):
        put(log, encode_batch([(time, None, b"v") for time in times]))
    found = []
    for start in range(6):
        log.delete_before(start)
        latest = latest_time(log)
        found.append(latest and latest[:2])
    assert found == [(0, 900), (1, 850), (2, 300), (4, 280), (4, 280), None]


def test_an_empty_log_has_no_times(log):
    assert offset_for_time(log, 0) is None
    assert latest_time(log) is None


def test_ends_of_epochs(log):
    put(log, batch(b"a", b"b"), epoch=2)
    put(log, batch(b"c"), epoch=5)
    log.begin_epoch(7)
    assert log.end_of_epoch(7) == (7, 3)
    assert log.end_of_epoch(6) == (5, 3)
    assert log.end_of_epoch(5) == (5, 3)
    assert log.end_of_epoch(4) == (2, 2)
    assert log.end_of_epoch(1) == (1, 0)
    assert log.end_of_epoch(8) == (-1, -1)
    assert [log.epoch_at(offset) for offset in (0, 1, 2)] == [2, 2, 5]


def patched(at, raw, data=None):
    data = bytearray(batch(b"a", b"b") if data is None else data)
    data[at : at + len(raw)] = raw
    return bytes(data)


def sealed(data):
    return data[:17] + struct.pack(">I", crc32c.crc32c(data[21:])) + data[21:]


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", ErrorCode.INVALID_RECORD),
        (batch(b"a")[:-1], ErrorCode.INVALID_RECORD),
        (batch(b"a") * 2, ErrorCode.INVALID_RECORD),
        (patched(16, b"\1"), ErrorCode.INVALID_RECORD),
        (patched(61, b"\0"), ErrorCode.CORRUPT_MESSAGE),
        (sealed(patched(61, b"\0")), ErrorCode.INVALID_RECORD),
        (sealed(patched(22, b"\1")), ErrorCode.INVALID_RECORD),
        (patched(17, b"\0\0\0\0"), ErrorCode.CORRUPT_MESSAGE),
        (sealed(patched(57, struct.pack(">i", 1))), ErrorCode.INVALID_RECORD),
        (sealed(patched(57, struct.pack(">i", -1))), ErrorCode.INVALID_RECORD),
        (batch(b"a", base_offset=5), ErrorCode.INVALID_RECORD),
        (patched(8, struct.pack(">i", 13)), ErrorCode.CORRUPT_MESSAGE),
        (patched(16, b"\3"), ErrorCode.CORRUPT_MESSAGE),
        (marker_batch(9, 0, Marker(committed=True, coordinator_epoch=0), 0),
         ErrorCode.INVALID_RECORD),
        (batch(b"a", producer_id=1), ErrorCode.INVALID_RECORD),
        (batch(b"a" * 1_048_600), ErrorCode.MESSAGE_TOO_LARGE),
    ],
    ids=[
        *("empty", "cut", "two", "magic 1", "length", "record", "codec"),
        *("crc", "count", "no records"),
        *("base offset", "short", "magic 3"),
        *("control", "no sequence", "large"),
    ],
)  # fmt: skip
def test_what_may_not_be_kept_is_refused_and_leaves_nothing(log, data, code):
    with refused(code):
        put(log, data)
    assert (log.end_offset, log.size_bytes) == (0, 0)


def idempotent(first, count=1, producer_id=9, epoch=0):
    return batch(
        *[b"v"] * count, producer_id=producer_id, producer_epoch=epoch, base_sequence=first
    )


def test_a_repeated_batch_is_kept_once(log):
    assert put(log, idempotent(0, 2)) == 0
    assert put(log, idempotent(2)) == 2
    assert put(log, idempotent(0, 2)) == 0
    assert log.end_offset == 3


def test_a_gap_in_the_sequence_is_refused(log):
    put(log, idempotent(0))
    with refused(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER):
        put(log, idempotent(2))
    assert put(log, idempotent(1)) == 1


def test_a_repeat_older_than_five_batches_is_refused(log):
    for number in range(6):
        put(log, idempotent(number))
    with refused(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER):
        put(log, idempotent(0))
    assert put(log, idempotent(1)) == 1


def test_a_new_epoch_begins_at_zero_and_fences_the_old(log):
    put(log, idempotent(0))
    with refused(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER):
        put(log, idempotent(1, epoch=1))
    assert put(log, idempotent(0, epoch=1)) == 1
    with refused(ErrorCode.INVALID_PRODUCER_EPOCH):
        put(log, idempotent(1))


def test_sequences_go_round(log):
    assert put(log, idempotent(0x7FFFFFFE, 2)) == 0
    assert put(log, idempotent(0)) == 2


def test_producers_do_not_know_each_other(log):
    put(log, idempotent(0))
    assert put(log, idempotent(7, producer_id=10)) == 1


def test_epochs_that_are_cut_off_are_not_known_any_more(log):
    put(log, batch(b"a", b"b"), epoch=0)
    put(log, batch(b"c"), epoch=2)
    put(log, batch(b"d"), epoch=5)
    log.truncate(3)
    assert (log.end_offset, log.epochs.latest) == (3, 2)
    assert log.end_of_epoch(2) == (2, 3)
    assert log.end_of_epoch(5) == (-1, -1)
    log.truncate(2)
    assert log.end_of_epoch(0) == (0, 2)
    assert log.end_of_epoch(2) == (-1, -1)
    assert [log.epoch_at(offset) for offset in (0, 1)] == [0, 0]


def test_epochs_of_what_is_deleted_begin_where_the_log_does(log):
    put(log, batch(b"a", b"b"), epoch=0)
    put(log, batch(b"c", b"d"), epoch=2)
    put(log, batch(b"e"), epoch=5)
    log.delete_before(3)
    assert log.end_of_epoch(0) == (0, 3)  # nothing of it is left (Java: LeaderEpochFileCache)
    assert log.end_of_epoch(2) == (2, 4)
    assert [log.epoch_at(offset) for offset in (1, 3, 4)] == [-1, 2, 5]
    log.delete_before(4)
    assert log.end_of_epoch(2) == (2, 4)
    assert [log.epoch_at(offset) for offset in (3, 4)] == [-1, 5]
