"""Runs a job: topics, rows, the streaming queries until everything is read, the check, the plot.

Everything that must survive is in one folder: results, checkpoints, the plot. A job that was killed
goes on where it was when it is run again with the same folder; one that was done begins anew.
"""

from __future__ import annotations

import importlib
import json
import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from kcore.pipeline.jobs import NAMES, results, topics
from kcore.pipeline.jobs.errors import JobError, WrongResultError, shortened

if TYPE_CHECKING:
    from pandas import DataFrame
    from pyspark.sql import SparkSession

BATCHES: Final = 8  # micro-batches that a topic is read in, about
_STALLED_S: Final = 600  # without a micro-batch
_POLL_S: Final = 0.2
_NOTE: Final = "run.json"
_PARTS: Final = ("parquet", "checkpoints", "broker")  # of a job's folder


@dataclass(frozen=True)
class Report:
    """What came of a job. records: in the topics it reads. rows: of the result. result: it, sorted.
    plot: the picture.
    """

    name: str
    records: int
    rows: int
    result: DataFrame
    plot: Path


class Job:
    """What a job's `run` is given: reading and writing with its own checkpoints."""

    def __init__(
        self,
        spark: SparkSession,
        name: str,
        bootstrap: str,
        folder: Path,
        begins: Mapping[str, list[int]] | None = None,
    ) -> None:
        self.spark = spark
        self.name = name
        self.bootstrap = bootstrap
        self.folder = folder
        self.begins = begins or {}  # of the topics that are written: see begins_of
        self.queries: list[Any] = []

    def read(self, topic: str) -> Any:
        """A topic from its beginning, in micro-batches of about one BATCHES-th."""
        size = topics.written(self.bootstrap, topic)
        return (
            self.spark.readStream.format("kcore")
            .option("kafka.bootstrap.servers", self.bootstrap)
            .option("subscribe", topic)
            .option("startingOffsets", "earliest")
            .option("maxOffsetsPerTrigger", max(1, size // BATCHES))
            .load()
        )

    def write_files(self, rows: Any, name: str) -> None:
        """Start a query that appends to Parquet files."""
        self._start(
            rows.writeStream.format("parquet").option("path", str(self.folder / name)), name
        )

    def write_topic(self, rows: Any, topic: str) -> None:
        """Start a query that writes to a topic."""
        writer = (
            rows.writeStream.format("kcore")
            .option("kafka.bootstrap.servers", self.bootstrap)
            .option("topic", topic)
        )
        self._start(writer, f"to-{topic}")

    def write_each(self, rows: Any, write: Callable[[Any, int], None]) -> None:
        """Start a query whose whole result is handed to `write` by each micro-batch."""
        self._start(rows.writeStream.outputMode("complete").foreachBatch(write), "each")

    def replace_files(self, rows: Any, name: str) -> None:
        """Write Parquet files in place of those there are."""
        rows.write.mode("overwrite").parquet(str(self.folder / name))

    def files(self, name: str) -> DataFrame:
        """What `write_files` or `replace_files` has written."""
        import pandas as pd  # noqa: PLC0415

        found = results.files(self.folder / name)
        if not found:
            raise WrongResultError(f"{self.name}: nothing was written to {self.folder / name}")
        return pd.read_parquet(found)

    def records(self, topic: str) -> DataFrame:
        """What `write_topic` has written as JSON, each value once. JobError."""
        return topics.read_json(self.bootstrap, topic, self.begins.get(topic, ()))

    def _start(self, writer: Any, name: str) -> None:
        checkpoint = str(self.folder / "checkpoints" / name)
        started = (
            writer.option("checkpointLocation", checkpoint)
            .queryName(f"{self.name}-{name}")
            .trigger(availableNow=True)
            .start()
        )
        self.queries.append(started)

    def finish(self) -> None:
        """Wait until every query has read everything. When one fails, none goes on. JobError."""
        from pyspark.errors import StreamingQueryException  # noqa: PLC0415

        waiting = {query.name: (query, time.monotonic(), "") for query in self.queries}
        try:
            while waiting:
                for name, (query, moved_at_s, before) in [*waiting.items()]:
                    if query.awaitTermination(_POLL_S):
                        del waiting[name]
                        continue
                    now = str((query.lastProgress or {}).get("batchId", ""))
                    if now != before:
                        waiting[name] = (query, time.monotonic(), now)
                    elif time.monotonic() - moved_at_s > _STALLED_S:
                        raise JobError(f"query {name} did nothing for {_STALLED_S} s")
        except StreamingQueryException as error:
            raise JobError(f"query {name} failed: {shortened(str(error))}") from error
        finally:
            self.stop()

    @property
    def is_first(self) -> bool:
        """Whether the queries began at their beginning."""
        first = [query.recentProgress[:1] for query in self.queries]
        return all(progress and progress[0]["batchId"] == 0 for progress in first)

    def rows_read(self) -> int:
        """How many records came, in the query that got most of them."""
        counts: list[int] = [
            sum(progress["numInputRows"] for progress in query.recentProgress)
            for query in self.queries
        ]
        return max(counts)

    def stop(self) -> None:
        """End what still runs."""
        from py4j.protocol import Py4JError  # noqa: PLC0415

        # The JVM may be gone; what failed before is what is to be told.
        with suppress(Py4JError, ConnectionError):
            for query in self.queries:
                if query.isActive:
                    query.stop()


def module_of(name: str) -> ModuleType:
    """A job's module. JobError: there is none of that name."""
    if name not in NAMES:
        raise JobError(f"there is no job {name!r}: there are {', '.join(NAMES)}")
    return importlib.import_module(f"kcore.pipeline.jobs.{name}")


def prepare(folder: Path, rows: int | None, brokers: str | None) -> bool:
    """Make a job's folder ready; whether a run of the same rows goes on that was killed there.

    brokers: where its topics are; None: an embedded broker. JobError: what it would make anew there
    is of somebody else.
    """
    run = {"rows": rows, "brokers": brokers}
    noted = _noted(folder)
    killed = {**run, "state": "loaded"}
    if noted is not None and killed == {name: noted.get(name) for name in killed}:
        return True
    parts = [folder / name for name in _PARTS if (folder / name).exists()]
    if parts and noted is None:
        raise JobError(f"{parts[0]} is of no run of this job: give another folder")
    for path in parts:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
    folder.mkdir(parents=True, exist_ok=True)
    _note(folder, {**run, "state": "begun"})
    return False


def _noted(folder: Path) -> dict[str, Any] | None:
    """What a run has noted in its folder; None: there was none. Damaged: it begins anew."""
    try:
        noted = json.loads((folder / _NOTE).read_text())
    except FileNotFoundError:
        return None
    except ValueError:
        noted = {}
    return noted if isinstance(noted, dict) else {}


def _note(folder: Path, noted: dict[str, Any]) -> None:
    whole = folder / f"{_NOTE}.new"
    whole.write_text(json.dumps(noted))
    whole.replace(folder / _NOTE)


def _has_come_to(folder: Path, state: str) -> None:
    _note(folder, {**(_noted(folder) or {}), "state": state})


def begins_of(folder: Path, module: ModuleType, bootstrap: str) -> dict[str, list[int]]:
    """Where the results of this run begin in the topics that it writes: what is before them is of
    other runs, or of others. Noted in its folder, so that it goes on with the same.
    """
    noted = _noted(folder) or {}
    if "begins" not in noted:
        written = [topic for topic in module.TOPICS if topic not in module.READS]
        noted["begins"] = {topic: topics.ends(bootstrap, topic) for topic in written}
        _note(folder, noted)
    found: dict[str, list[int]] = noted["begins"]
    return found


def run_job(
    spark: SparkSession,
    name: str,
    bootstrap: str,
    folder: Path,
    *,
    rows: int | None = None,
    load: bool = True,
    loaded: Callable[[], None] = lambda: None,
    say: Callable[[str], None] = lambda _text: None,
) -> Report:
    """Run a job to the end of its topics, check it, draw it.

    folder: the job's own, made ready by `prepare`. rows: only the first so many flights. load:
    create the topics and fill them. loaded: called when they are. JobError (WrongResultError),
    KafkaError.
    """
    from py4j.protocol import Py4JError  # noqa: PLC0415
    from pyspark.errors import PySparkException  # noqa: PLC0415

    module = module_of(name)
    if load:
        topics.fill(module, bootstrap, rows)
    job = Job(spark, name, bootstrap, folder, begins_of(folder, module, bootstrap))
    read = {topic: topics.written(bootstrap, topic) for topic in module.READS}
    say(", ".join(f"{count:,} records in topic {topic}" for topic, count in read.items()))
    _has_come_to(folder, "loaded")
    loaded()
    try:
        module.run(job)
        job.finish()
    except PySparkException as error:
        raise JobError(f"a query could not be started: {shortened(str(error))}") from error
    except (Py4JError, ConnectionError) as error:
        raise JobError(f"Spark's JVM does not answer: {shortened(str(error))}") from error
    finally:
        job.stop()
    gaps = sum(read.values()) - job.rows_read()
    if job.is_first and gaps > 0:
        say(f"compaction had left out {gaps:,} of them")
    wanted = module.expected(rows)
    checked = [
        results.check(f"{name}, {where}", found, wanted)
        for where, found in module.results(job).items()
    ]
    picture = folder / f"{name}.png"
    module.plot(checked[0], picture)
    _has_come_to(folder, "done")
    return Report(name, sum(read.values()), len(checked[0]), checked[0], picture)
