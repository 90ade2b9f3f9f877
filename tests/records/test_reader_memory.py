"""Memory: what a batch claims is never allocated, what it unpacks to is bounded."""

from __future__ import annotations

import gc
import struct
import tracemalloc
import weakref
import zlib
from collections.abc import Callable

import cramjam
import lz4.frame
import pytest
import zstandard
from record_batches import patched, raw_batch, raw_record, read, sealed

from kcore.errors import CorruptRecordError
from kcore.records import RecordReader, codecs, encode_batch

MIB = 1 << 20
GZIP, SNAPPY, LZ4, ZSTD = 1, 2, 3, 4


def peak(data: bytes, **options: int) -> int:
    """The most that reading allocates at once; the data has to be refused."""
    tracemalloc.start()
    try:
        with pytest.raises(CorruptRecordError):
            read(data, **options)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


ZEROS = b"\0" * (80 * MIB)
BOMBS = {
    "gzip": lambda: raw_batch(zlib.compress(ZEROS, 1, wbits=31), 1, attributes=GZIP),
    "snappy": lambda: raw_batch(codecs.compress_snappy(ZEROS, None), 1, attributes=SNAPPY),
    "snappy raw": lambda: raw_batch(
        bytes(cramjam.snappy.compress_raw(ZEROS)), 1, attributes=SNAPPY
    ),
    "lz4": lambda: raw_batch(lz4.frame.compress(ZEROS), 1, attributes=LZ4),
    "zstd": lambda: raw_batch(zstandard.compress(ZEROS), 1, attributes=ZSTD),
    "zstd without size": lambda: raw_batch(
        zstandard.ZstdCompressor(write_content_size=False).compress(ZEROS), 1, attributes=ZSTD
    ),
    "zstd frames": lambda: raw_batch(zstandard.compress(ZEROS[:MIB]) * 80, 1, attributes=ZSTD),
}


@pytest.mark.parametrize("make", BOMBS.values(), ids=BOMBS)
def test_a_bomb_is_refused_within_the_bound(make: Callable[[], bytes]) -> None:
    data = make()
    assert peak(data, max_batch_bytes=MIB) < 8 * MIB
    with pytest.raises(CorruptRecordError, match="more than 67108864 bytes"):
        read(data)


def test_gzip_of_many_members_takes_no_time_squared() -> None:
    batch = raw_batch(zlib.compress(b"", wbits=31) * 100_000, 1, attributes=GZIP)
    with pytest.raises(CorruptRecordError, match="more than 64 members"):
        read(batch)


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_the_bound_is_exact(codec: str) -> None:
    log = encode_batch([(1, None, b"x" * 200_000)], codec=codec)
    size = len(encode_batch([(1, None, b"x" * 200_000)])) - 61
    assert len(read(log, max_batch_bytes=size)) == 1
    with pytest.raises(CorruptRecordError, match=f"more than {size - 1} bytes"):
        read(log, max_batch_bytes=size - 1)


@pytest.mark.parametrize("block", [65_536, 131_072, 65_536 * 4])
def test_lz4_content_that_fills_its_blocks(block: int) -> None:
    for size in range(block - 20, block):
        batch = encode_batch([(1, None, b"x" * size)])
        if len(batch) - 61 == block:
            break
    assert len(batch) - 61 == block
    packed = lz4.frame.compress(batch[61:], store_size=False)
    assert len(read(raw_batch(packed, 1, attributes=LZ4))) == 1


@pytest.mark.parametrize("linked", [True, False])
@pytest.mark.parametrize("checks", [True, False])
@pytest.mark.parametrize("stored", [True, False])
@pytest.mark.parametrize("size", [4, 5, 6, 7])
def test_every_kind_of_lz4_frame(size: int, stored: bool, checks: bool, linked: bool) -> None:
    body = encode_batch([(1, b"%d" % i, b"value" * (i % 50)) for i in range(900)])[61:]
    packed = lz4.frame.compress(
        body,
        block_size=size,
        store_size=stored,
        content_checksum=checks,
        block_checksum=checks,
        block_linked=linked,
    )
    assert len(read(raw_batch(packed, 900, attributes=LZ4))) == 900


def test_lz4_that_claims_a_huge_content() -> None:
    packed = bytearray(lz4.frame.compress(raw_record(), store_size=True))
    for claim in (1 << 40, (1 << 63) - 1, (1 << 64) - 1):
        struct.pack_into("<Q", packed, 6, claim)
        assert peak(raw_batch(bytes(packed), 1, attributes=LZ4)) < MIB


def test_snappy_that_claims_more_than_it_holds() -> None:
    for claim in (b"\xff\xff\xff\xff\x0f", b"\x80\x80\x80\x10", b"\xff\xff\xff\xff\xff\x7f"):
        assert peak(raw_batch(claim + b"\0\0" * 20, 1, attributes=SNAPPY)) < MIB


def test_zstd_that_claims_more_than_it_holds() -> None:
    packed = bytearray(zstandard.compress(b"x" * 70_000))
    assert packed[4] >> 6 == 2  # four bytes of size
    for claim in (2**32 - 1, 2**31, 200_000, 69_999, 1, 0):
        struct.pack_into("<I", packed, 5, claim)
        assert peak(raw_batch(bytes(packed), 1, attributes=ZSTD)) < MIB


