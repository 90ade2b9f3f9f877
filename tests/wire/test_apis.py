"""Agreeing on a version."""

import pytest

from kcore.errors import UnsupportedVersionError
from kcore.wire.apis import API_TABLE, ApiKey, negotiate
from kcore.wire.messages import JoinGroupRequest, JoinGroupResponse


@pytest.mark.parametrize(
    ("api", "broker", "cap", "version"),
    [
        (ApiKey.FETCH, (0, 10), None, 10),  # Kafka 2.1
        (ApiKey.FETCH, (4, 18), None, 18),  # Kafka 4.3
        (ApiKey.FETCH, (4, 99), None, 18),  # newer than we know
        (ApiKey.FETCH, (0, 4), None, 4),
        (ApiKey.FETCH, (18, 30), None, 18),
        (ApiKey.FETCH, (4, 18), 12, 12),
        (ApiKey.FETCH, (4, 11), 12, 11),
        (ApiKey.PRODUCE, (0, 13), None, 13),  # 4.x lists 0 but serves 3 and up
        (ApiKey.INIT_PRODUCER_ID, (0, 6), None, 5),  # 6 is not stable
        (ApiKey.SASL_HANDSHAKE, (0, 1), None, 1),
    ],
)
def test_the_highest_common_version(api, broker, cap, version):
    assert negotiate(api, *broker, cap) == version


@pytest.mark.parametrize(
    ("api", "broker", "cap", "words"),
    [
        (ApiKey.FETCH, (0, 3), None, ["Fetch", "0 to 3", "4 to 18"]),
        (ApiKey.FETCH, (19, 20), None, ["Fetch", "19 to 20", "4 to 18"]),
        (ApiKey.FETCH, (13, 18), 12, ["13 to 18", "4 to 18", "no higher than 12"]),
        (ApiKey.JOIN_GROUP, (9, 2), None, ["JoinGroup", "inverted", "9 to 2", "0 to 9"]),
        (ApiKey.JOIN_GROUP, (-1, -1), None, ["JoinGroup", "-1 to -1", "0 to 9"]),
    ],
)
def test_no_common_version(api, broker, cap, words):
    with pytest.raises(UnsupportedVersionError) as caught:
        negotiate(api, *broker, cap)
    for word in words:
        assert word in str(caught.value)


def test_the_table_gives_the_classes():
    api = API_TABLE[ApiKey.JOIN_GROUP]
    assert (api.request, api.response) == (JoinGroupRequest, JoinGroupResponse)
    assert set(API_TABLE) == set(ApiKey)
