"""Whatever a version can carry comes back as it went, in both directions and through frames."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from longer import examples
from wire_samples import CASES, CLASSES, case_id, filled, strategy

from kcore.wire import frames
from kcore.wire.apis import API_TABLE
from kcore.wire.codec import decode, encode


@pytest.mark.parametrize("cls", CLASSES, ids=case_id)
@given(data=st.data())
@settings(max_examples=examples(15))
def test_any_message_at_any_version(cls, data):
    version = data.draw(st.integers(*cls.VERSIONS))
    message = data.draw(strategy(cls, version))
    body = encode(message, version)
    assert decode(cls, version, body) == message
    # One value has one encoding, so a second trip is byte for byte the same.
    assert encode(decode(cls, version, body), version) == body


@pytest.mark.parametrize("cls", CLASSES, ids=case_id)
def test_every_version_with_every_field_filled(cls):
    rng = random.Random(cls.__name__)
    for version in range(cls.VERSIONS[0], cls.VERSIONS[1] + 1):
        for _ in range(5):
            message = filled(cls, version, rng)
            assert decode(cls, version, encode(message, version)) == message


@pytest.mark.parametrize("cls", CLASSES, ids=case_id)
def test_a_message_of_defaults(cls):
    for version in range(cls.VERSIONS[0], cls.VERSIONS[1] + 1):
        message = cls()
        for row in cls.FIELDS:
            if getattr(message, row[0]) is None and not row[4] <= version <= row[5]:
                # Null is the default but cannot be written in this version.
                setattr(message, row[0], [] if row[1].startswith("[]") else "")
                if not row[2] <= version <= row[3]:
                    setattr(message, row[0], None)
        assert decode(cls, version, encode(message, version)) == message


@pytest.mark.parametrize("api", API_TABLE.values(), ids=lambda api: api.key.stem)
def test_requests_and_responses_in_frames(api):
    rng = random.Random(api.key)
    for version in range(api.min_version, api.max_version + 1):
        request = filled(api.request, version, rng)
        client_id = rng.choice((None, "", "me"))
        sent = frames.encode_request(request, version, 7, client_id)
        assert int.from_bytes(sent[:4], "big") == len(sent) - 4
        got = frames.decode_request(sent[4:])
        assert got == (api.key, version, 7, client_id, request)

        response = filled(api.response, version, rng)
        sent = frames.encode_response(response, version, -2)
        assert int.from_bytes(sent[:4], "big") == len(sent) - 4
        assert frames.correlation_id(sent[4:]) == -2
        assert frames.decode_response(api.response, version, sent[4:]) == response


def test_there_is_something_to_test():
    assert len(CLASSES) == 2 * len(API_TABLE) + 4 + 47  # headers and blobs, records
    assert len(CASES) > 300
