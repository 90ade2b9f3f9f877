"""One Spark for all tests of the pipeline: a local one, with two workers of this Python.

Without Java they are skipped, which the run says (KCORE_REQUIRE_ALL=1: they fail).
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

JAVA_MAJOR_MIN = 17
CONNECTOR = Path(".cache/spark/connector")
COUNT = pytest.StashKey[int]()


def missing_java():
    """Why Spark cannot be started; None if it can."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin/java") if home else "java"
    try:
        said = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60)
    except OSError:
        return "there is no java, of 17 or later, on the PATH or in JAVA_HOME"
    found = re.search(r'version "(\d+)', said.stderr)
    if found is None or int(found[1]) < JAVA_MAJOR_MIN:
        return f"java is too old: {said.stderr.splitlines()[:1]}"
    return None


def connector_jars():
    """Spark's own Kafka connector, where it was fetched."""
    return sorted(CONNECTOR.glob("*.jar")) if (CONNECTOR / ".complete").exists() else []


@pytest.fixture(scope="session")
def spark(request, tmp_path_factory):
    why = missing_java()
    if why:
        pytest.skip(f"no Spark: {why}")
    from pyspark.sql import SparkSession  # noqa: PLC0415

    from kcore.pipeline import KcoreDataSource  # noqa: PLC0415

    folder = tmp_path_factory.mktemp("spark")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    # Other people's jars are there only where tests compare with them.
    compared = any("jvm_connector" in item.fixturenames for item in request.session.items)
    quick = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "700m",
        "spark.driver.extraJavaOptions": quick,
        "spark.driver.extraClassPath": ":".join(map(str, connector_jars() if compared else [])),
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.local.dir": str(folder / "local"),
        "spark.log.level": "ERROR",
    }
    builder = SparkSession.builder.master("local[2]").appName("kcore tests")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    session.dataSource.register(KcoreDataSource)
    yield session
    session.stop()


@pytest.fixture(scope="session")
def jvm_connector(spark):
    """Spark's own source and sink, as format("kafka")."""
    if not connector_jars():
        pytest.skip("Spark's Kafka connector is not there: tools/fetch_spark_connector.sh")
    return "kafka"


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    outcome = yield
    report = outcome.get_result()
    if report.when == "call" and report.passed and "spark" in item.fixturenames:
        item.config.stash[COUNT] = item.config.stash.get(COUNT, 0) + 1


def pytest_terminal_summary(terminalreporter):
    count = terminalreporter.config.stash.get(COUNT, 0)
    if count:
        terminalreporter.write_line(f"{count} tests passed in Spark")
