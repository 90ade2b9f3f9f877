"""A Spark session for a job, quiet: what Spark has to say goes to a file."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kcore.pipeline.jobs.errors import JobError, shortened

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Of jobs that are small: four tasks a stage, times as they were written.
_SETTINGS: Final = {
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.session.timeZone": "UTC",
}
_QUIET: Final = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
_LOCAL: Final = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # Most of what a JVM does in its first minute is compiling: a third less without C2.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}
# What Spark adds to the environment of a Python source when a query starts, and overwrites later.
# All queries of a session share that map, which is no concurrent one: two that add to it at once
# spoil it, and no task that carries it can be read any more (java.io.OptionalDataException). Names
# that are there from the beginning are not added.
_ENVIRONMENT: Final = (
    "SPARK_LOCAL_DIRS",
    "SPARK_AUTH_SOCKET_TIMEOUT",
    "SPARK_BUFFER_SIZE",
    "SPARK_PYTHON_RUNTIME",
)


@contextmanager
def session(
    master: str | None,
    name: str,
    log: Path | None = None,
    more: Mapping[str, str] | None = None,
) -> Iterator[SparkSession]:
    """A Spark session with the data source registered. JobError: Spark does not start.

    master: None: as spark-submit says. log: what the JVM and the workers say on standard error.
    more: Spark's settings, which go before those made here.
    """
    from py4j.protocol import Py4JError  # noqa: PLC0415
    from pyspark.errors import PySparkException  # noqa: PLC0415
    from pyspark.sql import SparkSession  # noqa: PLC0415

    from kcore.pipeline import KcoreDataSource  # noqa: PLC0415

    # The workers are to be this Python, not the first one that the shell finds.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings = dict(_SETTINGS)
    if master is not None:
        settings["spark.master"] = master
        settings |= _QUIET
        settings |= _LOCAL if master.startswith("local") else {}
    settings |= more or {}
    builder = SparkSession.builder.appName(f"kcore {name}")
    for key, value in settings.items():
        builder = builder.config(key, value)
    try:
        with _errors_to(log):
            spark = builder.getOrCreate()
        spark.sparkContext.setLogLevel("ERROR")
        for variable in _ENVIRONMENT:
            spark.sparkContext.environment.setdefault(variable, "")
        spark.dataSource.register(KcoreDataSource)
    # Py4J's: a master that does not answer is seen by the context, which stops within the call.
    except (PySparkException, Py4JError, ConnectionError) as error:
        at = "" if master is None else f" on {master}"
        where = "" if log is None else f"; {log} has more"
        raise JobError(f"Spark did not start{at}: {shortened(str(error))}{where}") from error
    try:
        yield spark
    finally:
        with suppress(Py4JError, ConnectionError):  # its JVM may be gone
            spark.stop()


@contextmanager
def _errors_to(log: Path | None) -> Iterator[None]:
    """Processes that are started meanwhile have a file as their standard error."""
    if log is None:
        yield
        return
    log.parent.mkdir(parents=True, exist_ok=True)
    sys.stderr.flush()
    kept = os.dup(2)
    try:
        with log.open("ab") as file:
            os.dup2(file.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
