"""The data source inside Spark, on the embedded broker: a few of each kind."""

import json
import socket

import pytest
from pyspark.errors import PySparkException
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from spark_support import Collected, load, save, words

from kcore.embedded import EmbeddedBroker
from kcore.pipeline import KcoreDataSource, workers

pytestmark = pytest.mark.timeout(300)  # the first ones wait for Spark to start


@pytest.fixture(scope="module")
def broker():
    with EmbeddedBroker() as broker:
        broker.create_topic("t", 3)
        broker.produce("t", [(b"k", b"%d" % number) for number in range(30)])
        broker.create_topic("empty", 2)
        yield broker
        assert not broker.faults


def all_of(topic="t", begin=0, end=10, partitions=3):
    return [
        (topic, partition, offset, b"%d" % (offset * 3 + partition))
        for partition in range(partitions)
        for offset in range(begin, end)
    ]


def test_batch(spark, broker):
    rows = load(spark, broker.bootstrap, subscribe="t", minPartitions=5)
    assert [(field.name, field.dataType.simpleString()) for field in rows.schema] == [
        ("key", "binary"), ("value", "binary"), ("topic", "string"), ("partition", "int"),
        ("offset", "bigint"), ("timestamp", "timestamp"), ("timestampType", "int"),
    ]  # fmt: skip
    assert words(rows) == all_of()
    assert rows.rdd.getNumPartitions() >= 5
    packed = load(spark, broker.bootstrap, subscribe="t")
    assert packed.rdd.getNumPartitions() == 1
    assert words(packed) == all_of()
    ends = {"startingOffsets": json.dumps({"t": {"0": 2, "1": 2, "2": 2}})}
    ends["endingOffsets"] = json.dumps({"t": {"0": 4, "1": 4, "2": 4}})
    assert words(load(spark, broker.bootstrap, subscribe="t", **ends)) == all_of("t", 2, 4)


def test_nothing_to_read_and_reading_less_than_all(spark, broker):
    assert words(load(spark, broker.bootstrap, subscribe="empty")) == []
    assert len(load(spark, broker.bootstrap, subscribe="t").limit(4).collect()) == 4
    assert load(spark, broker.bootstrap, subscribe="t").select("offset").count() == 30


def test_written_and_read_back(spark, broker):
    for name in ("out-a", "out-b"):
        broker.create_topic(name, 2)
    rows = spark.sql(
        "select * from values ('out-a', 1, 'k', 'x', array(named_struct('key', 'h', 'value', "
        "cast('1' as binary)))), ('out-b', 0, null, 'y', null) "
        "as (topic, partition, key, value, headers)"
    )
    save(rows, broker.bootstrap)
    found = load(spark, broker.bootstrap, subscribe="out-a,out-b", includeHeaders="true").collect()
    assert sorted((row.topic, row.partition, row.key, row.value, row.headers) for row in found) == [
        ("out-a", 1, b"k", b"x", [("h", b"1")]),
        ("out-b", 0, None, b"y", None),
    ]


def test_stream_in_parts_and_again_from_its_checkpoint(spark, broker, tmp_path):
    broker.create_topic("s", 2)
    broker.produce("s", [(None, b"%d" % number) for number in range(10)])
    wanted = {"subscribe": "s", "startingOffsets": "earliest", "maxOffsetsPerTrigger": 4}
    first = Collected(spark, broker.bootstrap, tmp_path, **wanted).wait()
    assert first.sizes == [4, 4, 2]
    assert [row[:3] for row in first.rows] == [("s", p, n) for p in range(2) for n in range(5)]
    everything = {"s": {"0": 5, "1": 5}}
    assert first.progress == [
        (None, {"s": {"0": 2, "1": 2}}, everything),  # as Spark's own says of the first
        ({"s": {"0": 2, "1": 2}}, {"s": {"0": 4, "1": 4}}, everything),
        ({"s": {"0": 4, "1": 4}}, everything, everything),
    ]
    broker.produce("s", [(None, b"more")] * 2)
    again = Collected(spark, broker.bootstrap, tmp_path, **wanted).wait()
    assert [row[:3] for row in again.rows] == [("s", 0, 5), ("s", 1, 5)]


def test_what_is_wrong_is_said_early(spark, broker):
    with pytest.raises(PySparkException, match="did you mean 'startingOffsets'"):
        load(spark, broker.bootstrap, subscribe="t", startingOffset="earliest").collect()
    with pytest.raises(PySparkException, match="there is no topic nowhere"):
        load(spark, broker.bootstrap, subscribe="nowhere").collect()
    with pytest.raises(PySparkException, match="column 'value' is bigint"):
        save(spark.range(1).selectExpr("id as value"), broker.bootstrap, topic="t")
    reader = spark.read.format("kcore").schema("a long").option("subscribe", "t")
    reader = reader.option("kafka.bootstrap.servers", broker.bootstrap)
    with pytest.raises(PySparkException, match="there is no column 'a'"):
        reader.load().collect()


