"""The same cases through Spark's own Kafka connector and through ours, on one real Kafka: rows,
offsets, tasks, progress and failures are compared.
"""

import json
import time

import pytest
from pipeline_support import add_partitions, create_topic, delete_records, delete_topic, transact
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from spark_support import Collected, load, save

from kcore import Producer
from kcore.cli.demo.kafka_cluster import KafkaCluster
from kcore.pipeline import progress_metrics

pytestmark = [pytest.mark.slow, pytest.mark.kafka, pytest.mark.timeout(400)]

KINDS = ("kafka", "kcore")
EARLIEST = {"startingOffsets": "earliest"}


def produce(servers, topic, partitions, each, *, first=0):
    with Producer(bootstrap_servers=servers) as producer:
        for number in range(first, first + each):
            for partition in range(partitions):
                producer.send(
                    topic,
                    b"%d-%d" % (partition, number),
                    key=b"k%d" % number if number % 3 else None,
                    headers=[("h", b"%d" % number), ("none", None)] if number % 2 else None,
                    partition=partition,
                )


@pytest.fixture(scope="module")
def servers(jvm_connector):
    with KafkaCluster() as kafka:
        create_topic(kafka.bootstrap, "t", 3)
        produce(kafka.bootstrap, "t", 3, 40)
        create_topic(kafka.bootstrap, "uneven", 2)
        produce(kafka.bootstrap, "uneven", 1, 50)
        produce(kafka.bootstrap, "uneven", 2, 3, first=50)
        create_topic(kafka.bootstrap, "empty", 2)
        create_topic(kafka.bootstrap, "tx", 1)
        produce(kafka.bootstrap, "tx", 1, 5)
        transact(kafka.bootstrap, "tx", [b"no"] * 4, commit=False)
        transact(kafka.bootstrap, "tx", [b"yes"] * 4, commit=True)
        yield kafka.bootstrap


def offsets(topic, *numbers):
    return json.dumps({topic: {str(number): offset for number, offset in enumerate(numbers)}})


def everything(rows):
    """All columns of all rows, in order, and how many rows each task had."""
    found = [tuple(row) for row in rows.collect()]
    tasks = [one for one in rows.rdd.glom().map(len).collect() if one]
    return sorted(found, key=lambda row: row[2:5]), sorted(tasks)


COMMITTED = {"kafka.isolation.level": "read_committed"}
CASES = {
    "all": {"subscribe": "t"},
    "headers": {"subscribe": "t", "includeHeaders": "true"},
    "pattern": {"subscribePattern": "(t|un.*)"},
    "pattern of a part": {"subscribePattern": "x"},
    "assign": {"assign": '{"t":[0,2]}'},
    "several": {"subscribe": "t,uneven,empty"},
    "empty": {"subscribe": "empty"},
    "offsets": {
        "subscribe": "t",
        "startingOffsets": offsets("t", 5, -2, 39),
        "endingOffsets": offsets("t", 20, 7, -1),
    },
    "min partitions": {"subscribe": "uneven", "minPartitions": "5"},
    "min partitions, small ranges": {"subscribe": "uneven,t", "minPartitions": "11"},
    "max records": {"subscribe": "uneven,t", "maxRecordsPerPartition": "7"},
    "both": {"subscribe": "uneven", "maxRecordsPerPartition": "20", "minPartitions": "7"},
    "committed": {"subscribe": "tx", **COMMITTED},
    "uncommitted": {"subscribe": "tx"},
    "aborted only": {
        "subscribe": "tx",
        "startingOffsets": offsets("tx", 5),
        "endingOffsets": offsets("tx", 9),
        **COMMITTED,
    },
    "from a time, the end": {"subscribe": "t", "startingTimestamp": "1000"},
    "a time by partition": {
        "subscribe": "t",
        "startingOffsetsByTimestamp": offsets("t", 1000, 0, 99),
        "endingOffsetsByTimestamp": offsets("t", 4_000_000_000_000, 1000, 4_000_000_000_000),
    },
    "too late a time, latest": {
        "subscribe": "t",
        "startingTimestamp": "4000000000000",
        "startingOffsetsByTimestampStrategy": "latest",
    },
}


