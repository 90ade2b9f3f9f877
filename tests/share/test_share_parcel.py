"""What one answer brought of one partition: gaps, what cannot be read, what is given back."""

import pytest

from kcore.errors import CorruptRecordError, DeserializationError, UnsupportedCodecError
from kcore.records import RecordReader, codecs, encode_batch
from kcore.share import parcel as parcels
from kcore.share.config import ReadConfig
from kcore.share.marks import ACCEPT, DONE, GAP, HELD, REJECT, RELEASE, RENEW, WAITING
from kcore.share.parcel import Parcel, Place
from kcore.share.stock import Stock
from kcore.structs import AcknowledgeType, TopicPartition

PLACE = Place(TopicPartition("t", 0), b"t" * 16, 1)


def batch(base, count, **options):
    return encode_batch(
        [(1, b"k", b"%d" % at) for at in range(base, base + count)], base_offset=base, **options
    )


def parcel(data, ranges, **options):
    return Parcel(PLACE, ranges, data, 1_000, ReadConfig(**options))


def taken(one, count=100):
    records, size = one.take(count, 1 << 20)
    assert (size > 0) == bool(records)
    return [record.offset for record in records]


def offsets(found):
    return [record.offset for records in found.values() for record in records]


def spoiled(data):
    """With a byte of its records changed."""
    return data[:-1] + bytes([data[-1] ^ 1])


def marks(one, offsets):
    return [one.marks.at(at) for at in offsets]


@pytest.mark.parametrize("at_a_time", [1, 2, 100])
def test_offsets_without_a_record_are_acknowledged_as_gaps(at_a_time):
    one = parcel(batch(0, 2) + batch(5, 2), [(0, 4, 1), (5, 9, 1)])
    found = []
    while one.waiting:
        found += taken(one, at_a_time)
    assert found == [0, 1, 5, 6]
    assert marks(one, range(10)) == [HELD, HELD, GAP, GAP, GAP, HELD, HELD, GAP, GAP, GAP]
    one.marks.change(HELD, ACCEPT)
    assert one.marks.take() == [(0, b"\1\1\0\0\0\1\1\0\0\0")]
    assert one.through


def test_acquired_and_not_in_the_bytes_at_all_is_a_gap():
    one = parcel(b"", [(3, 5, 1)])
    assert taken(one) == []
    assert marks(one, range(3, 6)) == [GAP] * 3
    assert not one.waiting


@pytest.mark.parametrize("at", [0, 1, 2])
def test_a_corrupt_batch_is_rejected_and_all_others_are_read(at):
    batches = [batch(0, 3), batch(3, 3), batch(6, 3)]
    batches[at] = spoiled(batches[at])
    one = parcel(b"".join(batches), [(1, 8, 2)])
    found, raised = [], []
    while one.waiting:
        try:
            found += taken(one)
        except CorruptRecordError as error:
            raised.append(error.first_offset)
    assert raised == [max(3 * at, 1)]
    broken = range(max(3 * at, 1), 3 * at + 3)
    assert found == [offset for offset in range(1, 9) if offset not in broken]
    assert marks(one, broken) == [REJECT] * len(broken)
    assert marks(one, found) == [HELD] * len(found)


def test_a_corrupt_batch_that_is_not_ours_takes_nothing_with_it():
    one = parcel(spoiled(batch(0, 3)) + batch(3, 3), [(4, 5, 1)])
    with pytest.raises(CorruptRecordError):
        one.take(10, 1 << 20)
    assert taken(one) == [4, 5]


def test_behind_a_header_that_cannot_be_used_nothing_is_known():
    broken = bytearray(batch(3, 3))
    broken[8:12] = (5).to_bytes(4, "big")
    one = parcel(batch(0, 3) + bytes(broken) + batch(6, 3), [(0, 8, 1)])
    assert taken(one) == [0, 1, 2]
    with pytest.raises(CorruptRecordError):
        one.take(10, 1 << 20)
    assert marks(one, range(3, 9)) == [REJECT] * 6
    assert not one.waiting


