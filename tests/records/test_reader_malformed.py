"""Batches that lie under a right checksum: a typed error in its place, after what is good."""

from __future__ import annotations

import struct
import sys
import zlib

import lz4.frame
import pytest
from malformed_batches import BASE, CASES, GOOD, GZIP, HEADERS, LATER, LZ4, at_base
from record_batches import patched, raw_batch, raw_record, read, sealed, varint

from kcore.errors import CorruptRecordError, UnsupportedCodecError
from kcore.records import RecordReader, codecs, encode_batch
from kcore.structs import TopicPartition


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