@pytest.mark.parametrize("case", CASES)
def test_batch(spark, servers, case):
    # That small ranges share a task is ours alone, and only how many tasks there are.
    alone = {"minRecordsPerPartition": "1", **CASES[case]}
    if "maxRecordsPerPartition" in alone:
        del alone["minRecordsPerPartition"]
    theirs, ours = (everything(load(spark, servers, kind, **alone)) for kind in KINDS)
    assert ours[0] == theirs[0]
    assert everything(load(spark, servers, "kcore", **CASES[case]))[0] == theirs[0]
    one, other = (load(spark, servers, kind, **CASES[case]).schema for kind in KINDS)
    assert one == other
    if case == "max records":  # which theirs heeds in batches only beside minPartitions
        assert max(theirs[1]) == 53
        assert max(ours[1]) == 7
    else:
        assert ours[1] == theirs[1]


def failure(make):
    with pytest.raises((PySparkException, Py4JJavaError)) as caught:
        make()
    return str(caught.value)


# What is wrong, and the words that ours has for it. Spark's own fails, too; it says less.
WRONG = {
    "no strategy": ({}, "exactly one of subscribe"),
    "two": ({"subscribe": "t", "assign": '{"t":[0]}'}, "there is subscribe and assign"),
    "no json": ({"subscribe": "t", "startingOffsets": "{t}"}, "<<here>>"),
    "latest first": ({"subscribe": "t", "startingOffsets": "latest"}, "would read nothing"),
    "not all": ({"subscribe": "t", "startingOffsets": offsets("t", 1)}, "t-1, t-2 are missing"),
    "backwards": (
        {
            "subscribe": "t",
            "startingOffsets": offsets("t", 9, 9, 9),
            "endingOffsets": offsets("t", 9, 8, 9),
        },
        "t-1 would be read from 9 to 8",
    ),
    "too late": ({"subscribe": "t", "startingTimestamp": "4000000000000"}, "no record at or after"),
    "no topic": ({"subscribe": "absent"}, "there is no topic absent"),
    "reset": ({"subscribe": "t", "kafka.auto.offset.reset": "earliest"}, "startingOffsets"),
    "partitions": ({"subscribe": "t", "minPartitions": "x"}, "minPartitions"),
    "beyond": (
        {
            "subscribe": "t",
            "endingOffsets": offsets("t", 50, 40, 40),
            "kafkaConsumer.pollTimeoutMs": "2000",
        },
        "'endingOffsets': t-0: 50 is behind the end of the log, which is at 40",
    ),
    "starts beyond": (
        {"subscribe": "t", "startingOffsets": offsets("t", 0, 41, 0)},
        "'startingOffsets': t-1: 41 is behind the end of the log, which is at 40",
    ),
    "no partition": ({"assign": '{"t":[0,9]}'}, "partitions that do not exist: t-9"),
    "too many named": ({"subscribe": "t", "startingOffsets": offsets("t", 1, 1, 1, 1)}, "t-3"),
    "deserializer": ({"subscribe": "t", "kafka.key.deserializer": "x"}, "keys are binary"),
    "commits": ({"subscribe": "t", "kafka.enable.auto.commit": "true"}, "are kept in the check"),
    "interceptors": ({"subscribe": "t", "kafka.interceptor.classes": "x"}, "JVM's client"),
    "no servers": ({"subscribe": "t", "kafka.bootstrap.servers": ""}, "kafka.bootstrap.servers"),
    "unreachable": (
        {
            "subscribe": "t",
            "kafka.bootstrap.servers": "127.0.0.1:1",
            "kafka.bootstrap.timeout.ms": "2000",  # ours
            "kafka.default.api.timeout.ms": "4000",  # theirs
            "kafka.request.timeout.ms": "2000",
            "fetchOffset.numRetries": "1",
        },
        "127.0.0.1:1: Connection refused",
    ),
}
# Where Spark's own goes on without a word.
THEIRS_GOES_ON = {"backwards", "starts beyond", "no partition"}


@pytest.mark.parametrize("case", WRONG)
def test_batch_that_fails(spark, servers, case):
    given, words = WRONG[case]
    assert words in failure(lambda: load(spark, servers, "kcore", **given).collect())
    if case not in THEIRS_GOES_ON:
        assert failure(lambda: load(spark, servers, "kafka", **given).collect())


