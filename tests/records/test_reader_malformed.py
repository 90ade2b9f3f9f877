"""Batches that lie under a right checksum: a typed error in its place, after what is good."""

from __future__ import annotations

import struct
import sys
import zlib
from collections.abc import Iterator

import cramjam
import lz4.frame
import pytest
import zstandard
from record_batches import patched, raw_batch, raw_record, read, sealed, varint

from kcore.errors import CorruptRecordError, UnsupportedCodecError
from kcore.records import RecordReader, codecs, encode_batch
from kcore.structs import TopicPartition

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


@pytest.mark.parametrize(("name", "batch"), CASES, ids=[name for name, _ in CASES])
def test_bad_batch_after_a_good_one(name: str, batch: bytes) -> None:
    batch = at_base(batch)
    last = BASE + struct.unpack_from(">i", batch, 23)[0]
    reaches_later = last >= 200
    reader = RecordReader("t", 3, GOOD + batch + (b"" if reaches_later else LATER), 10)
    taken = reader.take(100)
    good = [record for record in taken if record.offset < BASE]
    assert [record.value for record in good] == [b"1", b"2"]
    messages = set()
    for _ in range(3):
        with pytest.raises(CorruptRecordError) as caught:
            reader.take(100)
        error = caught.value
        assert error.partition == TopicPartition("t", 3)
        assert error.first_offset is not None
        assert error.last_offset is not None
        assert BASE <= error.first_offset <= error.last_offset
        assert f"seek to {error.last_offset + 1} to skip it" in str(error)
        assert "t-3" in str(error)
        assert not reader.exhausted
        assert reader.next_offset == BASE + len(taken) - 2
        messages.add(str(error))
    assert len(messages) == 1
    assert caught.value.last_offset + 1 >= reader.next_offset


@pytest.mark.parametrize("name", ["count too small", "a byte left over"])
def test_good_records_of_a_bad_batch_come_first(name: str) -> None:
    reader = RecordReader("t", 0, dict(CASES)[name], 0)
    assert [record.offset for record in reader.take(10)] == [0]
    with pytest.raises(CorruptRecordError):
        reader.take(10)


@pytest.mark.parametrize("codec", [0, GZIP, LZ4])
@pytest.mark.parametrize("deltas", [(0, 0), (1, 0), (0, 5), (0, -1), (2, 1)])
def test_offset_deltas_must_ascend_within_the_batch(deltas: tuple[int, ...], codec: int) -> None:
    body = b"".join(raw_record(delta) for delta in deltas)
    packed = {0: body, GZIP: zlib.compress(body, wbits=31), LZ4: lz4.frame.compress(body)}[codec]
    reader = RecordReader("t", 0, raw_batch(packed, 2, last_delta=3, attributes=codec), 0)
    assert [record.offset for record in reader.take(10)] == [deltas[0]]
    with pytest.raises(CorruptRecordError, match="offset delta") as caught:
        reader.take(10)
    assert (caught.value.first_offset, caught.value.last_offset) == (deltas[0] + 1, 3)


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


@pytest.mark.parametrize("field", HEADERS.values(), ids=HEADERS)
def test_unusable_header(field: tuple[int, str, int]) -> None:
    batch = patched(at_base(raw_batch(raw_record(), 1)), *field)
    with pytest.raises(CorruptRecordError):
        RecordReader("t", 3, batch + LATER, BASE)
    reader = RecordReader("t", 3, GOOD + batch + LATER, 10)
    assert reader.end_offset == BASE
    assert len(reader.take(2)) == 2
    assert not reader.exhausted
    for _ in range(3):
        with pytest.raises(CorruptRecordError) as caught:
            reader.take(2)
        assert (caught.value.first_offset, caught.value.last_offset) == (BASE, BASE)


def test_offsets_that_go_back() -> None:
    for again in (GOOD, encode_batch([(1, None, b"x")], base_offset=11)):
        reader = RecordReader("t", 3, GOOD + again, 0)
        assert reader.end_offset == 12
        assert len(reader.take(10)) == 2
        with pytest.raises(CorruptRecordError, match="offsets go back"):
            reader.take(10)


def test_wrong_checksum_names_the_batch() -> None:
    bad = bytearray(encode_batch([(1, None, b"x")] * 5, base_offset=12))
    bad[-2] ^= 1
    reader = RecordReader("t", 3, GOOD + bytes(bad) + LATER, 10)
    assert len(reader.take(10)) == 2
    with pytest.raises(CorruptRecordError, match="checksum") as caught:
        reader.take(10)
    # up to the next batch: everything in between can only be in this one
    assert (caught.value.first_offset, caught.value.last_offset) == (12, 199)
    with pytest.raises(CorruptRecordError, match="checksum") as caught:
        read(bytes(bad), 12)
    assert (caught.value.first_offset, caught.value.last_offset) == (12, 16)
    assert len(read(bytes(bad), 12, check_crcs=False)) == 5


def test_wrong_checksum_and_a_wild_last_offset_do_not_skip_far() -> None:
    bad = bytearray(encode_batch([(1, None, b"x")] * 5, base_offset=12))
    struct.pack_into(">i", bad, 23, 2**30)
    with pytest.raises(CorruptRecordError) as caught:
        read(bytes(bad), 12)
    assert caught.value.last_offset == 16


MODULES = {"snappy": "cramjam", "lz4": "lz4.frame", "zstd": "zstandard"}


@pytest.mark.parametrize("codec", MODULES)
def test_a_codec_whose_package_is_missing(codec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    batch = encode_batch([(1, None, b"x")], base_offset=BASE, codec=codec)
    codecs._library.cache_clear()
    monkeypatch.setitem(sys.modules, MODULES[codec], None)
    reader = RecordReader("t", 3, GOOD + batch, 10)
    assert len(reader.take(10)) == 2
    package = MODULES[codec].partition(".")[0]
    for _ in range(3):
        with pytest.raises(UnsupportedCodecError, match=f"pip install {package}") as caught:
            reader.take(10)
        assert (caught.value.codec, caught.value.partition) == (codec, ("t", 3))
        assert (caught.value.first_offset, caught.value.last_offset) == (BASE, BASE)
    monkeypatch.undo()
    reader = RecordReader("t", 3, GOOD + batch, 10)
    assert len(reader.take(10)) == 3  # it was installed


def test_gzip_without_isal(monkeypatch: pytest.MonkeyPatch) -> None:
    batch = encode_batch([(1, None, b"x")], codec="gzip")
    codecs._gzip_library.cache_clear()
    codecs._library.cache_clear()
    monkeypatch.setitem(sys.modules, "isal.isal_zlib", None)
    assert codecs._gzip_library() is zlib
    assert len(read(batch)) == 1
    codecs._gzip_library.cache_clear()


def test_text_that_is_not_utf8_is_replaced() -> None:
    headers = varint(1) + varint(2) + b"\xff\xfe" + varint(1) + b"\xff"
    (record,) = read(raw_batch(raw_record(headers=headers), 1))
    assert record.headers == [("\ufffd\ufffd", b"\xff")]
    assert record.serialized_header_size == 3


def test_a_sealed_batch_is_read() -> None:  # the other tests rely on it
    assert len(read(sealed(GOOD))) == 2
    assert [record.offset for record in read(raw_batch(raw_record(0) + raw_record(1), 2))] == [0, 1]