def test_a_batch_whose_codec_is_missing_is_for_others(monkeypatch):
    def missing(*_):
        raise codecs.MissingPackageError("lz4")

    monkeypatch.setitem(codecs.DECOMPRESS, 3, missing)
    one = parcel(batch(0, 2) + batch(2, 2, codec="lz4") + batch(4, 2), [(0, 5, 1)])
    assert taken(one) == [0, 1]
    with pytest.raises(UnsupportedCodecError):
        one.take(10, 1 << 20)
    assert taken(one) == [4, 5]
    assert marks(one, range(2, 4)) == [RELEASE] * 2


@pytest.mark.parametrize("bad", [[b"0"], [b"2"], [b"1", b"2"], [b"4"], [b"0", b"4"]], ids=str)
def test_a_record_that_a_deserializer_refuses_is_released(bad):
    def refuse(_topic, _headers, data):
        if data in bad:
            raise ValueError(data)
        return data

    one = parcel(batch(0, 3) + batch(3, 2), [(0, 4, 1)], value_deserializer=refuse)
    found, refused = [], []
    while one.waiting:
        try:
            found += taken(one)
        except DeserializationError as error:
            refused.append(error.offset)
    assert refused == sorted(int(value) for value in bad)
    assert found == [at for at in range(5) if at not in refused]
    assert marks(one, refused) == [RELEASE] * len(refused)


