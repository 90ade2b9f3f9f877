"""Byte for byte what Kafka's Java classes write, and read as they meant it."""

import pytest
from wire_samples import CLASSES, case_id
from wire_vectors import SEED, from_json, make, read

from kcore.errors import Truncated
from kcore.wire.codec import decode, encode
from kcore.wire.frames import FrameReader


@pytest.mark.parametrize("cls", CLASSES, ids=case_id)
def test_whole(cls):
    vectors = read(cls.__name__)
    assert [vector["version"] for vector in vectors] == list(
        range(cls.VERSIONS[0], cls.VERSIONS[1] + 1)
    )
    for vector in vectors:
        message = from_json(cls, vector["value"])
        body = bytes.fromhex(vector["body"])
        assert encode(message, vector["version"]) == body
        assert decode(cls, vector["version"], body) == message


@pytest.mark.parametrize("cls", CLASSES, ids=case_id)
def test_cut_at_every_prefix(cls):
    for vector in read(cls.__name__):
        body = bytes.fromhex(vector["body"])
        for cut in range(len(body)):
            with pytest.raises(Truncated):
                decode(cls, vector["version"], memoryview(body)[:cut])


@pytest.mark.parametrize("cls", CLASSES, ids=case_id)
def test_byte_by_byte_and_in_one_read(cls):
    bodies = [bytes.fromhex(vector["body"]) for vector in read(cls.__name__)]
    stream = b"".join(len(body).to_bytes(4, "big") + body for body in bodies)
    whole = FrameReader(1 << 20)
    assert whole.feed(stream) == bodies
    bytewise = FrameReader(1 << 20)
    frames = [frame for byte in stream for frame in bytewise.feed(bytes((byte,)))]
    assert frames == bodies
    for vector, frame in zip(read(cls.__name__), frames, strict=True):
        assert decode(cls, vector["version"], frame) == from_json(cls, vector["value"])


@pytest.mark.kafka
def test_the_committed_vectors_are_what_kafka_writes():
    assert make(SEED, 1) == {cls.__name__: read(cls.__name__) for cls in CLASSES}


@pytest.mark.kafka
@pytest.mark.slow
def test_more_of_them():
    for name, vectors in make(SEED + 1, 5).items():
        (cls,) = [cls for cls in CLASSES if cls.__name__ == name]
        for vector in vectors:
            message = from_json(cls, vector["value"])
            body = bytes.fromhex(vector["body"])
            assert encode(message, vector["version"]) == body
            assert decode(cls, vector["version"], body) == message
