"""The examples of docs/spark.md and of the README run as they stand, on an embedded broker."""

import pages
import pytest
from spark_support import load, words

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
    (code,) = pages.python("docs/spark.md")
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


def test_a_stream_is_opened(spark, broker):
    code = pages.python("README.md")[-1].replace("host:9092", broker.bootstrap)
    names = {"spark": spark}
    exec(code, names)
    assert names["rows"].isStreaming
    assert names["rows"].columns[:2] == ["key", "value"]