def test_zstd_windows() -> None:
    """A window is kept only as far as the content needs it; above 128 MiB none is accepted."""
    body = encode_batch([(1, None, b"abc" * 100_000)])[61:]
    for log in (10, 17, 23, 27):
        parameters = zstandard.ZstdCompressionParameters(window_log=log, write_content_size=False)
        packed = zstandard.ZstdCompressor(compression_params=parameters).compress(body)
        assert len(read(raw_batch(packed, 1, attributes=ZSTD))) == 1
    huge = bytearray(packed)
    huge[5] = 31 << 3
    assert peak(raw_batch(bytes(huge), 1, attributes=ZSTD)) < 2 * MIB


def test_zstd_frames_in_a_row_and_between_them_what_is_skipped() -> None:
    body = raw_record(0) + raw_record(1)
    skipped = struct.pack("<II", 0x184D2A53, 5) + b"12345"
    one, two = zstandard.compress(body[:5]), zstandard.compress(body[5:])
    assert len(read(raw_batch(skipped + one + skipped + two, 2, attributes=ZSTD))) == 2
    assert peak(raw_batch(skipped, 2, attributes=ZSTD)) < MIB
    assert peak(raw_batch(one + two + skipped[:-1], 2, attributes=ZSTD)) < MIB


def test_snappy_as_others_frame_it() -> None:
    body = encode_batch([(1, b"%d" % i, b"value" * 9) for i in range(900)])[61:]
    packed = codecs.compress_snappy(body, None)
    little = packed[:8] + b"\1\0\0\0" * 2 + packed[16:]  # Redpanda's byte order
    bare = bytes(cramjam.snappy.compress_raw(body))
    for data in (packed, little, bare):
        assert len(read(raw_batch(data, 900, attributes=SNAPPY))) == 900


def test_gzip_members_in_a_row() -> None:
    body = raw_record(0) + raw_record(1)
    packed = zlib.compress(body[:5], wbits=31) + zlib.compress(body[5:], wbits=31)
    assert len(read(raw_batch(packed, 2, attributes=GZIP))) == 2
    assert peak(raw_batch(packed * 3, 2, attributes=GZIP), max_batch_bytes=len(body)) < MIB


@pytest.mark.parametrize("count", [2**31 - 1, 1_000_000])
def test_a_huge_count_allocates_nothing(count: int) -> None:
    batch = patched(patched(raw_batch(raw_record(), 1), 57, "i", count), 23, "i", 2**31 - 1)
    assert peak(batch) < MIB
    assert peak(sealed(batch + b"\0" * 100_000)) < MIB


def test_a_huge_last_offset_delta_is_a_gap() -> None:
    batch = patched(raw_batch(raw_record(), 1), 23, "i", 2**31 - 1)
    reader = RecordReader("t", 0, batch, 0)
    assert len(reader.take(2**62)) == 1
    assert reader.next_offset == 2**31


def test_errors_raised_again_and_again_take_no_memory() -> None:
    bad = bytearray(encode_batch([(1, None, b"x")]))
    bad[-2] ^= 1
    reader = RecordReader("t", 0, bytes(bad), 0)
    tracemalloc.start()
    for turn in range(300):
        if turn == 100:
            gc.collect()
            before = tracemalloc.get_traced_memory()[0]
        with pytest.raises(CorruptRecordError):
            reader.take(1)
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 20_000


def test_records_of_the_caller_are_collected_with_their_cycles() -> None:
    class Held:
        record: object = None

    def value_with_its_record(_topic: str, _headers: object, _data: bytes | None) -> Held:
        return Held()

    data = encode_batch([(1, b"k", b"v")])
    [raw] = read(data)
    [record] = RecordReader("t", 0, data, 0, value_deserializer=value_with_its_record).take(1)
    made = raw._replace(value=Held())
    held = [weakref.ref(record.value), weakref.ref(made.value)]
    record.value.record, made.value.record = record, made
    assert gc.is_tracked(record)
    assert gc.is_tracked(made)
    del record, made
    gc.collect()
    assert [ref() for ref in held] == [None, None]


def test_memory_of_records_is_used_again_whole() -> None:
    first = encode_batch([(5, b"k", b"v", [("h", b"x")])] * 20_000)  # more than are kept
    plain = encode_batch([(7, None, None)] * 3)
    for _ in range(2):
        records = read(first)
        assert {record.headers[0] for record in records} == {("h", b"x")}
        del records
        for offset, record in enumerate(read(plain)):
            assert record[1:] == (3, -1, offset, 7, 0, None, None, [], None, -1, -1, -1)


def test_records_are_small_and_not_tracked() -> None:
    records = read(encode_batch([(1, b"k", b"v", [("h", b"x")])] * 10))
    assert not any(gc.is_tracked(record) for record in records)
    records[0].headers.append(("more", b""))
    assert records[0].headers == [("h", b"x")]
    assert not gc.is_tracked(records[0])