def test_some_columns(spark, broker, tmp_path):
    """What a query needs, in its order; values as strings, without a cast."""
    given = {"kafka.bootstrap.servers": broker.bootstrap, "subscribe": "t"}
    schema = "value string, offset bigint"
    rows = spark.read.format("kcore").schema(schema).options(**given).load()
    expected = sorted((value.decode(), offset) for _, _, offset, value in all_of())
    assert sorted(map(tuple, rows.collect())) == expected
    assert rows.where("value like '2_'").count() == 10
    assert rows.selectExpr("sum(cast(value as int))").collect() == [(sum(range(30)),)]
    seen = []
    query = (
        spark.readStream.format("kcore").schema(schema).options(**given)
        .option("startingOffsets", "earliest").load()
        .writeStream.foreachBatch(lambda batch, _: seen.extend(map(tuple, batch.collect())))
        .option("checkpointLocation", str(tmp_path)).trigger(availableNow=True).start()
    )  # fmt: skip
    assert query.awaitTermination(60)
    assert sorted(seen) == expected
    broker.create_topic("no-text", 1)
    broker.produce("no-text", [(None, b"\xff\x00"), (None, None), (None, b"")])
    texts = spark.read.format("kcore").schema("value string").options(**given)
    rows = texts.option("subscribe", "no-text").load().selectExpr("cast(value as binary) as v")
    assert [row.v and bytes(row.v) for row in rows.collect()] == [b"\xff\x00", None, b""]


def test_secrets_are_in_no_plan(spark, broker):
    jaas = 'a.PlainLoginModule required username="u" password="geheim-17";'
    rows = load(
        spark,
        broker.bootstrap,
        subscribe="t",
        kafka__security__protocol="SASL_PLAINTEXT",
        kafka__sasl__mechanism="PLAIN",
        kafka__sasl__jaas__config=jaas,
    )
    said = rows._jdf.queryExecution().toString()
    assert "kcore" in said
    assert "geheim-17" not in said
    assert "geheim-17" not in rows._jdf.queryExecution().logical().toJSON()


def test_a_query_that_starts_adds_nothing_to_what_tasks_of_others_carry(spark, broker, tmp_path):
    spark.dataSource.register(KcoreDataSource)  # its environment is as new
    known = spark._jsparkSession.sessionState().dataSourceManager().lookupDataSource("kcore")
    before = set(known.dataSourceCls().envVars())
    Collected(spark, broker.bootstrap, tmp_path, subscribe="t", startingOffsets="earliest").wait()
    assert set(known.dataSourceCls().envVars()) == before


def test_a_task_finds_its_connection_to_the_jvm(spark):
    class Reader(workers.SentToWorkers, DataSourceReader):
        def read(self, partition):
            found = workers._connection()
            yield (found.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY),)

    class Source(DataSource):
        def schema(self):
            return "hastened int"

        def reader(self, schema):
            return Reader()

    spark.dataSource.register(Source)
    assert [row.hastened for row in spark.read.format("Source").load().collect()] == [1]


@pytest.mark.slow
def test_why_a_where_spares_no_reading(spark):
    """PySpark's pushdown of filters loses rows (docs/spark.md). If this fails, it has been mended,
    and ours could read no more than a WHERE needs.
    """

    class Reader(DataSourceReader):
        def __init__(self):
            self.least = 0

        def pushFilters(self, filters):  # noqa: N802 - Spark's
            for one in filters:
                if type(one).__name__ == "GreaterThanOrEqual":
                    self.least = one.value
                else:
                    yield one

        def partitions(self):
            return [InputPartition(self.least)]

        def read(self, partition):
            return ((number,) for number in range(partition.value, 10))

    class Numbers(DataSource):
        def schema(self):
            return "number int"

        def reader(self, schema):
            return Reader()

    spark.dataSource.register(Numbers)
    name = "spark.sql.python.filterPushdown.enabled"
    spark.conf.set(name, "true")
    try:
        rows = spark.read.format("Numbers").load()
        assert rows.count() == 10
        assert rows.where("number >= 7").count() == 3
        assert rows.count() == 3
    finally:
        spark.conf.unset(name)


def test_a_where_beside_pushdown(spark, broker):
    """A DataFrame that is used again, where that setting is on for the sake of other sources."""
    name = "spark.sql.python.filterPushdown.enabled"
    spark.conf.set(name, "true")
    try:
        rows = load(spark, broker.bootstrap, subscribe="t")
        few, others = rows.where("partition = 1 and offset > 7"), rows.where("offset < 2")
        assert words(few) == [("t", 1, offset, b"%d" % (offset * 3 + 1)) for offset in (8, 9)]
        assert words(few.union(others)) == sorted(words(few) + all_of("t", 0, 2))
        assert words(rows) == all_of()
    finally:
        spark.conf.unset(name)
