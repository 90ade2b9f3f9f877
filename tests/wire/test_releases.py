"""What a stated release caps the versions to, and that it is told again from those versions."""

from itertools import pairwise

import pytest

from kcore.cluster.release import release_of
from kcore.wire.apis import API_TABLE, ApiKey
from kcore.wire.releases import RELEASES, highest_versions


@pytest.mark.parametrize("release", RELEASES)
def test_a_release_is_told_from_its_versions(release):
    highest = highest_versions(release)
    found = release_of(lambda api: (0, highest[api]) if highest.get(api, -1) >= 0 else None)
    assert found == release


@pytest.mark.parametrize("release", RELEASES)
def test_we_speak_a_version_of_what_every_release_serves(release):
    for api, highest in highest_versions(release).items():
        assert highest == -1 or API_TABLE[api].min_version <= highest <= API_TABLE[api].max_version


def test_releases_only_add():
    for older, newer in pairwise(RELEASES):
        for api, highest in highest_versions(older).items():
            assert highest <= highest_versions(newer)[api]


@pytest.mark.parametrize(
    ("stated", "like"),
    [
        ((2, 3), (2, 1)),
        ((2, 3, 1), (2, 1)),
        ((2, 8, 2), (2, 8)),
        ((3,), (2, 8)),
        ((4, 9), (4, 4)),
        ((4, 3, 2), (4, 3)),
        ((0, 10, 1), (2, 1)),
        ((3, 6), (3, 5)),
    ],
)
def test_other_releases_count_as_the_one_before(stated, like):
    assert highest_versions(stated) == highest_versions(like)


def test_some_cells():
    assert highest_versions((2, 1))[ApiKey.JOIN_GROUP] == 3
    assert highest_versions((3, 5))[ApiKey.FETCH] == 15
    assert highest_versions((3, 9))[ApiKey.SHARE_FETCH] == -1
