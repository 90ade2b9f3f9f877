"""The examples of docs/spark.md and of the README run as they stand, on an embedded broker."""

import time

import pages
import pytest
from spark_support import load, words

from kcore import Admin
from kcore.embedded import EmbeddedBroker

pytestmark = pytest.mark.timeout(300)  # the first one waits for Spark to start


@pytest.fixture
def broker():
    with EmbeddedBroker() as broker:
        for topic in ("flights", "flights-copy", "orders"):
            broker.create_topic(topic, 2)
        broker.produce("flights", [(b"k", b"%d" % number) for number in range(6)])
        yield broker
        assert not broker.faults


@pytest.mark.slow
def test_a_topic_is_copied(spark, broker, tmp_path):
    code = pages.python("docs/spark.md")[0]
    code = code.replace("broker-1:9092,broker-2:9092", broker.bootstrap)
    code = code.replace("/checkpoints", str(tmp_path))
    names = {}
    exec(code, names)
    query = names["query"]
    try:
        query.processAllAvailable()
        copied = words(load(spark, broker.bootstrap, subscribe="flights-copy"))
    finally:
        query.stop()
    assert sorted(value for *_, value in copied) == [b"%d" % number for number in range(6)]


@pytest.mark.slow
def test_what_is_no_order_goes_aside_and_a_group_has_the_offsets(spark, broker, tmp_path):
    broker.create_topic("orders.dead")
    rows = [b'{"number": 1, "item": "apples"}', b"no order", b'{"number": 2}']
    broker.produce("orders", [(b"k", row) for row in rows])
    _, _, aside, commits = pages.python("docs/spark.md")
    names = {"spark": spark}
    for code in (commits, aside):
        here = code.replace('"/lake', f'"{tmp_path}/lake').replace('"/check', f'"{tmp_path}/check')
        exec(here.replace("broker-1:9092", broker.bootstrap), names)
    query = names["query"]
    try:
        query.processAllAvailable()
        written = spark.read.parquet(f"{tmp_path}/lake/orders").select("number", "item").collect()
        assert sorted(map(tuple, written)) == [(1, "apples"), (2, None)]
        dead = words(load(spark, broker.bootstrap, subscribe="orders.dead"))
        assert [value for *_, value in dead] == [b"no order"]
        until = time.monotonic() + 60
        with Admin(bootstrap_servers=broker.bootstrap) as admin:
            while sum(one.committed for one in admin.lag("spark-orders").values()) < 3:
                assert time.monotonic() < until
                time.sleep(0.1)
    finally:
        query.stop()
        spark.streams.removeListener(names["listener"])


def test_some_columns_are_read(spark, broker):
    code = pages.python("docs/spark.md")[1]
    names = {"spark": spark}
    exec(code.replace("localhost:9092", broker.bootstrap), names)
    assert names["rows"].dtypes == [("value", "string"), ("timestamp", "timestamp")]


def test_a_stream_is_opened(spark, broker):
    (code,) = [one for one in pages.python("README.md") if "KcoreDataSource" in one]
    names = {"spark": spark}
    exec(code.replace("host:9092", broker.bootstrap), names)
    assert names["rows"].isStreaming
    assert names["rows"].columns[:2] == ["key", "value"]
