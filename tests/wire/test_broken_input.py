"""What is cut, changed or made up: a typed error, no crash, no wrong value, bounded memory."""

import random
import tracemalloc

import pytest
from wire_samples import CLASSES, case_id, filled

from kcore.errors import Truncated, Unexpected, UnsupportedVersionError
from kcore.wire import frames
from kcore.wire.codec import decode, encode
from kcore.wire.messages import (
    ApiVersionsResponse,
    ConsumerGroupHeartbeatResponse,
    FetchResponse,
    HeartbeatRequest,
    JoinGroupResponse,
    MetadataResponse,
)

MAX_INT32 = b"\x7f\xff\xff\xff"
MAX_UVARINT = b"\xff\xff\xff\xff\x0f"


@pytest.mark.parametrize("cls", CLASSES, ids=case_id)
def test_every_prefix_is_truncated(cls):
    rng = random.Random(cls.__name__)
    for version in range(cls.VERSIONS[0], cls.VERSIONS[1] + 1):
        body = encode(filled(cls, version, rng), version)
        for cut in range(len(body)):
            with pytest.raises(Truncated) as caught:
                decode(cls, version, body[:cut])
            error = caught.value
            assert (error.api, error.version) == (cls.__name__, version)
            assert 0 <= error.at <= cut


@pytest.mark.parametrize("cls", CLASSES, ids=case_id)
def test_bytes_behind_the_end_are_unexpected(cls):
    version = cls.VERSIONS[1]
    body = encode(filled(cls, version, random.Random(1)), version)
    with pytest.raises(Unexpected) as caught:
        decode(cls, version, body + b"\0")
    assert caught.value.at == len(body)
    tolerated = decode(cls, version, body + b"\0", allow_trailing=True)
    assert tolerated == decode(cls, version, body)


@pytest.mark.parametrize("cls", CLASSES, ids=case_id)
def test_mutations_decode_or_fail_with_a_type(cls):
    rng = random.Random(cls.__name__)
    for version in range(cls.VERSIONS[0], cls.VERSIONS[1] + 1):
        body = encode(filled(cls, version, rng), version)
        for _ in range(60 if body else 0):
            changed = bytearray(body)
            for _ in range(rng.choice((1, 1, 2, 5))):
                changed[rng.randrange(len(changed))] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, 3))
            try:
                message = decode(cls, version, changed)
            except (Truncated, Unexpected):
                continue
            again = decode(cls, version, encode(message, version))
            assert again == message


@pytest.mark.parametrize("cls", CLASSES, ids=case_id)
def test_noise_decodes_or_fails_within_bounds(cls):
    rng = random.Random(cls.__name__)
    for version in (cls.VERSIONS[0], cls.VERSIONS[1]):
        for fill in (b"\xff", b"\x7f", b"\x80", b"\x00", b"\x01", None):
            noise = fill * 400 if fill else rng.randbytes(400)
            tracemalloc.start()
            try:
                decode(cls, version, noise)
            except (Truncated, Unexpected):
                pass
            finally:
                peak = tracemalloc.get_traced_memory()[1]
                tracemalloc.stop()
            # An item of an array takes a byte or more, and its object less than a kilobyte.
            assert peak < 1000 * len(noise)


@pytest.mark.parametrize(
    ("cls", "version", "body"),
    [
        (MetadataResponse, 0, MAX_INT32 + bytes(100)),
        (MetadataResponse, 9, bytes(4) + MAX_UVARINT + bytes(100)),
        (FetchResponse, 11, bytes(10) + MAX_INT32 + bytes(100)),
        (FetchResponse, 12, bytes(10) + b"\xff\xff\xff\xff\x07" + bytes(100)),
        (JoinGroupResponse, 0, bytes(2 + 4 + 2 + 2 + 2) + MAX_INT32),
        (ApiVersionsResponse, 0, bytes(2) + MAX_INT32),
    ],
)
def test_a_huge_count_allocates_nothing(cls, version, body):
    tracemalloc.start()
    with pytest.raises((Truncated, Unexpected)):
        decode(cls, version, body)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20_000


