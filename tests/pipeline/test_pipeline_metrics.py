"""How far a stream is behind, out of its progress; test_spark_beside_jvm.py has Spark's own."""

import json

import pytest

from kcore.pipeline import progress_metrics


def source(end, latest):
    return {"description": "x", "startOffset": None, "endOffset": end, "latestOffset": latest}


def behind(least, most, mean):
    return {
        "minOffsetsBehindLatest": least,
        "maxOffsetsBehindLatest": most,
        "avgOffsetsBehindLatest": mean,
    }


END = {"t": {"0": 10, "1": 20}, "u": {"0": 5}}
LATEST = {"t": {"0": 10, "1": 27}, "u": {"0": 6}}
WANTED = behind(0, 7, 8 / 3)


def test_over_all_partitions_of_each_source():
    other = source({"v": {"0": 1}}, {"v": {"0": 4}})
    whole = {"batchId": 3, "sources": [source(END, LATEST), other]}
    assert progress_metrics(whole) == [WANTED, behind(3, 3, 3.0)]
    assert progress_metrics(json.loads(json.dumps(whole))) == progress_metrics(whole)
    assert progress_metrics(other) == [behind(3, 3, 3.0)]


def test_offsets_may_be_text():
    assert progress_metrics(source(json.dumps(END), json.dumps(LATEST))) == [WANTED]


def test_partitions_that_are_new_or_gone():
    end = {"t": {"0": 10, "gone": 3}}
    assert progress_metrics(source({"t": {"0": 10, "7": 3}}, {"t": {"0": 10, "1": 4}})) == [
        behind(0, 4, 2.0)
    ]
    assert progress_metrics(source(end, LATEST)) == [{}]  # no partition has such a number


@pytest.mark.parametrize(
    ("end", "latest"),
    [
        (None, LATEST),
        (END, None),
        ("None", "None"),
        ("null", "null"),
        ({}, {}),
        (7, 9),  # a rate source's
        ({"logOffset": 0}, {"logOffset": 3}),  # a file source's
        ({"t": {"0": "7"}}, {"t": {"0": "9"}}),
        ([1], [2]),
    ],
)
def test_what_has_no_such_offsets_has_none(end, latest):
    assert progress_metrics(source(end, latest)) == [{}]


def test_before_there_is_any_source():
    assert progress_metrics({"sources": []}) == []
