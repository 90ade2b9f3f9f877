"""Runs a job: topics, rows, the streaming queries until everything is read, the check, the plot.

Everything that must survive is in one folder: results, checkpoints, the plot. A job that was killed
goes on where it was when it is run again with the same folder.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from kcore.pipeline.jobs import NAMES, data

if TYPE_CHECKING:
    from pandas import DataFrame
    from pyspark.sql import SparkSession

BATCHES: Final = 8  # micro-batches that a topic is read in, about
_TIMEOUT_S: Final = 600


class WrongResultError(AssertionError):
    """The stream's answer is not pandas'."""


@dataclass(frozen=True)
class Report:
    """What came of a job. rows: of the result. result: it, sorted. plot: the picture."""

    name: str
    rows: int
    result: DataFrame
    plot: Path | None


class Job:
    """What a job's `run` is given: reading and writing with its own checkpoints."""

    def __init__(self, spark: SparkSession, name: str, bootstrap: str, folder: Path) -> None:
        self.spark = spark
        self.name = name
        self.bootstrap = bootstrap
        self.folder = folder / name

    def read(self, topic: str) -> Any:
        """A topic from its beginning, in micro-batches of about one BATCHES-th."""
        size = _size(self.bootstrap, topic)
        return (
            self.spark.readStream.format("kcore")
            .option("kafka.bootstrap.servers", self.bootstrap)
            .option("subscribe", topic)
            .option("startingOffsets", "earliest")
            .option("maxOffsetsPerTrigger", max(1, size // BATCHES))
            .load()
        )

    def write_files(self, rows: Any, name: str) -> Any:
        """Start a query that appends to Parquet files."""
        writer = rows.writeStream.format("parquet").option("path", str(self.folder / name))
        return self._start(writer, name)

    def write_topic(self, rows: Any, topic: str) -> Any:
        """Start a query that writes to a topic."""
        writer = (
            rows.writeStream.format("kcore")
            .option("kafka.bootstrap.servers", self.bootstrap)
            .option("topic", topic)
        )
        return self._start(writer, f"to-{topic}")

    def write_each(self, rows: Any, write: Callable[[Any, int], None]) -> Any:
        """Start a query whose whole result is handed to `write` by each micro-batch."""
        return self._start(rows.writeStream.outputMode("complete").foreachBatch(write), "each")

    def replace_files(self, rows: Any, name: str) -> None:
        """Write Parquet files in place of those there are."""
        rows.write.mode("overwrite").parquet(str(self.folder / name))

    def _start(self, writer: Any, name: str) -> Any:
        checkpoint = str(self.folder / "checkpoints" / name)
        return (
            writer.option("checkpointLocation", checkpoint)
            .queryName(f"{self.name}-{name}")
            .trigger(availableNow=True)
            .start()
        )


def module_of(name: str) -> ModuleType:
    """A job's module. ValueError: there is none of that name."""
    if name not in NAMES:
        raise ValueError(f"there is no job {name!r}: there are {', '.join(NAMES)}")
    return importlib.import_module(f"kcore.pipeline.jobs.{name}")


@contextmanager
def session(master: str | None, name: str) -> Iterator[SparkSession]:
    """A Spark session with the data source registered. master: None: as spark-submit says."""
    from pyspark.sql import SparkSession  # noqa: PLC0415

    from kcore.pipeline import KcoreDataSource  # noqa: PLC0415

    # The workers are to be this Python, not the first one that the shell finds.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(f"kcore {name}")
    if master is not None:
        builder = builder.master(master).config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.shuffle.partitions", "4").config(
        "spark.sql.session.timeZone", "UTC"
    )
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    spark.dataSource.register(KcoreDataSource)
    try:
        yield spark
    finally:
        spark.stop()


def run_job(
    spark: SparkSession, name: str, bootstrap: str, folder: Path, *, load: bool = True
) -> Report:
    """Run a job to the end of its topics, check it, draw it.

    load: create and fill the topics first. WrongResultError, and what Spark raises.
    """
    module = module_of(name)
    if load:
        fill(module, bootstrap)
    job = Job(spark, name, bootstrap, folder)
    for query in module.run(job):
        if not query.awaitTermination(_TIMEOUT_S):
            query.stop()
            raise TimeoutError(f"{query.name} was not done in {_TIMEOUT_S} s")
    result = check(module, job)
    picture = job.folder / f"{name}.png"
    module.plot(result, picture)
    return Report(name, len(result), result, picture)


def fill(module: ModuleType, bootstrap: str) -> int:
    """Create a job's topics and fill those it reads; how many records were written."""
    from kcore.pipeline.jobs.topics import create  # noqa: PLC0415

    create(
        bootstrap, {topic: (data.PARTITIONS, options) for topic, options in module.TOPICS.items()}
    )
    count: int = module.load(bootstrap)
    return count


def check(module: ModuleType, job: Job) -> DataFrame:
    """The result, which is what pandas makes of the same rows. WrongResultError: it is not."""
    import pandas as pd  # noqa: PLC0415

    wanted = module.expected()
    found = pd.read_parquet(_files(job.folder / "parquet"))[list(wanted.columns)]
    for column in wanted.columns:
        if isinstance(wanted[column].dtype, pd.DatetimeTZDtype):
            found[column] = pd.to_datetime(found[column], utc=True)
    by = list(wanted.columns)
    wanted = wanted.sort_values(by, ignore_index=True)
    found = found.sort_values(by, ignore_index=True)
    try:
        pd.testing.assert_frame_equal(found, wanted, check_dtype=False, rtol=1e-9)
    except AssertionError as difference:
        raise WrongResultError(
            f"{job.name}: {len(found)} rows, pandas has {len(wanted)}: {difference}"
        ) from None
    return found


def _files(folder: Path) -> list[Path]:
    """What Spark's file sink says is part of the result, where it says so: a task that was killed
    may have left a file that is not.
    """
    log = folder / "_spark_metadata"
    if not log.is_dir():
        return sorted(folder.glob("*.parquet"))
    import json  # noqa: PLC0415

    names: dict[str, None] = {}
    compacted = [int(path.stem) for path in log.glob("*.compact")]
    first = max(compacted, default=-1)
    for path in sorted(log.iterdir(), key=lambda one: int(one.stem) if one.stem.isdigit() else -1):
        if not path.stem.isdigit() or int(path.stem) < first:
            continue
        for line in path.read_text().splitlines()[1:]:
            entry = json.loads(line)
            if entry["action"] == "add":
                names[Path(entry["path"]).name] = None
    return [folder / name for name in names]


def _size(bootstrap: str, topic: str) -> int:
    from kcore import Consumer, TopicPartition  # noqa: PLC0415

    with Consumer(bootstrap_servers=bootstrap) as consumer:
        parts = [TopicPartition(topic, number) for number in consumer.partitions_for_topic(topic)]
        first, last = consumer.beginning_offsets(parts), consumer.end_offsets(parts)
    return sum(last[part] - first[part] for part in parts)
