"""The sink without Spark: columns that are checked, rows that are delivered."""

import logging
from contextlib import contextmanager
from types import SimpleNamespace

import pyarrow as pa
import pytest
from pipeline_support import options, rows_of
from pyspark.sql.types import StructType, _parse_datatype_json_string

from kcore.embedded import EmbeddedBroker
from kcore.errors import KafkaError, KafkaTimeoutError, TopicAuthorizationFailedError
from kcore.pipeline import producers
from kcore.pipeline.errors import OptionError, PlanError
from kcore.pipeline.options import sink_options
from kcore.pipeline.planning import OffsetRange
from kcore.pipeline.reading import read_range
from kcore.pipeline.sink import KcoreStreamWriter, KcoreWriter, check_mode, write
from kcore.pipeline.source import KcoreDataSource


@pytest.fixture(scope="module")
def broker():
    with EmbeddedBroker() as broker:
        for name, partitions in [("a", 2), ("b", 1), ("c", 3)]:
            broker.create_topic(name, partitions)
        yield broker
        assert not broker.faults


@pytest.fixture(autouse=True)
def own_producers():
    yield
    while producers._kept:
        producers._kept.popitem()[1].close()


def sink(broker=None, **more):
    servers = "h:1" if broker is None else broker.bootstrap
    return sink_options({"kafka.bootstrap.servers": servers, **more})


def schema(**columns):
    """A Spark schema from {name: its JSON type}."""
    found = StructType()
    for name, kind in columns.items():
        found = found.add(
            name, kind if not kind.startswith("{") else _parse_datatype_json_string(kind)
        )
    return found


HEADERS = (
    '{"type":"array","containsNull":true,"elementType":{"type":"struct","fields":['
    '{"name":"key","type":"string","nullable":true,"metadata":{}},'
    '{"name":"value","type":"%s","nullable":true,"metadata":{}}]}}'
)


@pytest.mark.parametrize("make", [KcoreWriter, KcoreStreamWriter])
def test_columns_that_may_be(make):
    make(sink(topic="t"), schema(value="string"))
    make(sink(topic="t"), schema(value="binary", key="string"))
    make(sink(), schema(topic="string", value="string", partition="integer"))
    make(sink(), schema(topic="string", value="binary", headers=HEADERS % "binary"))


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"key": "string"}, "there is no column 'value'"),
        ({"value": "integer"}, "column 'value' is int: it has to be string or binary"),
        ({"value": "string", "key": "long"}, "column 'key' is bigint"),
        ({"value": "string", "topic": "binary"}, "column 'topic' is binary: it has to be string"),
        ({"value": "string", "partition": "long"}, "'partition' is bigint: it has to be int"),
        ({"value": "string", "headers": HEADERS % "string"}, "'headers' is array<struct<key:str"),
        ({"value": "string", "amount": "double"}, r"'amount' means nothing .*to_json"),
    ],
)
def test_columns_that_cannot_be(columns, said):
    for make in (KcoreWriter, KcoreStreamWriter):
        with pytest.raises(PlanError, match=said):
            make(sink(topic="t"), schema(**columns))


def test_a_topic_is_needed():
    with pytest.raises(PlanError, match="give option 'topic', or a column"):
        KcoreWriter(sink(), schema(value="string"))


def test_nothing_is_overwritten():
    source = KcoreDataSource({"kafka.bootstrap.servers": "h:1", "topic": "t"})
    with pytest.raises(OptionError, match="'overwrite' is not possible"):
        source.writer(schema(value="string"), overwrite=True)
    check_mode(overwrite=False)
    # A stream in complete mode writes its whole table each time, as with Spark's own.
    source.streamWriter(schema(value="string"), overwrite=True)


def batch(**columns):
    return pa.RecordBatch.from_pydict(columns)


def content(broker, topic):
    """{partition: rows}, all that there is."""
    wanted = options(broker.bootstrap, topic, includeHeaders="true")
    return {
        number: rows_of(read_range(wanted, OffsetRange(topic, number, 0, end)))
        for number, end in enumerate(broker.end_offsets(topic))
    }


def test_rows_go_where_the_column_says(broker):
    headers = pa.array(
        [[{"key": "h", "value": b"1"}], None, []],
        pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())])),
    )
    rows = batch(
        topic=["a", "b", "a"],
        partition=pa.array([1, None, 0], pa.int32()),
        key=["k", None, "m"],
        value=["1", "2", None],
    )
    rows = rows.append_column("headers", headers)
    assert write(sink(broker), iter([rows])).rows == 3
    found = content(broker, "a")
    assert [(one["key"], one["value"]) for one in found[1]] == [(b"k", b"1")]
    assert found[1][0]["headers"] == [{"key": "h", "value": b"1"}]
    assert [(one["key"], one["value"]) for one in found[0]] == [(b"m", None)]
    assert [one["value"] for one in content(broker, "b")[0]] == [b"2"]


