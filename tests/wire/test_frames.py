"""Frames cut from a stream in any portions, lengths that cannot be, headers."""

import random

import pytest

from kcore.errors import FrameError, Truncated, Unexpected, UsageError
from kcore.wire import frames
from kcore.wire.apis import ApiKey
from kcore.wire.frames import FrameReader
from kcore.wire.messages import (
    ApiVersionsResponse,
    FetchResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    MetadataRequest,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)

SCRATCH = 16384


def framed(*bodies):
    return b"".join(len(body).to_bytes(4, "big") + body for body in bodies)


BODIES = [b"", b"a", b"bc" * 100, bytes(SCRATCH - 4), bytes(SCRATCH), b"z" * 100_000, b"end"]


@pytest.mark.parametrize("portion", [1, 2, 3, 4, 5, 7, 1000, SCRATCH, 10**6])
def test_any_portions(portion):
    stream = framed(*BODIES)
    reader = FrameReader(1 << 20)
    got = []
    for at in range(0, len(stream), portion):
        got += reader.feed(stream[at : at + portion])
    assert got == BODIES
    assert reader.pending_bytes == 0


def test_random_portions_into_the_lent_buffer():
    rng = random.Random(1)
    stream = framed(*BODIES, *BODIES)
    reader = FrameReader(1 << 20)
    got, at = [], 0
    while at < len(stream):
        lent = reader.buffer()
        size = min(len(lent), len(stream) - at, rng.choice((1, 3, 50, 5000, 10**6)))
        lent[:size] = stream[at : at + size]
        at += size
        got += reader.advance(size)
    assert got == BODIES + BODIES


def test_a_large_frame_lends_exactly_its_rest():
    body = random.Random(1).randbytes(1_000_000)
    reader = FrameReader(1 << 20)
    assert len(reader.buffer()) == SCRATCH
    assert reader.feed(framed(body)[:3]) == []
    assert len(reader.buffer()) == SCRATCH - 3
    assert reader.feed(framed(body)[3:10]) == []
    lent = reader.buffer()
    assert len(lent) == len(body) - 6
    assert reader.pending_bytes == 10
    assert reader.missing_bytes == 999_994
    assert not lent.readonly
    lent[:] = body[6:]
    (frame,) = reader.advance(len(lent))
    assert frame == body
    assert len(reader.buffer()) == SCRATCH


def test_frames_are_read_only_and_outlive_the_reader():
    reader = FrameReader(1 << 20)
    (frame,) = reader.feed(framed(b"x" * 50))
    reader.feed(framed(b"y" * 50))
    del reader
    assert frame == b"x" * 50
    assert frame.readonly
    assert (frame.format, frame.ndim, frame.c_contiguous) == ("B", 1, True)


def test_nothing_read():
    reader = FrameReader(100)
    assert reader.advance(0) == []
    assert reader.feed(b"") == []
    assert reader.pending_bytes == 0


@pytest.mark.parametrize("size", [-1, SCRATCH + 1, 10**9])
def test_advancing_past_what_was_lent(size):
    with pytest.raises(UsageError):
        FrameReader(100).advance(size)


def test_advancing_past_what_is_lent_of_an_open_frame():
    reader = FrameReader(100)
    reader.feed(framed(b"x" * 50)[:20])
    with pytest.raises(UsageError):
        reader.advance(35)
    assert reader.advance(0) == []


def test_a_buffer_of_less_than_nothing():
    with pytest.raises(UsageError, match="-1 bytes"):
        frames.FrameBuffer(-1)


def test_the_limit():
    assert FrameReader(10).feed(framed(b"x" * 10)) == [b"x" * 10]
    with pytest.raises(FrameError, match=r"11 bytes .* more than the limit of 10 bytes"):
        FrameReader(10).feed(framed(b"x" * 11))
    with pytest.raises(UsageError, match="negative"):
        FrameReader(-1)


@pytest.mark.parametrize(
    ("start", "hint"),
    [
        (b"\xff\xff\xff\xff", "negative: the peer is no Kafka broker"),
        (b"\x80\x00\x00\x00", "negative: the peer is no Kafka broker"),
        (b"\x7f\xff\xff\xff", "more than the limit of 104857600 bytes: the peer is no Kafka"),
        (b"HTTP/1.1 400 Bad Request", "speaks HTTP"),
        (b"\x15\x03\x03\x00\x02\x02\x46", "speaks TLS and answered with an alert"),
        (b"\x16\x03\x01\x02\x00\x01", "speaks TLS"),
        (b"SSH-2.0-x", "speaks SSH"),
        (b"GET / HTTP/1.1", "HTTP request"),
        (b"POST / HTTP/1.1", "HTTP request"),
    ],
)
def test_a_peer_that_is_not_kafka(start, hint):
    reader = FrameReader(100 * 1024 * 1024)
    assert reader.feed(start[:3]) == []
    with pytest.raises(FrameError, match=hint):
        reader.feed(start[3:4])
    # The stream is lost: nothing that follows can be a frame.
    with pytest.raises(FrameError, match=hint):
        reader.feed(framed(b"fine"))


