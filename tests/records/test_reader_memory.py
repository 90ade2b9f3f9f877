"""Memory: what a batch claims is never allocated, what it unpacks to is bounded."""

from __future__ import annotations

import gc
import struct
import tracemalloc
import zlib

import lz4.frame
import pytest
from record_batches import patched, raw_batch, raw_record, read, sealed

from kcore.errors import CorruptRecordError
from kcore.records import RecordReader, encode_batch

MIB = 1 << 20
GZIP, LZ4 = 1, 3


def peak(data: bytes, **options: int) -> int:
    """The most that reading allocates at once; the data has to be refused."""
    tracemalloc.start()
    try:
        with pytest.raises(CorruptRecordError):
            read(data, **options)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def bomb(codec: int) -> bytes:
    """A batch that unpacks to 80 MiB."""
    zeros = b"\0" * (80 * MIB)
    packed = lz4.frame.compress(zeros) if codec == LZ4 else zlib.compress(zeros, 1, wbits=31)
    return raw_batch(packed, 1, attributes=codec)


@pytest.mark.parametrize("codec", [GZIP, LZ4])
def test_a_bomb_is_refused_within_the_bound(codec: int) -> None:
    data = bomb(codec)
    assert peak(data, max_batch_bytes=MIB) < 8 * MIB
    with pytest.raises(CorruptRecordError, match="more than 67108864 bytes"):
        read(data)


@pytest.mark.parametrize("codec", ["gzip", "lz4"])
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


def test_records_are_small_and_not_tracked() -> None:
    records = read(encode_batch([(1, b"k", b"v", [("h", b"x")])] * 10))
    assert not any(gc.is_tracked(record) for record in records)
    records[0].headers.append(("more", b""))
    assert records[0].headers == [("h", b"x")]
    assert not gc.is_tracked(records[0])