def test_records_that_are_gone(spark, servers):
    create_topic(servers, "lost")
    produce(servers, "lost", 1, 30)
    delete_records(servers, "lost", 12)
    wanted = {
        "subscribe": "lost",
        "startingOffsets": offsets("lost", 5),
        "kafkaConsumer.pollTimeoutMs": "5000",
    }
    theirs, ours = (failure(lambda k=k: load(spark, servers, k, **wanted).collect()) for k in KINDS)
    assert "failOnDataLoss" in theirs
    assert "records 5 to 12 are gone; the log begins at 12" in ours
    wanted["failOnDataLoss"] = "false"
    theirs, ours = (everything(load(spark, servers, kind, **wanted))[0] for kind in KINDS)
    assert ours == theirs
    assert len(ours) == 18


# Streams ------------------------------------------------------------------------------------------


def both(spark, servers, folder, **given):
    found = []
    for kind in KINDS:
        one = Collected(spark, servers, folder / kind, kind, **given).wait()
        found.append((one.rows, one.sizes, one.progress))
    return found


STREAMS = {
    "all": {"subscribe": "t", **EARLIEST},
    "in parts": {"subscribe": "t", **EARLIEST, "maxOffsetsPerTrigger": "50"},
    "uneven parts": {"subscribe": "uneven,t", **EARLIEST, "maxOffsetsPerTrigger": "31"},
    "one each": {"subscribe": "uneven", **EARLIEST, "maxOffsetsPerTrigger": "20"},
    "from offsets": {"subscribe": "t", "startingOffsets": offsets("t", 30, -2, -1)},
    "committed": {"subscribe": "tx", **EARLIEST, **COMMITTED, "maxOffsetsPerTrigger": "3"},
    "from the end": {"subscribe": "t"},
    "empty": {"subscribe": "empty", **EARLIEST},
    "least": {"subscribe": "t", **EARLIEST, "minOffsetsPerTrigger": "500"},
    "from a time": {"subscribe": "t", "startingTimestamp": "1000", "maxOffsetsPerTrigger": "50"},
    "too late a time": {
        "subscribe": "t",
        "startingTimestamp": "4000000000000",
        "startingOffsetsByTimestampStrategy": "latest",
    },
    "a time by partition": {
        "subscribe": "t",
        "startingOffsetsByTimestamp": offsets("t", 1000, 0, 99),
    },
    "small tasks": {"subscribe": "uneven", **EARLIEST, "maxRecordsPerPartition": "7"},
}


@pytest.mark.parametrize("case", STREAMS)
def test_stream(spark, servers, tmp_path, case):
    theirs, ours = both(spark, servers, tmp_path, **STREAMS[case])
    assert ours == theirs


def test_how_far_each_is_behind_is_the_same(spark, servers, tmp_path):
    wanted = {"subscribe": "uneven,t", **EARLIEST, "maxOffsetsPerTrigger": "31"}
    said = {}
    for kind in KINDS:
        run = Collected(spark, servers, tmp_path / kind, kind, **wanted).wait()
        said[kind] = [one for one in run.query.recentProgress if one.numInputRows]
    theirs = [dict(one.sources[0].metrics) for one in said["kafka"]]
    for kind in KINDS:  # of its own progress, in each form that Spark has of it
        for one, wanted in zip(said[kind], theirs, strict=True):
            (ours,) = progress_metrics(one)
            assert {name: float(text) for name, text in wanted.items()} == ours
            assert progress_metrics(one.sources[0]) == [ours]
            assert progress_metrics(json.loads(one.json)) == [ours]
    assert len(theirs) > 4
    assert {one["minOffsetsBehindLatest"] for one in theirs[:-1]} != {"0"}


def checkpointed(folder):
    """The last offsets that Spark has written down for the source."""
    last = max((folder / "offsets").glob("[0-9]*"), key=lambda path: int(path.name))
    return json.loads(last.read_text().splitlines()[-1])


def test_a_checkpoint_of_either_is_the_others(spark, servers, tmp_path):
    create_topic(servers, "swap", 2)
    produce(servers, "swap", 2, 5)
    for kind in KINDS:
        Collected(spark, servers, tmp_path / kind, kind, subscribe="swap", **EARLIEST).wait()
    theirs, ours = (checkpointed(tmp_path / kind) for kind in KINDS)
    assert ours == theirs == {"swap": {"0": 5, "1": 5}}