def test_the_option_goes_before_the_column(broker):
    rows = batch(topic=["a", "b"] * 5, key=[b"%d" % one for one in range(10)], value=[b"v"] * 10)
    assert write(sink(broker, topic="c"), iter([rows, rows])).rows == 20
    found = content(broker, "c")
    assert sum(map(len, found.values())) == 20
    keys = [{one["key"] for one in records} for records in found.values()]
    assert sum(map(len, keys)) == 10  # a key always has the same partition


def test_beside_the_option_the_column_may_be_anything(broker):
    rows = batch(topic=pa.array([None, "no topic's name"]), value=["1", "2"], key=["beside"] * 2)
    assert write(sink(broker, topic="b"), iter([rows])).rows == 2
    found = [one["value"] for one in content(broker, "b")[0] if one["key"] == b"beside"]
    assert found == [b"1", b"2"]


def test_rows_that_are_not_delivered_fail_their_task(broker):
    """Also those of the last batch, which nobody waits for before the end."""
    broker.refuse("Produce", "TOPIC_AUTHORIZATION_FAILED", times=1, topic="b")
    with pytest.raises(TopicAuthorizationFailedError):
        write(sink(broker, topic="b"), iter([batch(value=["x"])]))
    broker.no_mishaps()


@pytest.mark.parametrize(("done", "most"), [(False, 64), (True, 0)])
def test_what_is_delivered_is_let_go_of_and_few_are_waited_for(monkeypatch, done, most):
    """However many batches a task has."""
    sent = []

    class Sent:
        is_done = done
        taken = False

        def get(self):
            self.taken = True

    def send(_batch, topic):
        assert topic == "b"
        assert sum(not one.taken for one in sent) <= most
        sent.append(Sent())
        return sent[-1]

    @contextmanager
    def lend(_options):
        yield SimpleNamespace(send_arrow=send, flush=lambda: None)

    monkeypatch.setattr(producers, "lend", lend)
    assert write(sink(topic="b"), iter([batch(value=["x"])] * 100)).rows == 100
    assert [one.taken for one in sent] == [True] * 100


def test_a_row_without_a_topic_and_an_empty_task(broker):
    with pytest.raises(PlanError, match="number 1 of its batch"):
        write(sink(broker), iter([batch(topic=["b", None], value=["x", "y"])]))
    assert write(sink(broker), iter([])).rows == 0
    assert write(sink(broker, topic="a"), iter([batch(value=pa.array([], "string"))])).rows == 0


def test_a_topic_that_is_not_there_fails_in_time(broker):
    waiting = {"kafka.max.block.ms": "300", "kafka.allow.auto.create.topics": "false"}
    wanted = sink(broker, topic="none", **waiting)
    with pytest.raises(KafkaTimeoutError, match="topic none is not known within max_block_ms=300"):
        write(wanted, iter([batch(value=["x"])]))


def test_a_failed_task_leaves_no_producer(broker):
    wanted = sink(broker, topic="b", **{"kafka.client.id": "once"})
    write(wanted, iter([batch(value=["x"])]))
    (kept,) = producers._kept.values()

    def broken():
        yield batch(value=["y"])
        raise RuntimeError("upstream")

    with pytest.raises(RuntimeError, match="upstream"):
        write(wanted, broken())
    assert not producers._kept
    write(wanted, iter([batch(value=["z"])]))
    (after,) = producers._kept.values()
    assert after is not kept


def test_producers_of_many_kinds_are_few(broker, monkeypatch):
    monkeypatch.setattr(producers, "KEPT_MAX", 2)
    for number in range(4):
        wanted = sink(broker, topic="b", **{"kafka.client.id": f"kind-{number}"})
        write(wanted, iter([batch(value=["x"])]))
    assert len(producers._kept) == 2


def test_secrets_are_in_no_log(broker, caplog):
    caplog.set_level(logging.DEBUG)
    jaas = "a.PlainLoginModule required username=u password=geheim-17;"
    security = {
        "kafka.security.protocol": "SASL_PLAINTEXT",
        "kafka.sasl.mechanism": "PLAIN",
        "kafka.sasl.jaas.config": jaas,
    }
    wanted = sink(broker, topic="b", **security, **{"kafka.max.block.ms": "300"})
    wanted.client["bootstrap_timeout_ms"] = 500
    with pytest.raises(KafkaError) as caught:
        write(wanted, iter([batch(value=["x"])]))
    assert "geheim-17" not in str(caught.value)
    assert "geheim-17" not in caplog.text
