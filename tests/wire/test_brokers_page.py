"""What docs/BROKERS.md says of releases is what those serve."""

import re
from pathlib import Path

import pytest

from kcore.wire.apis import ApiKey
from kcore.wire.releases import RELEASES, highest_versions

PAGE = Path(__file__).parents[2] / "docs/BROKERS.md"
ROWS = re.findall(r"^\| [^|]+ \| (\w+) v(\d+) \| (\d+)\.(\d+) \|", PAGE.read_text(), re.MULTILINE)


def test_there_are_rows():
    assert len(ROWS) > 15


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]} v{row[1]}")
def test_a_release_serves_what_the_page_says_and_none_before_does(row):
    name, version, *release = row
    api = next(one for one in ApiKey if one.stem == name)
    since = tuple(map(int, release))
    served = [highest_versions(one)[api] >= int(version) for one in RELEASES]
    assert served == [one >= since for one in RELEASES]