def test_partitions_and_records_that_come_between_runs(spark, servers, tmp_path):
    create_topic(servers, "grows", 1)
    produce(servers, "grows", 1, 5)
    wanted = {"subscribe": "grows", **EARLIEST, "maxOffsetsPerTrigger": "4"}
    first = both(spark, servers, tmp_path, **wanted)
    assert first[0] == first[1]
    add_partitions(servers, "grows", 3)
    deadline = time.monotonic() + 30
    produced = False
    while not produced:
        try:
            produce(servers, "grows", 3, 4, first=5)
            produced = True
        except ValueError:  # the producer's brokers do not all know of them yet
            assert time.monotonic() < deadline
    theirs, ours = both(spark, servers, tmp_path, **wanted)
    assert ours == theirs
    assert len(ours[0]) == 12


def test_a_stream_whose_records_are_gone(spark, servers, tmp_path):
    create_topic(servers, "aged")
    produce(servers, "aged", 1, 10)
    wanted = {"subscribe": "aged", **EARLIEST, "kafkaConsumer.pollTimeoutMs": "5000"}
    first = both(spark, servers, tmp_path, **wanted)
    assert first[0] == first[1]
    produce(servers, "aged", 1, 10, first=10)
    delete_records(servers, "aged", 15)
    for kind in KINDS:
        failed = Collected(spark, servers, tmp_path / kind, kind, **wanted)
        assert "failOnDataLoss" in failure(failed.wait)
    theirs, ours = both(spark, servers, tmp_path, **wanted, failOnDataLoss="false")
    assert ours[0] == theirs[0]
    assert [row[2] for row in ours[0]] == [*range(15, 20)]


def test_a_stream_whose_topic_is_made_anew(spark, servers, tmp_path):
    create_topic(servers, "anew")
    produce(servers, "anew", 1, 10)
    wanted = {"subscribe": "anew", **EARLIEST}
    both(spark, servers, tmp_path, **wanted)
    delete_topic(servers, "anew")
    time.sleep(2)
    create_topic(servers, "anew")
    produce(servers, "anew", 1, 4)
    for kind in KINDS:
        failed = Collected(spark, servers, tmp_path / kind, kind, **wanted)
        assert "failOnDataLoss" in failure(failed.wait)


# Sinks --------------------------------------------------------------------------------------------


def test_what_both_write_is_the_same(spark, servers):
    rows = spark.range(200).selectExpr(
        "case when id % 7 = 0 then null else cast(id as string) end as key",
        "case when id % 11 = 0 then null else concat('v', id) end as value",
        "case when id % 2 = 0 then array(named_struct('key', 'h', 'value', "
        "cast(cast(id as string) as binary))) end as headers",
        "cast(case when id % 7 = 0 then id % 5 end as int) as partition",
    )
    found = []
    for kind in KINDS:
        create_topic(servers, f"out-{kind}", 5)
        save(rows, servers, kind, topic=f"out-{kind}", includeHeaders="true")
        back = load(spark, servers, "kafka", subscribe=f"out-{kind}", includeHeaders="true")
        columns = back.select("partition", "key", "value", "headers").collect()
        found.append(sorted(map(str, columns)))
    assert found[1] == found[0]  # keys hash to the same partitions
    assert len(found[0]) == 200


WAITS_LITTLE = {"topic": "t", "kafka.max.block.ms": "3000"}
WRONG_ROWS = {
    "no value": ("id as x", {"topic": "t"}),
    "value type": ("id as value", {"topic": "t"}),
    "key type": ("'v' as value", "id as key", {"topic": "t"}),
    "no topic": ("'v' as value", {}),
    "null topic": ("'v' as value", "cast(null as string) as topic", {}),
    "partition type": ("'v' as value", "'1' as partition", {"topic": "t"}),
    "no such partition": ("'v' as value", "77 as partition", WAITS_LITTLE),
    "serializer": ("'v' as value", {"topic": "t", "kafka.key.serializer": "x"}),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG_ROWS)
def test_rows_that_cannot_be_written(spark, servers, case):
    *columns, given = WRONG_ROWS[case]
    rows = spark.range(2).selectExpr(*columns)
    for kind in KINDS:
        assert failure(lambda kind=kind: save(rows, servers, kind, **given)), kind
