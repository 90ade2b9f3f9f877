"""Nothing is kept: not by what succeeds, not by what fails half way."""

import gc
import random
import sys

import pytest
from wire_samples import filled

from kcore.errors import KafkaError
from kcore.wire.codec import decode, encode
from kcore.wire.frames import FrameReader
from kcore.wire.messages import ApiVersionsResponse, FetchRequest, FetchResponse, JoinGroupResponse


def kept(action, rounds=300):
    """Blocks of memory that remain per round."""
    for _ in range(20):
        action()
    gc.collect()
    before = sys.getallocatedblocks()
    for _ in range(rounds):
        action()
    gc.collect()
    return (sys.getallocatedblocks() - before) / rounds


@pytest.mark.parametrize(
    "cls", [ApiVersionsResponse, FetchRequest, FetchResponse, JoinGroupResponse]
)
def test_decoding_and_encoding_keep_nothing(cls):
    version = cls.VERSIONS[1]
    rng = random.Random(3)
    message = max((filled(cls, version, rng) for _ in range(20)), key=lambda m: len(repr(m)))
    body = encode(message, version)
    broken = [body[:cut] for cut in range(0, len(body), 7)] + [b"\xff" * 50, body + b"x"]

    def action():
        decode(cls, version, body)
        encode(message, version)
        for data in broken:
            with pytest.raises(KafkaError):
                decode(cls, version, data)

    assert kept(action, rounds=100) < 0.2


def test_refused_messages_keep_nothing():
    topic = FetchRequest.FetchTopic(partitions=[FetchRequest.FetchPartition(fetch_offset="x")])
    wrong = FetchRequest(topics=[FetchRequest.FetchTopic(topic_id=bytes(16)), topic])

    def action():
        with pytest.raises(KafkaError):
            encode(wrong, 13)

    assert kept(action) < 0.2


def test_frames_keep_nothing():
    reader = FrameReader(1 << 20)
    stream = b"".join(len(b).to_bytes(4, "big") + b for b in (b"", b"abc", bytes(40_000)))

    def action():
        for at in range(0, len(stream), 9_001):
            reader.feed(stream[at : at + 9_001])
        other = FrameReader(10)
        with pytest.raises(KafkaError):
            other.feed(stream)

    assert kept(action) < 0.2
