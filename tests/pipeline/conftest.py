"""One Spark for all tests of the pipeline: a local one, with two workers of this Python.

Without Java they are skipped, which the run says (KCORE_REQUIRE_ALL=1: they fail).
"""

import os
import sys
from pathlib import Path

import pytest
from pipeline_support import fill, options, topic_of

from kcore.cli.demo.java import JavaUnavailableError, find_java
from kcore.embedded import EmbeddedBroker
from kcore.pipeline import reading
from kcore.pipeline.leases import Leases
from kcore.pipeline.source import KcoreStreamReader

CONNECTOR = Path(".cache/spark/connector")


def connector_jars():
    """Spark's own Kafka connector, where it was fetched."""
    return sorted(CONNECTOR.glob("*.jar")) if (CONNECTOR / ".complete").exists() else []


@pytest.fixture(scope="session")
def spark(request, tmp_path_factory):
    try:
        find_java()
    except JavaUnavailableError as why:
        pytest.skip(f"no Spark: {why}")
    from kcore.pipeline.jobs.session import session  # noqa: PLC0415

    folder = tmp_path_factory.mktemp("spark")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    # Other people's jars are there only where tests compare with them.
    compared = any("jvm_connector" in item.fixturenames for item in request.session.items)
    settings = {
        "spark.driver.memory": "700m",
        "spark.driver.extraClassPath": ":".join(map(str, connector_jars() if compared else [])),
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.local.dir": str(folder / "local"),
        "spark.log.level": "ERROR",
    }
    with session("local[2]", "tests", more=settings) as started:
        started.sparkContext.setLogLevel("OFF")
        yield started


@pytest.fixture(scope="session")
def jvm_connector(spark):
    """Spark's own source and sink, as format("kafka")."""
    if not connector_jars():
        pytest.skip("Spark's Kafka connector is not there: tools/fetch_spark_connector.sh")
    return "kafka"


@pytest.fixture(scope="module")
def broker():
    with EmbeddedBroker() as broker:
        yield broker
        assert not broker.faults


@pytest.fixture
def own_leases(monkeypatch):
    """Consumers of this test only, closed behind it."""
    mine = Leases()
    monkeypatch.setattr(reading, "leases", mine)
    yield mine
    mine.close()


@pytest.fixture
def soon(monkeypatch):
    """What is not there is asked for again as often, and sooner."""
    monkeypatch.setattr("kcore.pipeline.cluster._DOUBT_S", (0.01,) * 5)


@pytest.fixture
def quick_doubt(monkeypatch, soon):
    """What is doubted after seconds is doubted at once."""
    monkeypatch.setattr(reading, "_DOUBT_MS", 200)
    monkeypatch.setattr(reading, "_POLL_MS", 50)


@pytest.fixture
def hundred(broker, request):
    return topic_of(broker, request, 100)


@pytest.fixture
def topic(broker, request):
    """Two partitions of five records."""
    name = "".join(ch if ch.isalnum() else "-" for ch in request.node.name)
    broker.create_topic(name, 2)
    fill(broker, name, 10)
    return name


@pytest.fixture
def streamed(broker, topic):
    """Makes stream readers of the topic, and stops them."""
    made = []

    def make(name=topic, **more):
        wanted = options(broker.bootstrap, name, streaming=True, **more)
        made.append(KcoreStreamReader(wanted))
        return made[-1]

    yield make
    for one in made:
        one.stop()
