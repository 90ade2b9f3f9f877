"""What is handed over at once: so many records, and what was acquired in one up to its end."""

import pytest

from kcore.errors import CorruptRecordError
from kcore.records import encode_batch
from kcore.share.config import ReadConfig
from kcore.share.parcel import Parcel, Place
from kcore.share.stock import Stock
from kcore.structs import TopicPartition


def stock(*parts, spoil=False):
    """Of partitions of t, each of (ranges, count of records)."""
    found = Stock()
    for number, (ranges, count) in enumerate(parts):
        rows = [(1, None, b"%d" % at) for at in range(count)]
        data = encode_batch(rows)
        if spoil:
            data = data[:-1] + bytes([data[-1] ^ 1])
        place = Place(TopicPartition("t", number), b"t" * 16, 1)
        found.add(Parcel(place, ranges, data, 1_000, ReadConfig()), ranges)
    return found


def sizes(found):
    return {tp.partition: len(records) for tp, records in found.items()}


@pytest.mark.parametrize(
    ("most", "whole", "strict"),
    [
        (1, [{0: 10}, {1: 4}, {1: 6}], 20),
        (10, [{0: 10}, {1: 10}], 2),
        (11, [{0: 10, 1: 4}, {1: 6}], 2),
        (15, [{0: 10, 1: 10}], 2),
        (100, [{0: 10, 1: 10}], 1),
    ],
)
def test_what_was_acquired_in_one_is_handed_over_to_its_end(most, whole, strict):
    parts = ([(0, 9, 1)], 10), ([(0, 3, 1), (4, 9, 2)], 10)
    one = stock(*parts)
    found = []
    while one.waiting:
        found.append(sizes(one.take(most, whole=True)))
    assert found == whole
    other = stock(*parts)
    calls = 0
    while other.waiting:
        assert sum(sizes(other.take(most)).values()) <= most
        calls += 1
    assert calls == strict


def test_what_cannot_be_read_waits_for_nothing():
    with pytest.raises(CorruptRecordError):
        stock(([(0, 9, 1)], 10), spoil=True).take(3, whole=True)