def test_a_request_as_bytes():
    # int16 key, int16 version, int32 correlation id, client id, tags, body, tags
    sent = frames.encode_request(HeartbeatRequest(group_id="g", member_id="m"), 4, 5, "me")
    assert sent[4:].hex(" ", -2) == "000c 0004 0000 0005 0002 6d65 0002 6700 0000 0002 6d00 00"
    sent = frames.encode_request(HeartbeatRequest(group_id="g", member_id="m"), 0, 5, None)
    assert sent[4:].hex(" ", -2) == "000c 0000 0000 0005 ffff 0001 6700 0000 0000 016d"


def test_a_response_as_bytes():
    sent = frames.encode_response(HeartbeatResponse(error_code=27), 4, 5)
    assert sent.hex(" ", 1) == "00 00 00 0c 00 00 00 05 00 00 00 00 00 00 1b 00"
    sent = frames.encode_response(HeartbeatResponse(error_code=27), 3, 5)
    assert sent.hex(" ", 1) == "00 00 00 0a 00 00 00 05 00 00 00 00 00 1b"


@pytest.mark.parametrize("version", range(5))
def test_the_response_header_of_api_versions_is_always_v0(version):
    sent = frames.encode_response(ApiVersionsResponse(error_code=35), version, 1)
    assert sent[4:10].hex() == "00000001" + "0023"
    answer = frames.decode_response(ApiVersionsResponse, version, sent[4:])
    assert answer.error_code == 35


def test_an_unsupported_version_is_answered_in_v0():
    # What a 4.x broker sends back to ApiVersions v99: error 35 and its own range, in v0.
    frame = bytes.fromhex("00000001" + "0023" + "00000001" + "0012" + "0000" + "0004")
    answer = frames.decode_response(ApiVersionsResponse, 0, frame)
    (key,) = answer.api_keys
    assert (answer.error_code, key.api_key, key.min_version, key.max_version) == (35, 18, 0, 4)


def test_sasl_handshake_is_never_flexible():
    sent = frames.encode_request(SaslHandshakeRequest(mechanism="PLAIN"), 1, 1, "me")
    assert sent[4:].hex() == "0011" + "0001" + "00000001" + "00026d65" + "0005504c41494e"
    sent = frames.encode_response(SaslHandshakeResponse(mechanisms=["PLAIN"]), 1, 1)
    assert sent[4:].hex() == "00000001" + "0000" + "00000001" + "0005504c41494e"


def test_a_version_that_a_broker_does_not_speak():
    # ApiVersions v7 of some future client: header v2, a body that we cannot read.
    frame = bytes.fromhex("0012" + "0007" + "00000009" + "00026d65" + "00" + "ffffff")
    got = frames.decode_request(frame)
    assert got == (ApiKey.API_VERSIONS, 7, 9, "me", None)
    frame = bytes.fromhex("0001" + "0000" + "00000009" + "ffff" + "ffffff")
    assert frames.decode_request(frame) == (ApiKey.FETCH, 0, 9, None, None)


def test_an_api_that_does_not_exist():
    with pytest.raises(Unexpected, match="API key 1000"):
        frames.decode_request(bytes.fromhex("03e8" + "0000" + "00000009" + "ffff"))


def test_bytes_behind_a_body_are_passed_over():
    # Kafka does so with both. The request is librdkafka's for the metadata of all topics (2.16).
    sent = bytes.fromhex("0003000d00000003000772646b61666b610000000000010000")
    asked = frames.decode_request(sent).message
    assert asked == MetadataRequest(topics=None, allow_auto_topic_creation=False)
    sent = frames.encode_response(HeartbeatResponse(), 4, 1)[4:]
    assert frames.decode_response(HeartbeatResponse, 4, sent + b"\0") == HeartbeatResponse()


@pytest.mark.parametrize("size", range(4))
def test_a_response_too_short_for_a_correlation_id(size):
    with pytest.raises(Truncated):
        frames.correlation_id(bytes(size))
    with pytest.raises(Truncated):
        frames.decode_response(HeartbeatResponse, 0, bytes(size))


def test_record_bytes_stay_where_they_arrived():
    topic = FetchResponse.FetchableTopicResponse(
        topic="t", partitions=[FetchResponse.PartitionData(records=b"r" * 50_000)]
    )
    sent = frames.encode_response(FetchResponse(responses=[topic]), 11, 1)
    (frame,) = FrameReader(1 << 20).feed(sent)
    records = frames.decode_response(FetchResponse, 11, frame).responses[0].partitions[0].records
    assert records == b"r" * 50_000
    assert records.obj is frame.obj