def test_what_cannot_be_deserialized_is_not_read_from_the_beginning_again(monkeypatch):
    read = []

    def reading(topic, partition, data, *rest, **options):
        read.append(len(data))
        return RecordReader(topic, partition, data, *rest, **options)

    monkeypatch.setattr(parcels, "RecordReader", reading)

    def refuse(_topic, _headers, data):
        raise ValueError(data)

    data = b"".join(batch(base, 1) for base in range(5))
    one = parcel(data, [(0, 4, 1)], value_deserializer=refuse)
    for _ in range(5):
        with pytest.raises(DeserializationError):
            one.take(10, 1 << 20)
    assert [size * 5 // len(data) for size in read] == [5, 5, 4, 3, 2]


def test_a_record_that_could_not_be_read_cannot_come_again_from_here():
    def refuse(_topic, _headers, data):
        raise ValueError(data)

    stock, one = Stock({}.get), parcel(batch(0, 1), [(0, 0, 1)], value_deserializer=refuse)
    stock.add(one, [(0, 0, 1)])
    with pytest.raises(DeserializationError):
        stock.take(1)
    stock.acknowledge(PLACE.tp, 0, AcknowledgeType.RENEW)
    (sheet,) = stock.collect(5_000)
    sheet.lock_until(2_000)
    sheet.end(None)
    stock.renewed()
    assert not stock.waiting
    (sheet,) = stock.collect(5_000)
    assert sheet.batches() == [(0, 0, [RELEASE])]
    assert not stock.holds_of(PLACE.node_id)


def test_what_another_leader_gives_again_does_not_come_from_the_first_one_any_more():
    stock, one = Stock({}.get), parcel(batch(0, 6), [(0, 5, 1)], explicit=True)
    stock.add(one, [(0, 5, 1)])
    assert offsets(stock.take(2)) == [0, 1]
    stock.hand_over()
    assert offsets(stock.take(1)) == [2]
    stock.take_back()
    other = Place(PLACE.tp, PLACE.topic_id, 2)
    again = Parcel(other, [(2, 4, 2)], batch(0, 6), 1_000, ReadConfig(explicit=True))
    stock.add(again, [(2, 4, 2)])
    found = [record for records in stock.take(10).values() for record in records]
    assert [(one.offset, one.delivery_count) for one in found] == [(5, 1), (2, 2), (3, 2), (4, 2)]
    for at in range(6):
        stock.acknowledge(PLACE.tp, at, AcknowledgeType.ACCEPT)
    said = {sheet.place.node_id: sheet.batches() for sheet in stock.collect(5_000)}
    assert said == {1: [(0, 1, [1]), (5, 5, [1])], 2: [(2, 4, [1])]}


def test_what_is_given_back_is_taken_first_and_only_what_is_held_can_be():
    one = parcel(batch(0, 6), [(0, 5, 1)])
    first, _ = one.take(4, 1 << 20)
    one.marks.put(0, ACCEPT)
    one.give_back(first)
    assert marks(one, range(4)) == [ACCEPT, WAITING, WAITING, WAITING]
    assert taken(one, 2) == [1, 2]
    assert taken(one, 2) == [3]
    assert taken(one, 2) == [4, 5]


def test_renewed_records_come_again_and_others_are_lost():
    one = parcel(batch(0, 4), [(0, 3, 1)], explicit=True)
    assert taken(one) == [0, 1, 2, 3]
    for at in range(4):
        one.marks.put(at, RENEW)
    assert one.marks.take() == [(0, bytes([RENEW] * 4))]
    one.renewed(0, 1, kept=True)
    one.renewed(2, 3, kept=False)
    assert marks(one, range(4)) == [WAITING, WAITING, DONE, DONE]
    assert taken(one) == [0, 1]


def test_the_lock_of_a_renewed_record_is_its_own_alone():
    stock, one = Stock({}.get), parcel(batch(0, 4), [(0, 3, 1)], explicit=True)
    stock.add(one, [(0, 3, 1)])
    assert offsets(stock.take(2)) == [0, 1]
    stock.acknowledge(PLACE.tp, 0, AcknowledgeType.RENEW)
    stock.acknowledge(PLACE.tp, 1, AcknowledgeType.ACCEPT)
    (sheet,) = stock.collect(5_000)
    sheet.lock_until(2_000)
    sheet.end(None)
    stock.renewed()
    stock.expire(1_000)  # when the other locks are over
    assert marks(one, range(4)) == [WAITING, DONE, DONE, DONE]
    assert offsets(stock.take(10)) == [0]
    stock.expire(2_000)
    assert marks(one, [0]) == [HELD]


def test_a_renewed_lock_ends_too():
    stock, one = Stock({}.get), parcel(batch(0, 1), [(0, 0, 1)], explicit=True)
    stock.add(one, [(0, 0, 1)])
    stock.take(1)
    stock.acknowledge(PLACE.tp, 0, AcknowledgeType.RENEW)
    (sheet,) = stock.collect(5_000)
    sheet.lock_until(2_000)
    sheet.end(None)
    stock.renewed()
    stock.expire(2_000)
    assert not stock.take(10)
    assert marks(one, [0]) == [DONE]


def test_what_nobody_took_can_be_released_or_is_lost():
    released, lost = parcel(batch(0, 4), [(0, 3, 1)]), parcel(batch(0, 4), [(0, 3, 1)])
    for one in (released, lost):
        one.take(1, 1 << 20)
    released.release()
    lost.lose()
    assert marks(released, range(4)) == [HELD, RELEASE, RELEASE, RELEASE]
    assert marks(lost, range(4)) == [HELD, DONE, DONE, DONE]
    assert (released.size, lost.size) == (0, 0)


def test_gaps_before_a_record_that_is_refused_are_gaps_nevertheless():
    """Released they would come again and again, to be found to be nothing."""

    def refuse(_topic, _headers, data):
        if data == b"3":
            raise ValueError(data)
        return data

    data = batch(0, 1) + batch(3, 3)
    one = parcel(data, [(0, 5, 1)], value_deserializer=refuse)
    assert taken(one, 1) == [0]
    with pytest.raises(DeserializationError):
        one.take(100, 1 << 20)
    assert marks(one, range(6)) == [HELD, GAP, GAP, RELEASE, WAITING, WAITING]
    assert taken(one) == [4, 5]


def test_what_was_given_back_goes_with_all_else_that_nobody_took():
    for end, mark in (("release", RELEASE), ("lose", DONE)):
        stock, one = Stock({}.get), parcel(batch(0, 3), [(0, 2, 1)])
        stock.add(one, [(0, 2, 1)])
        (records,) = stock.take(2).values()
        stock.give_back(records)
        if end == "release":
            stock.release_outside(lambda _topic: False)
        else:
            stock.lose(PLACE.node_id)
        stock.renewed()  # of whatever else there is
        assert marks(one, range(3)) == [mark] * 3
        assert not stock.waiting
        assert not one.waiting
