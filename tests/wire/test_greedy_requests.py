"""What a request can cost whoever reads it is bounded: two bytes of it may become an object."""

import struct

import pytest

from kcore.errors import Unexpected
from kcore.wire import frames
from kcore.wire import messages as m

MOST = 500_000


def metadata(count):
    """A Metadata request v8 for `count` topics without names."""
    header = struct.pack(">hhih", 3, 8, 1, -1)
    return header + struct.pack(">i", count) + bytes(2 * count) + bytes(3)


def test_as_many_items_as_anybody_needs():
    assert len(frames.decode_request(metadata(MOST)).message.topics) == MOST


def test_more_are_refused():
    with pytest.raises(Unexpected, match="more items"):
        frames.decode_request(metadata(MOST + 1))


def test_items_count_together():
    """Topics with partitions, each array below the bound."""
    Fetch = m.FetchRequest
    topic = Fetch.FetchTopic(topic="t", partitions=[Fetch.FetchPartition()] * 50_000)
    good, bad = (
        frames.encode_request(Fetch(topics=[topic] * count), 12, 1, None)[4:] for count in (9, 10)
    )
    request = frames.decode_request(good).message
    assert sum(len(entry.partitions) for entry in request.topics) == 450_000
    with pytest.raises(Unexpected, match="more items"):
        frames.decode_request(bad)