@pytest.mark.parametrize(
    ("cls", "version", "body", "reason", "at"),
    [
        (HeartbeatRequest, 0, b"\xff\xff", "null", 0),
        (HeartbeatRequest, 0, b"\xff\xfe", "impossible length", 0),
        (HeartbeatRequest, 0, b"\x00\x02\xc3\x28", "not UTF-8", 2),
        (HeartbeatRequest, 4, b"\x00", "null", 0),
        (HeartbeatRequest, 4, b"\x80\x80\x80\x80\x10", "varint", 0),
        (HeartbeatRequest, 4, b"\x80\x80\x80\x80\x80\x00", "varint", 0),
        (HeartbeatRequest, 4, b"\x81\x80\x02", "impossible length", 0),
        (MetadataResponse, 0, b"\xff\xff\xff\xff", "null", 0),
        (MetadataResponse, 0, b"\x80\x00\x00\x00", "impossible length", 0),
    ],
)
def test_impossible_values_are_unexpected(cls, version, body, reason, at):
    with pytest.raises(Unexpected, match=reason) as caught:
        decode(cls, version, body)
    assert caught.value.at == at


def test_the_error_names_message_version_and_field():
    body = encode(HeartbeatRequest(group_id="g", member_id="m"), 3)
    with pytest.raises(Truncated, match=r"HeartbeatRequest v3: .* in member_id at byte 7$"):
        decode(HeartbeatRequest, 3, body[:8])


def test_a_tagged_field_that_does_not_fill_its_size():
    body = encode(ApiVersionsResponse(), 3)
    epoch = b"\x01\x01\x08" + bytes(7) + b"\x05"
    assert decode(ApiVersionsResponse, 3, body[:-1] + epoch).finalized_features_epoch == 5
    for size in (7, 9):
        lie = b"\x01\x01" + bytes((size,)) + bytes(20)
        with pytest.raises(Unexpected, match="fill its size in finalized_features_epoch"):
            decode(ApiVersionsResponse, 3, body[:-1] + lie)


def test_unknown_tagged_fields_are_passed_over():
    message = ApiVersionsResponse(finalized_features_epoch=5, zk_migration_ready=True)
    tags = b"\x02" + b"\x01\x08" + bytes(7) + b"\x05" + b"\x03\x01\x01"
    body = encode(message, 3)
    assert body.endswith(tags)
    more = b"\x05" + b"\x00\x01\x01" + tags[1:] + b"\x63\x02ab" + b"\xe4\x07\x00"
    assert decode(ApiVersionsResponse, 3, body.removesuffix(tags) + more) == message


def test_a_tagged_field_given_twice_counts_once():
    body = encode(ApiVersionsResponse(), 3)
    twice = b"\x02" + 2 * (b"\x01\x08" + bytes(7) + b"\x05")
    assert decode(ApiVersionsResponse, 3, body[:-1] + twice).finalized_features_epoch == 5


def test_a_nullable_struct():
    none = ConsumerGroupHeartbeatResponse(member_id="m")
    assert decode(ConsumerGroupHeartbeatResponse, 0, encode(none, 0)).assignment is None
    some = ConsumerGroupHeartbeatResponse(assignment=ConsumerGroupHeartbeatResponse.Assignment())
    assert decode(ConsumerGroupHeartbeatResponse, 0, encode(some, 0)) == some


@pytest.mark.parametrize("version", [-1, 5, 32767, -32768])
def test_versions_that_do_not_exist(version):
    with pytest.raises(UnsupportedVersionError, match="HeartbeatRequest has versions 0 to 4"):
        decode(HeartbeatRequest, version, b"")
    with pytest.raises(UnsupportedVersionError):
        encode(HeartbeatRequest(), version)


@pytest.mark.parametrize("cut", range(30))
def test_request_frames_cut_anywhere(cut):
    frame = frames.encode_request(HeartbeatRequest(group_id="group", member_id="m"), 4, 9, "me")[4:]
    if cut < len(frame):
        with pytest.raises(Truncated):
            frames.decode_request(frame[:cut])
    else:
        assert frames.decode_request(frame).correlation_id == 9
