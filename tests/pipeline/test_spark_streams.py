"""Streams that go on while things change, on the embedded broker; sinks of all forms."""

import time

import pytest
from pipeline_support import add_partitions, delete_records
from pyspark.errors import PySparkException
from spark_support import Collected, load, stream

from kcore.embedded import EmbeddedBroker

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

DEADLINE_S = 120
RUNNING = {"processingTime": "200 milliseconds"}


@pytest.fixture
def broker():
    with EmbeddedBroker() as broker:
        broker.create_topic("t", 2)
        yield broker
        assert not broker.faults


def fill(broker, count, topic="t", partition=None):
    broker.produce(topic, [(None, b"x")] * count, partition)


def until(collected, count):
    """Wait for so many rows."""
    deadline = time.monotonic() + DEADLINE_S
    while len(collected.rows) < count:
        assert collected.query.isActive, collected.query.exception()
        assert time.monotonic() < deadline, collected.rows
        time.sleep(0.05)
    return [row[1:3] for row in collected.rows]


def test_records_partitions_and_topics_that_come_while_it_runs(spark, broker, tmp_path):
    wanted = {"subscribePattern": "^t", "startingOffsets": "earliest"}
    running = Collected(spark, broker.bootstrap, tmp_path, trigger=RUNNING, **wanted)
    fill(broker, 4)
    until(running, 4)
    fill(broker, 2)
    until(running, 6)
    add_partitions(broker.bootstrap, "t", 3)
    fill(broker, 5, partition=2)
    assert until(running, 11) == [
        *((p, n) for p in range(2) for n in range(3)),
        *((2, n) for n in range(5)),
    ]
    broker.create_topic("t-new")
    fill(broker, 3, "t-new")
    until(running, 14)
    deadline = time.monotonic() + DEADLINE_S
    while "t-new" not in running.query.lastProgress.sources[0].endOffset:
        assert time.monotonic() < deadline  # it is said after the micro-batch
        time.sleep(0.05)
    running.query.stop()
    assert len(running.rows) == 14


def test_it_begins_at_the_end_and_waits_for_enough(spark, broker, tmp_path):
    fill(broker, 10)
    running = Collected(
        spark, broker.bootstrap, tmp_path, trigger=RUNNING, subscribe="t", minOffsetsPerTrigger=6
    )
    time.sleep(3)
    deadline = time.monotonic() + DEADLINE_S
    while not running.query.recentProgress and time.monotonic() < deadline:
        time.sleep(0.1)
    fill(broker, 6)
    assert until(running, 6) == [(p, n) for p in range(2) for n in range(5, 8)]
    fill(broker, 2)
    time.sleep(3)
    assert len(running.rows) == 6  # too few
    fill(broker, 4)
    until(running, 12)
    running.query.stop()


def test_stopped_and_begun_again(spark, broker, tmp_path):
    rows = []
    wanted = {"subscribe": "t", "startingOffsets": "earliest", "maxOffsetsPerTrigger": 2}
    for _ in range(2):
        fill(broker, 8)
        running = Collected(spark, broker.bootstrap, tmp_path, trigger=RUNNING, **wanted)
        until(running, 3)
        running.query.stop()
        rows += running.rows
    rows += Collected(spark, broker.bootstrap, tmp_path, **wanted).wait().rows
    # A micro-batch that was stopped half way comes again; nothing is left out.
    assert sorted({row[1:3] for row in rows}) == [(p, n) for p in range(2) for n in range(8)]


def test_records_that_are_gone_end_the_query(spark, broker, tmp_path):
    fill(broker, 10)
    wanted = {"subscribe": "t", "startingOffsets": "earliest"}
    Collected(spark, broker.bootstrap, tmp_path, **wanted).wait()
    fill(broker, 10)
    delete_records(broker.bootstrap, "t", 8)
    failed = Collected(spark, broker.bootstrap, tmp_path, **wanted)
    with pytest.raises(PySparkException, match="t-0: records 5 to 8 are gone"):
        failed.wait()
    again = Collected(spark, broker.bootstrap, tmp_path, failOnDataLoss="false", **wanted).wait()
    assert [row[1:3] for row in again.rows] == [(0, 8), (0, 9), *((1, n) for n in range(5, 10))]


def test_wrong_options_end_the_query_at_once(spark, broker, tmp_path):
    for given, said in [
        ({"subscribe": "t", "endingOffsets": "latest"}, "only means something for batch"),
        ({"subscribe": "t", "startOffsets": "latest"}, "did you mean 'startingOffsets'"),
        ({"subscribe": "none"}, "there is no topic none"),
    ]:
        with pytest.raises(PySparkException, match=said) as caught:
            Collected(spark, broker.bootstrap, tmp_path / said[:9], **given).wait()
        assert "UnboundLocalError" not in str(caught.value)


def write(rows, broker, folder, **given):
    writer = rows.writeStream.format("kcore").option("kafka.bootstrap.servers", broker.bootstrap)
    for name, value in given.items():
        writer = writer.option(name, value)
    writer = writer.option("checkpointLocation", str(folder)).trigger(availableNow=True)
    query = writer.start()
    assert query.awaitTermination(DEADLINE_S)


def test_streams_are_written_where_columns_say(spark, broker, tmp_path):
    fill(broker, 20)
    for name in ("even", "odd"):
        broker.create_topic(name, 3)
    rows = stream(spark, broker.bootstrap, subscribe="t", startingOffsets="earliest")
    rows = rows.selectExpr(
        "case when offset % 2 = 0 then 'even' else 'odd' end as topic",
        "cast(offset % 3 as int) as partition",
        "concat(partition, '-', offset) as value",
        "cast(offset as string) as key",
        "array(named_struct('key', 'from', 'value', cast(topic as binary))) as headers",
    )
    write(rows, broker, tmp_path)
    found = load(spark, broker.bootstrap, subscribe="even,odd", includeHeaders="true").collect()
    assert sorted((row.topic, row.partition, row.key, row.value) for row in found) == sorted(
        ("odd" if n % 2 else "even", n % 3, b"%d" % n, b"%d-%d" % (p, n))
        for n in range(10)
        for p in range(2)
    )
    assert {tuple(row.headers) for row in found} == {(("from", b"t"),)}
    write(rows, broker, tmp_path)  # from its checkpoint: there is nothing more
    assert sum(broker.end_offsets("even") + broker.end_offsets("odd")) == 20


def test_columns_that_cannot_be_end_the_query_at_once(spark, broker, tmp_path):
    rows = stream(spark, broker.bootstrap, subscribe="t", startingOffsets="earliest")
    with pytest.raises(PySparkException, match="means nothing to the sink"):
        write(rows, broker, tmp_path, topic="t")
