"""Which columns there are, and what `.schema(...)` may ask for; no Spark, the embedded broker."""

import pickle
from dataclasses import replace

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable
from pyspark.sql.types import StructType

from kcore.embedded import EmbeddedBroker
from kcore.pipeline.errors import PlanError
from kcore.pipeline.options import At
from kcore.pipeline.reading import leases
from kcore.pipeline.source import KcoreDataSource

TOPIC = "columns"


@pytest.fixture(scope="module")
def broker():
    with EmbeddedBroker() as broker:
        broker.create_topic(TOPIC, 2)
        broker.produce(TOPIC, [(None, b"x")] * 10)
        yield broker
        assert not broker.faults


@pytest.fixture
def given(broker):
    """The options that there have to be."""
    return {"kafka.bootstrap.servers": broker.bootstrap, "subscribe": TOPIC}


def test_the_columns(given):
    source = KcoreDataSource(given)
    assert source.schema().startswith("key binary, value binary, topic string, partition int,")
    assert "headers" not in source.schema()
    assert "headers array<" in KcoreDataSource({**given, "INCLUDEHEADERS": " True "}).schema()


def own(ddl):
    """What Spark hands on of `.schema(ddl)`."""
    fields = []
    for part in filter(None, ddl.split(",")):
        name, kind, *rest = part.split()
        kind = {"int": "integer", "bigint": "long", "headers": HEADERS}.get(kind, kind)
        fields.append({"name": name, "type": kind, "nullable": not rest, "metadata": {}})
    return StructType.fromJson({"type": "struct", "fields": fields})


HEADERS = {
    "type": "array",
    "containsNull": True,
    "elementType": {
        "type": "struct",
        "fields": [
            {"name": "key", "type": "string", "nullable": True, "metadata": {}},
            {"name": "value", "type": "binary", "nullable": True, "metadata": {}},
        ],
    },
}


def test_readers_of_one_source_are_of_one_query(given):
    """Consumers are kept for each: what one has fetched is nothing to another."""
    one, other = KcoreDataSource(given), KcoreDataSource(given)
    schema = own("value binary")
    made = [one.reader(schema), one.streamReader(schema), other.reader(schema)]
    first, stream, second = (reader.options for reader in made)
    assert first.query_id == stream.query_id != second.query_id
    assert (first.starting.at, stream.starting.at) == (At.EARLIEST, At.LATEST)


WHOLE = (
    "key binary,value binary,topic string,partition int,offset bigint,timestamp timestamp,"
    "timestampType int"
)


@pytest.mark.parametrize(
    "ddl",
    [
        "value binary", "value string", "key string,value string", "offset bigint,key binary",
        "value string,offset bigint",
        "timestamp timestamp,timestampType int,partition int,topic string", "headers headers",
        "headers headers,value string", WHOLE,
    ],
)  # fmt: skip
@pytest.mark.parametrize("streaming", [False, True])
def test_a_schema_of_some_columns(given, ddl, streaming, request):
    """Any of them, in any order; keys and values as strings, which they often are."""
    from pyspark.sql.pandas.types import to_arrow_schema  # noqa: PLC0415

    source, schema = KcoreDataSource(given), own(ddl)
    if streaming:
        reader = source.streamReader(schema)
        reader.options = replace(
            reader.options, starting=replace(reader.options.starting, at=At.EARLIEST)
        )
        first = reader.initialOffset()
        tasks = reader.partitions(first, reader.latestOffset(first, ReadAllAvailable()))
    else:
        reader = source.reader(schema)
        tasks = reader.partitions()
    reader = pickle.loads(pickle.dumps(reader))
    request.addfinalizer(leases.close)
    batches = [batch for task in tasks for batch in reader.read(task)]
    assert {batch.schema for batch in batches} == {to_arrow_schema(schema, timezone="UTC")}
    for batch in batches:
        batch.validate(full=True)
    assert sum(batch.num_rows for batch in batches) == 10
    if streaming:
        reader.stop()


@pytest.mark.parametrize(
    ("ddl", "words"),
    [
        ("a bigint", "there is no column 'a': there are key, value, .*, timestampType, headers$"),
        ("Value binary", "there is no column 'Value'.*did you mean 'value'"),
        ("value binary,value string", "column 'value' is asked for twice"),
        ("value int", r"'value' is asked for as int, and comes as binary or string: cast it after"),
        ("offset int", "column 'offset' is asked for as int, and comes as bigint: "),
        ("topic binary", "column 'topic' is asked for as binary, and comes as string: "),
        ("timestamp bigint", "column 'timestamp' is asked for as bigint, and comes as timestamp"),
        ("value binary not null", "column 'value' may be null: leave NOT NULL out"),
        ("offset bigint not null", "column 'offset' may be null: leave NOT NULL out"),
        ("headers string", "column 'headers' is asked for as string, and comes as array<struct<"),
        ("", r"the schema has no columns: name some of key, value, .*, or leave \.schema"),
    ],
)  # fmt: skip
def test_a_schema_that_cannot_be(given, ddl, words):
    source = KcoreDataSource(given)
    for ask in (source.reader, lambda schema: source.streamReader(schema).initialOffset()):
        with pytest.raises(PlanError, match=words):
            ask(own(ddl))
