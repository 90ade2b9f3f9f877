"""v2 batches that lie under a right checksum, by name."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

import cramjam
import lz4.frame
import zstandard
from record_batches import raw_batch, raw_record, varint

from kcore.records import codecs, encode_batch

GZIP, SNAPPY, LZ4, ZSTD = 1, 2, 3, 4
GOOD = encode_batch([(1, b"a", b"1"), (2, b"b", b"2")], base_offset=10)
LATER = encode_batch([(1, b"z", b"9")], base_offset=200)
BASE = 12  # of the bad batch


def bodies() -> Iterator[tuple[str, bytes]]:
    """Name and batch; nothing of these batches can be given."""
    one = raw_record()
    two = raw_record(0) + raw_record(1)
    yield "count too large", raw_batch(one, 2)
    yield "count too small", raw_batch(two, 1)
    yield "count zero with bytes", raw_batch(one, 0, last_delta=0)
    yield "count negative", raw_batch(one, -1, last_delta=0)
    yield "count huge", raw_batch(one, 2**31 - 1)
    yield "no bytes at all", raw_batch(b"", 1)
    yield "a byte left over", raw_batch(one + b"\0", 1)
    yield "length too large", raw_batch(raw_record(length=7), 1)
    yield "length too small", raw_batch(raw_record(length=5), 1)
    yield "length zero", raw_batch(b"\0" * 8, 1)
    yield "length negative", raw_batch(raw_record(length=-6), 1)
    yield "length huge", raw_batch(raw_record(length=2**31 - 1), 1)
    yield "length six bytes long", raw_batch(b"\x8c\x80\x80\x80\x80\x00" + one[1:], 1)
    yield "length above int32", raw_batch(b"\x8c\x80\x80\x80\x10" + one[1:], 1)
    yield "timestamp eleven bytes long", raw_batch(raw_record(time=b"\x80" * 10 + b"\0"), 1)
    yield "timestamp above int64", raw_batch(raw_record(time=b"\xff" * 9 + b"\x02"), 1)
    yield "unending varint", raw_batch(b"\xff" * 20, 1)
    yield "delta above the last", raw_batch(raw_record(1), 1)
    yield "delta negative", raw_batch(raw_record(-1), 1)
    yield "key too long", raw_batch(raw_record(key=varint(3)), 1)
    yield "key length -2", raw_batch(raw_record(key=varint(-2)), 1)
    yield "key huge", raw_batch(raw_record(key=varint(2**31 - 1)), 1)
    yield "value too long", raw_batch(raw_record(value=varint(2)), 1)
    yield "value length -2", raw_batch(raw_record(value=varint(-2)), 1)
    yield "record ends before its fields", raw_batch(raw_record() + b"\0", 1)
    yield "header count negative", raw_batch(raw_record(headers=varint(-1)), 1)
    yield "header count huge", raw_batch(raw_record(headers=varint(2**31 - 1)), 1)
    yield "header missing", raw_batch(raw_record(headers=varint(1)), 1)
    yield "header key null", raw_batch(raw_record(headers=varint(1) + b"\x01\x01"), 1)
    yield "header key too long", raw_batch(raw_record(headers=varint(1) + varint(9) + b"k"), 1)
    yield "header value too long", raw_batch(raw_record(headers=varint(1) + b"\0" + varint(2)), 1)
    yield "header value -2", raw_batch(raw_record(headers=varint(1) + b"\0" + varint(-2)), 1)
    yield "header left over", raw_batch(raw_record(headers=varint(1) + b"\0\x01\0\x01"), 1)
    yield "attribute bits unknown", raw_batch(one, 1, attributes=0x80)
    for codec in (5, 6, 7):
        yield f"codec {codec}", raw_batch(one, 1, attributes=codec)


def zstd(data: bytes, *, says_size: bool) -> bytes:
    return zstandard.ZstdCompressor(write_content_size=says_size).compress(data)


PACK = {
    "gzip": (GZIP, lambda data: zlib.compress(data, wbits=31)),
    "snappy": (SNAPPY, lambda data: codecs.compress_snappy(data, None)),
    "raw snappy": (SNAPPY, lambda data: bytes(cramjam.snappy.compress_raw(data))),
    "lz4": (LZ4, lambda data: lz4.frame.compress(data, store_size=False)),
    "zstd": (ZSTD, lambda data: zstd(data, says_size=True)),
    "zstd without size": (ZSTD, lambda data: zstd(data, says_size=False)),
}


def streams() -> Iterator[tuple[str, bytes]]:
    """The same of compressed streams."""
    plain = raw_record()
    packed_lz4 = lz4.frame.compress(plain, store_size=False)
    for name, (codec, compress) in PACK.items():
        packed = compress(plain)
        for size in range(len(packed)):
            yield f"{name} cut at {size}", raw_batch(packed[:size], 1, attributes=codec)
        for tail in (b"\0", b"\0" * 8, packed[: len(packed) // 2]):
            yield f"{name} and {tail.hex()}", raw_batch(packed + tail, 1, attributes=codec)
        yield f"{name} is not", raw_batch(b"not packed at all", 1, attributes=codec)
        yield f"{name} holds more", raw_batch(compress(plain + b"\0"), 1, attributes=codec)
        yield f"{name} holds less", raw_batch(compress(plain[:-1]), 1, attributes=codec)
        yield f"{name} holds nothing", raw_batch(compress(b""), 1, attributes=codec)
    for at in range(4, 7):  # frame flags, block size, header checksum
        for bit in range(8):
            broken = bytearray(packed_lz4)
            broken[at] ^= 1 << bit
            yield f"lz4 byte {at} bit {bit}", raw_batch(bytes(broken), 1, attributes=LZ4)


CASES = [*bodies(), *streams()]


def at_base(batch: bytes) -> bytes:
    return struct.pack(">q", BASE) + batch[8:]


# A header field that cannot be: where, of which form, what.
HEADERS = {
    "length negative": (8, "i", -1),
    "length zero": (8, "i", 0),
    "length below any format": (8, "i", 13),
    "length below v2": (8, "i", 48),
    "magic 3": (16, "b", 3),
    "magic -1": (16, "b", -1),
    "base negative": (0, "q", -1),
    "base at the top": (0, "q", 2**63 - 1),
    "last delta negative": (23, "i", -1),
}
