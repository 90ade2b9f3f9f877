"""The demo's data set as records."""

import io
import itertools
import json

from kcore.cli.demo import flights

TEXT = """year,dep_time,carrier,flight,tailnum,time_hour
2013,517,UA,1545,N14228,2013-01-01T10:00:00Z
2013,,AA,791,NA,2013-01-02T00:00:00Z
"""


def test_numbers_are_numbers_and_what_is_missing_is_null():
    (key, value), (key_of_missing, missing) = flights.rows(io.StringIO(TEXT))
    assert key == b"UA"
    assert json.loads(value) == {
        "year": 2013,
        "dep_time": 517,
        "carrier": "UA",
        "flight": 1545,
        "tailnum": "N14228",
        "time_hour": "2013-01-01T10:00:00Z",
    }
    assert key_of_missing == b"AA"
    assert json.loads(missing)["dep_time"] is None
    assert json.loads(missing)["tailnum"] is None


def test_the_real_file():
    first = list(itertools.islice(flights.flights(), 1_000))
    assert len(first) == 1_000
    assert json.loads(first[0][1])["carrier"].encode() == first[0][0]
